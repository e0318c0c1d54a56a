/*
 * matrix_diag: MatrixDiag, MatrixDiagPart and MatrixSetDiag: makes, reads and replaces the
 * diagonals k[0] … k[1] of matrices. Diagonal d holds the elements [i, i + d].
 *
 * Several diagonals are the rows of a matrix, the highest one first. Each is as long as the longest
 * one; `align` says at which end of its row a shorter one is stored.
 */
#include <string.h>

#include "runtime/kernels/kernel_tools.h"

struct diag_state {
    bool has_range;                /* V2 and V3: k is an input */
    bool right_above, right_below; /* V3: shorter diagonals are at the end of their row */
};

static struct status diag_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct diag_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes align = bytes_of("LEFT_LEFT");
    char version = node->op_name[strlen(node->op_name) - 1];
    state->has_range = version == '2' || version == '3';
    if (version == '3')
        TRY(node_attr_string(node, "align", &align));
    state->right_above = align.data[0] == 'R';
    state->right_below = align.data[align.size - 1] == 'T' && align.data[align.size - 2] == 'H';
    return status_ok();
}

/* Some diagonals of a matrix. */
struct diagonals {
    const struct diag_state *state;
    int64_t rows, columns;
    int64_t low, high;
    int64_t longest;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t diagonal_length(const struct diagonals *diagonals, int64_t d)
{
    return smaller(diagonals->rows + smaller(0, d), diagonals->columns - (d > 0 ? d : 0));
}

/* Reads k, a number or two, from input `index`. */
static struct status read_range(struct kernel_context *k, int index, struct diagonals *out)
{
    if (!out->state->has_range)
        return status_ok();
    const struct tensor *range = kernel_input(k, index);
    if (range->shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "diag_index must be a scalar or vector, received shape: %s",
                            shape_text(&range->shape));
    if (range->size < 1 || range->size > 2)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT,
            "diag_index must have only one or two elements, received %lld elements.",
            (long long)range->size);
    out->low = tensor_int32s(range)[0];
    out->high = tensor_int32s(range)[range->size - 1];
    if (out->low > out->high)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT,
            "lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
            (long long)out->low, (long long)out->high);
    return status_ok();
}

/* Takes the size of the matrices from input 0. */
static struct status set_matrix(struct kernel_context *k, struct diagonals *out)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    if (shape->rank < 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input must be at least 2-dim, received shape: %s", shape_text(shape));
    out->rows = shape->dims[shape->rank - 2];
    out->columns = shape->dims[shape->rank - 1];
    for (int i = 0; i < 2; i++) {
        int64_t d = i == 0 ? out->low : out->high;
        if (d != 0 && (d <= -out->rows || d >= out->columns))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "%s_diag_index is out of bound: %lld. It must be between %lld and "
                                "%lld",
                                i == 0 ? "lower" : "upper", (long long)d, (long long)-out->rows,
                                (long long)out->columns);
    }
    out->longest =
        smaller(out->rows + smaller(out->high, 0), out->columns - (out->low > 0 ? out->low : 0));
    return status_ok();
}

/* The place of element [i, j] among the diagonals of one matrix; -1: it is on none of them. */
static int64_t place_of(const struct diagonals *diagonals, int64_t i, int64_t j)
{
    const struct diag_state *state = diagonals->state;
    int64_t d = j - i, at = d >= 0 ? i : j;
    if (d < diagonals->low || d > diagonals->high)
        return -1;
    bool left = (d >= 0 && !state->right_above) || (d <= 0 && !state->right_below);
    if (!left)
        at += diagonals->longest - diagonal_length(diagonals, d);
    return (diagonals->high - d) * diagonals->longest + at;
}

static int64_t diagonals_size(const struct diagonals *diagonals)
{
    return (diagonals->high - diagonals->low + 1) * diagonals->longest;
}

/* The shape of the diagonals of matrices in the dimensions `outer`. */
static struct shape diagonals_shape(const struct diagonals *diagonals, const struct shape *matrix)
{
    struct shape shape = shape_make(matrix->rank - 2, matrix->dims);
    if (diagonals->high > diagonals->low)
        shape_append(&shape, diagonals->high - diagonals->low + 1);
    shape_append(&shape, diagonals->longest);
    return shape;
}

/* ---- MatrixDiagPart ---- */

/* MatrixDiagPart, unlike MatrixDiag, takes a vector of one element, too. */
static struct status check_padding(const struct kernel_context *k, int index, int rank_max)
{
    if (index < kernel_inputs_count(k) &&
        (kernel_input(k, index)->size != 1 || kernel_input(k, index)->shape.rank > rank_max))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "padding_value must be a scalar, received shape: %s",
                            shape_text(&kernel_input(k, index)->shape));
    return status_ok();
}

static void pad(const struct kernel_context *k, int index, struct tensor *out)
{
    size_t size = dtype_size(out->dtype);
    if (index < kernel_inputs_count(k))
        repeat_element(out->data, size, kernel_input(k, index)->data, out->size);
    else if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
}

static struct status part_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct diagonals diagonals = { .state = kernel_state(k) };
    struct tensor *out;
    TRY(read_range(k, 1, &diagonals));
    TRY(check_padding(k, 2, SHAPE_RANK_MAX));
    TRY(set_matrix(k, &diagonals));
    struct shape shape = diagonals_shape(&diagonals, &x->shape);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    pad(k, 2, out);
    int64_t matrix = diagonals.rows * diagonals.columns, size = diagonals_size(&diagonals);
    for (int64_t at = 0; at < x->size; at++) {
        int64_t i = at % matrix / diagonals.columns, j = at % diagonals.columns;
        int64_t place = place_of(&diagonals, i, j);
        if (place >= 0)
            copy_element(x, at, out, at / matrix * size + place);
    }
    return status_ok();
}

