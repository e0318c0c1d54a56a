/*
 * lossy: a network in this process that loses, delays, repeats and reorders what calls carry, by a
 * seed, and the fake clock that its timeouts count by. A layer around any channel:
 *
 *     network = network_create(seed, &faults);
 *     channel = lossy_open(network, loopback_open(&service, instance, network_clock(network)));
 *     … calls …
 *     channel_close(channel);          closes the inner one, too
 *     network_destroy(network);
 *
 * A network carries bytes, so every delivery is a copy in one piece. What is decided depends on the
 * seed and the order of a channel's calls; when it happens depends on the threads. Time moves only
 * while nothing else does, so that a slow machine sees no timeouts that a fast one does not.
 */
#ifndef TESTS_LOSSY_H
#define TESTS_LOSSY_H

#include "rpc/channel.h"

struct network_faults {
    double lose_request, lose_reply; /* silently: the caller's deadline tells */
    double break_request,
        break_reply; /* the caller is told UNAVAILABLE, before or after the fact */
    double repeat;   /* the request comes a second time, later */
    double delay;    /* of requests and replies, each up to: */
    int64_t delay_max_ms;
};

struct network;

struct network *network_create(uint64_t seed, const struct network_faults *faults);
void network_destroy(struct network *network); /* after its channels */
struct clock *network_clock(struct network *network);

/* How often it did harm so far: a test of loss that lost nothing tests nothing. */
int network_harm(struct network *network);

/* Owner  channel_close, which closes `inner`, too */
struct channel *lossy_open(struct network *network, struct channel *inner);

/* The process that calls by these channels is killed: what is on its way is lost, its calls end
 * with CANCELLED at once, now and later. tell: the other side hears of it, as when its connections
 * are closed. */
void lossy_cut(struct channel *const *channels, int count, bool tell);

#endif
