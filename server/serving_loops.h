/*
 * serving_loops: the event loops of the server. The first one runs in the main thread, accepts all
 * connections, and deals each to the loop with the fewest of its protocol.
 *
 * The kernel could distribute them too, but unevenly. Of 16 connections to two loops, the fuller
 * loop gets 8 if they are dealt; 9 to 12 if each loop has its own socket (SO_REUSEPORT, which
 * hashes the addresses); 13 to 16 if all loops watch one socket (EPOLLEXCLUSIVE). Clients keep
 * their connections open, so the fuller loop would stay slower for a long time.
 *
 * Threads  the main thread's only.
 */
#ifndef SERVER_SERVING_LOOPS_H
#define SERVER_SERVING_LOOPS_H

#include "server/serving_loop.h"

/* Zero-initialise it. */
struct serving_loops {
    struct serving_loop **items; /* [count], the first one is the main thread's */
    int count;
    int draining; /* loops with requests in flight */
    void (*drained)(void *context);
    void *drained_context;
};

struct status serving_loops_create(struct serving_loops *loops,
                                   const struct serving_options *options, int count);
/* Starts the other threads, which from now on serve the connections dealt to them. */
struct status serving_loops_start(struct serving_loops *loops);
/* Runs the first loop until serving_loops_main is stopped, then ends the others' threads. Fails if
 * any loop does. */
struct status serving_loops_run(struct serving_loops *loops);

static inline struct loop *serving_loops_main(const struct serving_loops *loops)
{
    return loops->items[0]->context.loop;
}

/* Deal a connection to the loops; `context` is the struct serving_loops. For a port of HTTP/1,
 * of gRPC, and of both. */
listener_accept serving_loops_accept_rest, serving_loops_accept_either;
void serving_loops_accept_grpc(void *context, int fd);

void serving_loops_set_manager(struct serving_loops *loops, struct manager *manager);
/* Notifies all loops that versions have been added or removed. */
void serving_loops_changed(struct serving_loops *loops);
/* Lets requests in flight finish; `drained` is called once. */
void serving_loops_drain(struct serving_loops *loops, void (*drained)(void *context),
                         void *context);

/* The end, in this order. */
void serving_loops_close(struct serving_loops *loops);   /* the pool is stopped */
void serving_loops_destroy(struct serving_loops *loops); /* the manager has stopped */

#endif
