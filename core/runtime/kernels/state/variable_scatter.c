/*
 * variable_scatter: rows or slices of a variable that are set or combined: ScatterUpdate, …Add,
 * …Sub, …Mul, …Div, …Min, …Max, the same with ND indices, and the same on resource variables.
 * Indices are checked before the first change, so that a bad one changes nothing.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"
#include "runtime/kernels/state/variable.h"

/* A scalar update is applied to all elements of the rows that the indices name. A small request
 * may therefore cause much work, and the loop checks the deadline after every so many elements. */
#define ELEMENTS_PER_CHECK (1 << 20)

struct variable_scatter_state {
    bool sets; /* …Update; the others combine */
    enum combine combine;
    bool skips; /* an ND index out of range is skipped */
};

static struct variable_scatter_state state_of(const char *op)
{
    static const struct {
        const char *verb;
        struct variable_scatter_state state;
    } verbs[] = {
        { "Update", { .sets = true } },
        { "Add", { .combine = COMBINE_ADD } },
        { "Sub", { .combine = COMBINE_SUBTRACT } },
        { "Mul", { .combine = COMBINE_MULTIPLY } },
        { "Div", { .combine = COMBINE_DIVIDE } },
        { "Max", { .combine = COMBINE_MAX_FIRST } },
        { "Min", { .combine = COMBINE_MIN_FIRST } },
    };
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (strstr(op, verbs[i].verb) != NULL)
            return verbs[i].state;
    return (struct variable_scatter_state){ 0 };
}

static struct status scatter_prepare(struct prepare_context *p)
{
    struct variable_scatter_state *state = prepare_state(p, sizeof *state, NULL);
    *state = state_of(prepare_node(p)->op_name);
    return status_ok();
}

static struct status scatter_nd_prepare(struct prepare_context *p)
{
    struct variable_scatter_state *state = prepare_state(p, sizeof *state, NULL);
    *state = state_of(prepare_node(p)->op_name);
    return nd_index_prepare(p, &state->skips);
}

/* The inputs of a node, and how far it has got. */
struct scatter {
    struct kernel_context *context;
    const struct variable_scatter_state *state;
    const struct tensor *indices, *updates;
    bool may_stop; /* if the deadline passes: what is changed is thrown away then */
    int64_t since_check;
};

static struct scatter scatter_of(struct kernel_context *k)
{
    return (struct scatter){ k, kernel_state(k), kernel_input(k, 1), kernel_input(k, 2), false, 0 };
}

/* A variable must not keep half an update. One that costs less than a copy of the variable is
 * finished whatever the time. A longer one may stop, so it changes a copy, `target`. */
static struct status begin_change(struct scatter *scatter, struct tensor *value, int64_t places,
                                  int64_t inner, struct tensor *target)
{
    int64_t elements;
    if (__builtin_mul_overflow(places, inner, &elements))
        elements = INT64_MAX;
    scatter->may_stop = elements > ELEMENTS_PER_CHECK && elements > value->size;
    if (scatter->may_stop)
        return tensor_copy_deep(value, target);
    *target = *value;
    return status_ok();
}

static struct status end_change(const struct scatter *scatter, struct tensor *value,
                                struct tensor *target, struct status status)
{
    if (!scatter->may_stop)
        return status;
    struct tensor *unused = status_is_ok(status) ? value : target;
    tensor_release(unused);
    if (unused == value)
        *value = *target;
    return status;
}

/* A sum of booleans is their `or`; a difference is their `xor`. */
static void combine_truth(enum combine op, const bool *x, bool *into, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        into[i] = op == COMBINE_SUBTRACT ? into[i] != x[i] : into[i] || x[i];
}

/* Puts `count` elements of the update into those at `at` of the value. */
static struct status put(struct scatter *scatter, struct tensor *value, int64_t at,
                         const void *update, int64_t count)
{
    void *into = at_bytes(value->data, at, dtype_size(value->dtype));
    if (scatter->state->sets)
        copy_elements(value->dtype, into, update, count);
    else if (value->dtype == DT_BOOL)
        combine_truth(scatter->state->combine, update, into, count);
    else
        combine_elements(scatter->state->combine, value->dtype, update, into, count);
    scatter->since_check += count;
    if (!scatter->may_stop || scatter->since_check < ELEMENTS_PER_CHECK)
        return status_ok();
    scatter->since_check = 0;
    return kernel_check(scatter->context);
}

/* ---- rows ---- */

static bool holds_zero(const struct tensor *x)
{
    static const char zero[16];
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < x->size; i++)
        if (dtype_is_floating(x->dtype) ? floating_element(x, i) == 0
                                        : memcmp(at_bytes_const(x->data, i, size), zero, size) == 0)
            return true;
    return false;
}

