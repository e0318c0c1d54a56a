/*
 * tensor_list_parts: TensorLists of the parts of a tensor, and back: TensorListScatter,
 * TensorListScatterIntoExistingList, TensorListSplit, TensorListConcat; and TensorListConcatLists,
 * which joins two lists. As in tensor_list_ops.c, elements are views of the tensor.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/lists/tensor_list.h"

/* The shape without its first dimension. */
static struct shape rest_of(const struct shape *shape)
{
    return shape->rank < 1 ? shape_unknown() : shape_make(shape->rank - 1, shape->dims + 1);
}

/* Rows [start, start + count) of a tensor as a view; with `is_row`, one row without its dimension.
 */
static struct tensor rows_view(const struct tensor *tensor, int64_t start, int64_t count,
                               bool is_row)
{
    int64_t inner = shape_inner(&tensor->shape, 0);
    struct tensor view = tensor_acquire(tensor);
    if (is_row)
        view.shape = rest_of(&tensor->shape);
    else
        view.shape.dims[0] = count;
    view.size = count * inner;
    view.data = at_bytes(tensor->data, start * inner, dtype_size(tensor->dtype));
    return view;
}

/* ---- scattering rows ---- */

static struct status check_places(const struct tensor *tensor, const struct tensor *indices,
                                  int64_t *greatest)
{
    if (tensor->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tensor must be at least a vector, but saw shape: %s",
                            shape_text(&tensor->shape));
    if (tensor->shape.dims[0] != indices->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid number of rows in input tensor. Expected: %lld Actual: %lld",
                            (long long)indices->size, (long long)tensor->shape.dims[0]);
    *greatest = -1;
    for (int64_t i = 0; i < indices->size; i++) {
        int64_t index = tensor_index(indices, i);
        if (index < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Indices in TensorListScatter must all be non-negative.");
        *greatest = index > *greatest ? index : *greatest;
    }
    return status_ok();
}

static void put_rows(struct tensor_list *list, const struct tensor *tensor,
                     const struct tensor *indices)
{
    for (int64_t i = 0; i < indices->size; i++) {
        struct tensor *element = &list->elements[tensor_index(indices, i)];
        tensor_release(element);
        *element = rows_view(tensor, i, 1, true);
    }
}

/* The number of elements: an input of the second version; -1, or the first version: as many as
 * needed. */
static struct status scattered_count(struct kernel_context *k, int64_t greatest, int64_t *out)
{
    int64_t count = -1;
    if (kernel_inputs_count(k) > 3)
        TRY(tensor_list_read_count(k, 3, &count));
    if (count < -1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorListScatter expects num_elements >= -1, found: %lld",
                            (long long)count);
    if (count >= 0 && greatest >= count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "TensorListScatter: Trying to scatter at index %lld in list with size "
                            "%lld",
                            (long long)greatest, (long long)count);
    *out = count >= 0 ? count : greatest + 1;
    return status_ok();
}

static struct status scatter_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    const struct tensor *tensor = kernel_input(k, 0), *indices = kernel_input(k, 1);
    struct shape given, merged;
    struct tensor_list *list;
    int64_t greatest, count;
    TRY(tensor_list_read_shape(k, 2, &given));
    TRY(check_places(tensor, indices, &greatest));
    TRY(scattered_count(k, greatest, &count));
    struct shape row = rest_of(&tensor->shape);
    if (!tensor_list_merge(&given, &row, &merged))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Specified a list with shape %s from a tensor with shape %s",
                            shape_text(&given), shape_text(&row));
    TRY(tensor_list_create(k, *dtype, &given, count, &list));
    put_rows(list, tensor, indices);
    return tensor_list_output(k, 0, list);
}

