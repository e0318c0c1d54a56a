/*
 * ragged_variant: RaggedTensorToVariant, which puts a ragged tensor or each of its rows into a
 * variant, RaggedTensorFromVariant, which stacks what variants hold, and the gradient of the first.
 * tf.map_fn uses them for ragged elements.
 */
#include <inttypes.h>

#include "base/arena.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_box.h"
#include "runtime/kernels/ragged/ragged_splits.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct ragged_variant_state {
    int rank;           /* of the input or, reading variants, of the output */
    int input_rank;     /* reading: of each variant; -1: follows from the number of dimensions */
    bool batched_input; /* each row becomes a variant */
};

static struct status to_prepare(struct prepare_context *p)
{
    struct ragged_variant_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    state->rank = node->inputs_count - 1;
    return node_attr_bool(node, "batched_input", &state->batched_input);
}

static struct status from_prepare(struct prepare_context *p)
{
    struct ragged_variant_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    int64_t input_rank;
    TRY(node_attr_int32(node, "input_ragged_rank", &input_rank));
    state->input_rank = (int)input_rank;
    state->rank = node->outputs_count - 1;
    return status_ok();
}

/* ---- to variants ---- */

static struct status check_ragged(struct kernel_context *k, int rank)
{
    const struct tensor *values = kernel_input(k, rank);
    if (rank > 0 && values->shape.rank < 1)
        return INVALID("Requires flat_values to have rank>=1 when nested_row_splits is not empty, "
                       "but is 0.");
    for (int i = 0; i < rank; i++)
        TRY(ragged_splits_check(kernel_input(k, i), i + 1 < rank ? kernel_input(k, i + 1)->size - 1
                                                                 : values->shape.dims[0]));
    return status_ok();
}

/* Rows [begin, end) of the values, or the only row without its dimension. */
static struct status slice_values(struct kernel_context *k, const struct tensor *values,
                                  int64_t begin, int64_t end, bool keep_dimension,
                                  struct tensor *out)
{
    struct shape shape = values->shape;
    int64_t inner = shape_inner(&shape, 0);
    shape.dims[0] = end - begin;
    if (!keep_dimension) {
        shape = shape_scalar();
        for (int i = 1; i < values->shape.rank; i++)
            shape_append(&shape, values->shape.dims[i]);
    }
    TRY(kernel_scratch(k, values->dtype, &shape, out));
    if (out->size > 0)
        copy_elements(values->dtype, out->data,
                      (const char *)values->data +
                          (size_t)(begin * inner) * dtype_size(values->dtype),
                      out->size);
    return status_ok();
}

/* The splits [begin, end] of one level, counted from the first. */
static struct status slice_splits(struct kernel_context *k, const struct tensor *splits,
                                  int64_t begin, int64_t end, struct tensor *out)
{
    struct shape shape = shape_of(end - begin + 1);
    TRY(kernel_scratch(k, splits->dtype, &shape, out));
    for (int64_t i = begin; i <= end; i++)
        tensor_set_index(out, i - begin, tensor_index(splits, i) - tensor_index(splits, begin));
    return status_ok();
}

/* The parts of row `row`; `made` counts those that exist, also after a failure. */
static struct status slice_row(struct kernel_context *k, int rank, int64_t row,
                               struct tensor *parts, int *made)
{
    int64_t begin = row, end = row + 1;
    const struct tensor *values = kernel_input(k, rank);
    for (int i = 0; i < rank; i++) {
        if (i > 0) {
            TRY(slice_splits(k, kernel_input(k, i), begin, end, &parts[i - 1]));
            ++*made;
        }
        int64_t first = tensor_index(kernel_input(k, i), begin);
        end = tensor_index(kernel_input(k, i), end);
        begin = first;
    }
    int last = rank > 0 ? rank - 1 : 0;
    TRY(slice_values(k, values, begin, end, rank > 0, &parts[last]));
    ++*made;
    return status_ok();
}

static struct status box_row(struct kernel_context *k, int rank, int64_t row, struct tensor *parts,
                             struct object **out)
{
    int made = 0;
    struct status status = slice_row(k, rank, row, parts, &made);
    if (status_is_ok(status))
        return tensor_box_create(k, BOX_RAGGED, made, parts, out);
    tensors_release(made, parts);
    return status;
}

static struct status box_whole(struct kernel_context *k, int rank, struct tensor *parts)
{
    for (int i = 0; i <= rank; i++)
        parts[i] = tensor_acquire(kernel_input(k, i));
    return tensor_box_output(k, BOX_RAGGED, rank + 1, parts);
}