/* TensorFlow refuses zeros for resources. With references, it crashes on a zero among integers. */
static struct status check_divisors(const struct scatter *scatter, bool is_resource)
{
    const struct tensor *updates = scatter->updates;
    bool divides = !scatter->state->sets && scatter->state->combine == COMBINE_DIVIDE;
    if (divides && (is_resource || !dtype_is_floating(updates->dtype)) && holds_zero(updates))
        return status_error(STATUS_INVALID_ARGUMENT, "updates must not contain 0");
    return status_ok();
}

static struct status check_rows(const struct scatter *scatter, const struct shape *value)
{
    const struct shape *indices = &scatter->indices->shape, *updates = &scatter->updates->shape;
    bool is_resource = kernel_outputs_count(scatter->context) == 0;
    TRY(check_divisors(scatter, is_resource));
    if (value->rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "params must be at least 1-D, got shape %s",
                            shape_text(value));
    if (updates->rank == 0)
        return nd_index_check_rows(scatter->indices, value->dims[0]);
    bool is_prefix = indices->rank <= updates->rank;
    for (int d = 0; is_prefix && d < indices->rank; d++)
        is_prefix = indices->dims[d] == updates->dims[d];
    if (is_resource && !is_prefix)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The shape of indices (%s) must be a prefix of the shape of updates "
                            "(%s)",
                            shape_text(indices), shape_text(updates));
    bool fits = is_prefix && updates->rank - indices->rank == value->rank - 1;
    for (int d = 1; fits && d < value->rank; d++)
        fits = updates->dims[indices->rank + d - 1] == value->dims[d];
    if (!fits)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Must have updates.shape = indices.shape + params.shape[1:] or "
                            "updates.shape = [], got updates.shape %s, indices.shape %s, "
                            "params.shape %s",
                            shape_text(updates), shape_text(indices), shape_text(value));
    return nd_index_check_rows(scatter->indices, value->dims[0]);
}

/* A row of the value that repeats a scalar. */
static struct status repeat_scalar(struct kernel_context *k, const struct tensor *scalar,
                                   int64_t count, struct tensor *row)
{
    struct shape shape = shape_of(count);
    TRY(kernel_scratch(k, scalar->dtype, &shape, row));
    repeat_element(row->data, dtype_size(scalar->dtype), scalar->data, count);
    return status_ok();
}

static struct status scatter_rows(void *argument, struct tensor *value)
{
    struct scatter *scatter = argument;
    const struct tensor *indices = scatter->indices, *updates = scatter->updates;
    TRY(check_rows(scatter, &value->shape));
    int64_t inner = shape_inner(&value->shape, 0), step = updates->shape.rank > 0 ? inner : 0;
    struct tensor row = { 0 }, target;
    if (inner == 0)
        return status_ok();
    if (updates->shape.rank == 0)
        TRY(repeat_scalar(scatter->context, updates, inner, &row));
    const void *from = updates->shape.rank == 0 ? row.data : updates->data;
    struct status status = begin_change(scatter, value, indices->size, inner, &target);
    if (status_is_ok(status)) {
        for (int64_t i = 0; i < indices->size && status_is_ok(status); i++)
            status = put(scatter, &target, tensor_index(indices, i) * inner,
                         at_bytes_const(from, i * step, dtype_size(value->dtype)), inner);
        status = end_change(scatter, value, &target, status);
    }
    tensor_release(&row);
    return status;
}

static struct status scatter_compute(struct kernel_context *k)
{
    struct scatter scatter = scatter_of(k);
    return kernel_change_variable(k, scatter.updates->dtype, scatter_rows, &scatter);
}

/* ---- slices by ND indices ---- */

struct nd_places {
    int64_t count, depth;
    int outer; /* dimensions of the updates that name a place */
};

/* TensorFlow takes the first element of a vector for a row of the value, and ignores the others. */
static struct nd_places places_of(const struct shape *indices)
{
    int last = indices->rank - 1;
    if (last == 0)
        return (struct nd_places){ .count = indices->dims[0] > 0, .depth = 1, .outer = 1 };
    return (struct nd_places){ shape_outer(indices, last), indices->dims[last], last };
}

static struct status check_outer(const struct shape *indices, const struct shape *updates,
                                 const struct nd_places *places)
{
    for (int d = 0; d < places->outer; d++)
        if (d >= updates->rank || indices->dims[d] != updates->dims[d])
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Dimensions [0,%d) of indices[shape=%s] = %lld must match dimensions [0,%d) of "
                "updates[shape=%s] = %lld",
                places->outer, shape_text(indices), (long long)indices->dims[d], places->outer,
                shape_text(updates), d < updates->rank ? (long long)updates->dims[d] : 0);
    return status_ok();
}

