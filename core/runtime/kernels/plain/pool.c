#include "runtime/kernels/plain/pool.h"

#include <float.h>
#include <string.h>

#include "base/parallel.h"
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

/* The part of the window of output `p`. */
struct part {
    struct range d, h, w;
};

static struct part part_of(const struct conv_size *s, int64_t p)
{
    int64_t rest = p / s->columns.out;
    return (struct part){ range_of(&s->planes, rest / s->rows.out),
                          range_of(&s->rows, rest % s->rows.out),
                          range_of(&s->columns, p % s->columns.out) };
}

/* 0: the window lies outside. */
static int64_t part_size(const struct part *p)
{
    bool empty = p->d.first >= p->d.end || p->h.first >= p->h.end || p->w.first >= p->w.end;
    return empty ? 0 : (p->d.end - p->d.first) * (p->h.end - p->h.first) * (p->w.end - p->w.first);
}

static int64_t place_of(const struct conv_size *s, int64_t plane, int64_t row, int64_t column)
{
    return (plane * s->rows.in + row) * s->columns.in + column;
}

#define ELEMENTS_PER_NS 4 /* of windows */

/* As TensorFlow: a maximum starts from the lowest finite number, which NaN and -Inf do not
 * exceed. */
#define LOWEST_f32 -FLT_MAX
#define LOWEST_f64 -DBL_MAX
#define POOL(attributes, suffix, T)                                                                \
    attributes static void keep_greater_##suffix(const T *x, T *out, int64_t c)                    \
    {                                                                                              \
        IVDEP for (int64_t i = 0; i < c; i++) out[i] = x[i] > out[i] ? x[i] : out[i];              \
    }                                                                                              \
    attributes static void add_##suffix(const T *x, T *out, int64_t c)                             \
    {                                                                                              \
        IVDEP for (int64_t i = 0; i < c; i++) out[i] += x[i];                                      \
    }                                                                                              \
    static void pool_window_##suffix(const struct conv_size *s, const struct part *p, const T *x,  \
                                     T *out, bool average)                                         \
    {                                                                                              \
        for (int64_t c = 0; c < s->c; c++)                                                         \
            out[c] = average ? 0 : LOWEST_##suffix;                                                \
        for (int64_t e = p->d.first; e < p->d.end; e++)                                            \
            for (int64_t i = p->h.first; i < p->h.end; i++)                                        \
                for (int64_t j = p->w.first; j < p->w.end; j++)                                    \
                    (average ? add_##suffix                                                        \
                             : keep_greater_##suffix)(x + place_of(s, e, i, j) * s->c, out, s->c); \
        T count = (T)part_size(p);                                                                 \
        for (int64_t c = 0; c < s->c && average; c++)                                              \
            out[c] /= count;                                                                       \
    }                                                                                              \
    struct pool_run_##suffix {                                                                     \
        const struct conv_size *size;                                                              \
        const T *x;                                                                                \
        T *out;                                                                                    \
        bool average;                                                                              \
    };                                                                                             \
    static void pool_places_##suffix(void *context, int64_t first, int64_t end)                    \
    {                                                                                              \
        const struct pool_run_##suffix *run = context;                                             \
        const struct conv_size *s = run->size;                                                     \
        int64_t places = conv_places_out(s), volume = conv_places_in(s) * s->c;                    \
        for (int64_t p = first; p < end; p++) {                                                    \
            struct part part = part_of(s, p % places);                                             \
            pool_window_##suffix(s, &part, run->x + p / places * volume, run->out + p * s->c,      \
                                 run->average);                                                    \
        }                                                                                          \
    }                                                                                              \
    static void pool_##suffix(const struct conv_size *s, const T *x, T *out, bool average)         \
    {                                                                                              \
        struct pool_run_##suffix run = { s, x, out, average };                                     \
        int64_t places = s->n * conv_places_out(s);                                                \
        double window =                                                                            \
            (double)s->planes.kernel * (double)s->rows.kernel * (double)s->columns.kernel;         \
        parallel_for(places, (double)places *window *(double)s->c / ELEMENTS_PER_NS,               \
                     pool_places_##suffix, &run);                                                  \
    }                                                                                              \
    void max_pool_##suffix(const struct conv_size *size, const T *x, T *out)                       \
    {                                                                                              \
        pool_##suffix(size, x, out, false);                                                        \
    }                                                                                              \
    void avg_pool_##suffix(const struct conv_size *size, const T *x, T *out)                       \
    {                                                                                              \
        pool_##suffix(size, x, out, true);                                                         \
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
static void give_to_greatest(const struct conv_size *s, const float *x, const struct part *part,
                             int64_t c, const float *dy, float *dx)
{
    struct best best;
    if (part_size(part) == 0)
        return;
    int64_t first = place_of(s, part->d.first, part->h.first, part->w.first);
    for (int64_t i = 0; i < c; i++) {
        best.value[i] = x[first * s->c + i];
        best.place[i] = (int32_t)first;
    }
    for (int64_t e = part->d.first; e < part->d.end; e++)
        for (int64_t i = part->h.first; i < part->h.end; i++)
            for (int64_t j = part->w.first; j < part->w.end; j++) {
                int64_t at = place_of(s, e, i, j);
                keep_best(x + at * s->c, (int32_t)at, c, &best);
            }
    for (int64_t i = 0; i < c; i++)
        dx[best.place[i] * s->c + i] += dy[i];
}

void max_pool_grad_f32(const struct conv_size *s, const float *x, const float *dy, float *dx)
{
    int64_t volume = conv_places_in(s) * s->c;
    memset(dx, 0, (size_t)(s->n * volume) * sizeof *dx);
    for (int64_t n = 0; n < s->n; n++, x += volume, dx += volume)
        for (int64_t p = 0; p < conv_places_out(s); p++, dy += s->c) {
            struct part part = part_of(s, p);
            for (int64_t c = 0; c < s->c; c += BLOCK)
                give_to_greatest(s, x + c, &part, s->c - c < BLOCK ? s->c - c : BLOCK, dy + c,
                                 dx + c);
        }
}

/* Walks over the elements of a window; `at`: where its channels begin. */
#define EACH_OF_WINDOW(s, part, at)                                               \
    for (int64_t e = (part)->d.first; e < (part)->d.end; e++)                     \
        for (int64_t i = (part)->h.first; i < (part)->h.end; i++)                 \
            for (int64_t j = (part)->w.first, at = place_of(s, e, i, j) * (s)->c; \
                 j < (part)->w.end; j++, at += (s)->c)

void max_pool_equal_places_f32(const struct conv_size *s, const float *x, const float *y,
                               int64_t *places)
{
    for (int64_t p = 0; p < conv_places_out(s); p++, y += s->c, places += s->c) {
        struct part part = part_of(s, p);
        for (int64_t c = 0; c < s->c; c++)
            places[c] = -1;
        EACH_OF_WINDOW(s, &part, at)
        for (int64_t c = 0; c < s->c; c++)
            if (places[c] < 0 && x[at + c] == y[c])
                places[c] = at / s->c;
    }
}

void max_pool_each_grad_f32(const struct conv_size *s, const float *x, const float *y,
                            const float *dy, float *dx)
{
    int64_t volume = conv_places_in(s) * s->c;
    memset(dx, 0, (size_t)(s->n * volume) * sizeof *dx);
    for (int64_t n = 0; n < s->n; n++, x += volume, dx += volume)
        for (int64_t p = 0; p < conv_places_out(s); p++, y += s->c, dy += s->c) {
            struct part part = part_of(s, p);
            EACH_OF_WINDOW(s, &part, at)
            for (int64_t c = 0; c < s->c; c++)
                dx[at + c] += x[at + c] == y[c] ? dy[c] : 0;
        }
}

#define AVG_POOL_GRAD(name, T)                                             \
    void name(const struct conv_size *s, const T *dy, T *dx)               \
    {                                                                      \
        int64_t volume = conv_places_in(s) * s->c;                         \
        memset(dx, 0, (size_t)(s->n * volume) * sizeof *dx);               \
        for (int64_t n = 0; n < s->n; n++, dx += volume)                   \
            for (int64_t p = 0; p < conv_places_out(s); p++, dy += s->c) { \
                struct part part = part_of(s, p);                          \
                T share = 1 / (T)part_size(&part);                         \
                EACH_OF_WINDOW(s, &part, at)                               \
                for (int64_t c = 0; c < s->c; c++)                         \
                    dx[at + c] += dy[c] * share;                           \
            }                                                              \
    }
AVG_POOL_GRAD(avg_pool_grad_f32, float)
AVG_POOL_GRAD(avg_pool_grad_f64, double)
