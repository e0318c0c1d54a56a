/*
 * tensor_list_ops: the TensorList ops. Elements are views and shared buffers: FromTensor, GetItem
 * and SetItem copy nothing.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_list.h"

struct status tensor_list_read_shape(struct kernel_context *k, int input, struct shape *out)
{
    const struct tensor *given = kernel_input(k, input);
    *out = shape_unknown();
    if (given->shape.rank == 0) {
        if (tensor_index(given, 0) == -1)
            return status_ok();
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
    }
    if (given->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "element_shape must be a vector, not %s",
                            shape_text(&given->shape));
    TRY(kernel_check_rank(k, given->size));
    out->rank = 0;
    for (int64_t i = 0; i < given->size; i++) {
        int64_t dim = tensor_index(given, i);
        if (dim < -1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "element_shape has dimension %lld",
                                (long long)dim);
        shape_append(out, dim);
    }
    return status_ok();
}

bool tensor_list_merge(const struct shape *a, const struct shape *b, struct shape *out)
{
    *out = a->rank < 0 ? *b : *a;
    if (a->rank < 0 || b->rank < 0)
        return true;
    if (a->rank != b->rank)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->dims[d] >= 0 && b->dims[d] >= 0 && a->dims[d] != b->dims[d])
            return false;
        out->dims[d] = a->dims[d] >= 0 ? a->dims[d] : b->dims[d];
    }
    return true;
}

struct status tensor_list_prepare(struct prepare_context *p)
{
    enum dtype *dtype = prepare_state(p, sizeof *dtype, NULL);
    return node_attr_type(prepare_node(p), "element_dtype", dtype);
}

struct status tensor_list_read_count(struct kernel_context *k, int input, int64_t *out)
{
    const struct tensor *given = kernel_input(k, input);
    if (given->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input %d must be a scalar, not %s", input,
                            shape_text(&given->shape));
    *out = tensor_index(given, 0);
    return status_ok();
}

/* ---- making ---- */

static struct status reserve_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct shape shape;
    struct tensor_list *list;
    int64_t count = 0;
    TRY(tensor_list_read_shape(k, 0, &shape));
    TRY(tensor_list_read_count(k, 1, &count));
    if (count < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The num_elements to reserve must be a non negative number, but got "
                            "%lld",
                            (long long)count);
    TRY(tensor_list_create(k, *dtype, &shape, count, &list));
    return tensor_list_output(k, 0, list);
}

static struct status empty_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    struct shape shape;
    struct tensor_list *list;
    TRY(tensor_list_read_shape(k, 0, &shape));
    TRY(tensor_list_create(k, *dtype, &shape, 0, &list));
    return tensor_list_output(k, 0, list);
}

/* Element i of a tensor as a view. */
static struct tensor element_view(const struct tensor *tensor, const struct shape *shape, int64_t i)
{
    struct tensor view = tensor_acquire(tensor);
    view.shape = *shape;
    view.size = shape_size(shape);
    view.data = at_bytes(tensor->data, i * view.size, dtype_size(tensor->dtype));
    return view;
}

static struct status from_tensor_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    const struct tensor *tensor = kernel_input(k, 0);
    struct tensor_list *list;
    struct shape given, merged;
    TRY(tensor_list_read_shape(k, 1, &given));
    if (tensor->shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tensor must be at least a vector, but saw shape: []");
    struct shape shape = shape_make(tensor->shape.rank - 1, tensor->shape.dims + 1);
    if (!tensor_list_merge(&given, &shape, &merged))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Specified a list with shape %s from a tensor with shape %s",
                            shape_text(&given), shape_text(&shape));
    TRY(tensor_list_create(k, *dtype, &given, tensor->shape.dims[0], &list));
    for (int64_t i = 0; i < list->count; i++)
        list->elements[i] = element_view(tensor, &shape, i);
    return tensor_list_output(k, 0, list);
}

/* ---- reading ---- */

struct status tensor_list_check_dtype(struct kernel_context *k, const struct tensor_list *list)
{
    const enum dtype *dtype = kernel_state(k);
    if (list->dtype == *dtype)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Invalid data types; op elements %s but list elements %s",
                        dtype_name(*dtype), dtype_name(list->dtype));
}

