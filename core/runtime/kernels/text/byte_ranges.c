/* byte_ranges: TensorFlow Text's ByteSplitByOffsets, which cuts parts out of texts. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/ragged/ragged_splits.h"

enum { TEXTS, BEGINS, ENDS, SPLITS };

static struct status cut(const struct kernel_context *k, struct bytes text, int64_t begin,
                         int64_t end, struct bytes *out)
{
    if (begin < 0 || begin > (int64_t)text.size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Start offsets out of range.");
    if (end > (int64_t)text.size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "End offsets out of range.");
    if (begin > end)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Start offset after end offset.");
    *out = (struct bytes){ text.data + begin, (size_t)(end - begin) };
    return status_ok();
}

static struct status cut_compute(struct kernel_context *k)
{
    const struct tensor *texts = kernel_input(k, TEXTS), *begins = kernel_input(k, BEGINS),
                        *ends = kernel_input(k, ENDS), *splits = kernel_input(k, SPLITS);
    struct tensor *out, *out_splits;
    TRY(kernel_vector(k, TEXTS, "input_values"));
    TRY(kernel_vector(k, BEGINS, "input_start_offsets"));
    TRY(kernel_vector(k, ENDS, "input_end_offsets"));
    TRY(ragged_splits_check(splits, -1));
    int64_t count = tensor_index(splits, splits->size - 1);
    if (splits->size != texts->size + 1 || count > begins->size || count > ends->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%lld texts, %lld and %lld offsets do not fit to row splits of %lld "
                            "rows and %lld offsets",
                            (long long)texts->size, (long long)begins->size, (long long)ends->size,
                            (long long)splits->size - 1, (long long)count);
    struct shape shape = shape_of(count);
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(kernel_output_copy(k, 1, SPLITS, &out_splits));
    for (int64_t row = 0; row < texts->size; row++)
        for (int64_t i = tensor_index(splits, row); i < tensor_index(splits, row + 1); i++)
            TRY(cut(k, tensor_strings(texts)[row], tensor_index(begins, i), tensor_index(ends, i),
                    &tensor_strings_mut(out)[i]));
    return status_ok();
}

static const struct kernel rows[] = {
    { "TFText>ByteSplitByOffsets", DTYPES_ALL, .compute = cut_compute },
};
const struct kernel_table kernels_byte_ranges = { rows, COUNT(rows) };
