/*
 * ctc: CTCGreedyDecoder, the most likely class of each step, without blanks and, if requested,
 * without repeats. Inputs are [steps, batch, classes].
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct ctc_state {
    bool merge_repeated;
    int64_t blank;
};

static struct status greedy_prepare(struct prepare_context *p)
{
    struct ctc_state *state = prepare_state(p, sizeof *state, NULL);

    TRY(node_attr_bool(prepare_node(p), "merge_repeated", &state->merge_repeated));
    return node_attr_int(prepare_node(p), "blank_index", &state->blank);
}

static struct status check_inputs(const struct ctc_state *state, const struct tensor *x,
                                  const struct tensor *lengths, int64_t *blank)
{
    if (x->shape.rank != 3)
        return status_error(STATUS_INVALID_ARGUMENT, "inputs is not a 3-Tensor");
    int64_t steps = x->shape.dims[0], batch = x->shape.dims[1], classes = x->shape.dims[2];
    if (x->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "inputs must not be empty");
    if (lengths->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "sequence_length is not a vector");
    if (lengths->size != batch)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "len(sequence_length) != batch_size. len(sequence_length): %lld "
                            "batch_size: %lld",
                            (long long)lengths->size, (long long)batch);
    for (int64_t b = 0; b < batch; b++)
        if (tensor_int32s(lengths)[b] < 0 || tensor_int32s(lengths)[b] > steps)
            return status_error(STATUS_FAILED_PRECONDITION,
                                "sequence_length(%lld) <= %lld is wanted, not %d", (long long)b,
                                (long long)steps, (int)tensor_int32s(lengths)[b]);
    *blank = state->blank < 0 ? state->blank + classes : state->blank;
    if (*blank < 0 || *blank >= classes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "blank_index expected to be in [%lld, %lld), got %lld",
                            (long long)-classes, (long long)classes, (long long)state->blank);
    return status_ok();
}

/* The first of the greatest numbers. */
static int64_t best_class(const struct tensor *x, int64_t step, int64_t row, double *most)
{
    int64_t classes = x->shape.dims[2], at = (step * x->shape.dims[1] + row) * classes, best = 0;

    *most = floating_element(x, at);
    for (int64_t c = 1; c < classes; c++) {
        double value = floating_element(x, at + c);
        if (value > *most) {
            *most = value;
            best = c;
        }
    }
    return best;
}

/* Decodes a row into out[0 …]; with `out` NULL only counts. *score: minus the sum of the best. */
static int64_t decode_row(const struct ctc_state *state, const struct tensor *x, int64_t row,
                          int64_t steps, int64_t blank, int64_t *out, double *score)
{
    int64_t before = -1, count = 0;
    double most;

    *score = 0;
    for (int64_t step = 0; step < steps; step++) {
        int64_t best = best_class(x, step, row, &most);
        *score -= most;
        if (x->dtype == DT_FLOAT)
            *score = (float)*score;
        if (best != blank && !(state->merge_repeated && best == before)) {
            if (out != NULL)
                out[count] = best;
            count++;
        }
        before = best;
    }
    return count;
}

static struct status count_classes(struct kernel_context *k, int64_t blank, int64_t *total,
                                   int64_t *most)
{
    const struct tensor *x = kernel_input(k, 0), *lengths = kernel_input(k, 1);
    double score;

    *total = *most = 0;
    for (int64_t b = 0; b < lengths->size; b++) {
        int64_t count =
            decode_row(kernel_state(k), x, b, tensor_int32s(lengths)[b], blank, NULL, &score);
        TRY(kernel_check(k));
        *total += count;
        *most = count > *most ? count : *most;
    }
    return status_ok();
}

static struct status greedy_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *lengths = kernel_input(k, 1);
    struct tensor *indices, *values, *shape, *scores;
    int64_t blank, total, most, at = 0;
    double score;

    TRY(check_inputs(kernel_state(k), x, lengths, &blank));
    TRY(count_classes(k, blank, &total, &most));
    struct shape pairs = shape_of(total, 2), vector = shape_of(total), two = shape_of(2);
    struct shape column = shape_of(lengths->size, 1);
    TRY(kernel_output(k, 0, &pairs, &indices));
    TRY(kernel_output(k, 1, &vector, &values));
    TRY(kernel_output(k, 2, &two, &shape));
    TRY(kernel_output(k, 3, &column, &scores));
    for (int64_t b = 0; b < lengths->size; b++) {
        int64_t count = decode_row(kernel_state(k), x, b, tensor_int32s(lengths)[b], blank,
                                   tensor_int64s_mut(values) + at, &score);
        for (int64_t i = 0; i < count; i++, at++) {
            tensor_int64s_mut(indices)[2 * at] = b;
            tensor_int64s_mut(indices)[2 * at + 1] = i;
        }
        if (scores->dtype == DT_FLOAT)
            tensor_floats_mut(scores)[b] = (float)score;
        else
            tensor_doubles_mut(scores)[b] = score;
    }
    tensor_int64s_mut(shape)[0] = lengths->size;
    tensor_int64s_mut(shape)[1] = most;
    return status_ok();
}

static const struct kernel rows[] = {
    { "CTCGreedyDecoder", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T", .prepare = greedy_prepare,
      .compute = greedy_compute },
};
const struct kernel_table kernels_ctc = { rows, COUNT(rows) };
