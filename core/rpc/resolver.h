/*
 * resolver: looks addresses up without blocking the loop. If the system's resolver must ask a
 * server, a thread of its own waits for the answer.
 */
#ifndef RPC_RESOLVER_H
#define RPC_RESOLVER_H

#include "rpc/address.h"
#include "rpc/mailbox.h"

#define RESOLVED_MAX 8

struct resolved_host {
    struct socket_address addresses[RESOLVED_MAX];
    int count;
    struct status status; /* of address_resolve */
};

struct resolver;

/* Calls `done` later, in the loop's thread; the resolver is gone after that. */
struct resolver *resolver_start(struct mailbox *mailbox, const struct address *address,
                                void (*done)(void *context, const struct resolved_host *resolved),
                                void *context);
void resolver_cancel(struct resolver *resolver); /* in the loop's thread: `done` is not called */

#endif
