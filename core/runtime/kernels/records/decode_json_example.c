/* decode_json_example: DecodeJSONExample, tf.Examples in JSON as serialized messages. */
#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "storage/example_json.h"

/* The parsed form of a text takes up to 40 times its memory (a number of one digit and its comma
 * become 80 bytes), from the C library. While it lives, the run is charged for it. */
#define PARSED_BYTES_PER_BYTE 40

static struct status decode_one(struct kernel_context *k, struct bytes text, struct buffer *scratch)
{
    struct tensor charge;
    int64_t bytes;
    if (__builtin_mul_overflow((int64_t)text.size, PARSED_BYTES_PER_BYTE, &bytes))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "a text of %zu bytes", text.size);
    struct shape shape = shape_of(bytes);
    TRY(kernel_scratch(k, DT_UINT8, &shape, &charge));
    struct status status = example_from_json(text, kernel_arena(k), scratch);
    tensor_release(&charge);
    return status;
}

static struct status decode_each(struct kernel_context *k, struct buffer *scratch,
                                 struct tensor *out)
{
    const struct tensor *x = kernel_input(k, 0);
    void *kept;
    for (int64_t i = 0; i < x->size; i++) {
        TRY(kernel_check(k));
        scratch->size = 0;
        TRY(decode_one(k, tensor_strings(x)[i], scratch));
        TRY(arena_reserve(kernel_arena(k), scratch->size + 1, &kept));
        if (scratch->size > 0)
            memcpy(kept, scratch->data, scratch->size);
        tensor_strings_mut(out)[i] = (struct bytes){ kept, scratch->size };
    }
    return status_ok();
}

static struct status json_example_compute(struct kernel_context *k)
{
    struct buffer scratch = { 0 };
    struct tensor *out;
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    struct status status = decode_each(k, &scratch, out);
    buffer_finish(&scratch);
    return status;
}

static const struct kernel rows[] = {
    { "DecodeJSONExample", DTYPES_ALL, .compute = json_example_compute },
};
const struct kernel_table kernels_decode_json_example = { rows, COUNT(rows) };
