/*
 * resize: ResizeBilinear and ResizeNearestNeighbor.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/resize.h"
#include "runtime/kernels/plain/types.h"

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
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    if (size->shape.rank != 1 || size->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            size->shape.rank != 1 ? "shape_t must be 1-dimensional%s"
                                                  : "shape_t must have two elements%s",
                            shape_text(&size->shape));
    *out = (struct resize_size){ .n = x->shape.dims[0],
                                 .h = x->shape.dims[1],
                                 .w = x->shape.dims[2],
                                 .c = x->shape.dims[3],
                                 .out_h = tensor_index(size, 0),
                                 .out_w = tensor_index(size, 1),
                                 .align_corners = state->align_corners,
                                 .half_pixel_centers = state->half_pixel_centers };
    if (out->out_h <= 0 || out->out_w <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "output dimensions must be positive");
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

#define TO_FLOATS(s, T, W)                                              \
    static void to_floats_##s(const void *x, float *out, int64_t count) \
    {                                                                   \
        for (int64_t i = 0; i < count; i++)                             \
            out[i] = (float)((const T *)x)[i];                          \
    }
REAL_TYPES(TO_FLOATS)

typedef void to_floats(const void *x, float *out, int64_t count);
static to_floats *const to_floats_of[DTYPE_COUNT] = { ROWS_REAL(to_floats) };

/* The image as floats. */
static struct status float_image(struct kernel_context *k, struct tensor *out)
{
    const struct tensor *x = kernel_input(k, 0);
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
    TRY_OR(done, float_image(k, &image));
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
