/* xla_pad: XlaPad, and the padding that convolutions and windows begin with. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/einsum.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/dimension_numbers.h"
#include "runtime/kernels/xla/padding.h"

struct status padding_pairs(const struct kernel_context *k, int input, int count, int64_t *low,
                            int64_t *high)
{
    const struct tensor *pairs = kernel_input(k, input);
    if (pairs->shape.rank != 2 || pairs->shape.dims[0] != count || pairs->shape.dims[1] != 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "padding must be a [%d,2] matrix, but its shape is %s", count,
                            shape_text(&pairs->shape));
    for (int i = 0; i < count; i++) {
        low[i] = tensor_index(pairs, 2 * i);
        high[i] = tensor_index(pairs, 2 * i + 1);
        if (low[i] < -INT32_MAX || low[i] > INT32_MAX || high[i] < -INT32_MAX ||
            high[i] > INT32_MAX)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "padding holds %lld and %lld",
                                (long long)low[i], (long long)high[i]);
    }
    return status_ok();
}

bool padding_changes(const struct xla_padding *padding, int rank)
{
    for (int d = 0; d < rank; d++)
        if (padding->low[d] != 0 || padding->high[d] != 0 || padding->interior[d] != 0)
            return true;
    return false;
}

struct status padding_shape(const struct kernel_context *k, const struct shape *shape,
                            const struct xla_padding *padding, struct shape *out)
{
    int64_t dims[SHAPE_RANK_MAX];
    for (int d = 0; d < shape->rank; d++) {
        int64_t n = shape->dims[d], between, around;
        if (__builtin_mul_overflow(n > 0 ? n - 1 : 0, padding->interior[d], &between) ||
            __builtin_add_overflow(n, padding->low[d] + padding->high[d], &around) ||
            __builtin_add_overflow(between, around, &dims[d]) || dims[d] < 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "padding %lld, %lld and %lld does not fit dimension %d of %s",
                                (long long)padding->low[d], (long long)padding->high[d],
                                (long long)padding->interior[d], d, shape_text(shape));
    }
    return shape_check(shape->rank, dims, out);
}

/* The elements of x that stay, as loops over x (array 0) and out (array 2). False: there are none.
 */
static bool find_kept(const struct tensor *x, const struct xla_padding *padding,
                      const struct tensor *out, struct nest *nest, int64_t *from, int64_t *to)
{
    int64_t x_strides[SHAPE_RANK_MAX], out_strides[SHAPE_RANK_MAX];
    dense_strides(&x->shape, x_strides);
    dense_strides(&out->shape, out_strides);
    *nest = (struct nest){ 0 };
    *from = *to = 0;
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t step = padding->interior[d] + 1, low = padding->low[d];
        int64_t first = low < 0 ? (-low + step - 1) / step : 0;
        int64_t room = out->shape.dims[d] - (low + first * step); /* from the first one on */
        int64_t count = room > 0 ? (room - 1) / step + 1 : 0;
        if (count > x->shape.dims[d] - first)
            count = x->shape.dims[d] - first;
        if (count <= 0)
            return false;
        nest_append(nest, count, x_strides[d], 0, stride_of_steps(out_strides[d], step));
        *from += first * x_strides[d];
        *to += (low + first * step) * out_strides[d];
    }
    return true;
}

void padding_apply(const struct tensor *x, const void *value, const struct xla_padding *padding,
                   struct tensor *out)
{
    size_t bytes = dtype_size(x->dtype);
    struct nest_walk walk = { 0 };
    struct nest nest;
    int64_t from, to, run = 1;
    repeat_element(out->data, bytes, value, out->size);
    if (x->size == 0 || out->size == 0 || !find_kept(x, padding, out, &nest, &from, &to))
        return;
    if (nest.rank > 0 && nest.strides[nest.rank - 1][2] == 1)
        run = nest.dims[--nest.rank];
    do
        memcpy(at_bytes(out->data, to + walk.offsets[2], bytes),
               at_bytes_const(x->data, from + walk.offsets[0], bytes), (size_t)run * bytes);
    while (nest_next(&nest, &walk));
}

static struct status pad_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *value;
    struct xla_padding padding;
    struct shape shape;
    struct tensor *out;
    int rank = x->shape.rank;
    TRY(kernel_scalar(k, 1, "padding_value", &value));
    TRY(dimension_values(k, 2, "padding_low", rank, -INT32_MAX, padding.low));
    TRY(dimension_values(k, 3, "padding_high", rank, -INT32_MAX, padding.high));
    TRY(dimension_values(k, 4, "padding_interior", rank, 0, padding.interior));
    TRY(padding_shape(k, &x->shape, &padding, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    padding_apply(x, value->data, &padding, out);
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaPad", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL), .compute = pad_compute },
};
const struct kernel_table kernels_xla_pad = { rows, COUNT(rows) };
