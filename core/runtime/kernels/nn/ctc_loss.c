/*
 * ctc_loss: CTCLoss, minus the log-probability of label sequences and its gradient by the inputs
 * (Graves, Supervised Sequence Labelling with Recurrent Neural Networks, 7.3 and 7.4). Inputs are
 * [steps, batch, classes], not normalized; the last class is the blank.
 */
#include <inttypes.h>
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sparse_input.h"

#define LOG_ZERO     (-INFINITY)
#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct ctc_loss_state {
    bool collapse_repeated, merge_repeated, ignore_longer;
};

/* One row of the batch. A path of `labels` is its labels with blanks around each: u = 0, 2, … are
 * blanks, u = 1, 3, … labels. */
struct ctc_row {
    const struct ctc_loss_state *state;
    int64_t steps, classes, path; /* path: the length with blanks */
    const int64_t *labels;        /* [path] */
    double *y;                    /* [steps, classes] probabilities, rounded to the inputs' type */
    double *alpha, *beta;         /* [steps, path] logarithms */
    double *sums;                 /* [classes] */
};

static double log_sum_exp(double a, double b)
{
    double more = a > b ? a : b, less = a > b ? b : a;
    if (a == LOG_ZERO || b == LOG_ZERO)
        return a == LOG_ZERO ? b : a;
    return more + log1p(exp(less - more));
}

/* ---- the sums over all paths ---- */

static bool is_blank(const struct ctc_row *row, int64_t u)
{
    return row->labels[u] == row->classes - 1;
}

static double log_y(const struct ctc_row *row, int64_t t, int64_t u)
{
    return log(row->y[t * row->classes + row->labels[u]]);
}

/* The places u that a path can be at after step t, with enough steps left for the rest. */
static void range_at(const struct ctc_row *row, int64_t t, int64_t *first, int64_t *end)
{
    *first = row->path - 2 * (row->steps - t);
    *end = 2 * (t + 1) < row->path ? 2 * (t + 1) : row->path;
    *first = *first > 0 ? *first : 0;
}

/* May a path step from u to v = u + 2, without the blank between? */
static bool may_skip(const struct ctc_row *row, int64_t u, int64_t v)
{
    bool same = row->state->merge_repeated && row->labels[u] == row->labels[v];
    return !is_blank(row, v) && !is_blank(row, u) && !same;
}

static void forward(struct ctc_row *row)
{
    int64_t width = row->path, first, end;
    row->alpha[0] = log_y(row, 0, 0);
    if (width > 1)
        row->alpha[1] = log_y(row, 0, 1);
    for (int64_t t = 1; t < row->steps; t++) {
        const double *before = row->alpha + (t - 1) * width;
        range_at(row, t, &first, &end);
        for (int64_t u = first; u < end; u++) {
            double sum = LOG_ZERO;
            if (row->state->merge_repeated || is_blank(row, u))
                sum = before[u];
            if (u > 0)
                sum = log_sum_exp(sum, before[u - 1]);
            if (u > 1 && may_skip(row, u - 2, u))
                sum = log_sum_exp(sum, before[u - 2]);
            row->alpha[t * width + u] = log_y(row, t, u) + sum;
        }
    }
}

static void backward(struct ctc_row *row)
{
    int64_t width = row->path, first, end;
    for (int64_t u = width > 1 ? width - 2 : 0; u < width; u++)
        row->beta[(row->steps - 1) * width + u] = 0;
    for (int64_t t = row->steps - 2; t >= 0; t--) {
        const double *after = row->beta + (t + 1) * width;
        range_at(row, t, &first, &end);
        for (int64_t u = first; u < end; u++) {
            double sum = LOG_ZERO;
            if (row->state->merge_repeated || is_blank(row, u))
                sum = after[u] + log_y(row, t + 1, u);
            if (u + 1 < width)
                sum = log_sum_exp(sum, after[u + 1] + log_y(row, t + 1, u + 1));
            if (u + 2 < width && may_skip(row, u, u + 2))
                sum = log_sum_exp(sum, after[u + 2] + log_y(row, t + 1, u + 2));
            row->beta[t * width + u] = sum;
        }
    }
}

