#include "base/inflate.h"

#include <limits.h>
#include <zlib.h>

/* The largest window, as zlib numbers it; adding 16 or 32 selects the format. */
#define WINDOW_BITS 15
static const int window_bits[] = {
    [INFLATE_GZIP] = WINDOW_BITS + 16,
    [INFLATE_ZLIB] = WINDOW_BITS,
    [INFLATE_EITHER] = WINDOW_BITS + 32,
};

static uInt clamp(size_t size)
{
    return size < UINT_MAX ? (uInt)size : UINT_MAX;
}

/* Inflates as much as the input and the room allow. Returns zlib's code. */
static int step(z_stream *stream, struct bytes *input, struct inflate_output *output)
{
    uInt available = clamp(input->size), room = clamp(output->capacity - output->size);

    stream->next_in = (Bytef *)(uintptr_t)input->data;
    stream->avail_in = available;
    stream->next_out = (Bytef *)output->data + output->size;
    stream->avail_out = room;
    int code = inflate(stream, Z_NO_FLUSH);
    input->data += available - stream->avail_in;
    input->size -= available - stream->avail_in;
    output->size += room - stream->avail_out;
    return code;
}

static enum inflate_result result_of(int code, const struct inflate_output *output)
{
    switch (code) {
    case Z_OK: /* the output is full */
        return INFLATE_TOO_LARGE;
    case Z_STREAM_END:
        return output->size <= output->limit ? INFLATE_END : INFLATE_TOO_LARGE;
    case Z_BUF_ERROR:
        return INFLATE_CUT_SHORT;
    case Z_MEM_ERROR:
        return INFLATE_NO_MEMORY;
    }
    return INFLATE_DAMAGED;
}

static struct status run(z_stream *stream, struct bytes *input, struct inflate_output *output,
                         enum inflate_result *result)
{
    int code = Z_OK;

    while (code == Z_OK) {
        if (output->size == output->capacity) {
            if (output->size > output->limit)
                break;
            TRY(output->grow(output));
        }
        code = step(stream, input, output);
    }
    *result = result_of(code, output);
    if (*result == INFLATE_DAMAGED) /* zlib's texts are literals: they outlive the stream */
        output->damage = stream->msg != NULL ? stream->msg : zError(code);
    return status_ok();
}

/* A member begins with these bytes. Others are padding, such as a tape's, and end the data. */
static bool member_follows(struct bytes input)
{
    return input.size >= 2 && input.data[0] == '\x1f' && input.data[1] == '\x8b';
}

static struct status inflate_all(enum inflate_format format, bool members, struct bytes *input,
                                 struct inflate_output *output, enum inflate_result *result)
{
    z_stream stream = { 0 };
    struct status status;
    bool more;

    *result = INFLATE_NO_MEMORY;
    if (inflateInit2(&stream, window_bits[format]) != Z_OK)
        return status_ok();
    do {
        status = run(&stream, input, output, result);
        more = members && status_is_ok(status) && *result == INFLATE_END && member_follows(*input);
        if (more)
            inflateReset(&stream); /* fails only for a stream that is none */
    } while (more);
    inflateEnd(&stream);
    return status;
}

struct status inflate_stream(enum inflate_format format, struct bytes *input,
                             struct inflate_output *output, enum inflate_result *result)
{
    return inflate_all(format, false, input, output, result);
}

struct status inflate_members(struct bytes *input, struct inflate_output *output,
                              enum inflate_result *result)
{
    return inflate_all(INFLATE_GZIP, true, input, output, result);
}
