/*
 * select: Select, SelectV2 and Where: elements chosen by a bool. Elements are moved by their size;
 * their type does not matter, but objects get owners.
 */
#include <complex.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/types.h"

/* GCC makes vectors of the first loop if the condition is a byte, not a bool, and if both values
 * are read for every element. */
#define SELECT_ROW(name, T, attributes)                                                     \
    attributes static void name(const void *c_, const void *t_, const void *e_, void *out_, \
                                int64_t count, const int *steps)                            \
    {                                                                                       \
        const uint8_t *c = c_;                                                              \
        const T *t = t_, *e = e_;                                                           \
        T *out = out_;                                                                      \
        if (steps[0] == 1 && steps[1] == 1 && steps[2] == 0) { /* a mask, as attention's */ \
            T other = *e;                                                                   \
            IVDEP for (int64_t i = 0; i < count; i++)                                       \
            {                                                                               \
                T value = t[i];                                                             \
                out[i] = c[i] != 0 ? value : other;                                         \
            }                                                                               \
            return;                                                                         \
        }                                                                                   \
        for (int64_t i = 0; i < count; i++)                                                 \
            out[i] = c[i * steps[0]] ? t[i * steps[1]] : e[i * steps[2]];                   \
    }
SELECT_ROW(select_1, uint8_t, )
SELECT_ROW(select_2, uint16_t, )
SELECT_ROW(select_4, uint32_t, SIMD)
SELECT_ROW(select_8, uint64_t, SIMD)
SELECT_ROW(select_16, struct wide_element, )

static void select_row(size_t size, const bool *c, const void *t, const void *e, void *out,
                       int64_t count, const int *steps)
{
    switch (size) {
    case 1:
        select_1(c, t, e, out, count, steps);
        break;
    case 2:
        select_2(c, t, e, out, count, steps);
        break;
    case 4:
        select_4(c, t, e, out, count, steps);
        break;
    case 8:
        select_8(c, t, e, out, count, steps);
        break;
    default:
        select_16(c, t, e, out, count, steps);
        break;
    }
}

static struct status select_broadcast(struct kernel_context *k, const struct shape *condition_shape)
{
    const struct tensor *c = kernel_input(k, 0), *t = kernel_input(k, 1), *e = kernel_input(k, 2);
    struct tensor *out;
    struct shape values, shape;
    if (!status_is_ok(shape_broadcast(&t->shape, &e->shape, &values)) ||
        !status_is_ok(shape_broadcast(condition_shape, &values, &shape)))
        return status_error(
            STATUS_INVALID_ARGUMENT, "condition %s, then %s, and else %s must be broadcastable",
            shape_text(condition_shape), shape_text(&t->shape), shape_text(&e->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    struct broadcast broadcast;
    broadcast_init(&broadcast, &shape, 3,
                   (const struct shape *[]){ condition_shape, &t->shape, &e->shape });
    int steps[] = { broadcast_step(&broadcast, 0), broadcast_step(&broadcast, 1),
                    broadcast_step(&broadcast, 2) };
    struct broadcast_walk walk = { 0 };
    int64_t row = broadcast_row(&broadcast), done = 0;
    size_t size = dtype_size(out->dtype);
    do {
        select_row(size, tensor_bools(c) + walk.offsets[0],
                   at_bytes_const(t->data, walk.offsets[1], size),
                   at_bytes_const(e->data, walk.offsets[2], size), at_bytes(out->data, done, size),
                   row, steps);
        done += row;
    } while (broadcast_next(&broadcast, &walk));
    hold_elements(out->dtype, out->data, out->size);
    return status_ok();
}

static struct status select_v2_compute(struct kernel_context *k)
{
    return select_broadcast(k, &kernel_input(k, 0)->shape);
}

/* Select: equal shapes, a scalar condition, or a vector with one condition per row. */
static struct status select_compute(struct kernel_context *k)
{
    const struct tensor *c = kernel_input(k, 0), *t = kernel_input(k, 1), *e = kernel_input(k, 2);
    struct shape condition = c->shape;
    if (!shape_equal(&t->shape, &e->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'then' and 'else' must have the same size.  but received: %s vs. %s",
                            shape_text(&t->shape), shape_text(&e->shape));
    if (c->shape.rank != 0 && !shape_equal(&c->shape, &t->shape)) {
        if (c->shape.rank != 1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "'cond' must be a vector, but saw shape: %s",
                                shape_text(&c->shape));
        if (t->shape.rank == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "'then' must be at least a vector, but saw shape: %s",
                                shape_text(&t->shape));
        if (t->shape.dims[0] != c->size)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Number of batches of 'then' must match size of 'cond', but saw: %lld vs. %lld",
                (long long)t->shape.dims[0], (long long)c->size);
        for (int i = 1; i < t->shape.rank; i++)
            shape_append(&condition, 1);
    }
    return select_broadcast(k, &condition);
}

/* ---- Where: the places of what is not zero ---- */

static inline bool is_nonzero(enum dtype dtype, size_t bytes, const void *x, int64_t i)
{
    if (bytes == 1)
        return ((const uint8_t *)x)[i] != 0;
    if (dtype == DT_FLOAT)
        return ((const float *)x)[i] != 0;
    if (dtype == DT_DOUBLE)
        return ((const double *)x)[i] != 0;
    if (dtype == DT_COMPLEX64)
        return ((const float complex *)x)[i] != 0;
    if (dtype == DT_COMPLEX128)
        return ((const double complex *)x)[i] != 0;
    if (bytes == 2)
        return (((const uint16_t *)x)[i] & (dtype_is_half(dtype) ? 0x7fff : 0xffff)) != 0;
    if (bytes == 4)
        return ((const uint32_t *)x)[i] != 0;
    return ((const uint64_t *)x)[i] != 0;
}

static struct status where_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    int64_t count = 0;
    if (x->shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "WhereOp : Unhandled input dimensions: 0");
    size_t bytes = dtype_size(x->dtype);
    for (int64_t i = 0; i < x->size; i++)
        count += is_nonzero(x->dtype, bytes, x->data, i);
    struct shape shape = shape_of(count, x->shape.rank);
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t *index = tensor_int64s_mut(out);
    for (int64_t i = 0; i < x->size; i++) {
        if (!is_nonzero(x->dtype, bytes, x->data, i))
            continue;
        int64_t rest = i;
        for (int d = x->shape.rank - 1; d > 0; d--) {
            index[d] = rest % x->shape.dims[d];
            rest /= x->shape.dims[d];
        }
        index[0] = rest;
        index += x->shape.rank;
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "SelectV2", DTYPES_ALL, .compute = select_v2_compute },
    { "Select", DTYPES_ALL, .compute = select_compute },
    { "Where", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL), .compute = where_compute },
};
const struct kernel_table kernels_select = { rows, COUNT(rows) };