/* The shape of unset elements: what the list, the op and the set elements know of it. */
static struct status element_shape(const struct tensor_list *list, const struct shape *given,
                                   struct shape *out)
{
    if (!tensor_list_merge(&list->shape, given, out))
        return status_error(STATUS_INVALID_ARGUMENT, "Incompatible shapes during merge: %s vs. %s",
                            shape_text(given), shape_text(&list->shape));
    for (int64_t i = 0; i < list->count && !shape_is_known(out); i++) {
        const struct tensor *element = &list->elements[i];
        struct shape merged;
        if (element->dtype == DT_INVALID)
            continue;
        if (!tensor_list_merge(out, &element->shape, &merged))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tried to stack list which contains tensors of shape %s where %s "
                                "was wanted",
                                shape_text(&element->shape), shape_text(out));
        *out = merged;
    }
    return status_ok();
}

static struct status zeros(struct kernel_context *k, int output, const struct shape *shape)
{
    struct tensor *out;
    struct shape checked;
    TRY(shape_check(shape->rank, shape->dims, &checked));
    TRY(kernel_output(k, output, &checked, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

static struct status get_item_compute(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct shape given, shape;
    int64_t index = 0;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    TRY(tensor_list_read_count(k, 1, &index));
    if (index < 0 || index >= list->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to access element %lld in a list with %lld elements.",
                            (long long)index, (long long)list->count);
    const struct tensor *element = &list->elements[index];
    if (element->dtype != DT_INVALID) {
        kernel_output_set(k, 0, tensor_acquire(element));
        return status_ok();
    }
    TRY(tensor_list_read_shape(k, 2, &given));
    TRY(element_shape(list, &given, &shape));
    if (!shape_is_known(&shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to read an uninitialized tensor but element_shape is not fully "
                            "defined: %s and no uninitialized element has been set",
                            shape_text(&shape));
    return zeros(k, 0, &shape);
}

static struct status length_compute(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(tensor_list_input(k, 0, &list));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_int32s_mut(out)[0] = (int32_t)list->count;
    return status_ok();
}

static struct status element_shape_compute(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct tensor *out;
    TRY(tensor_list_input(k, 0, &list));
    bool unknown = list->shape.rank < 0;
    struct shape shape = unknown ? shape_scalar() : shape_of(list->shape.rank);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int d = 0; d < out->size; d++) {
        int64_t dim = unknown ? -1 : list->shape.dims[d];
        tensor_set_index(out, d, dim);
    }
    return status_ok();
}

/* ---- stacking: elements picks[0 .. count), or the first `count` where picks is NULL ---- */

static struct status stack_elements(struct kernel_context *k, const struct tensor_list *list,
                                    const struct tensor *picks, int64_t count,
                                    const struct shape *shape)
{
    struct shape stacked = { .rank = 0 };
    struct tensor *out;
    TRY(kernel_check_rank(k, shape->rank + 1));
    shape_append(&stacked, count);
    for (int d = 0; d < shape->rank; d++)
        shape_append(&stacked, shape->dims[d]);
    TRY(shape_check(stacked.rank, stacked.dims, &stacked));
    TRY(kernel_output(k, 0, &stacked, &out));
    int64_t each = shape_size(shape);
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < count && each > 0; i++) {
        const struct tensor *element = &list->elements[picks ? tensor_index(picks, i) : i];
        void *to = at_bytes(out->data, i * each, size);
        if (element->dtype == DT_INVALID) {
            memset(to, 0, (size_t)each * size);
            continue;
        }
        if (!shape_equal(&element->shape, shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tried to stack tensors with unequal shapes: %s vs %s",
                                shape_text(shape), shape_text(&element->shape));
        copy_elements(out->dtype, to, element->data, each);
    }
    return status_ok();
}

struct stack_state {
    enum dtype dtype; /* must be first: tensor_list_check_dtype reads it */
    int64_t count;
};

static struct status stack_prepare(struct prepare_context *p)
{
    struct stack_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_type(prepare_node(p), "element_dtype", &state->dtype));
    return node_attr_int32(prepare_node(p), "num_elements", &state->count);
}

static struct status stack_compute(struct kernel_context *k)
{
    const struct stack_state *state = kernel_state(k);
    const struct tensor_list *list;
    struct shape given, shape;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    if (state->count != -1 && state->count != list->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Operation expected a list with %lld elements but got a list with %lld "
                            "elements.",
                            (long long)state->count, (long long)list->count);
    TRY(tensor_list_read_shape(k, 1, &given));
    TRY(element_shape(list, &given, &shape));
    if (!shape_is_known(&shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tried to stack %s list with non-fully-defined element_shape: %s",
                            list->count == 0 ? "elements of an empty"
                                             : "only uninitialized elements of a",
                            shape_text(&shape));
    return stack_elements(k, list, NULL, list->count, &shape);
}

static struct status gather_compute(struct kernel_context *k)
{
    const struct tensor *picks = kernel_input(k, 1);
    const struct tensor_list *list;
    struct shape given, shape;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    TRY(tensor_list_read_shape(k, 2, &given));
    TRY(element_shape(list, &given, &shape));
    if (picks->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "indices must be a vector");
    for (int64_t i = 0; i < picks->size; i++)
        if (tensor_index(picks, i) < 0 || tensor_index(picks, i) >= list->count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Index %lld out o range; list only has %lld elements.",
                                (long long)tensor_index(picks, i), (long long)list->count);
    if (!shape_is_known(&shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tried to gather uninitialized tensors from a list with "
                            "non-fully-defined element_shape: %s",
                            shape_text(&shape));
    return stack_elements(k, list, picks, picks->size, &shape);
}

/* ---- writing ---- */

struct status tensor_list_check_item(const struct tensor_list *list, const struct tensor *item,
                                     const char *verb)
{
    if (list->dtype != item->dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid data types; list elements %s but tried to %s %s",
                            dtype_name(list->dtype), verb, dtype_name(item->dtype));
    if (!shape_compatible(&item->shape, &list->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tried to %s a tensor with incompatible shape %s a list%s Item element "
                            "shape: %s list shape: %s",
                            verb, verb[0] == 's' ? "at" : "to", verb[0] == 's' ? " index." : ".",
                            shape_text(&item->shape), shape_text(&list->shape));
    return status_ok();
}

struct set_state {
    bool resize;
};

static struct status set_item_prepare(struct prepare_context *p)
{
    struct set_state *state = prepare_state(p, sizeof *state, NULL);
    return node_attr_bool(prepare_node(p), "resize_if_index_out_of_bounds", &state->resize);
}

static struct status set_item_compute(struct kernel_context *k)
{
    const struct set_state *state = kernel_state(k);
    const struct tensor_list *list;
    struct tensor_list *mine;
    int64_t index = 0;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_read_count(k, 1, &index));
    if (index < 0 || (index >= list->count && !state->resize))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to modify element %lld in a list with %lld elements.",
                            (long long)index, (long long)list->count);
    TRY(tensor_list_check_item(list, kernel_input(k, 2), "set"));
    TRY(tensor_list_take(k, 0, &mine));
    if (index >= mine->count) {
        struct status status = tensor_list_resize(k, mine, index + 1);
        if (!status_is_ok(status)) {
            object_release(&mine->object);
            return status;
        }
    }
    tensor_release(&mine->elements[index]);
    mine->elements[index] = kernel_take_input(k, 2);
    return tensor_list_output(k, 0, mine);
}

static struct status push_compute(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct tensor_list *mine;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_item(list, kernel_input(k, 1), "append"));
    TRY(tensor_list_take(k, 0, &mine));
    struct status status = tensor_list_resize(k, mine, mine->count + 1);
    if (!status_is_ok(status)) {
        object_release(&mine->object);
        return status;
    }
    mine->elements[mine->count - 1] = kernel_take_input(k, 1);
    return tensor_list_output(k, 0, mine);
}

static struct status pop_compute(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct tensor_list *mine;
    struct shape given, shape;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    TRY(tensor_list_read_shape(k, 1, &given));
    TRY(element_shape(list, &given, &shape));
    if (list->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Trying to pop from an empty list.");
    const struct tensor *last = &list->elements[list->count - 1];
    if (last->dtype != DT_INVALID)
        kernel_output_set(k, 1, tensor_acquire(last));
    else if (shape_is_known(&shape))
        TRY(zeros(k, 1, &shape));
    else
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Trying to read an uninitialized tensor but element_shape is not fully "
                            "defined: %s",
                            shape_text(&shape));
    TRY(tensor_list_take(k, 0, &mine));
    status_ignore(tensor_list_resize(k, mine, mine->count - 1)); /* fewer cannot fail */
    return tensor_list_output(k, 0, mine);
}

static struct status resize_compute(struct kernel_context *k)
{
    struct tensor_list *mine;
    int64_t count = 0;
    TRY(tensor_list_read_count(k, 1, &count));
    if (count < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorListSlice expects size to be non-negative. Got: %lld",
                            (long long)count);
    TRY(tensor_list_take(k, 0, &mine));
    struct status status = tensor_list_resize(k, mine, count);
    if (!status_is_ok(status)) {
        object_release(&mine->object);
        return status;
    }
    return tensor_list_output(k, 0, mine);
}

/* ---- AddN and ZerosLike: in gradients of gradients of loops, also of lists in lists ---- */

/* Both recurse, and visit a list once for each place that holds it. */
#define NESTED_MAX 64

static struct status check_nesting(struct kernel_context *k, int depth)
{
    if (depth <= NESTED_MAX)
        return kernel_check(k);
    return kernel_error(k, STATUS_UNIMPLEMENTED, "lists in lists, more than %d deep", NESTED_MAX);
}

static struct status zero_list(struct kernel_context *k, const struct tensor_list *like, int depth,
                               struct tensor_list **out);

/* Writes zeros like the lists in a tensor of variants. */
static struct status zero_variants(struct kernel_context *k, const struct tensor *like, int depth,
                                   struct tensor *out)
{
    for (int64_t i = 0; i < like->size; i++) {
        const struct tensor_list *list = tensor_list_of(tensor_variants(like)[i]);
        struct tensor_list *made;
        if (list == NULL)
            continue;
        TRY(zero_list(k, list, depth + 1, &made));
        tensor_variants_mut(out)[i] = &made->object;
    }
    return status_ok();
}

static struct status zero_element(struct kernel_context *k, const struct tensor *like, int depth,
                                  struct tensor *out)
{
    struct tensor made;
    TRY(kernel_scratch(k, like->dtype, &like->shape, &made));
    if (made.size > 0)
        memset(made.data, 0, tensor_bytes(&made));
    struct status status = status_ok();
    if (like->dtype == DT_VARIANT)
        status = zero_variants(k, like, depth, &made);
    if (status_is_ok(status))
        *out = made;
    else
        tensor_release(&made);
    return status;
}

static struct status zero_list(struct kernel_context *k, const struct tensor_list *like, int depth,
                               struct tensor_list **out)
{
    struct tensor_list *made;
    TRY(check_nesting(k, depth));
    TRY(tensor_list_create(k, like->dtype, &like->shape, like->count, &made));
    for (int64_t i = 0; i < like->count; i++) {
        if (like->elements[i].dtype == DT_INVALID)
            continue;
        struct status status = zero_element(k, &like->elements[i], depth, &made->elements[i]);
        if (!status_is_ok(status)) {
            object_release(&made->object);
            return status;
        }
    }
    *out = made;
    return status_ok();
}

struct status tensor_list_zeros_like(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct tensor_list *made;
    TRY(tensor_list_input(k, 0, &list));
    TRY(zero_list(k, list, 0, &made));
    return tensor_list_output(k, 0, made);
}

static struct status add_list(struct kernel_context *k, struct tensor_list *mine,
                              const struct tensor_list *other, int depth);

/* Writes the sum of the lists in two tensors of variants. */
static struct status sum_variants(struct kernel_context *k, const struct tensor *a,
                                  const struct tensor *b, int depth, struct tensor *out)
{
    for (int64_t i = 0; i < a->size; i++) {
        const struct tensor_list *list = tensor_list_of(tensor_variants(a)[i]);
        const struct tensor_list *other = tensor_list_of(tensor_variants(b)[i]);
        struct tensor_list *sum;
        if (list == NULL || other == NULL)
            return kernel_error(k, STATUS_UNIMPLEMENTED,
                                "the sum of lists of variants that are no lists");
        TRY(tensor_list_copy(k, list, list->count, &sum));
        tensor_variants_mut(out)[i] = &sum->object;
        TRY(add_list(k, sum, other, depth + 1));
    }
    return status_ok();
}

/* Adds b to *a; an unset element is 0. */
static struct status add_element(struct kernel_context *k, struct tensor *a, const struct tensor *b,
                                 int depth)
{
    struct tensor sum;
    struct status status = status_ok();

    if (b->dtype == DT_INVALID)
        return status_ok();
    if (a->dtype == DT_INVALID) {
        *a = tensor_acquire(b);
        return status_ok();
    }
    if (!shape_equal(&a->shape, &b->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "lists with elements of shapes %s and %s",
                            shape_text(&a->shape), shape_text(&b->shape));
    TRY(kernel_scratch(k, a->dtype, &a->shape, &sum));
    if (a->dtype == DT_VARIANT) {
        if (sum.size > 0)
            memset(sum.data, 0, tensor_bytes(&sum));
        status = sum_variants(k, a, b, depth, &sum);
    } else {
        copy_elements(sum.dtype, sum.data, a->data, a->size);
        combine_elements(COMBINE_ADD, sum.dtype, b->data, sum.data, sum.size);
    }
    tensor_release(status_is_ok(status) ? a : &sum);
    if (status_is_ok(status))
        *a = sum;
    return status;
}

static struct status add_list(struct kernel_context *k, struct tensor_list *mine,
                              const struct tensor_list *other, int depth)
{
    TRY(check_nesting(k, depth));
    if (mine->dtype != other->dtype || mine->count != other->count)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "lists of %lld elements of %s and %lld of %s", (long long)mine->count,
                            dtype_name(mine->dtype), (long long)other->count,
                            dtype_name(other->dtype));
    if (((DTYPES_COMBINED | DTYPES(DT_VARIANT)) & DTYPES(mine->dtype)) == 0)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "the sum of lists of %s",
                            dtype_name(mine->dtype));
    for (int64_t i = 0; i < mine->count; i++)
        TRY(add_element(k, &mine->elements[i], &other->elements[i], depth));
    return status_ok();
}

struct status tensor_list_add_n(struct kernel_context *k)
{
    const struct tensor_list *list;
    struct tensor_list *mine;