static double log_probability(const struct ctc_row *row)
{
    double sum = LOG_ZERO;
    for (int64_t u = 0; u < row->path; u++)
        sum = log_sum_exp(sum, row->alpha[u] + row->beta[u]);
    return sum;
}

/* The probability of each class at step t, given the labels, subtracted from y. */
static void subtract_expected(struct ctc_row *row, int64_t t, double total)
{
    double *y = row->y + t * row->classes;
    for (int64_t c = 0; c < row->classes; c++)
        row->sums[c] = LOG_ZERO;
    for (int64_t u = 0; u < row->path; u++) {
        int64_t at = t * row->path + u, label = row->labels[u];
        row->sums[label] = log_sum_exp(row->sums[label], row->alpha[at] + row->beta[at]);
    }
    for (int64_t c = 0; c < row->classes; c++)
        y[c] -= exp(row->sums[c] - total);
}

/* ---- inputs ---- */

static struct status check_shapes(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *indices = kernel_input(k, 1),
                        *values = kernel_input(k, 2), *lengths = kernel_input(k, 3);
    if (x->shape.rank != 3)
        return INVALID("inputs is not a 3-Tensor");
    if (lengths->shape.rank != 1)
        return INVALID("sequence_length is not a vector");
    if (indices->shape.rank != 2)
        return INVALID("labels_indices is not a matrix");
    if (values->shape.rank != 1)
        return INVALID("labels_values is not a vector");
    if (x->shape.dims[1] != lengths->size)
        return INVALID("len(sequence_length) != batch_size.  len(sequence_length):  %" PRId64
                       " batch_size: %" PRId64,
                       lengths->size, x->shape.dims[1]);
    if (indices->shape.dims[0] != values->size)
        return INVALID("labels_indices and labels_values must contain the same number of rows, but "
                       "saw shapes: %s vs. %s",
                       shape_text(&indices->shape), shape_text(&values->shape));
    if (lengths->size == 0)
        return INVALID("batch_size must not be 0");
    if (indices->shape.dims[1] != 2)
        return INVALID("labels_indices has %" PRId64 " columns instead of 2",
                       indices->shape.dims[1]);
    return status_ok();
}

static struct status check_labels(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 1);
    const int64_t *index = tensor_int64s(indices);
    int64_t sizes[2] = { kernel_input(k, 3)->size, 0 };
    for (int64_t i = 0; i < indices->shape.dims[0]; i++)
        if (index[2 * i + 1] < INT64_MAX && index[2 * i + 1] >= sizes[1])
            sizes[1] = index[2 * i + 1] + 1;
    struct sparse_input labels = { .values = kernel_input(k, 2),
                                   .indices = index,
                                   .sizes = sizes,
                                   .count = indices->shape.dims[0],
                                   .rank = 2 };
    return status_in(sparse_input_check_order(&labels), "label SparseTensor is not valid");
}

static struct status check_lengths(const struct tensor *x, const struct tensor *lengths)
{
    int64_t steps = x->shape.dims[0];
    for (int64_t b = 0; b < lengths->size; b++)
        if (tensor_int32s(lengths)[b] > steps)
            return INVALID("sequence_length(%" PRId64 ") <= %" PRId64, b, steps);
    for (int64_t b = 0; b < lengths->size; b++)
        if (tensor_int32s(lengths)[b] < 0)
            return INVALID("seq_len(%" PRId64 ") < 0", b);
    return status_ok();
}

/* The labels of row b are values[begin … end). */
struct label_range {
    const int32_t *at;
    int64_t count;
};

static struct label_range labels_of(struct kernel_context *k, int64_t b, int64_t *next)
{
    const struct tensor *indices = kernel_input(k, 1);
    struct label_range out = { tensor_int32s(kernel_input(k, 2)) + *next, 0 };
    while (*next < indices->shape.dims[0] && tensor_int64s(indices)[2 * *next] == b) {
        ++*next;
        out.count++;
    }
    return out;
}

static struct status check_label(int32_t label, int64_t classes, int64_t b, bool *finished)
{
    if (label >= classes - 1) {
        *finished = true;
        return status_ok();
    }
    if (*finished)
        return INVALID("Saw a non-null label (index >= num_classes - 1) following a null label, "
                       "batch: %" PRId64 " num_classes: %" PRId64,
                       b, classes);
    if (label < 0)
        return INVALID("All labels must be nonnegative integers, batch: %" PRId64, b);
    return status_ok();
}

