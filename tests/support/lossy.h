/*
 * lossy: a network in this process that loses, delays, repeats and reorders messages as a seed
 * decides. It has a fake clock for the timeouts, and wraps any channel:
 *
 *     network = network_create(seed, &faults);
 *     channel = lossy_open(network, loopback_open(&service, instance, network_clock(network)));
 *     … calls …
 *     channel_close(channel);          also closes the inner channel
 *     network_destroy(network);
 *
 * A real network carries bytes, so every delivery is a copy in one piece. The faults of a channel
 * depend on the seed and on the order of its calls; their order among channels depends on the
 * threads. Time moves only while the kernel reports every thread of the job as asleep, so a loaded
 * machine sees the same timeouts as an idle one.
 */
#ifndef TESTS_LOSSY_H
#define TESTS_LOSSY_H

#include "rpc/channel.h"

struct network_faults {
    double lose_request, lose_reply;   /* the caller learns nothing until its deadline */
    double break_request, break_reply; /* UNAVAILABLE, before or after the request is served */
    double repeat;                     /* the request arrives again later */
    double delay;                      /* of each request and reply, up to delay_max_ms */
    int64_t delay_max_ms;
};

struct network;

struct network *network_create(uint64_t seed, const struct network_faults *faults);
void network_destroy(struct network *network); /* after its channels */
struct clock *network_clock(struct network *network);

/* Starts a thread of the job. Time stands still until the thread waits by the network's clock. If
 * the job starts a thread itself, time stands still for it only after its first such wait.
 * Owner  pthread_join */
void network_start_thread(struct network *network, pthread_t *thread, void *(*run)(void *context),
                          void *context);

/* Returns the number of faults so far, with which a test proves that there were any. */
int network_harm(struct network *network);

/* Owner  channel_close, which also closes `inner` */
struct channel *lossy_open(struct network *network, struct channel *inner);

/* Kills the process that uses these channels. Its messages in flight are lost, and all its calls,
 * present and future, end with CANCELLED at once. tell: cancels the calls that the other side is
 * serving, as a closed connection does. */
void lossy_cut(struct channel *const *channels, int count, bool tell);

#endif