static struct status to_compute(struct kernel_context *k)
{
    const struct ragged_variant_state *state = kernel_state(k);
    const struct tensor *values = kernel_input(k, state->rank);
    struct tensor *parts = ARENA_ARRAY(kernel_arena(k), struct tensor, state->rank + 1);
    struct tensor *out;
    TRY(check_ragged(k, state->rank));
    if (!state->batched_input)
        return box_whole(k, state->rank, parts);
    if (state->rank == 0 && values->shape.rank == 0)
        return INVALID("Can't unbatch rank-0 tensor.");
    struct shape rows =
        shape_of(state->rank > 0 ? kernel_input(k, 0)->size - 1 : values->shape.dims[0]);
    TRY(kernel_output(k, 0, &rows, &out));
    for (int64_t row = 0; row < out->size; row++) {
        if (row % 1024 == 0)
            TRY(kernel_check(k));
        TRY(box_row(k, state->rank, row, parts, &tensor_variants_mut(out)[row]));
    }
    return status_ok();
}

/* ---- from variants ---- */

static struct status check_rank(const struct ragged_variant_state *state, int dims, int *input_rank)
{
    *input_rank = state->input_rank == -1 ? state->rank - dims : state->input_rank;
    if (*input_rank < -1)
        return INVALID("Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) "
                       "must be >= -1, found output_ragged_rank: %d, encoded_variant.dims(): %d, "
                       "inferred input_ragged_rank: %d",
                       state->rank, dims, *input_rank);
    if (state->rank != dims + *input_rank)
        return INVALID("output_ragged_rank must be equal to input_ragged_rank + "
                       "encoded_ragged.dims(); output_ragged_rank: %d, input_ragged_rank: %d, "
                       "encoded_variant.dims(): %d.",
                       state->rank, *input_rank, dims);
    return status_ok();
}

static struct status check_box(struct kernel_context *k, int64_t i, int input_rank)
{
    const struct tensor *encoded = kernel_input(k, 0);
    const struct tensor_box *box = tensor_box_at(encoded, i, BOX_RAGGED);
    const struct object *object = tensor_variants(encoded)[i];
    enum dtype values, splits;
    TRY(node_attr_type(kernel_node(k), "Tvalues", &values));
    TRY(node_attr_type(kernel_node(k), "Tsplits", &splits));
    if (box == NULL)
        return INVALID("Input Variant element at index %" PRId64
                       " doesn't hold a RaggedTensorVariant: %s",
                       i, object != NULL ? object->type->name : "<unset>");
    if (box->count - 1 != (input_rank < 0 ? 0 : input_rank))
        return INVALID("Encoded input RaggedTensorVariant has ragged_rank=%d.  Expected "
                       "ragged_rank=%d.",
                       box->count - 1, input_rank);
    const struct tensor *last = &box->parts[box->count - 1];
    if (last->dtype != values)
        return INVALID("Expected values Tensor dtype: %s, found: %s", dtype_name(values),
                       dtype_name(last->dtype));
    if (last->shape.rank < 1 && input_rank >= 0 && encoded->shape.rank > 0)
        return INVALID("Ragged values must have rank >= 1; encoded scalar element at index %" PRId64
                       " has values Tensor: Tensor<type: %s shape: []",
                       i, dtype_name(values));
    if (box->count > 1 && box->parts[0].dtype != splits)
        return INVALID("Expected row_splits Tensor dtype: %s, found: %s", dtype_name(splits),
                       dtype_name(box->parts[0].dtype));
    return status_ok();
}

/* The variants to be stacked. */
struct ragged_stack {
    const struct tensor *encoded;
    int input_rank, dims;
};

static const struct tensor_box *box_of(const struct ragged_stack *stack, int64_t i)
{
    return tensor_box_at(stack->encoded, i, BOX_RAGGED);
}

static const struct tensor *values_of(const struct ragged_stack *stack, int64_t i)
{
    const struct tensor_box *box = box_of(stack, i);
    return &box->parts[box->count - 1];
}

/* The rows that a variant adds to the outermost of its dimensions. */
static int64_t rows_of(const struct ragged_stack *stack, int64_t i)
{
    if (stack->input_rank < 0)
        return 1;
    return stack->input_rank > 0 ? box_of(stack, i)->parts[0].size - 1
                                 : values_of(stack, i)->shape.dims[0];
}

static struct status set_split(struct tensor *splits, int64_t i, int64_t value)
{
    if (splits->dtype == DT_INT32 && value > INT32_MAX)
        return INVALID("the result has more values than Tsplits can count");
    tensor_set_index(splits, i, value);
    return status_ok();
}

