/*
 * resize_grad: the gradients of ResizeBilinear, ResizeNearestNeighbor and ResizeBicubic. Each pixel
 * of the gradient is added to the pixels that it was computed from, by the weights of the forward
 * op.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/image/image_size.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/cubic.h"

/* Up to four positions in one dimension of the image, and their weights. */
struct share {
    int count;
    int64_t at[4];
    float weight[4];
};

/* The forward op takes position i of its output from these of its `in` positions. */
typedef void share_at(int64_t in, int64_t out, const struct resize_attrs *state, int64_t i,
                      struct share *share);

static void bilinear_share(int64_t in, int64_t out, const struct resize_attrs *state, int64_t i,
                           struct share *share)
{
    struct resize_between place;
    resize_place(in, resize_scale(in, out, state->align_corners), state->half_pixel_centers, i,
                 &place);
    *share = (struct share){ 2, { place.low, place.high }, { 1 - place.weight, place.weight } };
}

static void bicubic_share(int64_t in, int64_t out, const struct resize_attrs *state, int64_t i,
                          struct share *share)
{
    struct cubic cubic;
    cubic_at(in, resize_scale(in, out, state->align_corners), state->half_pixel_centers, i, &cubic);
    share->count = 4;
    memcpy(share->at, cubic.at, sizeof cubic.at);
    memcpy(share->weight, cubic.weight, sizeof cubic.weight);
}

struct resize_grad_size {
    int64_t n, h, w, c;    /* of the image */
    int64_t rows, columns; /* of the gradient */
};

static struct status check_shapes(const struct shape *dy, const struct shape *x,
                                  struct resize_grad_size *out)
{
    if (dy->rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input_grad must be 4-dimensional%s",
                            shape_text(dy));
    if (x->rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "original_image must be 4-dimensional%s",
                            shape_text(x));
    if (dy->dims[0] != x->dims[0] || dy->dims[3] != x->dims[3])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input_grad and original_image must have the same batch and channels");
    *out = (struct resize_grad_size){ x->dims[0], x->dims[1],  x->dims[2],
                                      x->dims[3], dy->dims[1], dy->dims[2] };
    return status_ok();
}

/* dx += the gradient of one pixel, which `row` and `column` share out. */
static void add_shares(const struct resize_grad_size *size, const struct share *row,
                       const struct share *column, const float *dy, float *image)
{
    for (int i = 0; i < row->count; i++)
        for (int j = 0; j < column->count; j++) {
            float *dx = image + (row->at[i] * size->w + column->at[j]) * size->c;
            float weight = row->weight[i] * column->weight[j];
            for (int64_t c = 0; c < size->c; c++)
                dx[c] += dy[c] * weight;
        }
}

static struct status share_out(struct kernel_context *k, share_at *share,
                               const struct resize_grad_size *size, const float *dy, float *dx)
{
    const struct resize_attrs *state = kernel_state(k);
    struct share row, column;
    for (int64_t n = 0; n < size->n; n++, dx += size->h * size->w * size->c)
        for (int64_t y = 0; y < size->rows; y++) {
            TRY(kernel_check(k));
            share(size->h, size->rows, state, y, &row);
            for (int64_t x = 0; x < size->columns; x++, dy += size->c) {
                share(size->w, size->columns, state, x, &column);
                add_shares(size, &row, &column, dy, dx);
            }
        }
    return status_ok();
}

/* Inputs: the gradient, and the image whose shape the result has. */
static struct status smooth_grad(struct kernel_context *k, share_at *share)
{
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct resize_grad_size size;
    struct tensor *out, sums;
    TRY(check_shapes(&dy->shape, &x->shape, &size));
    TRY(kernel_output(k, 0, &x->shape, &out));
    TRY(float_sums_begin(k, out, &sums));
    struct status status = status_ok();
    if (out->size > 0 && dy->size > 0)
        status = share_out(k, share, &size, tensor_floats(dy), tensor_floats_mut(&sums));
    float_sums_end(&sums, out);
    return status;
}

static struct status bilinear_grad_compute(struct kernel_context *k)
{
    return smooth_grad(k, bilinear_share);
}

static struct status bicubic_grad_compute(struct kernel_context *k)
{
    return smooth_grad(k, bicubic_share);
}

/* ---- nearest neighbor: the gradient has any type, and the size is given as numbers ---- */

static struct status nearest_size(struct kernel_context *k, struct resize_grad_size *out)
{
    const struct tensor *dy = kernel_input(k, 0);
    if (dy->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(&dy->shape));
    int64_t h, w;
    TRY(image_out_size(k, &h, &w));
    const int64_t *dims = dy->shape.dims;
    *out = (struct resize_grad_size){ dims[0], h, w, dims[3], dims[1], dims[2] };
    return status_ok();
}

static struct status nearest_rows(struct kernel_context *k, const struct resize_grad_size *size,
                                  const int64_t *columns, struct tensor *out)
{
    const struct resize_attrs *state = kernel_state(k);
    const struct tensor *dy = kernel_input(k, 0);
    size_t bytes = dtype_size(dy->dtype);
    float scale = resize_scale(size->h, size->rows, state->align_corners);
    int64_t from = 0;
    for (int64_t n = 0; n < size->n; n++)
        for (int64_t y = 0; y < size->rows; y++) {
            TRY(kernel_check(k));
            int64_t row = n * size->h + resize_nearest_place(size->h, scale, state->align_corners,
                                                             state->half_pixel_centers, y);
            for (int64_t x = 0; x < size->columns; x++, from += size->c)
                add_elements(dy->dtype, at_bytes_const(dy->data, from, bytes),
                             at_bytes(out->data, (row * size->w + columns[x]) * size->c, bytes),
                             size->c);
        }
    return status_ok();
}

static struct status nearest_grad_compute(struct kernel_context *k)
{
    const struct resize_attrs *state = kernel_state(k);
    struct resize_grad_size size;
    struct tensor *out, columns = { 0 };
    TRY(nearest_size(k, &size));
    struct shape shape = shape_of(size.n, size.h, size.w, size.c), line = shape_of(size.columns);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    if (kernel_input(k, 0)->size == 0) /* any number of rows without columns */
        return status_ok();
    TRY(kernel_scratch(k, DT_INT64, &line, &columns));
    resize_nearest_places(size.w, size.columns, state->align_corners, state->half_pixel_centers,
                          tensor_int64s_mut(&columns));
    struct status status = nearest_rows(k, &size, columns.data, out);
    tensor_release(&columns);
    return status;
}

#define GRAD(op, dtypes, read, function)                                 \
    {                                                                    \
        op, dtypes, .prepare = read, .compute = function, .costly = true \
    }
static const struct kernel rows[] = {
    GRAD("ResizeBilinearGrad", DTYPES_FLOATING, resize_prepare, bilinear_grad_compute),
    GRAD("ResizeBicubicGrad", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), resize_prepare,
         bicubic_grad_compute),
    GRAD("ResizeNearestNeighborGrad",
         DTYPES_FLOATING | DTYPES(DT_UINT8) | DTYPES(DT_INT8) | DTYPES(DT_INT32),
         resize_prepare_any, nearest_grad_compute),
};
const struct kernel_table kernels_resize_grad = { rows, COUNT(rows) };
