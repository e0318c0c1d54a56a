/*
 * crop_and_resize: CropAndResize, which cuts boxes out of images and makes them equally large.
 */
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/crop_lines.h"

struct crop_state {
    bool nearest;
    float outside; /* the value beyond the image */
};

static struct status crop_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct crop_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes method;
    TRY(node_attr_string(node, "method", &method));
    state->nearest = bytes_equal(method, bytes_of("nearest"));
    return node_attr_float(node, "extrapolation_value", &state->outside);
}

struct crop_size {
    int64_t h, w, c, out_h, out_w;
};

static void fill(float *out, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = value;
}

static const float *pixel_at(const struct crop_size *size, const float *image, int64_t y, int64_t x)
{
    return image + (y * size->w + x) * size->c;
}

static void blend_pixel(const struct crop_size *size, const float *image,
                        const struct crop_line *rows, const struct crop_line *columns, float y,
                        float x, float *out)
{
    int64_t top = crop_index_of(rows, floorf(y)), bottom = crop_index_of(rows, ceilf(y));
    int64_t left = crop_index_of(columns, floorf(x)), right = crop_index_of(columns, ceilf(x));
    const float *a = pixel_at(size, image, top, left), *b = pixel_at(size, image, top, right);
    const float *d = pixel_at(size, image, bottom, left), *e = pixel_at(size, image, bottom, right);
    float down = y - floorf(y), across = x - floorf(x);
    for (int64_t c = 0; c < size->c; c++) {
        float above = a[c] + (b[c] - a[c]) * across;
        float below = d[c] + (e[c] - d[c]) * across;
        out[c] = above + (below - above) * down;
    }
}

static void crop_box(const struct crop_size *size, const struct crop_state *state,
                     const float *image, const float *box, float *out)
{
    struct crop_line rows = crop_line_of(box[0], box[2], size->h, size->out_h);
    struct crop_line columns = crop_line_of(box[1], box[3], size->w, size->out_w);
    for (int64_t i = 0; i < size->out_h; i++)
        for (int64_t j = 0; j < size->out_w; j++, out += size->c) {
            float y = crop_line_at(&rows, i), x = crop_line_at(&columns, j);
            if (!crop_is_inside(&rows, y) || !crop_is_inside(&columns, x))
                fill(out, size->c, state->outside);
            else if (state->nearest)
                memcpy(out,
                       pixel_at(size, image, crop_index_of(&rows, roundf(y)),
                                crop_index_of(&columns, roundf(x))),
                       (size_t)size->c * sizeof *out);
            else
                blend_pixel(size, image, &rows, &columns, y, x, out);
        }
}

struct status crop_check_boxes(const struct tensor *boxes, const struct tensor *indices)
{
    if (boxes->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "boxes must be 2-D, got: %s",
                            shape_text(&boxes->shape));
    if (indices->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "box_indices must be rank 1 but is shape %s",
                            shape_text(&indices->shape));
    if (boxes->size == 0 && indices->size == 0)
        return status_ok();
    if (boxes->shape.dims[1] != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "boxes must have 4 columns");
    if (indices->size != boxes->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT, "box_index has incompatible shape");
    return status_ok();
}

static struct status read_size(struct kernel_context *k, struct crop_size *out)
{
    const struct tensor *image = kernel_input(k, 0), *size = kernel_input(k, 3);
    const struct shape *shape = &image->shape;
    if (shape->rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input image must be 4-D%s",
                            shape_text(shape));
    if (shape->dims[1] <= 0 || shape->dims[2] <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "image dimensions must be positive");
    TRY(crop_check_boxes(kernel_input(k, 1), kernel_input(k, 2)));
    if (size->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "crop_size must be 1-D%s",
                            shape_text(&size->shape));
    if (size->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "crop_size must have two elements%s",
                            shape_text(&size->shape));
    *out = (struct crop_size){ .h = shape->dims[1],
                               .w = shape->dims[2],
                               .c = shape->dims[3],
                               .out_h = tensor_int32s(size)[0],
                               .out_w = tensor_int32s(size)[1] };
    if (out->out_h <= 0 || out->out_w <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "crop dimensions must be positive");
    return status_ok();
}

struct status crop_check_indices(const struct tensor *indices, int64_t images)
{
    for (int64_t i = 0; i < indices->size; i++)
        if (tensor_int32s(indices)[i] < 0 || tensor_int32s(indices)[i] >= images)
            return status_error(STATUS_OUT_OF_RANGE,
                                "box_index has values outside [0, batch_size)");
    return status_ok();
}

static struct status check_values(struct kernel_context *k)
{
    const struct tensor *image = kernel_input(k, 0), *boxes = kernel_input(k, 1);
    const struct tensor *indices = kernel_input(k, 2);
    TRY(crop_check_indices(indices, image->shape.dims[0]));
    for (int64_t i = 0; i < boxes->size; i++)
        if (!isfinite(tensor_floats(boxes)[i]))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Boxes contains at least one element that is not finite");
    return status_ok();
}

static struct status crop_compute(struct kernel_context *k)
{
    const struct tensor *boxes = kernel_input(k, 1), *indices = kernel_input(k, 2);
    struct crop_size size;
    struct tensor image, *out;
    TRY(read_size(k, &size));
    struct shape shape = shape_of(indices->size, size.out_h, size.out_w, size.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(check_values(k));
    if (out->size == 0)
        return status_ok();
    TRY(float_values(k, kernel_input(k, 0), &image));
    int64_t image_size = size.h * size.w * size.c, crop_size = out->size / indices->size;
    struct status status = status_ok();
    for (int64_t i = 0; i < indices->size && status_is_ok(status); i++) {
        crop_box(&size, kernel_state(k),
                 tensor_floats(&image) + tensor_int32s(indices)[i] * image_size,
                 tensor_floats(boxes) + 4 * i, tensor_floats_mut(out) + i * crop_size);
        status = kernel_check(k);
    }
    tensor_release(&image);
    return status;
}

static const struct kernel rows[] = {
    { "CropAndResize", DTYPES_REAL, .prepare = crop_prepare, .compute = crop_compute,
      .costly = true },
};
const struct kernel_table kernels_crop_and_resize = { rows, COUNT(rows) };
