/*
 * crop_and_resize_grad: the gradients of CropAndResize: of the image, and of the boxes.
 */
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/crop_lines.h"

static struct status grad_prepare(struct prepare_context *p)
{
    bool *nearest = prepare_state(p, sizeof *nearest, NULL);
    struct bytes method;
    TRY(node_attr_string(prepare_node(p), "method", &method));
    *nearest = bytes_equal(method, bytes_of("nearest"));
    return status_ok();
}

struct crop_grad_size {
    int64_t n, h, w, c; /* of the images */
    int64_t boxes, crop_h, crop_w;
};

static struct status read_size(struct kernel_context *k, const struct shape *image,
                               const struct tensor *boxes, const struct tensor *indices,
                               struct crop_grad_size *out)
{
    const struct shape *dy = &kernel_input(k, 0)->shape;
    if (dy->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "grads image must be 4-D%s",
                            shape_text(dy));
    if (dy->dims[1] <= 0 || dy->dims[2] <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "grads dimensions must be positive");
    TRY(crop_check_boxes(boxes, indices));
    if (dy->dims[0] != indices->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "boxes and grads have incompatible shape");
    if (image->dims[1] <= 0 || image->dims[2] <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image dimensions must be positive");
    *out = (struct crop_grad_size){ image->dims[0], image->dims[1], image->dims[2], image->dims[3],
                                    dy->dims[0],    dy->dims[1],    dy->dims[2] };
    return status_ok();
}

/* The position in the image of a pixel of a crop. */
struct crop_pixel {
    int64_t top, bottom, left, right;
    float down, across; /* from top and left */
};

static bool find_pixel(const struct crop_line *rows, const struct crop_line *columns, int64_t i,
                       int64_t j, struct crop_pixel *out)
{
    float y = crop_line_at(rows, i), x = crop_line_at(columns, j);
    if (!crop_is_inside(rows, y) || !crop_is_inside(columns, x))
        return false;
    *out = (struct crop_pixel){ crop_index_of(rows, floorf(y)),
                                crop_index_of(rows, ceilf(y)),
                                crop_index_of(columns, floorf(x)),
                                crop_index_of(columns, ceilf(x)),
                                y - floorf(y),
                                x - floorf(x) };
    return true;
}

static int64_t offset_of(const struct crop_grad_size *size, int64_t y, int64_t x)
{
    return (y * size->w + x) * size->c;
}

/* ---- CropAndResizeGradImage ---- */

static void add_pixel(const float *dy, float weight, float *dx, int64_t channels)
{
    for (int64_t c = 0; c < channels; c++)
        dx[c] += weight * dy[c];
}

static void spread_pixel(const struct crop_grad_size *size, const struct crop_pixel *at,
                         bool nearest, const float *dy, float *image)
{
    float down = at->down, across = at->across;
    if (nearest) { /* half a pixel away from both rounds away from 0 */
        int64_t y = down >= 0.5f ? at->bottom : at->top, x = across >= 0.5f ? at->right : at->left;
        add_pixel(dy, 1, image + offset_of(size, y, x), size->c);
        return;
    }
    add_pixel(dy, (1 - down) * (1 - across), image + offset_of(size, at->top, at->left), size->c);
    add_pixel(dy, (1 - down) * across, image + offset_of(size, at->top, at->right), size->c);
    add_pixel(dy, down * (1 - across), image + offset_of(size, at->bottom, at->left), size->c);
    add_pixel(dy, down * across, image + offset_of(size, at->bottom, at->right), size->c);
}

static void spread_box(const struct crop_grad_size *size, const float *box, bool nearest,
                       const float *dy, float *image)
{
    struct crop_line rows = crop_line_of(box[0], box[2], size->h, size->crop_h);
    struct crop_line columns = crop_line_of(box[1], box[3], size->w, size->crop_w);
    struct crop_pixel at;
    for (int64_t i = 0; i < size->crop_h; i++)
        for (int64_t j = 0; j < size->crop_w; j++, dy += size->c)
            if (find_pixel(&rows, &columns, i, j, &at))
                spread_pixel(size, &at, nearest, dy, image);
}

static struct status spread_boxes(struct kernel_context *k, const struct crop_grad_size *size,
                                  float *dx)
{
    const float *dy = tensor_floats(kernel_input(k, 0)), *boxes = tensor_floats(kernel_input(k, 1));
    const int32_t *indices = tensor_int32s(kernel_input(k, 2));
    for (int64_t i = 0; i < size->boxes; i++) {
        TRY(kernel_check(k));
        spread_box(size, boxes + 4 * i, *(const bool *)kernel_state(k),
                   dy + i * size->crop_h * size->crop_w * size->c,
                   dx + indices[i] * size->h * size->w * size->c);
    }
    return status_ok();
}

static struct status image_shape(struct kernel_context *k, struct shape *out)
{
    const struct tensor *sizes = kernel_input(k, 3);
    int64_t dims[4];
    if (sizes->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image_size must be 1-D%s",
                            shape_text(&sizes->shape));
    if (sizes->size != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image_size must have 4 elements%s",
                            shape_text(&sizes->shape));
    for (int i = 0; i < 4; i++)
        dims[i] = tensor_int32s(sizes)[i];
    return shape_check(4, dims, out);
}

/* Inputs: the gradient, boxes, the image of each box, the shape of the images. */
static struct status grad_image_compute(struct kernel_context *k)
{
    const struct tensor *dy = kernel_input(k, 0);
    struct crop_grad_size size;
    struct shape shape;
    struct tensor *out, sums;
    TRY(image_shape(k, &shape));
    TRY(read_size(k, &shape, kernel_input(k, 1), kernel_input(k, 2), &size));
    if (dy->shape.dims[3] != size.c)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image_size and grads are incompatible");
    TRY(crop_check_indices(kernel_input(k, 2), size.n));
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(float_sums_begin(k, out, &sums));
    struct status status = out->size > 0 ? spread_boxes(k, &size, sums.data) : status_ok();
    float_sums_end(&sums, out);
    return status;
}

/* ---- CropAndResizeGradBoxes ---- */

/* The derivative of the sum of dy · pixel as the pixel moves down, and to the right. */
static void slope_of(const struct crop_grad_size *size, const struct crop_pixel *at,
                     const float *image, const float *dy, float *down, float *across)
{
    const float *a = image + offset_of(size, at->top, at->left);
    const float *b = image + offset_of(size, at->top, at->right);
    const float *d = image + offset_of(size, at->bottom, at->left);
    const float *e = image + offset_of(size, at->bottom, at->right);
    *down = *across = 0;
    for (int64_t c = 0; c < size->c; c++) {
        *down += ((1 - at->across) * (d[c] - a[c]) + at->across * (e[c] - b[c])) * dy[c];
        *across += ((1 - at->down) * (b[c] - a[c]) + at->down * (e[c] - d[c])) * dy[c];
    }
}

/* Adds to the gradients of the low and the high edge of a box. */
static void add_edges(float slope, int64_t in, int64_t out, int64_t i, float *low, float *high)
{
    float last = (float)(in - 1), share = out > 1 ? (float)i * (last / (float)(out - 1)) : 0;
    if (out == 1)
        share = 0.5f * last;
    *low += slope * (last - share);
    *high += slope * share;
}

static void box_gradient(const struct crop_grad_size *size, const float *box, const float *image,
                         const float *dy, float *out)
{
    struct crop_line rows = crop_line_of(box[0], box[2], size->h, size->crop_h);
    struct crop_line columns = crop_line_of(box[1], box[3], size->w, size->crop_w);
    struct crop_pixel at;
    float down, across;
    memset(out, 0, 4 * sizeof *out);
    for (int64_t i = 0; i < size->crop_h; i++)
        for (int64_t j = 0; j < size->crop_w; j++, dy += size->c) {
            if (!find_pixel(&rows, &columns, i, j, &at))
                continue;
            slope_of(size, &at, image, dy, &down, &across);
            add_edges(down, size->h, size->crop_h, i, &out[0], &out[2]);
            add_edges(across, size->w, size->crop_w, j, &out[1], &out[3]);
        }
}

static struct status box_gradients(struct kernel_context *k, const struct crop_grad_size *size,
                                   const float *images, float *out)
{
    const float *dy = tensor_floats(kernel_input(k, 0)), *boxes = tensor_floats(kernel_input(k, 2));
    const int32_t *indices = tensor_int32s(kernel_input(k, 3));
    for (int64_t i = 0; i < size->boxes; i++) {
        TRY(kernel_check(k));
        box_gradient(size, boxes + 4 * i, images + indices[i] * size->h * size->w * size->c,
                     dy + i * size->crop_h * size->crop_w * size->c, out + 4 * i);
    }
    return status_ok();
}

/* Inputs: the gradient, the images, boxes, the image of each box. */
static struct status grad_boxes_compute(struct kernel_context *k)
{
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct crop_grad_size size;
    struct tensor *out, images;
    if (x->shape.rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input image must be 4-D%s",
                            shape_text(&x->shape));
    TRY(read_size(k, &x->shape, kernel_input(k, 2), kernel_input(k, 3), &size));
    if (dy->shape.dims[3] != size.c)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "image, grads depth differ");
    TRY(crop_check_indices(kernel_input(k, 3), size.n));
    struct shape shape = shape_of(size.boxes, 4);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (dy->size == 0) { /* any number of pixels without channels */
        memset(out->data, 0, tensor_bytes(out));
        return status_ok();
    }
    TRY(float_values(k, x, &images));
    struct status status = box_gradients(k, &size, images.data, tensor_floats_mut(out));
    tensor_release(&images);
    return status;
}

static const struct kernel rows[] = {
    { "CropAndResizeGradImage", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF),
      .prepare = grad_prepare, .compute = grad_image_compute, .costly = true },
    { "CropAndResizeGradBoxes", DTYPES_REAL, .compute = grad_boxes_compute, .costly = true },
};
const struct kernel_table kernels_crop_and_resize_grad = { rows, COUNT(rows) };
