#include "server/gunzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define START_BYTES ((size_t)64 * 1024)

struct output {
    char *data;
    size_t size, capacity;
    int64_t taken;
};

static struct status grow(struct output *output, size_t padding, struct budget *budget)
{
    size_t capacity = output->capacity ? 2 * output->capacity : START_BYTES;
    int64_t more = (int64_t)(capacity + padding) - output->taken;
    TRY(budget_take(budget, more));
    output->taken += more;
    char *data = realloc(output->data, capacity + padding);
    if (data == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes", capacity);
    output->data = data;
    output->capacity = capacity;
    return status_ok();
}

static struct status inflate_all(z_stream *stream, size_t limit, size_t padding,
                                 struct budget *budget, struct output *output)
{
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        if (output->size == output->capacity)
            TRY(grow(output, padding, budget));
        size_t room = output->capacity - output->size;
        stream->next_out = (Bytef *)output->data + output->size;
        stream->avail_out = room > UINT32_MAX ? UINT32_MAX : (uInt)room;
        uInt before = stream->avail_out;
        code = inflate(stream, Z_NO_FLUSH);
        output->size += before - stream->avail_out;
        if (output->size > limit)
            return status_error(STATUS_OUT_OF_RANGE, "gzip body expands beyond %zu bytes", limit);
        if (code != Z_OK && code != Z_STREAM_END)
            return status_error(STATUS_INVALID_ARGUMENT, "gzip body is damaged or cut short");
    }
    return status_ok();
}

struct status gunzip(const char *data, size_t size, size_t limit_bytes, size_t padding,
                     struct budget *budget, char **out, size_t *out_size, int64_t *taken)
{
    z_stream stream = { .next_in = (Bytef *)data,
                        .avail_in = size > UINT32_MAX ? UINT32_MAX : (uInt)size };
    struct output output = { 0 };
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory to expand a gzip body");
    struct status status = inflate_all(&stream, limit_bytes, padding, budget, &output);
    inflateEnd(&stream);
    if (!status_is_ok(status)) {
        budget_give(budget, output.taken);
        free(output.data);
        return status;
    }
    memset(output.data + output.size, 0, padding);
    *out = output.data;
    *out_size = output.size;
    *taken = output.taken;
    return status_ok();
}
