/*
 * A ps that holds variables gets requests of any bytes, one while those before it still wait: it
 * answers each or lets the caller wait, and goes on working. An input is up to 8 requests, each a
 * byte for the method, two for the sizes of header and payload, and these.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../unit/trainer/small_cluster.h"
#include "trainer/protocol.h"

#define REQUESTS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of an input. */
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
                struct calls *calls)
{
    static const char *const paths[] = { PS_JOIN,  PS_CREATE, PS_PULL, PS_PUSH,   PS_HOLD,
                                         PS_CUT,   PS_READ,   PS_DROP, PS_FINISH, PS_AWAIT,
                                         PS_WRITE, PS_OPEN,   PS_BEAT };
    const uint8_t *head = (const uint8_t *)take(rest, 3).data;
    struct bytes header = take(rest, head[1]);

    *payload = take(rest, head[2]);
    struct message request = { .header = header,
                               .pieces = payload,
                               .pieces_count = payload->size > 0 };
    calls_add(calls, cluster->channels[0], paths[head[0] % COUNT(paths)], &request, CLOCK_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float one[SMALL_W] = { 1 };
    static const float *const gradients[] = { one, one };
    struct rest rest = { (const char *)data, size };
    struct bytes payloads[REQUESTS_MAX];
    struct small_cluster cluster;
    struct client chief;
    struct calls calls;

    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    if (!status_is_ok(client_join(&chief, false, 1000)) ||
        !status_is_ok(small_create(&chief, 1, false)))
        abort();
    calls_init(&calls, clock_monotonic(), REQUESTS_MAX);
    calls_begin(&calls);
    for (int i = 0; i < REQUESTS_MAX && rest.size >= 3; i++)
        ask(&cluster, &rest, &payloads[i], &calls);
    calls_cancel(&calls); /* whoever waits has waited long enough */
    status_ignore(calls_wait(&calls));
    calls_finish(&calls);
    /* It may be held, over, or at another generation by now. */
    chief.options.call_timeout_ms = 0;
    status_ignore(client_push(&chief, gradients, true));
    client_finish(&chief);
    small_stop(&cluster);
    return 0;
}
