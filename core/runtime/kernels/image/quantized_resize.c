/*
 * quantized_resize: QuantizedResizeBilinear: of integers in fixed point, with weights of 7 bits for
 * bytes and of 30 bits for int32.
 */
#include <string.h>

#include "runtime/kernels/image/image_size.h"
#include "runtime/kernels/quantized_numbers.h"

/* The four pixels around a place, and the weights of the lower and the right ones. */
struct blend_corners {
    int64_t top_left, top_right, bottom_left, bottom_right; /* the first channel of each */
    float right, down;
};

static float blend_f32(const float *x, const struct blend_corners *at)
{
    float top = x[at->top_left] + (x[at->top_right] - x[at->top_left]) * at->right;
    float bottom = x[at->bottom_left] + (x[at->bottom_right] - x[at->bottom_left]) * at->right;
    return top + (bottom - top) * at->down;
}

/* Bytes in 16 bits; no step can leave them. */
static uint8_t blend_u8(const uint8_t *x, const struct blend_corners *at)
{
    const int one = 1 << 7;
    int right = (int)(at->right * (float)one), down = (int)(at->down * (float)one);
    int top = x[at->top_left] * one + (x[at->top_right] - x[at->top_left]) * right;
    int bottom = x[at->bottom_left] * one + (x[at->bottom_right] - x[at->bottom_left]) * right;
    int found = (int16_t)(top + (bottom - top) / one * down);
    return (uint8_t)((int16_t)(found + one / 2) / one);
}

/* TensorFlow's type qint32 converts by way of float. */
static int64_t by_float(int32_t x)
{
    return (int64_t)(float)x;
}

static int32_t blend_i32(const int32_t *x, const struct blend_corners *at)
{
    const int64_t one = 1 << 30;
    int64_t right = (int64_t)(at->right * (float)one), down = (int64_t)(at->down * (float)one);
    int64_t top_left = by_float(x[at->top_left]), bottom_left = by_float(x[at->bottom_left]);
    int64_t top = top_left * one + (by_float(x[at->top_right]) - top_left) * right;
    int64_t bottom = bottom_left * one + (by_float(x[at->bottom_right]) - bottom_left) * right;
    int64_t found = top + (bottom - top) / one * down;
    return (int32_t)((found + one / 2) / one);
}

/* One line of the output; `image` is the first element of the image in x. */
static void resize_line(const struct resize_size *size, const struct tensor *x, int64_t image,
                        const struct resize_between *row, float column_scale, int64_t line,
                        struct tensor *out)
{
    for (int64_t j = 0; j < size->out_w; j++) {
        struct resize_between column;
        resize_place(size->w, column_scale, size->half_pixel_centers, j, &column);
        int64_t top = image + row->low * size->w * size->c;
        int64_t bottom = image + row->high * size->w * size->c;
        int64_t left = column.low * size->c, right = column.high * size->c;
        struct blend_corners at = { top + left,     top + right,   bottom + left,
                                    bottom + right, column.weight, row->weight };
        for (int64_t c = 0; c < size->c; c++) {
            int64_t to = (line * size->out_w + j) * size->c + c;
            if (x->dtype == DT_FLOAT)
                ((float *)out->data)[to] = blend_f32((const float *)x->data + c, &at);
            else if (x->dtype == DT_QUINT8)
                ((uint8_t *)out->data)[to] = blend_u8((const uint8_t *)x->data + c, &at);
            else
                ((int32_t *)out->data)[to] = blend_i32((const int32_t *)x->data + c, &at);
        }
    }
}

static struct status resize_lines(struct kernel_context *k, const struct resize_size *size,
                                  const struct tensor *x, struct tensor *out)
{
    float row_scale = resize_scale(size->h, size->out_h, size->align_corners);
    float column_scale = resize_scale(size->w, size->out_w, size->align_corners);
    for (int64_t line = 0; line < size->n * size->out_h; line++) {
        struct resize_between row;
        TRY(kernel_check(k));
        resize_place(size->h, row_scale, size->half_pixel_centers, line % size->out_h, &row);
        resize_line(size, x, line / size->out_h * size->h * size->w * size->c, &row, column_scale,
                    line, out);
    }
    return status_ok();
}

static struct status resize_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct resize_size size;
    float range[2];
    struct tensor *out;
    TRY(quantized_read_range(k, 2, range));
    TRY(resize_begin(k, &size, &out));
    if (shape_equal(&out->shape, &x->shape))
        memcpy(out->data, x->data, (size_t)x->size * dtype_size(x->dtype));
    else if (out->size > 0)
        TRY(resize_lines(k, &size, x, out));
    return quantized_set_range(k, 1, range[0], range[1]);
}

static const struct kernel rows[] = {
    { "QuantizedResizeBilinear", DTYPES(DT_FLOAT) | DTYPES(DT_QUINT8) | DTYPES(DT_QINT32),
      .prepare = resize_prepare_any, .compute = resize_compute, .costly = true },
};
const struct kernel_table kernels_quantized_resize = { rows, COUNT(rows) };
