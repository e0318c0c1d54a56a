/*
 * rest: requests of REST over HTTP/1 (http1.h): bodies in, answers out (serving-api.md §2, §5).
 *
 * A request is taken in whole, then handled. It waits while it runs, in this round's batch or in
 * the pool; answers are sent at the end of the round.
 */
#ifndef SERVER_REST_H
#define SERVER_REST_H

#include "server/exchange.h"
#include "server/listener.h"

struct rest;

struct rest *rest_create(struct server_context *server);
void rest_destroy(struct rest *rest); /* closes all connections; accepts NULL */

/* A connection of the listener's. */
listener_accept rest_accept;

int rest_connections(const struct rest *rest);

/* At the end of a round (round.h): sends the answers. True: there is more to do at once. */
bool rest_answer(struct rest *rest);

/* From now on each answer closes its connection; `drained` is called, once, when no request is
 * left. */
void rest_drain(struct rest *rest, void (*drained)(void *context), void *context);

#endif
