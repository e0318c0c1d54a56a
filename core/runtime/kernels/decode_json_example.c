/* decode_json_example: DecodeJSONExample, tf.Examples in JSON as serialized messages. */
#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "storage/example_json.h"

static struct status decode_each(struct kernel_context *k, struct buffer *scratch,
                                 struct tensor *out)
{
    const struct tensor *x = kernel_input(k, 0);
    void *kept;
    for (int64_t i = 0; i < x->size; i++) {
        TRY(kernel_check(k));
        scratch->size = 0;
        TRY(example_from_json(tensor_strings(x)[i], kernel_arena(k), scratch));
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
