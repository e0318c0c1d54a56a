#include "runtime/kernels/xla/wide.h"

#include "runtime/kernels/elementwise.h"

enum dtype wide_type(enum dtype dtype)
{
    if (dtype_is_half(dtype))
        return DT_FLOAT;
    if (dtype == DT_FLOAT || dtype == DT_DOUBLE || dtype_is_complex(dtype))
        return dtype;
    return DT_INT64;
}

/* The types whose elements become those of a wide one. */
static dtype_set widened_types(enum dtype wide)
{
    dtype_set integers = DTYPES_REAL & ~DTYPES_FLOATING;
    if (wide == DT_INT64)
        return integers;
    if (wide != DT_FLOAT && wide != DT_DOUBLE)
        return 0;
    dtype_set narrower = DTYPES_FLOATING & ~(wide == DT_FLOAT ? DTYPES(DT_DOUBLE) : 0);
    return narrower | (integers & ~DTYPES(DT_UINT64));
}

struct status wide_operand(struct kernel_context *k, const struct tensor *x, enum dtype dtype,
                           struct tensor *out)
{
    enum dtype wide = wide_type(dtype);
    *out = tensor_acquire(x);
    if (x->dtype == wide)
        return status_ok();
    tensor_release(out);
    if (!(DTYPES(x->dtype) & widened_types(wide)))
        return kernel_error(k, STATUS_UNIMPLEMENTED, "a product of %s with a result of %s",
                            dtype_name(x->dtype), dtype_name(dtype));
    TRY(kernel_scratch(k, wide, &x->shape, out));
    bool from_floats = dtype_is_floating(x->dtype);
    if (wide == DT_FLOAT && from_floats)
        half_block_load(x->dtype, x->data, out->data, x->size);
    for (int64_t i = 0; wide == DT_FLOAT && !from_floats && i < x->size; i++)
        tensor_floats_mut(out)[i] = (float)tensor_index(x, i);
    for (int64_t i = 0; wide == DT_DOUBLE && i < x->size; i++)
        tensor_doubles_mut(out)[i] =
            from_floats ? floating_element(x, i) : (double)tensor_index(x, i);
    for (int64_t i = 0; wide == DT_INT64 && i < x->size; i++)
        tensor_int64s_mut(out)[i] = tensor_index(x, i);
    return status_ok();
}

struct status wide_result(struct kernel_context *k, const struct tensor *result, struct tensor *out)
{
    enum dtype wide = wide_type(result->dtype);
    if (wide != result->dtype)
        return kernel_scratch(k, wide, &result->shape, out);
    *out = tensor_borrow(wide, &result->shape, result->data);
    return status_ok();
}

void wide_store(struct tensor *wide, struct tensor *result)
{
    if (wide->dtype == DT_FLOAT && dtype_is_half(result->dtype))
        half_block_store(result->dtype, wide->data, result->data, result->size);
    for (int64_t i = 0; wide->dtype != result->dtype && wide->dtype == DT_INT64 && i < wide->size;
         i++)
        tensor_set_index(result, i, tensor_int64s(wide)[i]);
    tensor_release(wide);
}
