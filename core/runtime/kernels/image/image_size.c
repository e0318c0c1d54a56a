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

static struct status read_attrs(struct prepare_context *p, struct resize_attrs **out)
{
    const struct node *node = prepare_node(p);
    struct resize_attrs *attrs = *out = prepare_state(p, sizeof *attrs, NULL);
    TRY(node_attr_bool(node, "align_corners", &attrs->align_corners));
    return node_attr_bool(node, "half_pixel_centers", &attrs->half_pixel_centers);
}

struct status resize_prepare_any(struct prepare_context *p)
{
    struct resize_attrs *attrs;
    return read_attrs(p, &attrs);
}

struct status resize_prepare(struct prepare_context *p)
{
    struct resize_attrs *attrs;
    TRY(read_attrs(p, &attrs));
    if (attrs->align_corners && attrs->half_pixel_centers)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "If half_pixel_centers is True, align_corners must be False.");
    return status_ok();
}

struct status resize_begin(struct kernel_context *k, struct resize_size *size, struct tensor **out)
{
    const struct resize_attrs *attrs = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t height, width;
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    TRY(image_out_size(k, &height, &width));
    *size = (struct resize_size){ .n = x->shape.dims[0],
                                  .h = x->shape.dims[1],
                                  .w = x->shape.dims[2],
                                  .c = x->shape.dims[3],
                                  .out_h = height,
                                  .out_w = width,
                                  .align_corners = attrs->align_corners,
                                  .half_pixel_centers = attrs->half_pixel_centers };
    if (size->h <= 0 || size->w <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "input image must be of non-zero size");
    struct shape shape = shape_of(size->n, height, width, size->c);
    TRY(shape_check(4, shape.dims, &shape));
    return kernel_output(k, 0, &shape, out);
}
