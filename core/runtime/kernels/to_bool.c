/* to_bool: ToBool, whether Python would take a tensor for true: a scalar that is not zero or not an
 * empty string, or a tensor with elements. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

static struct status scalar_is_true(const struct tensor *x, bool *out)
{
    switch (x->dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
        *out = floating_element(x, 0) != 0;
        return status_ok();
    case DT_BOOL:
        *out = tensor_bools(x)[0];
        return status_ok();
    case DT_STRING:
        *out = tensor_strings(x)[0].size > 0;
        return status_ok();
    case DT_INT8:
    case DT_INT16:
    case DT_INT32:
    case DT_INT64:
    case DT_UINT8:
        *out = tensor_index(x, 0) != 0;
        return status_ok();
    default:
        return status_error(STATUS_INVALID_ARGUMENT, "%s cannot be converted to a boolean",
                            dtype_name(x->dtype));
    }
}

static struct status to_bool_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    bool is_true = x->size > 0;
    if (x->shape.rank == 0)
        TRY(scalar_is_true(x, &is_true));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_bools_mut(out)[0] = is_true;
    return status_ok();
}

static const struct kernel rows[] = {
    { "ToBool", DTYPES_MOVED, "T", .compute = to_bool_compute },
};
const struct kernel_table kernels_to_bool = { rows, COUNT(rows) };