/* The splits of dimension d of the variant tensor. */
static struct status outer_splits(struct kernel_context *k, const struct ragged_stack *stack, int d)
{
    const struct shape *dims = &stack->encoded->shape;
    bool last = d == stack->dims - 1;
    struct shape shape = shape_of((last ? stack->encoded->size : dims->dims[d]) + 1);
    struct tensor *out;
    TRY(kernel_output(k, d, &shape, &out));
    tensor_set_index(out, 0, 0);
    for (int64_t i = 0, total = 0; i + 1 < out->size; i++) {
        total += last ? rows_of(stack, i) : dims->dims[d + 1];
        TRY(set_split(out, i + 1, total));
    }
    return status_ok();
}

/* The splits of level `level` of the variants, concatenated. */
static struct status inner_splits(struct kernel_context *k, const struct ragged_stack *stack,
                                  int level)
{
    int64_t count = 1, at = 0;
    struct tensor *out;
    for (int64_t i = 0; i < stack->encoded->size; i++)
        count += box_of(stack, i)->parts[level].size - 1;
    struct shape shape = shape_of(count);
    TRY(kernel_output(k, stack->dims + level, &shape, &out));
    tensor_set_index(out, 0, 0);
    for (int64_t i = 0; i < stack->encoded->size; i++) {
        const struct tensor *splits = &box_of(stack, i)->parts[level];
        int64_t before = tensor_index(out, at);
        for (int64_t s = 1; s < splits->size; s++)
            TRY(set_split(out, ++at, before + tensor_index(splits, s)));
    }
    return status_ok();
}

/* The shape of the values of variant i, without the dimension along which they are joined. */
static struct shape row_shape(const struct ragged_stack *stack, int64_t i)
{
    const struct shape *values = &values_of(stack, i)->shape;
    struct shape out = { 0 };
    for (int d = stack->input_rank < 0 ? 0 : 1; d < values->rank; d++)
        shape_append(&out, values->dims[d]);
    return out;
}

static struct status join_shape(const struct ragged_stack *stack, struct shape *out)
{
    const struct shape first = stack->encoded->size > 0 ? row_shape(stack, 0) : (struct shape){ 0 };
    int64_t dims[SHAPE_RANK_MAX + 1] = { 0 };
    for (int64_t i = 0; i < stack->encoded->size; i++) {
        struct shape shape = row_shape(stack, i);
        if (shape.rank != first.rank)
            return INVALID("Rank of values must match for all components; values shape at index 0: "
                           "%s, values shape at index %" PRId64 ": %s",
                           shape_text(&values_of(stack, 0)->shape), i,
                           shape_text(&values_of(stack, i)->shape));
        dims[0] += stack->input_rank < 0 ? 1 : values_of(stack, i)->shape.dims[0];
    }
    for (int64_t i = 0; i < stack->encoded->size; i++) {
        struct shape shape = row_shape(stack, i);
        if (!shape_equal(&shape, &first))
            return INVALID("All flat_values must have compatible shapes.  Shape at index 0: %s.  "
                           "Shape at index %" PRId64 ": %s.  If you are using tf.map_fn, then you "
                           "may need to specify an explicit fn_output_signature with appropriate "
                           "ragged_rank, and/or convert output tensors to RaggedTensors.",
                           shape_text(&first), i, shape_text(&shape));
    }
    for (int d = 0; d < first.rank; d++)
        dims[d + 1] = first.dims[d];
    return shape_check(first.rank + 1, dims, out);
}

static void copy_values(struct tensor *out, int64_t *at, const struct tensor *values)
{
    if (values->size > 0)
        copy_elements(out->dtype, (char *)out->data + (size_t)*at * dtype_size(out->dtype),
                      values->data, values->size);
    *at += values->size;
}

static struct status stack_boxes(struct kernel_context *k, const struct ragged_stack *stack)
{
    const struct ragged_variant_state *state = kernel_state(k);
    struct shape shape;
    struct tensor *out;
    int64_t at = 0;
    for (int d = 0; d < (stack->input_rank < 0 ? stack->dims - 1 : stack->dims); d++)
        TRY(outer_splits(k, stack, d));
    for (int level = 0; level < stack->input_rank; level++)
        TRY(inner_splits(k, stack, level));
    TRY(join_shape(stack, &shape));
    TRY(kernel_output(k, state->rank, &shape, &out));
    for (int64_t i = 0; i < stack->encoded->size; i++)
        copy_values(out, &at, values_of(stack, i));
    return status_ok();
}

