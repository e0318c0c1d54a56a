/*
 * resolver: looks addresses up without holding the loop: what the system's resolver has to ask for
 * is asked for by a thread of its own.
 */
#ifndef RPC_RESOLVER_H
#define RPC_RESOLVER_H

#include "rpc/address.h"
#include "rpc/mailbox.h"

#define RESOLVED_MAX 8

struct resolved {
    struct socket_address addresses[RESOLVED_MAX];
    int count;
    struct status status; /* as address_resolve's */
};

struct resolver;

/* Calls `done` in the loop's thread, later; then it is gone. */
struct resolver *resolver_start(struct mailbox *mailbox, const struct address *address,
                                void (*done)(void *context, const struct resolved *resolved),
                                void *context);
void resolver_cancel(struct resolver *resolver); /* in the loop's thread: `done` is not called */

#endif