/* Writes the labels with blanks around each to out[2 · count + 1]; *path is how many there are. */
static struct status expand(const struct ctc_loss_state *state, struct label_range labels,
                            int64_t classes, int64_t b, int64_t *out, int64_t *path)
{
    bool finished = false;
    *path = 0;
    for (int64_t i = 0; i < labels.count; i++) {
        if (i > 0 && state->collapse_repeated && labels.at[i] == labels.at[i - 1])
            continue;
        TRY(check_label(labels.at[i], classes, b, &finished));
        if (labels.at[i] >= classes - 1)
            continue;
        out[(*path)++] = classes - 1;
        out[(*path)++] = labels.at[i];
    }
    out[(*path)++] = classes - 1;
    return status_ok();
}

static struct status check_row(const struct ctc_loss_state *state, struct label_range labels,
                               int64_t length, int64_t classes, int64_t b, int64_t *scratch)
{
    int64_t path;
    if (labels.count == 0)
        return INVALID("Labels length is zero in batch %" PRId64, b);
    TRY(expand(state, labels, classes, b, scratch, &path));
    if (!state->ignore_longer && labels.count > length)
        return INVALID("Not enough time for target transition sequence (required: %" PRId64
                       ", available: %" PRId64 ")%" PRId64
                       "You can turn this error into a warning by using the flag "
                       "ignore_longer_outputs_than_inputs",
                       labels.count, length, b);
    return status_ok();
}

/* ---- a row ---- */

static void read_probabilities(struct ctc_row *row, const struct tensor *x, int64_t b)
{
    bool single = x->dtype == DT_FLOAT;
    for (int64_t t = 0; t < row->steps; t++) {
        int64_t at = (t * x->shape.dims[1] + b) * row->classes;
        double *y = row->y + t * row->classes, most = floating_element(x, at), sum = 0;
        for (int64_t c = 1; c < row->classes; c++)
            most = fmax(most, floating_element(x, at + c));
        for (int64_t c = 0; c < row->classes; c++)
            sum += y[c] = exp(floating_element(x, at + c) - most);
        for (int64_t c = 0; c < row->classes; c++)
            y[c] = single ? (double)(float)(y[c] / sum) : y[c] / sum;
    }
}

static struct status lose_row(struct kernel_context *k, struct ctc_row *row, int64_t b,
                              struct tensor *loss, struct tensor *gradient)
{
    int64_t table = row->steps * row->path;
    read_probabilities(row, kernel_input(k, 0), b);
    for (int64_t i = 0; i < table; i++)
        row->alpha[i] = row->beta[i] = LOG_ZERO;
    forward(row);
    TRY(kernel_check(k));
    backward(row);
    double total = log_probability(row);
    floating_store(loss, b, -total);
    TRY(kernel_check(k));
    for (int64_t t = 0; t < row->steps; t++) {
        if (total != LOG_ZERO) /* otherwise there is no path, and TensorFlow gives y */
            subtract_expected(row, t, total);
        for (int64_t c = 0; c < row->classes; c++)
            floating_store(gradient, (t * loss->size + b) * row->classes + c,
                           row->y[t * row->classes + c]);
    }
    return status_ok();
}

/* The most labels of any row, and the most labels and steps of the rows that are computed. */
struct ctc_largest {
    int64_t any_labels, labels, steps;
};

/* Memory for the largest row. */
struct ctc_scratch {
    struct tensor labels, y, tables, sums;
};

static struct status make_scratch(struct kernel_context *k, const struct ctc_largest *largest,
                                  struct ctc_scratch *out)
{
    int64_t classes = kernel_input(k, 0)->shape.dims[2];
    int64_t path_dims[] = { 2 * largest->any_labels + 1 }, y_dims[] = { largest->steps, classes },
            table_dims[] = { 2, largest->steps, 2 * largest->labels + 1 };
    struct shape shape, sums = shape_of(classes);
    TRY(shape_check(1, path_dims, &shape));
    TRY(kernel_scratch(k, DT_INT64, &shape, &out->labels));
    TRY(shape_check(2, y_dims, &shape));
    TRY(kernel_scratch(k, DT_DOUBLE, &shape, &out->y));
    TRY(shape_check(3, table_dims, &shape));
    TRY(kernel_scratch(k, DT_DOUBLE, &shape, &out->tables));
    return kernel_scratch(k, DT_DOUBLE, &sums, &out->sums);
}

