/*
 * loopback: the channel to a service in this process. A request runs in the thread that starts it,
 * its bytes are handed over by reference; everything else, deadlines, cancellation, replies from
 * other threads, is as over a socket.
 */
#ifndef RPC_LOOPBACK_H
#define RPC_LOOPBACK_H

#include "rpc/channel.h"

/* Owner  channel_close; service, instance and clock outlive it */
struct channel *loopback_open(const struct service *service, void *instance, struct clock *clock);

/* From now on the peer is gone: what is in flight and what is started ends with UNAVAILABLE. */
void loopback_break(struct channel *channel);

#endif
