/*
 * conv: convolution of volumes [n, planes, rows, columns, c], and of images, which are volumes of
 * one plane: plain loops, which define the result, and im2col with a matrix product.
 */
#ifndef KERNELS_PLAIN_CONV_H
#define KERNELS_PLAIN_CONV_H

#include <stdbool.h>
#include <stdint.h>

/* One spatial dimension of a convolution or pooling window. */
struct window {
    int64_t in, kernel, stride, dilation, before, out; /* before: elements of padding in front */
};

/* The taps [first, end) of a window that lie inside the image; tap i is at start + i · dilation.
 * The loops visit no others, of which a window may have many. */
struct window_taps {
    int64_t start, first, end;
};

static inline struct window_taps window_taps(const struct window *window, int64_t out)
{
    int64_t start = out * window->stride - window->before, dilation = window->dilation;
    struct window_taps taps = { .start = start };
    if (start < 0)
        taps.first = (-start - 1) / dilation + 1;
    if (start < window->in)
        taps.end = (window->in - start - 1) / dilation + 1;
    if (taps.end > window->kernel)
        taps.end = window->kernel;
    return taps;
}

/* x [n, planes.in, rows.in, columns.in, c], filter [kd, kh, kw, c / groups, m],
 * out [n, planes.out, rows.out, columns.out, m] */
struct conv_size {
    int64_t n, c, m, groups;
    struct window planes, rows, columns;
};

/* The planes of an image. */
#define ONE_PLANE                                                  \
    {                                                              \
        .in = 1, .kernel = 1, .stride = 1, .dilation = 1, .out = 1 \
    }

/* Elements of a channel of one volume, and of its output. */
static inline int64_t conv_places_in(const struct conv_size *size)
{
    return size->planes.in * size->rows.in * size->columns.in;
}

static inline int64_t conv_places_out(const struct conv_size *size)
{
    return size->planes.out * size->rows.out * size->columns.out;
}

static inline int64_t conv_rows_out(const struct conv_size *size)
{
    return size->n * size->planes.out * size->rows.out;
}

/* Nested loops: the definition. */
void conv_direct_f32(const struct conv_size *size, const float *x, const float *filter, float *out);
/* One row of the output, of doubles or of integers, whose sums wrap. Rows are numbered through all
 * planes of all volumes: there are conv_rows_out. */
void conv_row_f64(const struct conv_size *size, int64_t row, const void *x, const void *filter,
                  void *out);
void conv_row_u32(const struct conv_size *size, int64_t row, const void *x, const void *filter,
                  void *out);

/* Adds the part of one row of dy to a gradient of doubles, or of integers, by nested loops. */
void conv_input_grad_row_f64(const struct conv_size *size, int64_t row, const void *dy,
                             const void *filter, void *dx);
void conv_input_grad_row_u32(const struct conv_size *size, int64_t row, const void *dy,
                             const void *filter, void *dx);
void conv_filter_grad_row_f64(const struct conv_size *size, int64_t row, const void *x,
                              const void *dy, void *dfilter);

/* Floats of scratch that the next three functions need. */
int64_t conv_scratch_size(const struct conv_size *size);
void conv_f32(const struct conv_size *size, const float *x, const float *filter, float *scratch,
              float *out);
/* dx: the gradient of the input, which is also the transposed convolution. Overwrites. */
void conv_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                         float *scratch, float *dx);
void conv_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                          float *scratch, float *dfilter);

/* Each channel of images separately: filter [kh, kw, c, multiplier], out [.., c · multiplier]; m in
 * `size` is c · multiplier. */
void depthwise_f32(const struct conv_size *size, const float *x, const float *filter, float *out);
void depthwise_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                              float *dx);
void depthwise_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                               float *dfilter);

#endif