    for (int i = 0; i < kernel_inputs_count(k); i++)
        TRY(tensor_list_input(k, i, &list));
    TRY(tensor_list_take(k, 0, &mine));
    for (int i = 1; i < kernel_inputs_count(k); i++) {
        struct status status = tensor_list_input(k, i, &list);
        if (status_is_ok(status))
            status = add_list(k, mine, list, 0);
        if (!status_is_ok(status)) {
            object_release(&mine->object);
            return status;
        }
    }
    return tensor_list_output(k, 0, mine);
}

#define LIST(op, function)                                                  \
    {                                                                       \
        op, DTYPES_ALL, .prepare = tensor_list_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    LIST("TensorListReserve", reserve_compute),
    LIST("EmptyTensorList", empty_compute),
    LIST("TensorListFromTensor", from_tensor_compute),
    LIST("TensorListGetItem", get_item_compute),
    LIST("TensorListGather", gather_compute),
    LIST("TensorListPopBack", pop_compute),
    { "TensorListStack", DTYPES_ALL, .prepare = stack_prepare, .compute = stack_compute },
    { "TensorListSetItem", DTYPES_ALL, .prepare = set_item_prepare, .compute = set_item_compute },
    { "TensorListPushBack", DTYPES_ALL, .compute = push_compute },
    { "TensorListResize", DTYPES_ALL, .compute = resize_compute },
    { "TensorListLength", DTYPES_ALL, .compute = length_compute },
    { "TensorListElementShape", DTYPES_ALL, .compute = element_shape_compute },
};
const struct kernel_table kernels_tensor_list_ops = { rows, COUNT(rows) };