static bool is_left_out(const struct ctc_loss_state *state, int64_t labels, int64_t length)
{
    return length == 0 || (state->ignore_longer && labels > length);
}

static struct ctc_largest find_largest(struct kernel_context *k)
{
    const struct tensor *lengths = kernel_input(k, 3);
    struct ctc_largest out = { 0 };
    int64_t next = 0;
    for (int64_t b = 0; b < lengths->size; b++) {
        int64_t count = labels_of(k, b, &next).count, length = tensor_int32s(lengths)[b];
        out.any_labels = count > out.any_labels ? count : out.any_labels;
        if (is_left_out(kernel_state(k), count, length))
            continue;
        out.labels = count > out.labels ? count : out.labels;
        out.steps = length > out.steps ? length : out.steps;
    }
    return out;
}

static struct status lose_rows(struct kernel_context *k, struct ctc_scratch *scratch,
                               struct tensor *loss, struct tensor *gradient)
{
    const struct ctc_loss_state *state = kernel_state(k);
    const struct tensor *lengths = kernel_input(k, 3);
    int64_t classes = kernel_input(k, 0)->shape.dims[2], next = 0;
    for (int64_t b = 0; b < lengths->size; b++)
        TRY(check_row(state, labels_of(k, b, &next), tensor_int32s(lengths)[b], classes, b,
                      tensor_int64s_mut(&scratch->labels)));
    next = 0;
    for (int64_t b = 0; b < lengths->size; b++) {
        struct label_range labels = labels_of(k, b, &next);
        struct ctc_row row = { .state = state,
                               .steps = tensor_int32s(lengths)[b],
                               .classes = classes,
                               .labels = tensor_int64s(&scratch->labels),
                               .y = tensor_doubles_mut(&scratch->y),
                               .sums = tensor_doubles_mut(&scratch->sums) };
        if (is_left_out(state, labels.count, row.steps))
            continue;
        TRY(expand(state, labels, classes, b, tensor_int64s_mut(&scratch->labels), &row.path));
        row.alpha = tensor_doubles_mut(&scratch->tables);
        row.beta = row.alpha + row.steps * row.path;
        TRY(lose_row(k, &row, b, loss, gradient));
    }
    return status_ok();
}

static struct status ctc_loss_prepare(struct prepare_context *p)
{
    struct ctc_loss_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    TRY(node_attr_bool(node, "preprocess_collapse_repeated", &state->collapse_repeated));
    TRY(node_attr_bool(node, "ctc_merge_repeated", &state->merge_repeated));
    return node_attr_bool(node, "ignore_longer_outputs_than_inputs", &state->ignore_longer);
}

static struct status ctc_loss_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *lengths = kernel_input(k, 3);
    struct tensor *loss, *gradient;
    struct ctc_scratch scratch = { 0 };
    TRY(check_shapes(k));
    TRY(check_labels(k));
    TRY(check_lengths(x, lengths));
    if (x->shape.dims[2] == 0)
        return INVALID("inputs has no classes");
    TRY(kernel_output(k, 0, &lengths->shape, &loss));
    TRY(kernel_output(k, 1, &x->shape, &gradient));
    memset(loss->data, 0, tensor_bytes(loss));
    if (gradient->size > 0)
        memset(gradient->data, 0, tensor_bytes(gradient));
    struct ctc_largest largest = find_largest(k);
    struct status status = make_scratch(k, &largest, &scratch);
    if (status_is_ok(status))
        status = lose_rows(k, &scratch, loss, gradient);
    tensor_release(&scratch.labels);
    tensor_release(&scratch.y);
    tensor_release(&scratch.tables);
    tensor_release(&scratch.sums);
    return status;
}

static const struct kernel rows[] = {
    { "CTCLoss", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), "T", .prepare = ctc_loss_prepare,
      .compute = ctc_loss_compute, .costly = true },
};
const struct kernel_table kernels_ctc_loss = { rows, COUNT(rows) };
