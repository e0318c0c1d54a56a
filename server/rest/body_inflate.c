#include "server/rest/body_inflate.h"

#include <stdlib.h>
#include <string.h>

#include "base/container.h"

#define START_BYTES ((size_t)64 * 1024)

struct expansion {
    struct inflate_output output;
    size_t padding; /* room after the output's capacity */
    struct budget *budget;
    int64_t taken; /* of the budget */
};

static struct status grow(struct inflate_output *output)
{
    struct expansion *expansion = CONTAINER_OF(output, struct expansion, output);
    size_t capacity = output->capacity ? 2 * output->capacity : START_BYTES;
    if (capacity > output->limit)
        capacity = output->limit + 1; /* the extra byte reveals that the limit is exceeded */
    size_t bytes = capacity + expansion->padding;
    int64_t more = (int64_t)bytes - expansion->taken;
    TRY(budget_take(expansion->budget, more));
    expansion->taken += more;
    char *data = realloc(output->data, bytes);
    if (data == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes", capacity);
    output->data = data;
    output->capacity = capacity;
    return status_ok();
}

static struct status expand(struct expansion *expansion, enum inflate_format format,
                            struct bytes packed)
{
    enum inflate_result result;
    TRY(format == INFLATE_GZIP ? inflate_members(&packed, &expansion->output, &result)
                               : inflate_stream(format, &packed, &expansion->output, &result));
    switch (result) {
    case INFLATE_END:
        return status_ok();
    case INFLATE_TOO_LARGE:
        return status_error(STATUS_OUT_OF_RANGE, "the body expands beyond %zu bytes",
                            expansion->output.limit);
    case INFLATE_NO_MEMORY:
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to expand the body");
    case INFLATE_CUT_SHORT:
    case INFLATE_DAMAGED:
        break;
    }
    return status_error(STATUS_INVALID_ARGUMENT, "the body is damaged or cut short");
}

struct status body_inflate(enum inflate_format format, struct bytes packed, size_t limit_bytes,
                           size_t padding, struct budget *budget, struct inflated_body *out)
{
    struct expansion expansion = { .output = { .limit = limit_bytes, .grow = grow },
                                   .padding = padding,
                                   .budget = budget };
    struct status status = expand(&expansion, format, packed);
    if (!status_is_ok(status)) {
        budget_give(budget, expansion.taken);
        free(expansion.output.data);
        return status;
    }
    memset(expansion.output.data + expansion.output.size, 0, padding);
    *out = (struct inflated_body){ expansion.output.data, expansion.output.size, expansion.taken };
    return status_ok();
}
