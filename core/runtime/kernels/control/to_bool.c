/* to_bool: ToBool, whether Python would take a tensor for true: a scalar that is not zero or not an
 * empty string, or a tensor with elements. Conditions of If and While take more types. */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/steps.h"

#define DTYPES_CONVERTED                                                          \
    (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_BOOL) | DTYPES(DT_STRING) | \
     DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES(DT_UINT8))

static struct status to_bool_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    bool is_true = x->size > 0;
    if (x->shape.rank == 0 && (DTYPES_CONVERTED & DTYPES(x->dtype)) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%s cannot be converted to a boolean",
                            dtype_name(x->dtype));
    if (x->shape.rank == 0)
        TRY(condition_truth(x, &is_true));
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_bools_mut(out)[0] = is_true;
    return status_ok();
}

static const struct kernel rows[] = {
    { "ToBool", DTYPES_MOVED, "T", .compute = to_bool_compute },
};
const struct kernel_table kernels_to_bool = { rows, COUNT(rows) };
