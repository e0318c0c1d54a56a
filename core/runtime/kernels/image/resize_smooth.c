/*
 * resize_smooth: ResizeBicubic and ResizeArea, whose pixels are weighted sums of several of the
 * image. A sum goes over rows first and columns then, each with weights of their own.
 */
#include <math.h>

#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/image_size.h"
#include "runtime/kernels/plain/cubic.h"
#include "runtime/kernels/plain/resize.h"

struct smooth_state {
    bool area, align_corners, half_pixel_centers;
};

static struct status smooth_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct smooth_state *state = prepare_state(p, sizeof *state, NULL);
    state->area = strcmp(node->op_name, "ResizeArea") == 0;
    TRY(node_attr_bool(node, "align_corners", &state->align_corners));
    if (!state->area)
        TRY(node_attr_bool(node, "half_pixel_centers", &state->half_pixel_centers));
    if (state->align_corners && state->half_pixel_centers)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "If half_pixel_centers is True, align_corners must be False.");
    return status_ok();
}

/* One dimension, from `in` to `out` positions. */
struct smooth_line {
    int64_t in, out;
    float scale;
};

static struct smooth_line line_of(int64_t in, int64_t out, bool align_corners)
{
    return (struct smooth_line){ in, out, resize_scale(in, out, align_corners) };
}

static int64_t bounded(int64_t at, int64_t limit)
{
    return at < 0 ? 0 : at < limit - 1 ? at : limit - 1;
}

/* ---- bicubic: four positions around a point ---- */

struct smooth_size {
    int64_t n, c;
    struct smooth_line rows, columns;
};

static void cubic_pixel(const struct smooth_size *size, const float *image, const struct cubic *row,
                        const struct cubic *column, float *out)
{
    int64_t line = size->columns.in * size->c;
    for (int64_t c = 0; c < size->c; c++) {
        float sums[4];
        for (int j = 0; j < 4; j++) {
            const float *x = image + column->at[j] * size->c + c;
            sums[j] = x[row->at[0] * line] * row->weight[0] +
                      x[row->at[1] * line] * row->weight[1] +
                      x[row->at[2] * line] * row->weight[2] + x[row->at[3] * line] * row->weight[3];
        }
        out[c] = sums[0] * column->weight[0] + sums[1] * column->weight[1] +
                 sums[2] * column->weight[2] + sums[3] * column->weight[3];
    }
}

/* ---- area: all positions that an output covers, in part or whole ---- */

struct area {
    int64_t start, end;
    float first, last; /* the weights of `start` and of `end` - 1; those between have 1 */
};

static float area_weight(const struct smooth_line *line, int64_t at, float low, float high)
{
    float from = (float)at, to = (float)(at + 1);
    if (from < low)
        return to > high ? line->scale : to - low;
    return to > high ? high - from : 1;
}

static void area_at(const struct smooth_line *line, int64_t i, struct area *out)
{
    float low = (float)i * line->scale, high = (float)(i + 1) * line->scale;
    out->start = (int64_t)floorf(low);
    out->end = (int64_t)ceilf(high);
    out->first = area_weight(line, out->start, low, high);
    out->last = area_weight(line, out->end - 1, low, high);
}

static float weight_in(const struct area *area, int64_t at)
{
    return at == area->start ? area->first : at == area->end - 1 ? area->last : 1;
}

static void area_pixel(const struct smooth_size *size, const float *image, const struct area *row,
                       const struct area *column, float *out)
{
    float scale = (float)(1.0 / (double)(size->rows.scale * size->columns.scale));
    for (int64_t c = 0; c < size->c; c++) {
        float sum = 0;
        for (int64_t y = row->start; y < row->end; y++) {
            const float *x = image + bounded(y, size->rows.in) * size->columns.in * size->c + c;
            float of_row = x[bounded(column->start, size->columns.in) * size->c] * column->first;
            for (int64_t at = column->start + 1; at < column->end; at++)
                of_row += x[bounded(at, size->columns.in) * size->c] * weight_in(column, at);
            sum += of_row * weight_in(row, y);
        }
        out[c] = sum * scale;
    }
}

/* ---- both ---- */

static void weigh_columns(const struct smooth_size *size, const struct smooth_state *state,
                          void *columns)
{
    for (int64_t i = 0; i < size->columns.out; i++) {
        if (state->area)
            area_at(&size->columns, i, (struct area *)columns + i);
        else
            cubic_at(size->columns.in, size->columns.scale, state->half_pixel_centers, i,
                     (struct cubic *)columns + i);
    }
}

static void smooth_row(const struct smooth_size *size, const struct smooth_state *state,
                       const float *image, int64_t y, const void *columns, float *out)
{
    struct cubic cubic_row;
    struct area area_row;
    if (state->area)
        area_at(&size->rows, y, &area_row);
    else
        cubic_at(size->rows.in, size->rows.scale, state->half_pixel_centers, y, &cubic_row);
    for (int64_t i = 0; i < size->columns.out; i++, out += size->c) {
        if (state->area)
            area_pixel(size, image, &area_row, (const struct area *)columns + i, out);
        else
            cubic_pixel(size, image, &cubic_row, (const struct cubic *)columns + i, out);
    }
}

static struct status smooth_images(struct kernel_context *k, const struct smooth_size *size,
                                   const struct tensor *images, const void *columns, float *out)
{
    int64_t image = size->rows.in * size->columns.in * size->c, row = size->columns.out * size->c;
    for (int64_t n = 0; n < size->n; n++)
        for (int64_t y = 0; y < size->rows.out; y++, out += row) {
            TRY(kernel_check(k));
            smooth_row(size, kernel_state(k), tensor_floats(images) + n * image, y, columns, out);
        }
    return status_ok();
}

static struct status smooth_compute(struct kernel_context *k)
{
    const struct smooth_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, images = { 0 }, columns = { 0 };
    struct status status;
    int64_t height, width;
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&x->shape));
    TRY(image_out_size(k, &height, &width));
    const int64_t *dims = x->shape.dims;
    if (dims[1] <= 0 || dims[2] <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "input image must be of non-zero size");
    if (dims[3] <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "image must have at least one channel");
    struct smooth_size size = { .n = dims[0],
                                .c = dims[3],
                                .rows = line_of(dims[1], height, state->align_corners),
                                .columns = line_of(dims[2], width, state->align_corners) };
    struct shape shape = shape_of(size.n, height, width, size.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    struct shape room =
        shape_of(width * (int64_t)(state->area ? sizeof(struct area) : sizeof(struct cubic)));
    TRY_OR(done, kernel_scratch(k, DT_UINT8, &room, &columns));
    TRY_OR(done, float_values(k, x, &images));
    weigh_columns(&size, state, columns.data);
    status = smooth_images(k, &size, &images, columns.data, tensor_floats_mut(out));
done:
    tensor_release(&images);
    tensor_release(&columns);
    return status;
}

static const struct kernel rows[] = {
    { "ResizeBicubic", DTYPES_REAL, .prepare = smooth_prepare, .compute = smooth_compute,
      .costly = true },
    { "ResizeArea", DTYPES_REAL, .prepare = smooth_prepare, .compute = smooth_compute,
      .costly = true },
};
const struct kernel_table kernels_resize_smooth = { rows, COUNT(rows) };