static struct status scatter_into_compute(struct kernel_context *k)
{
    const struct tensor *tensor = kernel_input(k, 1), *indices = kernel_input(k, 2);
    const struct tensor_list *list;
    struct tensor_list *mine;
    int64_t greatest;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    TRY(check_places(tensor, indices, &greatest));
    struct shape row = rest_of(&tensor->shape);
    if (!shape_compatible(&row, &list->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Specified a list with shape %s from a tensor with shape %s",
                            shape_text(&list->shape), shape_text(&row));
    TRY(tensor_list_take(k, 0, &mine));
    struct status status = status_ok();
    if (greatest >= mine->count)
        status = tensor_list_resize(k, mine, greatest + 1);
    if (!status_is_ok(status)) {
        object_release(&mine->object);
        return status;
    }
    put_rows(mine, tensor, indices);
    return tensor_list_output(k, 0, mine);
}

/* ---- splitting ---- */

static struct status check_lengths(const struct tensor *tensor, const struct tensor *lengths)
{
    int64_t at = 0, rows;
    if (lengths->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected lengths to be a vector, received shape: %s",
                            shape_text(&lengths->shape));
    if (tensor->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Tensor must be at least a vector, but saw shape: %s",
                            shape_text(&tensor->shape));
    rows = tensor->shape.dims[0];
    for (int64_t i = 0; i < lengths->size; i++) {
        int64_t length = tensor_index(lengths, i);
        if (length < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Invalid value in lengths: %lld",
                                (long long)length);
        if (length > rows - at) {
            int64_t end;
            if (__builtin_add_overflow(at, length, &end))
                end = INT64_MAX;
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Attempting to slice [%lld, %lld] from tensor with length %lld",
                                (long long)at, (long long)end, (long long)rows);
        }
        at += length;
    }
    if (at != rows)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Unused values in tensor. Length of tensor: %lld Values used: %lld",
                            (long long)rows, (long long)at);
    return status_ok();
}

static struct status split_compute(struct kernel_context *k)
{
    const enum dtype *dtype = kernel_state(k);
    const struct tensor *tensor = kernel_input(k, 0), *lengths = kernel_input(k, 2);
    struct shape given;
    struct tensor_list *list;
    int64_t at = 0;
    TRY(tensor_list_read_shape(k, 1, &given));
    TRY(check_lengths(tensor, lengths));
    struct shape wanted = rest_of(&given), row = rest_of(&tensor->shape);
    if (!shape_compatible(&row, &wanted))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor shape %s is not compatible with element_shape %s",
                            shape_text(&tensor->shape), shape_text(&given));
    TRY(tensor_list_create(k, *dtype, &given, lengths->size, &list));
    for (int64_t i = 0; i < list->count; i++) {
        list->elements[i] = rows_view(tensor, at, tensor_index(lengths, i), false);
        at += tensor_index(lengths, i);
    }
    return tensor_list_output(k, 0, list);
}

/* ---- concatenating ---- */

struct list_concat_state {
    enum dtype dtype;          /* must be first: tensor_list_check_dtype reads it */
    const struct shape *shape; /* of the first version; NULL: input 1 */
};

static struct status concat_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct list_concat_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_type(node, "element_dtype", &state->dtype));
    return node->inputs_count > 1 ? status_ok()
                                  : node_attr_shape(node, "element_shape", &state->shape);
}

/* The shape of a row, as far as the list, the op and the set elements determine it. */
static struct status row_shape(const struct tensor_list *list, const struct shape *shape,
                               struct shape *out)
{
    if (shape->rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Concat requires elements to be at least vectors, found scalars "
                            "instead.");
    *out = rest_of(shape);
    for (int64_t i = 0; i < list->count; i++) {
        const struct tensor *element = &list->elements[i];
        struct shape row = rest_of(&element->shape), merged;
        if (element->dtype == DT_INVALID)
            continue;
        if (element->shape.rank < 1 || !tensor_list_merge(out, &row, &merged))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tried to concat tensors with unequal shapes: %s vs %s",
                                shape_text(out), shape_text(&element->shape));
        *out = merged;
    }
    if (shape_is_known(out))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "All except the first dimension must be fully defined when concating an "
                        "empty tensor list. element_shape: %s",
                        shape_text(shape));
}

/* The rows of element i; of one that is not set, the op says them. */
static struct status element_rows(struct kernel_context *k, const struct tensor_list *list,
                                  const struct shape *shape, int64_t i, int64_t *out)
{
    const struct tensor *leading = kernel_inputs_count(k) > 2 ? kernel_input(k, 2) : NULL;
    int64_t count = leading != NULL ? leading->size : 0;
    if (list->elements[i].dtype != DT_INVALID) {
        *out = list->elements[i].shape.dims[0];
        return status_ok();
    }
    *out = shape->rank > 0 ? shape->dims[0] : -1;
    if (*out < 0 && i >= count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "List contains uninitialized tensor at index %lld but leading_dims has "
                            "only %lld elements.",
                            (long long)i, (long long)count);
    if (*out < 0)
        *out = tensor_index(leading, i);
    if (*out < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "leading_dims[%lld] is %lld", (long long)i,
                            (long long)*out);
    return status_ok();
}

