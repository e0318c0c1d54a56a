/* A few ps tasks and clients in one process, around two variables: "w" of 6 × 2 floats cut in
 * three, and "b" of 2. */
#ifndef TESTS_SMALL_CLUSTER_H
#define TESTS_SMALL_CLUSTER_H

#include <stdlib.h>
#include <string.h>

#include "rpc/loopback.h"
#include "trainer/client.h"
#include "trainer/protocol.h"
#include "trainer/ps.h"

#define SMALL_PS_MAX 5
#define SMALL_W      12
#define SMALL_B      2

#define OK(expression)                                                   \
    do {                                                                 \
        struct status ok_ = (expression);                                \
        if (!status_is_ok(ok_))                                          \
            fail_msg("%s: %s", status_code_name(ok_.code), ok_.message); \
    } while (0)

static const float ones[SMALL_W] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
static const float *const all_ones[] = { ones, ones };

struct small_cluster {
    int ps_count;
    struct placement placement;
    struct ps *ps[SMALL_PS_MAX];
    struct channel *channels[SMALL_PS_MAX];
};

/* clock: the ps tasks'; NULL: the monotonic one. trainers: as in struct ps_options. */
static inline void small_start_with(struct small_cluster *cluster, int ps_count,
                                    struct clock *clock, const char *const *trainers,
                                    uint32_t trainers_count)
{
    struct placed_variable variables[] = {
        { .name = "w", .dtype = DT_FLOAT, .shape = shape_of(6, 2), .trainable = true },
        { .name = "b", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };

    cluster->ps_count = ps_count;
    placement_create(variables, 2, ps_count, 16, PLACE_BY_BYTES, &cluster->placement);
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

static inline void small_client(struct small_cluster *cluster, uint32_t index, uint64_t incarnation,
                                struct client *client)
{
    struct client_options options = { .cluster = "test",
                                      .task = index == 0 ? "chief" : "worker",
                                      .index = index,
                                      .incarnation = incarnation,
                                      .ps_list = "a:1,b:1",
                                      .placement = &cluster->placement,
                                      .channels = cluster->channels,
                                      .call_timeout_ms = 20000 };
    client_init(client, &options);
}

/* w = 1, b = 2 everywhere, SGD with rate 0.5. */
static inline struct status small_create_until(struct client *chief, uint32_t workers, bool sync,
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

static inline struct status small_create(struct client *chief, uint32_t workers, bool sync)
{
    return small_create_until(chief, workers, sync, 0);
}

/* The raw first half of a snapshot, by one ps alone. */
static inline struct status small_hold(struct channel *channel, Slipway__Training__Ticket ticket,
                                       uint64_t number)
{
    Slipway__Training__HoldRequest header = SLIPWAY__TRAINING__HOLD_REQUEST__INIT;
    struct message reply = { 0 };

    header.ticket = &ticket;
    header.number = number;
    struct message request = protocol_pack(&header);
    struct status status = channel_call(channel, PS_HOLD, &request,
                                        clock_deadline_ns(clock_monotonic(), 20000), &reply);
    message_release(&reply);
    return status;
}

#endif
