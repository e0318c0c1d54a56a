/* small_cluster: a few ps tasks and their clients in one process. The variables are "w", 6 × 2
 * floats in three pieces, and "b", 2 floats. */
#ifndef TESTS_SMALL_CLUSTER_H
#define TESTS_SMALL_CLUSTER_H

#include <stdlib.h>
#include <string.h>

#include "rpc/loopback.h"
#include "trainer/client/create.h"
#include "trainer/client/snapshot.h"
#include "trainer/protocol/protocol.h"
#include "trainer/ps/ps.h"

#define SMALL_PS_MAX 5
#define SMALL_W      12
#define SMALL_B      2

static const float ones[SMALL_W] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
static const struct variable_gradient all_ones[] = { { .values = ones }, { .values = ones } };

struct small_cluster {
    int ps_count;
    struct placement placement;
    struct ps *ps[SMALL_PS_MAX];
    struct channel *channels[SMALL_PS_MAX];
};

/* clock: for the ps tasks; NULL: the monotonic clock. trainers: as in struct ps_options. */
static inline void small_start_placed(struct small_cluster *cluster, int ps_count,
                                      const struct placed_variable *variables, int variables_count,
                                      struct clock *clock, const char *const *trainers,
                                      uint32_t trainers_count)
{
    cluster->ps_count = ps_count;
    placement_create(variables, variables_count, ps_count, 16, PLACE_BY_BYTES, &cluster->placement);
    for (int i = 0; i < ps_count; i++) {
        struct ps_options options = { .cluster = "test",
                                      .index = (uint32_t)i,
                                      .incarnation = 100,
                                      .clock = clock,
                                      .ps_list = "a:1,b:1",
                                      .trainers = trainers,
                                      .trainers_count = trainers_count };
        cluster->ps[i] = ps_create(&options);
        cluster->channels[i] = loopback_open(&ps_service, cluster->ps[i], clock_monotonic());
    }
}

static inline void small_start_with(struct small_cluster *cluster, int ps_count,
                                    struct clock *clock, const char *const *trainers,
                                    uint32_t trainers_count)
{
    struct placed_variable variables[] = {
        { .name = "w", .dtype = DT_FLOAT, .shape = shape_of(6, 2), .trainable = true },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };

    small_start_placed(cluster, ps_count, variables, 2, clock, trainers, trainers_count);
}

static inline void small_start_at(struct small_cluster *cluster, int ps_count, struct clock *clock)
{
    small_start_with(cluster, ps_count, clock, NULL, 0);
}

static inline void small_start(struct small_cluster *cluster, int ps_count)
{
    small_start_at(cluster, ps_count, NULL);
}

static inline void small_stop(struct small_cluster *cluster)
{
    for (int i = 0; i < cluster->ps_count; i++) {
        channel_close(cluster->channels[i]);
        ps_destroy(cluster->ps[i]);
    }
    placement_finish(&cluster->placement);
}

/* chunk_bytes: as in struct ps_client_options. */
static inline void small_client_with(struct small_cluster *cluster, uint32_t index,
                                     uint64_t incarnation, size_t chunk_bytes,
                                     struct ps_client *client)
{
    struct ps_client_options options = { .cluster = "test",
                                         .task = index == 0 ? "chief" : "worker",
                                         .index = index,
                                         .incarnation = incarnation,
                                         .ps_list = "a:1,b:1",
                                         .placement = &cluster->placement,
                                         .channels = cluster->channels,
                                         .chunk_bytes_max = chunk_bytes,
                                         .call_timeout_ms = 20000 };
    client_init(client, &options);
}

static inline void small_client(struct small_cluster *cluster, uint32_t index, uint64_t incarnation,
                                struct ps_client *client)
{
    small_client_with(cluster, index, incarnation, 0, client);
}

/* Every element of w starts at 1, every element of b at 2. SGD with rate 0.5. */
static inline struct status small_create_until(struct ps_client *chief, uint32_t workers, bool sync,
                                               uint64_t stop_step)
{
    float w[SMALL_W], b[SMALL_B] = { 2, 2 };
    const void *values[] = { w, b };
    struct client_job job = { .optimizer = "sgd",
                              .learning_rate = .5f,
                              .workers = workers,
                              .sync = sync,
                              .stop_step = stop_step };

    for (int i = 0; i < SMALL_W; i++)
        w[i] = 1;
    return client_create(chief, &job, values);
}

static inline struct status small_create(struct ps_client *chief, uint32_t workers, bool sync)
{
    return small_create_until(chief, workers, sync, 0);
}

/* Sends one ps the hold that begins a snapshot, without client_snapshot_begin. */
static inline struct status small_hold(struct channel *channel, struct ticket ticket,
                                       uint64_t number)
{
    struct hold_request header = { 0 };
    struct message reply = { 0 };

    header.ticket = &ticket;
    header.number = number;
    struct message request = pack_hold_request(&header);
    struct status status = channel_call(channel, PS_HOLD, &request,
                                        clock_deadline_ns(clock_monotonic(), 20000), &reply);
    message_release(&reply);
    return status;
}

#endif
