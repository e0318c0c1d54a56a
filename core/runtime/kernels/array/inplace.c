/*
 * inplace: sets or adds to rows of a matrix: InplaceUpdate, InplaceAdd, InplaceSub; and tensors
 * that only have a shape: Empty, FakeParam. TensorFlow's Inplace ops write into their input; these
 * write into it only if nothing else uses it.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

static struct status check_rows(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *rows = kernel_input(k, 1);
    const struct tensor *v = kernel_input(k, 2);
    if (x->shape.rank < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "x must be at least a vector, not %s",
                            shape_text(&x->shape));
    if (rows->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "i must be a vector. %s",
                            shape_text(&rows->shape));
    if (x->shape.rank != v->shape.rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "x and v shape doesn't match (ranks differ): %s vs. %s",
                            shape_text(&x->shape), shape_text(&v->shape));
    for (int d = 1; d < x->shape.rank; d++)
        if (x->shape.dims[d] != v->shape.dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "x and v shape doesn't match at index %d : %s vs. %s", d,
                                shape_text(&x->shape), shape_text(&v->shape));
    if (rows->size != v->shape.dims[0])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "i and x shape doesn't match at index 0: %s vs. %s",
                            shape_text(&rows->shape), shape_text(&v->shape));
    if (x->shape.dims[0] == 0 && rows->size > 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "x has no rows");
    return status_ok();
}

static struct status rows_compute(struct kernel_context *k)
{
    const char *op = kernel_node(k)->op_name;
    const struct tensor *rows = kernel_input(k, 1), *v = kernel_input(k, 2);
    struct tensor *out;
    TRY(check_rows(k));
    TRY(kernel_output_copy(k, 0, 0, &out));
    int64_t count = out->shape.dims[0], inner = shape_inner(&out->shape, 0);
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < rows->size && inner > 0; i++) {
        int64_t row = (tensor_index(rows, i) % count + count) % count; /* as TensorFlow wraps it */
        const void *from = at_bytes_const(v->data, i * inner, size);
        void *into = at_bytes(out->data, row * inner, size);
        if (strcmp(op, "InplaceUpdate") == 0)
            copy_elements(out->dtype, into, from, inner);
        else
            combine_elements(strcmp(op, "InplaceAdd") == 0 ? COMBINE_ADD : COMBINE_SUBTRACT,
                             out->dtype, from, into, inner);
    }
    return status_ok();
}

static struct status zeros(struct kernel_context *k, const struct shape *shape)
{
    struct tensor *out;
    TRY(kernel_output(k, 0, shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

/* Always zeros, whatever `init` says: what TensorFlow leaves in the memory is of no use. */
static struct status empty_compute(struct kernel_context *k)
{
    const struct tensor *dims = kernel_input(k, 0);
    struct shape shape = { 0 };
    if (dims->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape must be a vector of int32, got %s",
                            shape_text(&dims->shape));
    TRY(kernel_check_rank(k, dims->size));
    for (int64_t i = 0; i < dims->size; i++)
        shape_append(&shape, tensor_index(dims, i));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return zeros(k, &shape);
}

static struct status fake_prepare(struct prepare_context *p)
{
    const struct shape **shape = prepare_state(p, sizeof *shape, NULL);
    return node_attr_shape(prepare_node(p), "shape", shape);
}

/* FakeParam stands for a value that a branch does not compute and nobody reads. An unknown
 * dimension becomes 0. */
static struct status fake_compute(struct kernel_context *k)
{
    const struct shape *const *declared = kernel_state(k);
    struct shape shape = { 0 };
    for (int d = 0; d < (*declared)->rank; d++)
        shape_append(&shape, (*declared)->dims[d] < 0 ? 0 : (*declared)->dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return zeros(k, &shape);
}

static const struct kernel rows[] = {
    { "InplaceUpdate", DTYPES_MOVED, "T", .compute = rows_compute },
    { "InplaceAdd", DTYPES_COMBINED, "T", .compute = rows_compute },
    { "InplaceSub", DTYPES_COMBINED, "T", .compute = rows_compute },
    { "Empty", DTYPES_MOVED, "dtype", .compute = empty_compute },
    { "FakeParam", DTYPES_MOVED, "dtype", .prepare = fake_prepare, .compute = fake_compute },
};
const struct kernel_table kernels_inplace = { rows, COUNT(rows) };
