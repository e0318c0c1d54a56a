/*
 * resize: ResizeBilinear and ResizeNearestNeighbor.
 */
#include <string.h>

#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/image_size.h"

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
    TRY(resize_begin(k, &size, &out));
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
    TRY(resize_begin(k, &size, &out));
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
