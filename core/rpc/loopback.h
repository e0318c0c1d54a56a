/*
 * loopback: the channel to a service in this process. A request runs in the thread that starts it,
 * and its bytes are passed by reference. Deadlines, cancellation and replies from other threads
 * work as they do over a socket.
 */
#ifndef RPC_LOOPBACK_H
#define RPC_LOOPBACK_H

#include "rpc/channel.h"

/* Owner  channel_close; service, instance and clock outlive it. */
struct channel *loopback_open(const struct service *service, void *instance, struct clock *clock);

/* For tests: the peer is lost. Calls in flight and later ones end with UNAVAILABLE. */
void loopback_break(struct channel *channel);

#endif
