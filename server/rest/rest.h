/*
 * rest: the HTTP/1 edge, libmicrohttpd in the loop's thread. Each loop has its own.
 *
 * A request is read completely, then handled. If it joins this round's batch, libmicrohttpd
 * requests the answer in its next run. If it goes to the pool, its connection is suspended until
 * the answer is complete.
 */
#ifndef SERVER_REST_REST_H
#define SERVER_REST_REST_H

#include "server/rest/exchange.h"
#include "server/rest/listener.h"

struct rest;
struct transport;

struct status rest_create(struct server_context *server, struct rest **out);
void rest_destroy(struct rest *rest); /* closes all connections; accepts NULL */

/* Takes a connection from the listener. */
listener_accept rest_accept;

/* Sets the function that takes connections that have negotiated HTTP/2, if TLS offers it
 * (server_context.rest_tls). */
void rest_set_http2(struct rest *rest, void (*take)(void *context, struct transport *transport),
                    void *context);

int rest_connections(const struct rest *rest);

/* Sends the answers at the end of a round (round.h). Returns true if there is more to do at
 * once. */
bool rest_answer(struct rest *rest);

/* leads: the loop waits in libmicrohttpd's epoll, which then contains the loop's, instead of the
 * other way round. A request then costs one epoll_wait less, and other protocols cost one more.
 * Call it at the end of each round; `true` takes effect with the first connection, and has none
 * while there are too many for libmicrohttpd to wait safely. */
void rest_set_leader(struct rest *rest, bool leads);

/* From now on each answer closes its connection. `drained` is called once, when no request is
 * left. */
void rest_drain(struct rest *rest, void (*drained)(void *context), void *context);

#endif