static struct status from_compute(struct kernel_context *k)
{
    const struct ragged_variant_state *state = kernel_state(k);
    const struct tensor *encoded = kernel_input(k, 0);
    struct ragged_stack stack = { .encoded = encoded, .dims = encoded->shape.rank };
    TRY(check_rank(state, stack.dims, &stack.input_rank));
    for (int64_t i = 0; i < encoded->size; i++)
        TRY(check_box(k, i, stack.input_rank));
    if (stack.dims > 0)
        return stack_boxes(k, &stack);
    const struct tensor_box *box = box_of(&stack, 0);
    for (int i = 0; i < box->count; i++)
        kernel_output_set(k, i, tensor_acquire(&box->parts[i]));
    return status_ok();
}

/* ---- the gradient of RaggedTensorToVariant ---- */

static struct status gradient_shape(struct kernel_context *k, struct shape *out)
{
    const struct tensor *dims = kernel_input(k, 2);
    int64_t sizes[SHAPE_RANK_MAX];
    if (dims->shape.rank != 1)
        return INVALID("dense_values_shape must be a vector, not of shape %s",
                       shape_text(&dims->shape));
    TRY(kernel_check_rank(k, dims->size));
    for (int64_t i = 0; i < dims->size; i++) {
        sizes[i] = tensor_int32s(dims)[i];
        if (sizes[i] < 0)
            return INVALID("Dimension %" PRId64 " must be >= 0", sizes[i]);
    }
    return shape_check((int)dims->size, sizes, out);
}

/* The elements of variant i: those that it holds, or zeros if no gradient reached it. */
static struct status gradient_piece(struct kernel_context *k, int64_t i, int64_t inner,
                                    struct tensor *out, int64_t *at)
{
    const struct tensor *encoded = kernel_input(k, 0), *splits = kernel_input(k, 1);
    const struct tensor_box *box = tensor_box_at(encoded, i, BOX_RAGGED);
    const struct tensor *values = box != NULL ? &box->parts[box->count - 1] : NULL;
    bool is_only = splits->shape.rank == 0 && encoded->size == 1; /* of a tensor without rows */
    int64_t count;
    if (values == NULL && !is_only && i + 1 >= splits->size)
        return INVALID("no row splits for the gradient of variant %" PRId64, i);
    if (values != NULL)
        count = values->size;
    else if (is_only)
        count = out->size;
    else if (__builtin_mul_overflow(tensor_index(splits, i + 1) - tensor_index(splits, i), inner,
                                    &count))
        count = INT64_MAX;
    if (count < 0 || count > out->size - *at || (values != NULL && values->dtype != out->dtype))
        return INVALID("the gradients of the variants do not fit shape %s",
                       shape_text(&out->shape));
    if (values != NULL)
        copy_values(out, at, values);
    else if (count > 0)
        memset((char *)out->data + (size_t)*at * dtype_size(out->dtype), 0,
               (size_t)count * dtype_size(out->dtype));
    *at += values == NULL ? count : 0;
    return status_ok();
}

static struct status gradient_compute(struct kernel_context *k)
{
    const struct tensor *encoded = kernel_input(k, 0), *splits = kernel_input(k, 1);
    struct shape shape;
    struct tensor *out;
    int64_t at = 0;
    if (splits->shape.rank > 0)
        TRY(ragged_splits_check(splits, -1));
    TRY(gradient_shape(k, &shape));
    int64_t inner = shape.rank > 0 ? shape_inner(&shape, 0) : 1;
    if (encoded->size == 1 && tensor_box_at(encoded, 0, BOX_RAGGED) != NULL) {
        const struct tensor_box *box = tensor_box_at(encoded, 0, BOX_RAGGED);
        enum dtype dtype;
        TRY(node_attr_type(kernel_node(k), "Tvalues", &dtype));
        if (box->parts[box->count - 1].dtype != dtype)
            return INVALID("Expected values Tensor dtype: %s", dtype_name(dtype));
        kernel_output_set(k, 0, tensor_acquire(&box->parts[box->count - 1]));
        return status_ok();
    }
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < encoded->size; i++)
        TRY(gradient_piece(k, i, inner, out, &at));
    if (at != out->size)
        return INVALID("the gradients of the variants do not fit shape %s", shape_text(&shape));
    return status_ok();
}

static const struct kernel rows[] = {
    { "RaggedTensorToVariant", DTYPES_MOVED, "Tvalues", .prepare = to_prepare,
      .compute = to_compute },
    { "RaggedTensorFromVariant", DTYPES_MOVED, "Tvalues", .prepare = from_prepare,
      .compute = from_compute },
    { "RaggedTensorToVariantGradient", DTYPES_MOVED, "Tvalues", .compute = gradient_compute },
};
const struct kernel_table kernels_ragged_variant = { rows, COUNT(rows) };
