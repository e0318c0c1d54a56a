/*
 * A ps that holds variables gets a request of any bytes: it answers or lets the caller wait, and
 * goes on working. Byte 0: the method; byte 1: how many of the bytes are header; the rest is
 * payload.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "../unit/trainer/small_cluster.h"
#include "trainer/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct small_cluster *cluster, const char *path, const uint8_t *data, size_t size,
                size_t header)
{
    struct bytes payload = { (const char *)data + header, size - header };
    struct message request = { .header = { (const char *)data, header },
                               .pieces = &payload,
                               .pieces_count = payload.size > 0 };
    struct calls calls;

    calls_init(&calls, clock_monotonic(), 1);
    calls_begin(&calls);
    calls_add(&calls, cluster->channels[0], path, &request, CLOCK_NEVER);
    calls_cancel(&calls); /* whoever waits has waited long enough */
    status_ignore(calls_wait(&calls));
    calls_finish(&calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const paths[] = { PS_JOIN,  PS_CREATE, PS_PULL, PS_PUSH,   PS_HOLD,
                                         PS_CUT,   PS_READ,   PS_DROP, PS_FINISH, PS_AWAIT,
                                         PS_WRITE, PS_OPEN,   PS_BEAT };
    static const float ones[SMALL_W] = { 1 };
    static const float *const gradients[] = { ones, ones };
    struct small_cluster cluster;
    struct client chief;

    if (size < 2)
        return 0;
    small_start(&cluster, 1);
    small_client(&cluster, 0, 1, &chief);
    if (!status_is_ok(client_join(&chief, false, 1000)) ||
        !status_is_ok(small_create(&chief, 1, false)))
        abort();
    size_t header = data[1] < size - 2 ? data[1] : size - 2;
    ask(&cluster, paths[data[0] % COUNT(paths)], data + 2, size - 2, header);
    chief.options.call_timeout_ms =
        0; /* it may have been held, or have got another generation's worker */
    status_ignore(client_push(&chief, gradients, true));
    client_finish(&chief);
    small_stop(&cluster);
    return 0;
}