static struct status read_lengths(struct kernel_context *k, const struct tensor_list *list,
                                  const struct shape *shape, struct tensor **lengths,
                                  int64_t *total)
{
    struct shape vector = shape_of(list->count);
    *total = 0;
    TRY(kernel_output(k, 1, &vector, lengths));
    for (int64_t i = 0; i < list->count; i++) {
        int64_t *length = &tensor_int64s_mut(*lengths)[i];
        TRY(element_rows(k, list, shape, i, length));
        if (__builtin_add_overflow(*total, *length, total))
            return status_error(STATUS_RESOURCE_EXHAUSTED, "a concatenation of too many rows");
    }
    return status_ok();
}

static struct status output_of_rows(struct kernel_context *k, int64_t rows, const struct shape *row,
                                    struct tensor **out)
{
    struct shape shape = shape_of(rows);
    TRY(kernel_check_rank(k, row->rank + 1));
    for (int d = 0; d < row->rank; d++)
        shape_append(&shape, row->dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, out));
    if ((*out)->size > 0)
        memset((*out)->data, 0, tensor_bytes(*out)); /* for elements that are not set */
    return status_ok();
}

static struct status concat_compute(struct kernel_context *k)
{
    const struct list_concat_state *state = kernel_state(k);
    const struct tensor_list *list;
    struct shape given = shape_unknown(), shape, row;
    struct tensor *out, *lengths;
    int64_t rows, at = 0;
    TRY(tensor_list_input(k, 0, &list));
    TRY(tensor_list_check_dtype(k, list));
    if (state->shape != NULL)
        given = *state->shape;
    else
        TRY(tensor_list_read_shape(k, 1, &given));
    if (!tensor_list_merge(&given, &list->shape, &shape))
        shape = given; /* pieces of a split may have fewer rows than the list says */
    TRY(row_shape(list, &shape, &row));
    TRY(read_lengths(k, list, &shape, &lengths, &rows));
    TRY(output_of_rows(k, rows, &row, &out));
    int64_t inner = shape_size(&row);
    for (int64_t i = 0; i < list->count && inner > 0; i++) {
        const struct tensor *element = &list->elements[i];
        if (element->dtype != DT_INVALID && element->size > 0)
            copy_elements(out->dtype, at_bytes(out->data, at * inner, dtype_size(out->dtype)),
                          element->data, element->size);
        at += tensor_int64s(lengths)[i];
    }
    return status_ok();
}

/* ---- two lists ---- */

static struct status concat_lists_compute(struct kernel_context *k)
{
    const struct tensor_list *a, *b;
    struct tensor_list *mine;
    struct shape shape;
    TRY(tensor_list_input(k, 0, &a));
    TRY(tensor_list_input(k, 1, &b));
    TRY(tensor_list_check_dtype(k, a));
    TRY(tensor_list_check_dtype(k, b));
    if (!tensor_list_merge(&a->shape, &b->shape, &shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input_a and input_b TensorList element shapes are not equal: %s vs. "
                            "%s",
                            shape_text(&a->shape), shape_text(&b->shape));
    TRY(tensor_list_create(k, a->dtype, &shape, a->count + b->count, &mine));
    for (int64_t i = 0; i < mine->count; i++) {
        const struct tensor *element = i < a->count ? &a->elements[i] : &b->elements[i - a->count];
        if (element->dtype != DT_INVALID)
            mine->elements[i] = tensor_acquire(element);
    }
    return tensor_list_output(k, 0, mine);
}

static const struct kernel rows[] = {
    { "TensorListScatter", DTYPES_MOVED, "element_dtype", .prepare = tensor_list_prepare,
      .compute = scatter_compute },
    { "TensorListScatterV2", DTYPES_MOVED, "element_dtype", .prepare = tensor_list_prepare,
      .compute = scatter_compute },
    { "TensorListScatterIntoExistingList", DTYPES_MOVED, "element_dtype",
      .prepare = tensor_list_prepare, .compute = scatter_into_compute },
    { "TensorListSplit", DTYPES_MOVED, "element_dtype", .prepare = tensor_list_prepare,
      .compute = split_compute },
    { "TensorListConcat", DTYPES_MOVED, "element_dtype", .prepare = concat_prepare,
      .compute = concat_compute },
    { "TensorListConcatV2", DTYPES_MOVED, "element_dtype", .prepare = concat_prepare,
      .compute = concat_compute },
    { "TensorListConcatLists", DTYPES_ALL, "element_dtype", .prepare = tensor_list_prepare,
      .compute = concat_lists_compute },
};
const struct kernel_table kernels_tensor_list_parts = { rows, COUNT(rows) };
