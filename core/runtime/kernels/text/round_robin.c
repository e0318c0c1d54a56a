/*
 * round_robin: TensorFlow Text's RoundRobinTrim and RoundRobinGenerateMasks. The segments of a row,
 * such as a question and its answer, share a number of tokens: each gets one in turn.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/ragged/ragged_splits.h"

/* The inputs: the number of tokens, the values of each segment, the row splits of each. */
struct segments {
    struct kernel_context *k;
    int count;
    int64_t rows, tokens_max;
    struct tensor kept; /* [rows, count]: tokens of a row's segments */
};

static const struct tensor *values_of(const struct segments *s, int segment)
{
    return kernel_input(s->k, 1 + segment);
}

static const struct tensor *splits_of(const struct segments *s, int segment)
{
    return kernel_input(s->k, 1 + s->count + segment);
}

static int64_t length_of(const struct segments *s, int segment, int64_t row)
{
    const struct tensor *splits = splits_of(s, segment);
    return tensor_index(splits, row + 1) - tensor_index(splits, row);
}

static struct status check_segments(struct segments *s)
{
    const struct tensor *most = kernel_input(s->k, 0);
    if (most->size != 1)
        return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                            "max_sequence_length must be one number, but received shape %s",
                            shape_text(&most->shape));
    s->tokens_max = tensor_index(most, 0);
    s->rows = splits_of(s, 0)->size - 1;
    for (int i = 0; i < s->count; i++) {
        const struct tensor *values = values_of(s, i), *splits = splits_of(s, i);
        if (values->shape.rank != 1)
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "input_values %d must be a vector, but received shape %s", i,
                                shape_text(&values->shape));
        TRY(ragged_splits_check(splits, values->size));
        if (splits->size != s->rows + 1)
            return kernel_error(s->k, STATUS_INVALID_ARGUMENT,
                                "input_row_splits %d has %lld rows, the first one %lld", i,
                                (long long)splits->size - 1, (long long)s->rows);
    }
    return status_ok();
}

/* Gives the segments that have more tokens an equal share of the rest, until it is less than one
 * each: the first ones get that. */
static void share_row(const struct segments *s, int64_t row, int64_t *kept)
{
    int64_t left = s->tokens_max, share = 1;
    memset(kept, 0, (size_t)s->count * sizeof *kept);
    while (left > 0 && share > 0) {
        int64_t longer = 0;
        for (int i = 0; i < s->count; i++)
            longer += kept[i] < length_of(s, i, row);
        if (longer == 0)
            return;
        share = left / longer;
        for (int i = 0; i < s->count && left > 0; i++) {
            int64_t more = length_of(s, i, row) - kept[i], given = share > 0 ? share : 1;
            given = given < more ? given : more;
            kept[i] += given;
            left -= given;
        }
    }
}

static struct status share(struct kernel_context *k, struct segments *s)
{
    *s = (struct segments){ .k = k, .count = (kernel_inputs_count(k) - 1) / 2 };
    TRY(check_segments(s));
    struct shape shape = shape_of(s->rows, s->count);
    TRY(kernel_scratch(k, DT_INT64, &shape, &s->kept));
    for (int64_t row = 0; row < s->rows; row++)
        share_row(s, row, (int64_t *)s->kept.data + row * s->count);
    return status_ok();
}

static int64_t kept_of(const struct segments *s, int segment, int64_t row)
{
    return ((const int64_t *)s->kept.data)[row * s->count + segment];
}

static struct status trim_segment(const struct segments *s, int segment)
{
    const struct tensor *values = values_of(s, segment), *splits = splits_of(s, segment);
    struct tensor *out, *out_splits;
    int64_t count = 0;
    TRY(kernel_output(s->k, s->count + segment, &splits->shape, &out_splits));
    tensor_set_index(out_splits, 0, 0);
    for (int64_t row = 0; row < s->rows; row++) {
        count += kept_of(s, segment, row);
        tensor_set_index(out_splits, row + 1, count);
    }
    struct shape shape = shape_of(count);
    TRY(kernel_output(s->k, segment, &shape, &out));
    size_t size = dtype_size(values->dtype);
    for (int64_t row = 0; row < s->rows; row++)
        copy_elements(values->dtype,
                      (char *)out->data + (size_t)tensor_index(out_splits, row) * size,
                      (const char *)values->data + (size_t)tensor_index(splits, row) * size,
                      kept_of(s, segment, row));
    return status_ok();
}

static struct status mask_segment(const struct segments *s, int segment)
{
    const struct tensor *values = values_of(s, segment), *splits = splits_of(s, segment);
    struct tensor *mask;
    TRY(kernel_output(s->k, segment, &values->shape, &mask));
    for (int64_t row = 0; row < s->rows; row++) {
        bool *at = tensor_bools_mut(mask) + tensor_index(splits, row);
        for (int64_t i = 0; i < length_of(s, segment, row); i++)
            at[i] = i < kept_of(s, segment, row);
    }
    return status_ok();
}

static struct status for_each_segment(struct kernel_context *k,
                                      struct status (*make)(const struct segments *s, int segment))
{
    struct segments s;
    struct status status = share(k, &s);
    for (int i = 0; i < s.count && status_is_ok(status); i++)
        status = make(&s, i);
    tensor_release(&s.kept);
    return status;
}

static struct status trim_compute(struct kernel_context *k)
{
    return for_each_segment(k, trim_segment);
}

static struct status masks_compute(struct kernel_context *k)
{
    return for_each_segment(k, mask_segment);
}

static const struct kernel rows[] = {
    { "TFText>RoundRobinTrim", DTYPES_ALL, .compute = trim_compute },
    { "TFText>RoundRobinGenerateMasks", DTYPES_ALL, .compute = masks_compute },
};
const struct kernel_table kernels_round_robin = { rows, COUNT(rows) };
