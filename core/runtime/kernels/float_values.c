#include "runtime/kernels/float_values.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/plain/types.h"

#define TO_FLOATS(s, T, W)                                              \
    static void to_floats_##s(const void *x, float *out, int64_t count) \
    {                                                                   \
        for (int64_t i = 0; i < count; i++)                             \
            out[i] = (float)((const T *)x)[i];                          \
    }
REAL_TYPES(TO_FLOATS)

typedef void to_floats(const void *x, float *out, int64_t count);
static to_floats *const to_floats_of[DTYPE_COUNT] = { ROWS_REAL(to_floats) };

struct status float_values(struct kernel_context *k, const struct tensor *x, struct tensor *out)
{
    if (x->dtype == DT_FLOAT) {
        *out = tensor_acquire(x);
        return status_ok();
    }
    TRY(kernel_scratch(k, DT_FLOAT, &x->shape, out));
    if (dtype_is_half(x->dtype))
        half_block_load(x->dtype, x->data, out->data, x->size);
    else
        to_floats_of[x->dtype](x->data, out->data, x->size);
    return status_ok();
}

struct status widened(struct kernel_context *k, const struct tensor *x, struct tensor *out)
{
    if (dtype_is_half(x->dtype))
        return float_values(k, x, out);
    *out = tensor_acquire(x);
    return status_ok();
}

struct status widened_output(struct kernel_context *k, struct tensor *out, struct tensor *wide)
{
    if (dtype_is_half(out->dtype))
        return kernel_scratch(k, DT_FLOAT, &out->shape, wide);
    *wide = tensor_acquire(out);
    return status_ok();
}

void widened_store(const struct tensor *wide, struct tensor *out)
{
    if (dtype_is_half(out->dtype))
        half_block_store(out->dtype, tensor_floats(wide), out->data, out->size);
}

struct status float_sums_begin(struct kernel_context *k, struct tensor *out, struct tensor *sums)
{
    if (out->dtype == DT_FLOAT)
        *sums = tensor_acquire(out);
    else
        TRY(kernel_scratch(k, DT_FLOAT, &out->shape, sums));
    if (sums->size > 0)
        memset(sums->data, 0, tensor_bytes(sums));
    return status_ok();
}

void float_sums_end(struct tensor *sums, struct tensor *out)
{
    if (out->dtype == DT_DOUBLE)
        for (int64_t i = 0; i < out->size; i++)
            tensor_doubles_mut(out)[i] = (double)tensor_floats(sums)[i];
    else if (dtype_is_half(out->dtype))
        half_block_store(out->dtype, tensor_floats(sums), out->data, out->size);
    tensor_release(sums);
}
