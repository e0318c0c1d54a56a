/*
 * rouge: TensorFlow Text's RougeL, which measures how well hypotheses agree with references by
 * their longest common subsequence ("ROUGE: A Package for Automatic Evaluation of Summaries", Lin,
 * 2004).
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/ragged/ragged_splits.h"

#define CELLS_PER_CHECK ((int64_t)1 << 20) /* of the deadline */
#define BYTES_PER_CELL  64                 /* of a text, in the time of a cell */

enum { HYPOTHESES, HYPOTHESIS_ROWS, REFERENCES, REFERENCE_ROWS, ALPHA };
enum { F_MEASURE, PRECISION, RECALL, MEASURES };

struct rouge {
    struct kernel_context *k;
    struct tensor row; /* of the table of lengths: scratch */
    float alpha;
    int64_t cells;
};

static bool are_equal(const struct tensor *a, int64_t i, const struct tensor *b, int64_t j)
{
    return a->dtype == DT_STRING ? bytes_equal(tensor_strings(a)[i], tensor_strings(b)[j])
                                 : tensor_index(a, i) == tensor_index(b, j);
}

/* The time to compare it, in cells: long texts may be equal up to their ends. */
static int64_t cost_of(const struct tensor *a, int64_t i)
{
    return a->dtype == DT_STRING ? 1 + (int64_t)(tensor_strings(a)[i].size / BYTES_PER_CELL) : 1;
}

/* The length of the longest common subsequence of a[a_begin .. a_end) and b[b_begin .. b_end). */
static struct status common_length(struct rouge *r, const struct tensor *a, int64_t a_begin,
                                   int64_t a_end, const struct tensor *b, int64_t b_begin,
                                   int64_t b_end, int32_t *out)
{
    int64_t width = b_end - b_begin;
    TRY(kernel_scratch_reserve(r->k, &r->row, 0, width + 1, sizeof(int32_t)));
    int32_t *row = r->row.data;
    memset(row, 0, (size_t)(width + 1) * sizeof *row);
    for (int64_t i = a_begin; i < a_end; i++) {
        int32_t diagonal = 0;
        for (int64_t j = 0; j < width; j++) {
            int32_t above = row[j + 1], left = row[j];
            if (are_equal(a, i, b, b_begin + j))
                row[j + 1] = diagonal + 1;
            else
                row[j + 1] = above > left ? above : left;
            diagonal = above;
        }
        r->cells += (width + 1) * cost_of(a, i);
        if (r->cells >= CELLS_PER_CHECK) {
            r->cells = 0;
            TRY(kernel_check(r->k));
        }
    }
    *out = row[width];
    return status_ok();
}

/* alpha weighs precision against recall; below 0, their ratio does. */
static float f_measure(float precision, float recall, float alpha)
{
    if (alpha < 0) {
        float beta = (float)((double)precision / ((double)recall + 1e-12));
        float numerator = (1 + beta * beta) * recall * precision;
        float denominator = recall + beta * beta * precision;
        return denominator > 0 ? numerator / denominator : 0;
    }
    float denominator = alpha * recall + (1 - alpha) * precision;
    return denominator > 0 ? precision * recall / denominator : denominator;
}

static struct status measure_all(struct rouge *r, float *outputs[MEASURES])
{
    struct kernel_context *k = r->k;
    const struct tensor *as = kernel_input(k, HYPOTHESIS_ROWS),
                        *bs = kernel_input(k, REFERENCE_ROWS);
    for (int64_t i = 0; i + 1 < as->size; i++) {
        int64_t a = tensor_index(as, i), a_end = tensor_index(as, i + 1);
        int64_t b = tensor_index(bs, i), b_end = tensor_index(bs, i + 1);
        int32_t length;
        TRY(common_length(r, kernel_input(k, HYPOTHESES), a, a_end, kernel_input(k, REFERENCES), b,
                          b_end, &length));
        float precision = (float)(length / ((double)(float)(a_end - a) + 1e-12));
        float recall = (float)(length / ((double)(float)(b_end - b) + 1e-12));
        outputs[F_MEASURE][i] = f_measure(precision, recall, r->alpha);
        outputs[PRECISION][i] = precision;
        outputs[RECALL][i] = recall;
    }
    return status_ok();
}

static struct status check_rouge(struct kernel_context *k, float *alpha)
{
    const struct tensor *scalar;
    TRY(kernel_scalar(k, ALPHA, "alpha", &scalar));
    *alpha = tensor_floats(scalar)[0];
    if (!(*alpha <= 1))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "alpha must be <1 but was=%g",
                            (double)*alpha);
    if (kernel_input(k, REFERENCE_ROWS)->size != kernel_input(k, HYPOTHESIS_ROWS)->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "ref splits len=%lldmust equal hyp splits len=%lld",
                            (long long)kernel_input(k, REFERENCE_ROWS)->size,
                            (long long)kernel_input(k, HYPOTHESIS_ROWS)->size);
    if (kernel_input(k, REFERENCE_ROWS)->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "ref splits len=0; must have at least 1 split");
    TRY(kernel_vector(k, HYPOTHESES, "hyp_values"));
    TRY(kernel_vector(k, REFERENCES, "ref_values"));
    TRY(ragged_splits_check(kernel_input(k, HYPOTHESIS_ROWS), kernel_input(k, HYPOTHESES)->size));
    return ragged_splits_check(kernel_input(k, REFERENCE_ROWS), kernel_input(k, REFERENCES)->size);
}

static struct status rouge_compute(struct kernel_context *k)
{
    struct rouge r = { .k = k };
    float *outputs[MEASURES];
    TRY(check_rouge(k, &r.alpha));
    for (int i = 0; i < MEASURES; i++) {
        struct shape shape = shape_of(kernel_input(k, REFERENCE_ROWS)->size - 1);
        struct tensor *out;
        TRY(kernel_output(k, i, &shape, &out));
        outputs[i] = tensor_floats_mut(out);
    }
    struct status status = measure_all(&r, outputs);
    tensor_release(&r.row);
    return status;
}

static const struct kernel rows[] = {
    { "RougeL", DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_STRING), "Tvalues",
      .compute = rouge_compute },
};
const struct kernel_table kernels_rouge = { rows, COUNT(rows) };
