#include "runtime/kernels/image/image_size.h"

struct status image_out_size(struct kernel_context *k, int64_t *height, int64_t *width)
{
    const struct tensor *size = kernel_input(k, 1);
    if (size->shape.rank != 1 || size->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            size->shape.rank != 1 ? "shape_t must be 1-dimensional%s"
                                                  : "shape_t must have two elements%s",
                            shape_text(&size->shape));
    *height = tensor_index(size, 0);
    *width = tensor_index(size, 1);
    if (*height <= 0 || *width <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "output dimensions must be positive");
    return status_ok();
}
