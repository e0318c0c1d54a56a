#include "runtime/kernels/decompress.h"

#include <limits.h>
#include <string.h>

#include "base/inflate.h"

/* The deadline is checked after every so many bytes of output. */
#define BYTES_PER_CHECK ((size_t)16 << 20)
#define FIRST_BYTES     ((size_t)4096)

bool compression_parse(struct bytes name, enum compression *out)
{
    if (name.size == 0)
        *out = COMPRESSION_NONE;
    else if (bytes_equal(name, bytes_of("ZLIB")))
        *out = COMPRESSION_ZLIB;
    else if (bytes_equal(name, bytes_of("GZIP")))
        *out = COMPRESSION_GZIP;
    else
        return false;
    return true;
}

/* The output of one element, in the run's arena, which limits it. */
struct inflated_string {
    struct inflate_output output; /* first: grow_string gets its address */
    struct kernel_context *k;
    size_t reserved;
};

static struct status grow_string(struct inflate_output *output)
{
    struct inflated_string *string = (struct inflated_string *)output;
    void *memory;
    TRY(kernel_check(string->k));
    if (output->capacity == string->reserved) {
        size_t size = string->reserved > 0 ? 2 * string->reserved : FIRST_BYTES;
        TRY(arena_reserve(kernel_arena(string->k), size, &memory));
        if (output->size > 0)
            memcpy(memory, output->data, output->size);
        output->data = memory;
        string->reserved = size;
    }
    size_t more = string->reserved - output->capacity;
    output->capacity += more < BYTES_PER_CHECK ? more : BYTES_PER_CHECK;
    return status_ok();
}

struct status decompress(struct kernel_context *k, enum compression compression, struct bytes input,
                         struct bytes *out)
{
    enum inflate_format format = compression == COMPRESSION_GZIP ? INFLATE_GZIP : INFLATE_ZLIB;
    struct inflated_string string = { .k = k, .output = { .limit = INT_MAX, .grow = grow_string } };
    enum inflate_result result = INFLATE_END;
    size_t before = 0;
    bool more = input.size > 0;
    if (compression == COMPRESSION_NONE) {
        *out = input;
        return status_ok();
    }
    while (more) {
        before = string.output.size;
        TRY(inflate_stream(format, &input, &string.output, &result));
        more = result == INFLATE_END && compression == COMPRESSION_GZIP && input.size > 0 &&
               string.output.size > before;
    }
    if (result == INFLATE_DAMAGED)
        return status_error(STATUS_DATA_LOSS, "inflate() failed with error -3: %s",
                            string.output.damage);
    if (result == INFLATE_TOO_LARGE || result == INFLATE_NO_MEMORY)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a decompressed string");
    *out = (struct bytes){ string.output.data, string.output.size };
    return status_ok();
}
