/*
 * resize: ResizeBilinear and ResizeNearestNeighbor.
 */
#include <string.h>

#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/image_size.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/resize.h"

struct resize_state {
    bool align_corners, half_pixel_centers;
};

static struct status resize_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct resize_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(node, "align_corners", &state->align_corners));
    TRY(node_attr_bool(node, "half_pixel_centers", &state->half_pixel_centers));
    if (state->align_corners && state->half_pixel_centers)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "If half_pixel_centers is True, align_corners must be False.");
    return status_ok();
}

static struct status resize_size(struct kernel_context *k, struct resize_size *out)
{
    const struct resize_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int64_t height, width;
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    TRY(image_out_size(k, &height, &width));
    *out = (struct resize_size){ .n = x->shape.dims[0],
                                 .h = x->shape.dims[1],
                                 .w = x->shape.dims[2],
                                 .c = x->shape.dims[3],
                                 .out_h = height,
                                 .out_w = width,
                                 .align_corners = state->align_corners,
                                 .half_pixel_centers = state->half_pixel_centers };
    if (out->h <= 0 || out->w <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "input image must be of non-zero size");
    return status_ok();
}

static struct status scratch_bytes(struct kernel_context *k, int64_t count, size_t each,
                                   struct tensor *out)
{
    /* `count` is a dimension of the output: already checked */
    struct shape shape = shape_of(count * (int64_t)each);
    return kernel_scratch(k, DT_UINT8, &shape, out);
}

static struct status bilinear_compute(struct kernel_context *k)
{
    struct resize_size size;
    struct tensor *out, image = { 0 }, rows = { 0 }, columns = { 0 };
    struct status status;
    TRY(resize_size(k, &size));
    struct shape shape = shape_of(size.n, size.out_h, size.out_w, size.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY_OR(done, float_values(k, kernel_input(k, 0), &image));
    if (size.h == size.out_h && size.w == size.out_w) {
        /* as TensorFlow: 0 times an infinite neighbour would be NaN */
        memcpy(out->data, image.data, tensor_bytes(out));
        goto done;
    }
    TRY_OR(done, scratch_bytes(k, size.out_h, sizeof(struct resize_between), &rows));
    TRY_OR(done, scratch_bytes(k, size.out_w, sizeof(struct resize_between), &columns));
    resize_places(size.h, size.out_h, size.align_corners, size.half_pixel_centers, rows.data);
    resize_places(size.w, size.out_w, size.align_corners, size.half_pixel_centers, columns.data);
    resize_bilinear_f32(&size, rows.data, columns.data, image.data, out->data);
done:
    tensor_release(&image);
    tensor_release(&rows);
    tensor_release(&columns);
    return status;
}

static struct status nearest_compute(struct kernel_context *k)
{
    struct resize_size size;
    struct tensor *out, rows = { 0 }, columns = { 0 };
    const struct tensor *x = kernel_input(k, 0);
    struct status status;
    TRY(resize_size(k, &size));
    struct shape shape = shape_of(size.n, size.out_h, size.out_w, size.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY_OR(done, scratch_bytes(k, size.out_h, sizeof(int64_t), &rows));
    TRY_OR(done, scratch_bytes(k, size.out_w, sizeof(int64_t), &columns));
    resize_nearest_places(size.h, size.out_h, size.align_corners, size.half_pixel_centers,
                          rows.data);
    resize_nearest_places(size.w, size.out_w, size.align_corners, size.half_pixel_centers,
                          columns.data);
    resize_nearest(&size, dtype_size(x->dtype), rows.data, columns.data, x->data, out->data);
done:
    tensor_release(&rows);
    tensor_release(&columns);
    return status;
}

static const struct kernel rows[] = {
    { "ResizeBilinear", DTYPES_REAL, .prepare = resize_prepare, .compute = bilinear_compute,
      .costly = true },
    { "ResizeNearestNeighbor", DTYPES_REAL, .prepare = resize_prepare, .compute = nearest_compute },
};
const struct kernel_table kernels_resize = { rows, COUNT(rows) };
