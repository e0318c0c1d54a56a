/*
 * decode_compressed: DecodeCompressed, the contents of zlib and gzip streams. As in TensorFlow, a
 * stream that is cut short gives what it holds, and gzip members that follow each other are joined
 * up to one that is empty.
 */
#include <limits.h>

#include "base/inflate.h"
#include "runtime/kernels/kernel_tools.h"

/* The deadline is checked after so many bytes of output. */
#define BYTES_PER_CHECK ((size_t)16 << 20)
#define FIRST_BYTES     ((size_t)4096)

enum compression { COMPRESSION_NONE, COMPRESSION_ZLIB, COMPRESSION_GZIP };

/* The output of one element, in the run's arena, which limits it. */
struct inflated_string {
    struct inflate_output output; /* first: grow_string gets its address */
    struct kernel_context *k;
    size_t reserved;
};

static struct status compressed_prepare(struct prepare_context *p)
{
    enum compression *compression = prepare_state(p, sizeof *compression, NULL);
    struct bytes type;
    TRY(node_attr_string(prepare_node(p), "compression_type", &type));
    if (bytes_equal(type, bytes_of("ZSTD")))
        return status_error(STATUS_UNIMPLEMENTED, "DecodeCompressed of ZSTD");
    if (type.size == 0)
        *compression = COMPRESSION_NONE;
    else if (bytes_equal(type, bytes_of("ZLIB")))
        *compression = COMPRESSION_ZLIB;
    else if (bytes_equal(type, bytes_of("GZIP")))
        *compression = COMPRESSION_GZIP;
    else
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Only ZLIB, ZSTD, GZIP or NONE are supported compressions");
    return status_ok();
}

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

static struct status decompress(struct kernel_context *k, enum compression compression,
                                struct bytes input, struct bytes *out)
{
    enum inflate_format format = compression == COMPRESSION_GZIP ? INFLATE_GZIP : INFLATE_ZLIB;
    struct inflated_string string = { .k = k, .output = { .limit = INT_MAX, .grow = grow_string } };
    enum inflate_result result = INFLATE_END;
    size_t before = 0;
    bool more = input.size > 0;
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

static struct status compressed_compute(struct kernel_context *k)
{
    const enum compression *compression = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        if (*compression == COMPRESSION_NONE)
            tensor_strings_mut(out)[i] = tensor_strings(x)[i];
        else
            TRY(decompress(k, *compression, tensor_strings(x)[i], &tensor_strings_mut(out)[i]));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeCompressed", DTYPES_ALL, .prepare = compressed_prepare, .compute = compressed_compute,
      .costly = true },
};
const struct kernel_table kernels_decode_compressed = { rows, COUNT(rows) };