/* ---- MatrixSetDiag ---- */

static struct status set_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *given = kernel_input(k, 1);
    struct diagonals diagonals = { .state = kernel_state(k) };
    struct tensor *out;
    TRY(read_range(k, 2, &diagonals));
    TRY(set_matrix(k, &diagonals));
    struct shape wanted = diagonals_shape(&diagonals, &x->shape);
    if (!shape_equal(&wanted, &given->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "diagonal must have shape %s, received %s",
                            shape_text(&wanted), shape_text(&given->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t matrix = diagonals.rows * diagonals.columns, size = diagonals_size(&diagonals);
    for (int64_t at = 0; at < x->size; at++) {
        int64_t i = at % matrix / diagonals.columns, j = at % diagonals.columns;
        int64_t place = place_of(&diagonals, i, j);
        if (place >= 0)
            copy_element(given, at / matrix * size + place, out, at);
        else
            copy_element(x, at, out, at);
    }
    return status_ok();
}

/* ---- MatrixDiag ---- */

/* Takes the number of diagonals and their length from input 0. */
static struct status set_diagonals(struct kernel_context *k, struct diagonals *out,
                                   struct shape *outer)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    int own = out->high > out->low ? 2 : 1;
    if (shape->rank < own)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "diagonal must be at least %d-dim, received shape: %s", own,
                            shape_text(shape));
    if (own == 2 && shape->dims[shape->rank - 2] != out->high - out->low + 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The number of diagonals provided in the input does not match the "
                            "lower_diag_index and upper_diag_index range.");
    out->longest = shape->dims[shape->rank - 1];
    *outer = shape_make(shape->rank - own, shape->dims);
    return status_ok();
}

/* Reads the size of the matrices from inputs 2 and 3; -1 is the least that holds the diagonals. */
static struct status read_sizes(struct kernel_context *k, struct diagonals *out)
{
    int64_t least_rows, least_columns, sizes[] = { -1, -1 };
    if (__builtin_sub_overflow(out->longest, smaller(out->high, 0), &least_rows) ||
        __builtin_add_overflow(out->longest, out->low > 0 ? out->low : 0, &least_columns))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "the diagonals are too long: %lld",
                            (long long)out->longest);
    for (int i = 0; i < 2 && out->state->has_range; i++) {
        if (kernel_input(k, 2 + i)->shape.rank != 0)
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT, "%s must be a scalar, received shape: %s",
                i == 0 ? "num_rows" : "num_cols", shape_text(&kernel_input(k, 2 + i)->shape));
        sizes[i] = tensor_int32s(kernel_input(k, 2 + i))[0];
    }
    int64_t square = least_rows > least_columns ? least_rows : least_columns;
    bool is_square = sizes[0] == -1 && sizes[1] == -1;
    out->rows = is_square ? square : sizes[0] == -1 ? least_rows : sizes[0];
    out->columns = is_square ? square : sizes[1] == -1 ? least_columns : sizes[1];
    if (out->rows < least_rows)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "The number of rows is too small.");
    if (out->columns < least_columns)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "The number of columns is too small.");
    if (out->rows != least_rows && out->columns != least_columns)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "The number of rows or columns is not consistent with the specified "
                            "d_lower, d_upper, and diagonal.");
    return status_ok();
}

static struct status diag_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct diagonals diagonals = { .state = kernel_state(k) };
    struct shape shape;
    struct tensor *out;
    TRY(read_range(k, 1, &diagonals));
    TRY(check_padding(k, 4, 0));
    TRY(set_diagonals(k, &diagonals, &shape));
    TRY(read_sizes(k, &diagonals));
    TRY(kernel_check_rank(k, shape.rank + 2));
    shape_append(&shape, diagonals.rows);
    shape_append(&shape, diagonals.columns);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    pad(k, 4, out);
    int64_t matrix = diagonals.rows * diagonals.columns, size = diagonals_size(&diagonals);
    for (int64_t at = 0; at < out->size; at++) {
        int64_t i = at % matrix / diagonals.columns, j = at % diagonals.columns;
        int64_t place = place_of(&diagonals, i, j);
        if (place >= 0)
            copy_element(x, at / matrix * size + place, out, at);
    }
    return status_ok();
}

#define MATRIX(op, function)                                                \
    {                                                                       \
        op, DTYPES_MOVED, "T", .prepare = diag_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    MATRIX("MatrixDiag", diag_compute),          MATRIX("MatrixDiagV2", diag_compute),
    MATRIX("MatrixDiagV3", diag_compute),        MATRIX("MatrixDiagPart", part_compute),
    MATRIX("MatrixDiagPartV2", part_compute),    MATRIX("MatrixDiagPartV3", part_compute),
    MATRIX("MatrixSetDiag", set_compute),        MATRIX("MatrixSetDiagV2", set_compute),
    MATRIX("MatrixSetDiagV3", set_compute),      MATRIX("BatchMatrixDiag", diag_compute),
    MATRIX("BatchMatrixDiagPart", part_compute), MATRIX("BatchMatrixSetDiag", set_compute),
};
const struct kernel_table kernels_matrix_diag = { rows, COUNT(rows) };
