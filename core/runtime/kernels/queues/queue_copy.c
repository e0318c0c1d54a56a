/* queue_copy: rows of a queue from the inputs of an op. */
#include "runtime/kernels/queues/queue.h"

/* The bytes of a row apart from its elements. */
static size_t row_overhead(int count)
{
    return sizeof(struct queue_row) + sizeof(struct queue_row *) +
           (size_t)count * (sizeof(struct tensor) + sizeof(struct tensor_buffer));
}

/* May what holds `held` bytes grow by the inputs? Asked before they are copied. */
static struct status may_grow(struct kernel_context *k, size_t held, int first, int64_t rows)
{
    size_t overhead = row_overhead(kernel_inputs_count(k) - first), more;
    if (__builtin_mul_overflow(overhead, (size_t)rows, &more))
        return kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "%lld rows", (long long)rows);
    for (int i = first; i < kernel_inputs_count(k); i++) {
        TRY(kernel_keep(k, kernel_input(k, i), NULL));
        more += tensor_content_bytes(kernel_input(k, i));
    }
    return kernel_table_may_grow(k, held, more);
}

/* Row `row` of an input of several rows; the whole input if it is negative. Borrowed. */
static struct tensor input_row(const struct tensor *x, int64_t row)
{
    struct shape shape = shape_scalar();
    if (row < 0)
        return tensor_borrow(x->dtype, &x->shape, x->data);
    for (int d = 1; d < x->shape.rank; d++)
        shape_append(&shape, x->shape.dims[d]);
    size_t bytes = (size_t)shape_size(&shape) * dtype_size(x->dtype);
    return tensor_borrow(x->dtype, &shape,
                         bytes > 0 ? (const char *)x->data + bytes * (size_t)row : x->data);
}

static struct status copy_row(struct kernel_context *k, bool has_priorities, int first, int64_t i,
                              struct queue_row *row)
{
    row->bytes = row_overhead(row->count);
    for (int c = 0; c < row->count; c++) {
        struct tensor part = input_row(kernel_input(k, first + c), i);
        TRY(tensor_copy_deep(&part, &row->parts[c]));
        row->bytes += tensor_content_bytes(&part);
        row->elements_bytes += tensor_bytes(&part);
    }
    if (!has_priorities)
        return status_ok();
    if (row->parts[0].size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "the priority of a row must be a scalar, not of shape %s",
                            shape_text(&row->parts[0].shape));
    row->priority = tensor_int64s(&row->parts[0])[0];
    return status_ok();
}

struct status queue_rows_copy(struct kernel_context *k, size_t held, bool has_priorities, int first,
                              int64_t batch, struct queue_rows *out)
{
    int64_t begin = batch < 0 ? -1 : 0, end = batch < 0 ? 0 : batch;
    struct status status = may_grow(k, held, first, end - begin);
    for (int64_t i = begin; i < end && status_is_ok(status); i++) {
        struct queue_row *row = queue_row_create(kernel_inputs_count(k) - first);
        queue_rows_add(out, row);
        status = copy_row(k, has_priorities, first, i, row);
        if (status_is_ok(status) && i % 1024 == 0)
            status = kernel_check(k);
    }
    if (!status_is_ok(status))
        queue_rows_finish(out);
    return status;
}

struct status queue_check_limit(struct kernel_context *k, int first, int64_t limit)
{
    size_t bytes = 0;
    for (int i = first; i < kernel_inputs_count(k); i++)
        bytes += tensor_bytes(kernel_input(k, i));
    if (limit <= 0 || bytes <= (size_t)limit)
        return status_ok();
    return kernel_error(k, STATUS_RESOURCE_EXHAUSTED,
                        "Attempted to insert tensors with combined size of '%zu' bytes into "
                        "Staging Area with a memory limit of '%lld'.",
                        bytes, (long long)limit);
}
