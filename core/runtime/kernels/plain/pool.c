#include "runtime/kernels/plain/pool.h"

#include <float.h>
#include <string.h>

#include "runtime/kernels/plain/types.h"

/* The part [first, end) of a window that lies inside the image. */
struct range {
    int64_t first, end;
};

static struct range range_of(const struct window *window, int64_t out)
{
    int64_t first = out * window->stride - window->before, end = first + window->kernel;
    return (struct range){ first < 0 ? 0 : first, end > window->in ? window->in : end };
}

/* As TensorFlow: a maximum starts from the lowest finite number, which NaN and -Inf do not
 * exceed. */
#define LOWEST_f32 -FLT_MAX
#define LOWEST_f64 -DBL_MAX
#define POOL(attributes, suffix, T)                                                         \
    attributes static void keep_greater_##suffix(const T *x, T *out, int64_t c)             \
    {                                                                                       \
        IVDEP for (int64_t i = 0; i < c; i++) out[i] = x[i] > out[i] ? x[i] : out[i];       \
    }                                                                                       \
    attributes static void add_##suffix(const T *x, T *out, int64_t c)                      \
    {                                                                                       \
        IVDEP for (int64_t i = 0; i < c; i++) out[i] += x[i];                               \
    }                                                                                       \
    static void pool_##suffix(const struct conv_size *s, const T *x, T *out, bool average)  \
    {                                                                                       \
        for (int64_t n = 0; n < s->n; n++, x += s->rows.in * s->columns.in * s->c)          \
            for (int64_t oh = 0; oh < s->rows.out; oh++)                                    \
                for (int64_t ow = 0; ow < s->columns.out; ow++, out += s->c) {              \
                    struct range h = range_of(&s->rows, oh), w = range_of(&s->columns, ow); \
                    for (int64_t c = 0; c < s->c; c++)                                      \
                        out[c] = average ? 0 : LOWEST_##suffix;                             \
                    for (int64_t i = h.first; i < h.end; i++)                               \
                        for (int64_t j = w.first; j < w.end; j++)                           \
                            (average ? add_##suffix : keep_greater_##suffix)(               \
                                x + (i * s->columns.in + j) * s->c, out, s->c);             \
                    T count = (T)((h.end - h.first) * (w.end - w.first));                   \
                    for (int64_t c = 0; c < s->c && average; c++)                           \
                        out[c] /= count;                                                    \
                }                                                                           \
    }                                                                                       \
    void max_pool_##suffix(const struct conv_size *size, const T *x, T *out)                \
    {                                                                                       \
        pool_##suffix(size, x, out, false);                                                 \
    }                                                                                       \
    void avg_pool_##suffix(const struct conv_size *size, const T *x, T *out)                \
    {                                                                                       \
        pool_##suffix(size, x, out, true);                                                  \
    }
POOL(SIMD, f32, float)
POOL(, f64, double)

/* Channels that are processed together. */
#define BLOCK 64

/* The maximum of a window so far, per channel, and its position. */
struct best {
    float value[BLOCK];
    int32_t place[BLOCK];
};

/* NaN is never greater; of equal elements the first wins. */
SIMD static void keep_best(const float *restrict x, int32_t place, int64_t c, struct best *best)
{
    for (int64_t i = 0; i < c; i++) {
        bool greater = x[i] > best->value[i];
        best->value[i] = greater ? x[i] : best->value[i];
        best->place[i] = greater ? place : best->place[i];
    }
}

/* Adds dy, of at most BLOCK channels, to the first maximum of a window. */
static void give_to_greatest(const struct conv_size *s, const float *x, struct range h,
                             struct range w, int64_t c, const float *dy, float *dx)
{
    struct best best;
    if (h.first >= h.end || w.first >= w.end)
        return;
    int64_t first = h.first * s->columns.in + w.first;
    for (int64_t i = 0; i < c; i++) {
        best.value[i] = x[first * s->c + i];
        best.place[i] = (int32_t)first;
    }
    for (int64_t i = h.first; i < h.end; i++)
        for (int64_t j = w.first; j < w.end; j++) {
            int64_t at = i * s->columns.in + j;
            keep_best(x + at * s->c, (int32_t)at, c, &best);
        }
    for (int64_t i = 0; i < c; i++)
        dx[best.place[i] * s->c + i] += dy[i];
}

void max_pool_grad_f32(const struct conv_size *s, const float *x, const float *dy, float *dx)
{
    int64_t image = s->rows.in * s->columns.in * s->c;
    memset(dx, 0, (size_t)(s->n * image) * sizeof *dx);
    for (int64_t n = 0; n < s->n; n++, x += image, dx += image)
        for (int64_t oh = 0; oh < s->rows.out; oh++)
            for (int64_t ow = 0; ow < s->columns.out; ow++, dy += s->c)
                for (int64_t c = 0; c < s->c; c += BLOCK)
                    give_to_greatest(s, x + c, range_of(&s->rows, oh), range_of(&s->columns, ow),
                                     s->c - c < BLOCK ? s->c - c : BLOCK, dy + c, dx + c);
}

void avg_pool_grad_f32(const struct conv_size *s, const float *dy, float *dx)
{
    int64_t image = s->rows.in * s->columns.in * s->c;
    memset(dx, 0, (size_t)(s->n * image) * sizeof *dx);
    for (int64_t n = 0; n < s->n; n++, dx += image)
        for (int64_t oh = 0; oh < s->rows.out; oh++)
            for (int64_t ow = 0; ow < s->columns.out; ow++, dy += s->c) {
                struct range h = range_of(&s->rows, oh), w = range_of(&s->columns, ow);
                float share = 1 / (float)((h.end - h.first) * (w.end - w.first));
                for (int64_t i = h.first; i < h.end; i++)
                    for (int64_t j = w.first; j < w.end; j++)
                        for (int64_t c = 0; c < s->c; c++)
                            dx[(i * s->columns.in + j) * s->c + c] += dy[c] * share;
            }
}
