/*
 * rest: the HTTP/1 edge: libmicrohttpd in the loop's thread, bodies in, answers out (serving-api.md
 * §2, §5).
 *
 * A request is taken in whole, then handled. What runs in this round's batch stays with microhttpd,
 * which asks again in its next run and gets the answer then; what goes to the pool is suspended
 * until it is back.
 */
#ifndef SERVER_REST_H
#define SERVER_REST_H

#include "server/exchange.h"
#include "server/listener.h"

struct rest;

struct status rest_create(struct server_context *server, struct rest **out);
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
