#include "runtime/kernels/plain/resize.h"

#include <math.h>
#include <string.h>

#include "runtime/kernels/plain/types.h"

float resize_scale(int64_t in, int64_t out, bool align_corners)
{
    return align_corners && in > 1 && out > 1 ? (float)(in - 1) / (float)(out - 1)
                                              : (float)in / (float)out;
}

void resize_place(int64_t in, float scale, bool half_pixel_centers, int64_t i,
                  struct resize_between *place)
{
    float at = half_pixel_centers ? ((float)i + 0.5f) * scale - 0.5f : (float)i * scale;
    float below = floorf(at);
    int64_t low = (int64_t)below, high = (int64_t)ceilf(at);
    low = low < in - 1 ? low : in - 1; /* a float from 2^24 on may have been rounded up */
    *place =
        (struct resize_between){ low > 0 ? low : 0, high < in - 1 ? high : in - 1, at - below };
}

void resize_places(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers,
                   struct resize_between *places)
{
    float scale = resize_scale(in, out, align_corners);
    for (int64_t i = 0; i < out; i++)
        resize_place(in, scale, half_pixel_centers, i, &places[i]);
}

int64_t resize_nearest_place(int64_t in, float scale, bool align_corners, bool half_pixel_centers,
                             int64_t i)
{
    float at = half_pixel_centers ? ((float)i + 0.5f) * scale : (float)i * scale;
    int64_t place = (int64_t)(align_corners ? roundf(at) : floorf(at));
    return place < 0 ? 0 : place < in - 1 ? place : in - 1;
}

void resize_nearest_places(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers,
                           int64_t *places)
{
    float scale = resize_scale(in, out, align_corners);
    for (int64_t i = 0; i < out; i++)
        places[i] = resize_nearest_place(in, scale, align_corners, half_pixel_centers, i);
}

SIMD static void blend(const float *a, const float *b, const float *c, const float *d, float x,
                       float y, float *out, int64_t channels)
{
    for (int64_t i = 0; i < channels; i++) {
        float top = a[i] + (b[i] - a[i]) * x, bottom = c[i] + (d[i] - c[i]) * x;
        out[i] = top + (bottom - top) * y;
    }
}

void resize_bilinear_f32(const struct resize_size *size, const struct resize_between *rows,
                         const struct resize_between *columns, const float *x, float *out)
{
    int64_t row = size->w * size->c;
    for (int64_t n = 0; n < size->n; n++, x += size->h * row)
        for (int64_t h = 0; h < size->out_h; h++) {
            const float *low = x + rows[h].low * row, *high = x + rows[h].high * row;
            for (int64_t w = 0; w < size->out_w; w++, out += size->c) {
                int64_t left = columns[w].low * size->c, right = columns[w].high * size->c;
                blend(low + left, low + right, high + left, high + right, columns[w].weight,
                      rows[h].weight, out, size->c);
            }
        }
}

void resize_nearest(const struct resize_size *size, size_t element_bytes, const int64_t *rows,
                    const int64_t *columns, const void *x, void *out)
{
    size_t pixel = (size_t)size->c * element_bytes, row = pixel * (size_t)size->w;
    const char *from = x;
    char *to = out;
    for (int64_t n = 0; n < size->n; n++, from += (size_t)size->h * row)
        for (int64_t h = 0; h < size->out_h; h++)
            for (int64_t w = 0; w < size->out_w; w++, to += pixel)
                memcpy(to, from + (size_t)rows[h] * row + (size_t)columns[w] * pixel, pixel);
}
