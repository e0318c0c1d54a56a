/* edit_distance: EditDistance, Levenshtein's distance between sequences of two sparse tensors. */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse_input.h"

static struct status distance_prepare(struct prepare_context *p)
{
    bool *normalize = prepare_state(p, sizeof *normalize, NULL);

    return node_attr_bool(prepare_node(p), "normalize", normalize);
}

static bool is_equal(const struct tensor *a, int64_t i, const struct tensor *b, int64_t j)
{
    size_t size = dtype_size(a->dtype);

    if (a->dtype == DT_STRING)
        return bytes_equal(tensor_strings(a)[i], tensor_strings(b)[j]);
    if (dtype_is_floating(a->dtype)) /* 0 is -0, and NaN is not NaN */
        return floating_element(a, i) == floating_element(b, j);
    if (a->dtype == DT_COMPLEX64 || a->dtype == DT_COMPLEX128) {
        struct tensor x = *a, y = *b; /* as pairs of real numbers */
        x.dtype = y.dtype = a->dtype == DT_COMPLEX64 ? DT_FLOAT : DT_DOUBLE;
        return floating_element(&x, 2 * i) == floating_element(&y, 2 * j) &&
               floating_element(&x, 2 * i + 1) == floating_element(&y, 2 * j + 1);
    }
    return memcmp(at_bytes_const(a->data, i, size), at_bytes_const(b->data, j, size), size) == 0;
}

/* The values begin to end - 1 of a tensor. */
struct value_run {
    const struct sparse_input *of;
    int64_t begin, end;
};

static int64_t length_of(const struct value_run *s)
{
    return s->end - s->begin;
}

/* `row` has room for one number more than b has values. */
static struct status distance(struct kernel_context *k, const struct value_run *a,
                              const struct value_run *b, int64_t *row, int64_t *out)
{
    int64_t width = length_of(b);

    for (int64_t j = 0; j <= width; j++)
        row[j] = j;
    for (int64_t i = 0; i < length_of(a); i++) {
        int64_t diagonal = row[0];
        TRY(kernel_check(k));
        row[0] = i + 1;
        for (int64_t j = 0; j < width; j++) {
            bool same = is_equal(a->of->values, a->begin + i, b->of->values, b->begin + j);
            int64_t least = diagonal + !same;
            least = row[j] + 1 < least ? row[j] + 1 : least;
            least = row[j + 1] + 1 < least ? row[j + 1] + 1 : least;
            diagonal = row[j + 1];
            row[j + 1] = least;
        }
    }
    *out = row[width];
    return status_ok();
}

static struct value_run sequence_at(const struct sparse_input *of, int64_t begin)
{
    int64_t end = begin < of->count ? sparse_input_run_end(of, begin, of->rank - 1) : begin;

    return (struct value_run){ of, begin, end };
}

static struct status read_inputs(struct kernel_context *k, struct sparse_input *hypothesis,
                                 struct sparse_input *truth, struct shape *out)
{
    TRY(sparse_input_read(k, 0, 1, 2, hypothesis));
    TRY(sparse_input_read(k, 3, 4, 5, truth));
    if (truth->rank < 2 || truth->rank != hypothesis->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected truth and hypothesis to have matching ranks of at least 2, "
                            "but they are %lld and %lld",
                            (long long)truth->rank, (long long)hypothesis->rank);
    TRY(shape_check_rank(truth->rank));
    *out = shape_scalar();
    for (int64_t d = 0; d + 1 < truth->rank; d++)
        shape_append(out, truth->sizes[d] > hypothesis->sizes[d] ? truth->sizes[d]
                                                                 : hypothesis->sizes[d]);
    TRY(shape_check(out->rank, out->dims, out));
    TRY(sparse_input_check_bounds(hypothesis));
    return sparse_input_check_bounds(truth);
}

/* The distance of a pair of sequences, of which one may be empty. */
static struct status pair_distance(struct kernel_context *k, const struct value_run *truth,
                                   const struct value_run *hypothesis, int64_t *row, float *out)
{
    const bool *normalize = kernel_state(k);
    int64_t steps;

    TRY(distance(k, truth, hypothesis, row, &steps));
    *out = (float)steps;
    if (*normalize)
        *out = length_of(truth) > 0 ? (float)steps / (float)length_of(truth) : INFINITY;
    return status_ok();
}

static struct status distance_compute(struct kernel_context *k)
{
    struct sparse_input hypothesis, truth;
    struct tensor *out;
    struct shape shape;
    void *row;

    TRY(read_inputs(k, &hypothesis, &truth, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    TRY(arena_reserve(kernel_arena(k), ((size_t)hypothesis.count + 1) * sizeof(int64_t), &row));
    for (int64_t t = 0, h = 0; t < truth.count || h < hypothesis.count;) {
        struct value_run a = sequence_at(&truth, t), b = sequence_at(&hypothesis, h);
        int order = t == truth.count ? 1
                    : h == hypothesis.count
                        ? -1
                        : sparse_compare(sparse_input_index(&truth, t),
                                         sparse_input_index(&hypothesis, h), truth.rank - 1);
        const int64_t *index =
            order <= 0 ? sparse_input_index(&truth, t) : sparse_input_index(&hypothesis, h);
        a.end = order <= 0 ? a.end : a.begin;
        b.end = order >= 0 ? b.end : b.begin;
        TRY(pair_distance(k, &a, &b, row,
                          &tensor_floats_mut(out)[sparse_place(index, shape.dims, shape.rank)]));
        t = a.end;
        h = b.end;
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "EditDistance", DTYPES_MOVED, "T", .prepare = distance_prepare, .compute = distance_compute },
};
const struct kernel_table kernels_edit_distance = { rows, COUNT(rows) };
