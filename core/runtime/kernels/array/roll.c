/* Roll: moves elements along axes; those that leave at one end come in at the other. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* The distance by which each axis is rolled: from 0 to below its size. */
struct shifts {
    int64_t by[SHAPE_RANK_MAX];
    int last; /* the last axis that moves; -1: none */
};

static int64_t modulo(int64_t x, int64_t size)
{
    int64_t rest = x % size;
    return rest < 0 ? rest + size : rest;
}

static struct status find_shifts(const struct kernel_context *k, struct shifts *out)
{
    const struct shape *x = &kernel_input(k, 0)->shape;
    const struct tensor *by = kernel_input(k, 1), *axes = kernel_input(k, 2);
    *out = (struct shifts){ .last = -1 };
    if (x->rank < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 1-D or higher");
    if (by->shape.rank > 1 || axes->shape.rank > 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%s must be a scalar or a 1-D vector. Found: %s",
                            by->shape.rank > 1 ? "shift" : "axis",
                            shape_text(by->shape.rank > 1 ? &by->shape : &axes->shape));
    if (!shape_equal(&by->shape, &axes->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shift and axis must have the same size");
    for (int64_t i = 0; i < by->size; i++) {
        int64_t given = tensor_index(axes, i), axis = given < 0 ? given + x->rank : given;
        if (axis < 0 || axis >= x->rank)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "axis %lld is out of range",
                                (long long)given);
        int64_t size = x->dims[axis] > 0 ? x->dims[axis] : 1;
        out->by[axis] = modulo(out->by[axis] - size + modulo(tensor_index(by, i), size), size);
    }
    for (int d = 0; d < x->rank; d++)
        out->last = out->by[d] != 0 ? d : out->last;
    return status_ok();
}

/* The destination of line `line` of the axes before the last one. */
static int64_t rolled_line(const struct shape *shape, const struct shifts *shifts, int64_t line)
{
    int64_t at = 0, step = 1;
    for (int d = shifts->last - 1; d >= 0; d--) {
        int64_t size = shape->dims[d];
        at += (line % size + shifts->by[d]) % size * step;
        line /= size;
        step *= size;
    }
    return at;
}

static struct status roll_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shifts shifts;
    struct tensor *out;
    TRY(find_shifts(k, &shifts));
    if (shifts.last < 0 || x->size == 0) {
        kernel_output_set(k, 0, kernel_take_input(k, 0));
        return status_ok();
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    int64_t inner = shape_inner(&x->shape, shifts.last);
    int64_t length = x->shape.dims[shifts.last] * inner, moved = shifts.by[shifts.last] * inner;
    int64_t lines = shape_outer(&x->shape, shifts.last);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < lines; i++) {
        const void *from = at_bytes_const(x->data, i * length, size);
        void *to = at_bytes(out->data, rolled_line(&x->shape, &shifts, i) * length, size);
        copy_elements(x->dtype, at_bytes(to, moved, size), from, length - moved);
        copy_elements(x->dtype, to, at_bytes_const(from, length - moved, size), moved);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Roll", DTYPES_ALL, .compute = roll_compute },
};
const struct kernel_table kernels_roll = { rows, COUNT(rows) };
