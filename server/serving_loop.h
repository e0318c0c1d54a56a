/*
 * serving_loop: one event loop of the server: its connections, REST and gRPC, and its rounds. Loops
 * share the models, the thread pool for expensive runs, and the budget. A warm, cheap request
 * writes to no shared memory except their counters.
 *
 * Threads  The first loop runs in the main thread, which creates and destroys all of them while
 *          the others do not run. From serving_loop_start on, a loop belongs to its own thread;
 *          other threads may only use loop_post, serving_loop_load and the _post_ functions.
 */
#ifndef SERVER_SERVING_LOOP_H
#define SERVER_SERVING_LOOP_H

#include "server/grpc/port.h"
#include "server/models/servable_cache.h"
#include "server/rest/rest.h"
#include "server/round.h"

enum serving_protocol { SERVING_REST, SERVING_GRPC };
#define SERVING_PROTOCOLS 2

/* A connection that no loop has accepted yet. */
struct serving_connection {
    enum serving_protocol protocol;
    enum listener_protocol speaks; /* REST: its first bytes */
    int fd;
    struct sockaddr_storage address;
    socklen_t address_size;
};

/* The connections of each protocol, for the thread that distributes them to the loops. Written
 * at the end of rounds, in a separate cache line. */
struct serving_load {
    _Alignas(64) _Atomic int open[SERVING_PROTOCOLS];
    /* Number of dealt connections that the loop has accepted. */
    _Atomic unsigned taken[SERVING_PROTOCOLS];
};

struct serving_loop {
    struct serving_load load;
    struct server_context context;
    struct rest *rest;
    struct grpc_service *grpc;
    struct grpc_port *port; /* NULL: gRPC is off */
    struct round round;
    struct servable_cache *cache;
    int index;

    unsigned taken[SERVING_PROTOCOLS]; /* the loop's own */
    unsigned dealt[SERVING_PROTOCOLS]; /* written by the thread that distributes connections */

    pthread_t thread;
    bool has_thread;
    struct loop *main;     /* stopped if this loop fails */
    struct status failure; /* that ended the loop */
    char failure_text[256];

    struct loop_task changed, drain, drained;
    _Atomic bool change_posted;
    int draining; /* number of protocols with requests in flight */
    void (*when_drained)(void *context);
    void *drained_context;
};

/* The arguments for creating the loops. */
struct serving_options {
    struct server_context context; /* without loop and inference */
    struct inference_pool *pool;
    const struct grpc_port_options *port; /* NULL: gRPC is off */
};

/* Owner  *out, even after a failure: serving_loop_destroy */
struct status serving_loop_create(const struct serving_options *options, int index,
                                  struct serving_loop **out);
/* Starts the loop's thread; `main` is the calling thread's loop. */
struct status serving_loop_start(struct serving_loop *serving, struct loop *main);
/* Runs the loop in this thread. */
struct status serving_loop_run(struct serving_loop *serving);
/* Ends the loop and its thread, if it has one. Returns the loop's failure. */
struct status serving_loop_join(struct serving_loop *serving);

/* For loop_set_round: runs the calls of a round, sends answers, and publishes the load. */
bool serving_loop_end_round(void *context);

/* Accepts a connection in the loop's thread, to which serving_loops.c dealt it. */
void serving_loop_take(struct serving_loop *serving, const struct serving_connection *connection);
/* The number of connections of this protocol, including those dealt but not accepted yet. For
 * the thread that deals them. */
int serving_loop_load(const struct serving_loop *serving, enum serving_protocol protocol);

/* Notifies the loop that versions have been added or removed. Any thread. */
void serving_loop_post_changed(struct serving_loop *serving);
/* Lets requests in flight finish, then calls `drained` in the thread of `main`. */
void serving_loop_post_drain(struct serving_loop *serving, struct loop *main,
                             void (*drained)(void *context), void *context);

/* End a loop that no longer runs, in this order. Each accepts an incomplete loop. */
void serving_loop_end_calls(struct serving_loop *serving);         /* the pool is stopped */
void serving_loop_close_connections(struct serving_loop *serving); /* all calls have ended */
void serving_loop_destroy(struct serving_loop *serving);           /* the manager has stopped */

#endif
