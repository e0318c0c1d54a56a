/*
 * Requests to a ps that holds variables, each sent while those before it may still wait. The ps
 * answers a request or lets its caller wait, and goes on working. An input is up to 8 requests:
 *
 *     method (1 byte) | header size (2 bytes, the lower one first) | payload size (1 byte) | header
 *     | payload
 *
 * The pieces 0-2 of "w", 16 bytes each, and 3 of "b", 8 bytes, are those of small_cluster.h. "emb"
 * has the pieces 4-6, by rows: two rows of 8 bytes in each, so rows 0-5 of this ps. "ids" is the
 * piece 7, by keys, with rows of 8 bytes. "norm", the piece 8 of 16 bytes, is divided by its norm,
 * whose vector is the piece 9 of 8 bytes.
 */
#include <stddef.h>
#include <stdint.h>

#include "../unit/trainer/small_cluster.h"
#include "trainer/protocol/protocol.h"

#define REQUESTS_MAX 8
#define HEAD_BYTES   4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The unread bytes of an input. */
struct rest {
    const char *data;
    size_t size;
};

static struct bytes take(struct rest *rest, size_t size)
{
    struct bytes bytes = { rest->data, size < rest->size ? size : rest->size };

    rest->data += bytes.size;
    rest->size -= bytes.size;
    return bytes;
}

static void ask(struct small_cluster *cluster, struct rest *rest, struct bytes *payload,
                struct call_group *calls)
{
    static const char *const paths[] = { PS_JOIN,  PS_CREATE, PS_PULL,      PS_PUSH,   PS_HOLD,
                                         PS_CUT,   PS_READ,   PS_DROP,      PS_FINISH, PS_AWAIT,
                                         PS_WRITE, PS_OPEN,   PS_HEARTBEAT, PS_STOP,   PS_PASS,
                                         PS_TAKE,  PS_TOTALS };
    const uint8_t *head = (const uint8_t *)take(rest, HEAD_BYTES).data;
    struct bytes header = take(rest, head[1] | (size_t)head[2] << 8);

    *payload = take(rest, head[3]);
    struct message request = { .header = header,
                               .pieces = payload,
                               .pieces_count = payload->size > 0 };
    call_group_add(calls, cluster->channels[0], paths[head[0] % COUNT(paths)], &request,
                   CLOCK_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float one[SMALL_W] = { 1 };
    static const struct placed_variable variables[] = {
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { 6, 2 } },
          .trainable = true },
        { .name = "b",
          .dtype = DT_FLOAT,
          .shape = { .rank = 1, .dims = { 2 } },
          .trainable = true },
        { .name = "emb",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { 6, 2 } },
          .trainable = true,
          .by_rows = true },
        { .name = "ids",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { -1, 2 } },
          .trainable = true,
          .by_keys = true,
          .keys = { .min_count = 2, .probability = 1, .ttl_steps = 4, .bytes_max = 1 << 20 } },
        { .name = "norm",
          .dtype = DT_FLOAT,
          .shape = { .rank = 2, .dims = { 2, 2 } },
          .trainable = true,
          .power_iterations = 2 },
        { .name = "vector",
          .dtype = DT_FLOAT,
          .shape = { .rank = 1, .dims = { 2 } },
          .averaged = true },
    };
    static const int64_t ids[] = { 1, 4 };
    static const struct variable_gradient gradients[] = { { .values = one },
                                                          { .values = one },
                                                          { .values = one, .rows = { ids, 2 } },
                                                          { .values = one, .rows = { ids, 2 } },
                                                          { .values = one },
                                                          { .values = one } };
    static const void *const values[] = { one, one, one, NULL, one, one };
    struct client_job job = { .optimizer = "sgd",
                              .learning_rate = .5f,
                              .workers = 1,
                              .loss_scale = { .scale = 8, .growth_steps = 2 } };
    struct rest rest = { (const char *)data, size };
    struct bytes payloads[REQUESTS_MAX];
    struct small_cluster cluster;
    struct ps_client chief;
    struct call_group calls;

    small_start_placed(&cluster, 1, variables, COUNT(variables), NULL, NULL, 0);
    small_client(&cluster, 0, 1, &chief);
    if (!status_is_ok(client_join(&chief, false, 1000)) ||
        !status_is_ok(client_create(&chief, &job, values)))
        abort();
    call_group_init(&calls, clock_monotonic(), REQUESTS_MAX);
    call_group_begin(&calls);
    for (int i = 0; i < REQUESTS_MAX && rest.size >= HEAD_BYTES; i++)
        ask(&cluster, &rest, &payloads[i], &calls);
    call_group_cancel(&calls); /* ends the calls that still wait */
    status_ignore(call_group_wait(&calls));
    call_group_finish(&calls);
    /* This may fail: the requests may have held the ps, ended the job or begun a generation. */
    chief.options.call_timeout_ms = 0;
    client_select_rows(&chief, 2, (struct row_ids){ ids, 2 });
    client_select_rows(&chief, 3, (struct row_ids){ ids, 2 });
    status_ignore(client_push(&chief, gradients, true));
    client_finish(&chief);
    small_stop(&cluster);
    return 0;
}
