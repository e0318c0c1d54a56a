#include "server/inference/reply.h"

#include <stdlib.h>

#define FIT_BYTES   ((size_t)256 * 1024) /* a smaller buffer is not worth a realloc */
#define PROBE_BYTES 16384                /* limit of the answer to a probe */

struct status reply_reserve(struct server_context *server, struct buffer *reply, int64_t *paid,
                            size_t size_max)
{
    if (size_max > INT64_MAX)
        size_max = INT64_MAX; /* the budget refuses it with its own words */
    if (size_max <= reply->capacity)
        return status_ok();
    int64_t more = (int64_t)size_max - *paid;
    if (more > 0) {
        TRY(budget_take(server->budget, more));
        *paid += more;
    }
    if (!buffer_try_reserve(reply, size_max))
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for an answer of %zu bytes",
                            size_max);
    return status_ok();
}

static void fit(struct buffer *reply)
{
    size_t size = reply->size > 0 ? reply->size : 1;
    if (reply->capacity <= FIT_BYTES || reply->capacity - size < reply->capacity / 8)
        return;
    char *data = realloc(reply->data, size);
    if (data == NULL)
        return;
    reply->data = data;
    reply->capacity = size;
}

struct status reply_settle(struct server_context *server, struct buffer *reply, int64_t *paid,
                           bool may_fail)
{
    fit(reply);
    int64_t more = (int64_t)reply->capacity - *paid;
    if (more > 0 && may_fail)
        TRY(more <= PROBE_BYTES ? budget_take_reserved(server->budget, more)
                                : budget_take(server->budget, more));
    else if (more != 0)
        budget_charge(server->budget, more);
    *paid += more;
    return status_ok();
}