static struct status check_slices(const struct scatter *scatter, const struct shape *value,
                                  const struct nd_places *places)
{
    const struct shape *indices = &scatter->indices->shape, *updates = &scatter->updates->shape;
    TRY(check_outer(indices, updates, places));
    bool fits = places->depth <= value->rank &&
                updates->rank - places->outer == value->rank - (int)places->depth;
    for (int d = (int)places->depth; fits && d < value->rank; d++)
        fits = value->dims[d] == updates->dims[places->outer + d - (int)places->depth];
    if (!fits)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Dimensions [%lld,%d) of input[shape=%s] must match dimensions "
                            "[%lld,%d) of updates[shape=%s]",
                            (long long)places->depth, value->rank, shape_text(value),
                            (long long)places->depth, updates->rank, shape_text(updates));
    if (shape_size(value) == 0 && (shape_size(indices) > 0 || shape_size(updates) > 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Indices and updates specified for empty output.  indices shape: %s",
                            shape_text(indices));
    return status_ok();
}

static struct status scatter_slices(void *argument, struct tensor *value)
{
    struct scatter *scatter = argument;
    const struct tensor *indices = scatter->indices;
    size_t size = dtype_size(value->dtype);
    int64_t at, inner = 1;
    if (indices->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "indices must be at least a vector");
    struct nd_places places = places_of(&indices->shape);
    TRY(check_slices(scatter, &value->shape, &places));
    for (int d = (int)places.depth; d < value->shape.rank; d++)
        inner *= value->shape.dims[d];
    if (value->size == 0)
        return status_ok();
    for (int64_t i = places.count - 1; i >= 0; i--) /* TensorFlow names the last one */
        TRY(nd_index_read(indices, i, places.depth, &value->shape, scatter->state->skips, &at));
    struct tensor target;
    struct status status = status_ok();
    TRY(begin_change(scatter, value, places.count, inner, &target));
    for (int64_t i = 0; i < places.count && status_is_ok(status); i++)
        if (nd_index_find(indices, i, places.depth, &value->shape, &at))
            status = put(scatter, &target, at * inner,
                         at_bytes_const(scatter->updates->data, i * inner, size), inner);
    return end_change(scatter, value, &target, status);
}

static struct status scatter_nd_compute(struct kernel_context *k)
{
    struct scatter scatter = scatter_of(k);
    return kernel_change_variable(k, scatter.updates->dtype, scatter_slices, &scatter);
}

/* Scatters into a copy of a tensor instead of a variable. */
static struct status scatter_copy_compute(struct kernel_context *k)
{
    struct scatter scatter = scatter_of(k);
    struct tensor *out;
    TRY(kernel_output_copy(k, 0, 0, &out));
    return scatter_slices(&scatter, out);
}

#define ROWS(op, dtypes)                                                                   \
    { "Scatter" op, dtypes, "T", .prepare = scatter_prepare, .compute = scatter_compute }, \
    {                                                                                      \
        "ResourceScatter" op, dtypes, "dtype", .prepare = scatter_prepare,                 \
                                               .compute = scatter_compute                  \
    }
#define SLICES(op, dtypes)                                                                         \
    { "ScatterNd" op, dtypes, "T", .prepare = scatter_nd_prepare, .compute = scatter_nd_compute }, \
    {                                                                                              \
        "ResourceScatterNd" op, dtypes, "T", .prepare = scatter_nd_prepare,                        \
                                             .compute = scatter_nd_compute                         \
    }
static const struct kernel rows[] = {
    ROWS("Update", DTYPES_MOVED),
    ROWS("Add", DTYPES_COMBINED),
    ROWS("Sub", DTYPES_COMBINED),
    ROWS("Mul", DTYPES_COMBINED),
    ROWS("Div", DTYPES_COMBINED),
    ROWS("Min", DTYPES_REAL),
    ROWS("Max", DTYPES_REAL),
    SLICES("Update", DTYPES_MOVED),
    SLICES("Add", DTYPES_COMBINED | DTYPES(DT_BOOL)),
    SLICES("Sub", DTYPES_COMBINED | DTYPES(DT_BOOL)),
    SLICES("Min", DTYPES_REAL),
    SLICES("Max", DTYPES_REAL),
    { "ScatterNdNonAliasingAdd", DTYPES_COMBINED | DTYPES(DT_BOOL), "T",
      .prepare = scatter_nd_prepare, .compute = scatter_copy_compute },
};
const struct kernel_table kernels_variable_scatter = { rows, COUNT(rows) };
