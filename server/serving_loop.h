/*
 * serving_loop: a loop's share of the server: its connections, REST and gRPC, and its rounds. Loops
 * share the models, the pool of threads for expensive runs, and the budget, and nothing that a warm
 * cheap request writes to, but the counters of these.
 *
 * Threads  The first loop runs in the main thread, which makes and destroys all of them while the
 *          others do not run. From serving_loop_start on, a loop belongs to its own thread; other
 *          threads may use it by loop_post, serving_loop_load and what is called post only.
 */
#ifndef SERVER_SERVING_LOOP_H
#define SERVER_SERVING_LOOP_H

#include "server/grpc/port.h"
#include "server/models/servable_cache.h"
#include "server/rest/rest.h"
#include "server/round.h"

enum serving_protocol { SERVING_REST, SERVING_GRPC };
#define SERVING_PROTOCOLS 2

/* A connection that no loop has taken yet. */
struct serving_connection {
    enum serving_protocol protocol;
    enum listener_protocol speaks; /* REST: its first bytes */
    int fd;
    struct sockaddr_storage address;
    socklen_t address_size;
};

/* The connections of each protocol, for the thread that deals them to the loops. Written at the end
 * of rounds, in a cache line of its own. */
struct serving_load {
    _Alignas(64) _Atomic int open[SERVING_PROTOCOLS];
    _Atomic unsigned taken[SERVING_PROTOCOLS]; /* of those that were dealt to the loop */
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
    unsigned dealt[SERVING_PROTOCOLS]; /* of the thread that deals */

    pthread_t thread;
    bool has_thread;
    struct loop *main;     /* is stopped if this loop fails */
    struct status failure; /* that ended the loop */
    char failure_text[256];

    struct loop_task changed, drain, drained;
    _Atomic bool change_posted;
    int draining; /* protocols with requests in flight */
    void (*when_drained)(void *context);
    void *drained_context;
};

/* What all loops are made from. */
struct serving_options {
    struct server_context context; /* without loop and inference */
    struct inference_pool *pool;
    const struct grpc_port_options *port; /* NULL: gRPC is off */
};

/* Owner  *out, even after a failure: serving_loop_destroy */
struct status serving_loop_create(const struct serving_options *options, int index,
                                  struct serving_loop **out);
/* Starts the loop's thread; `main` is the loop of this one. */
struct status serving_loop_start(struct serving_loop *serving, struct loop *main);
/* Runs the loop in this thread. */
struct status serving_loop_run(struct serving_loop *serving);
/* Ends the loop and its thread, if it has one. Returns why the loop has failed. */
struct status serving_loop_join(struct serving_loop *serving);

/* For loop_set_round: runs the calls of a round, sends answers, and publishes the load. */
bool serving_loop_end_round(void *context);

/* Takes a connection in the loop's thread, `dealt` to it by serving_loops.c. */
void serving_loop_take(struct serving_loop *serving, const struct serving_connection *connection);
/* The connections of this protocol, with those that were dealt and not taken yet. For the thread
 * that deals them. */
int serving_loop_load(const struct serving_loop *serving, enum serving_protocol protocol);

/* Tells the loop that versions have come or gone. Any thread. */
void serving_loop_post_changed(struct serving_loop *serving);
/* Lets requests in flight end, then calls `drained` in the thread of `main`. */
void serving_loop_post_drain(struct serving_loop *serving, struct loop *main,
                             void (*drained)(void *context), void *context);

/* The end of a loop that runs no more, in this order. Each accepts a loop that is not complete. */
void serving_loop_end_calls(struct serving_loop *serving);         /* the pool is stopped */
void serving_loop_close_connections(struct serving_loop *serving); /* all calls have ended */
void serving_loop_destroy(struct serving_loop *serving);           /* the manager has stopped */

#endif
