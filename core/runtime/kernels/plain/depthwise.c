/* Depthwise convolution and its gradients: one walk over pairs of an output pixel and a position
 * in the window. The leaf computes with a pair. */
#include <string.h>

#include "runtime/kernels/plain/conv.h"
#include "runtime/kernels/plain/types.h"

SIMD static void multiply_add(const float *restrict x, const float *restrict weights,
                              float *restrict out, int64_t c, int64_t multiplier)
{
    if (multiplier == 1) {
        for (int64_t i = 0; i < c; i++)
            out[i] += x[i] * weights[i];
        return;
    }
    for (int64_t i = 0; i < c; i++)
        for (int64_t q = 0; q < multiplier; q++)
            out[i * multiplier + q] += x[i] * weights[i * multiplier + q];
}

/* dx[i] += sum over q of dy[i, q] · weights[i, q] */
static void multiply_add_back(const float *dy, const float *weights, float *dx, int64_t c,
                              int64_t multiplier)
{
    for (int64_t i = 0; i < c; i++)
        for (int64_t q = 0; q < multiplier; q++)
            dx[i] += dy[i * multiplier + q] * weights[i * multiplier + q];
}

enum leaf { FORWARD, INPUT_GRAD, FILTER_GRAD };

/* x or dx, out or dy, filter or dfilter: `leaf` decides which is written. */
static void walk(const struct conv_size *s, enum leaf leaf, float *x, float *filter, float *out)
{
    int64_t multiplier = s->m / s->c;
    for (int64_t n = 0; n < s->n; n++, x += s->rows.in * s->columns.in * s->c)
        for (int64_t oh = 0; oh < s->rows.out; oh++)
            for (int64_t ow = 0; ow < s->columns.out; ow++, out += s->m)
                for (int64_t i = 0; i < s->rows.kernel; i++) {
                    int64_t h = oh * s->rows.stride - s->rows.before + i * s->rows.dilation;
                    if (h < 0 || h >= s->rows.in)
                        continue;
                    for (int64_t j = 0; j < s->columns.kernel; j++) {
                        int64_t w =
                            ow * s->columns.stride - s->columns.before + j * s->columns.dilation;
                        if (w < 0 || w >= s->columns.in)
                            continue;
                        float *pixel = x + (h * s->columns.in + w) * s->c;
                        float *weights = filter + (i * s->columns.kernel + j) * s->m;
                        if (leaf == FORWARD)
                            multiply_add(pixel, weights, out, s->c, multiplier);
                        else if (leaf == FILTER_GRAD)
                            multiply_add(pixel, out, weights, s->c, multiplier);
                        else
                            multiply_add_back(out, weights, pixel, s->c, multiplier);
                    }
                }
}

void depthwise_f32(const struct conv_size *size, const float *x, const float *filter, float *out)
{
    memset(out, 0, (size_t)(size->n * size->rows.out * size->columns.out * size->m) * sizeof *out);
    walk(size, FORWARD, (float *)x, (float *)filter, out);
}

void depthwise_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                              float *dx)
{
    memset(dx, 0, (size_t)(size->n * size->rows.in * size->columns.in * size->c) * sizeof *dx);
    walk(size, INPUT_GRAD, dx, (float *)filter, (float *)dy);
}

void depthwise_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                               float *dfilter)
{
    memset(dfilter, 0,
           (size_t)(size->rows.kernel * size->columns.kernel * size->m) * sizeof *dfilter);
    walk(size, FILTER_GRAD, (float *)x, dfilter, (float *)dy);
}
