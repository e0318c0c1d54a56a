/* Gradients of convolutions by nested loops, as conv_row_f64: of doubles, and of integers. */
#include <stddef.h>

#include "runtime/kernels/plain/conv.h"

/* The source of an output pixel at (plane, row, column): one of the two gradients is NULL.
 * `dy_at`: the element of dy of the pixel's first channel. */
struct taps {
    const struct conv_size *size;
    const void *x, *filter, *dy;
    void *dx, *dfilter;
    int64_t dy_at;
    void (*add_tap)(const struct taps *taps, int64_t pixel, int64_t tap);
};

#define ADD_TAP(name, T)                                                           \
    static void name(const struct taps *t, int64_t pixel, int64_t tap)             \
    {                                                                              \
        const struct conv_size *s = t->size;                                       \
        int64_t cg = s->c / s->groups, mg = s->m / s->groups;                      \
        const T *x = t->x, *filter = t->filter, *dy = (const T *)t->dy + t->dy_at; \
        T *dx = t->dx, *dfilter = t->dfilter;                                      \
        for (int64_t q = 0; q < s->m; q++) {                                       \
            int64_t c0 = pixel * s->c + q / mg * cg, f0 = tap * cg * s->m + q;     \
            for (int64_t c = 0; c < cg; c++) {                                     \
                if (dx != NULL)                                                    \
                    dx[c0 + c] += filter[f0 + c * s->m] * dy[q];                   \
                else                                                               \
                    dfilter[f0 + c * s->m] += x[c0 + c] * dy[q];                   \
            }                                                                      \
        }                                                                          \
    }
ADD_TAP(add_tap_f64, double)
ADD_TAP(add_tap_u32, uint32_t)

static void add_pixel(const struct taps *t, int64_t n, int64_t od, int64_t oh, int64_t ow)
{
    const struct conv_size *s = t->size;
    const struct window_taps planes = window_taps(&s->planes, od);
    const struct window_taps rows = window_taps(&s->rows, oh);
    const struct window_taps columns = window_taps(&s->columns, ow);
    for (int64_t e = planes.first; e < planes.end; e++) {
        int64_t d = n * s->planes.in + planes.start + e * s->planes.dilation;
        for (int64_t i = rows.first; i < rows.end; i++) {
            int64_t h = d * s->rows.in + rows.start + i * s->rows.dilation;
            for (int64_t j = columns.first; j < columns.end; j++)
                t->add_tap(t, h * s->columns.in + columns.start + j * s->columns.dilation,
                           (e * s->rows.kernel + i) * s->columns.kernel + j);
        }
    }
}

static void add_row(struct taps *t, int64_t row)
{
    const struct conv_size *s = t->size;
    int64_t plane = row / s->rows.out;
    t->dy_at = row * s->columns.out * s->m;
    for (int64_t w = 0; w < s->columns.out; w++, t->dy_at += s->m)
        add_pixel(t, plane / s->planes.out, plane % s->planes.out, row % s->rows.out, w);
}

void conv_input_grad_row_f64(const struct conv_size *size, int64_t row, const void *dy,
                             const void *filter, void *dx)
{
    struct taps taps = {
        .size = size, .filter = filter, .dy = dy, .dx = dx, .add_tap = add_tap_f64
    };
    add_row(&taps, row);
}

void conv_input_grad_row_u32(const struct conv_size *size, int64_t row, const void *dy,
                             const void *filter, void *dx)
{
    struct taps taps = {
        .size = size, .filter = filter, .dy = dy, .dx = dx, .add_tap = add_tap_u32
    };
    add_row(&taps, row);
}

void conv_filter_grad_row_f64(const struct conv_size *size, int64_t row, const void *x,
                              const void *dy, void *dfilter)
{
    struct taps taps = {
        .size = size, .x = x, .dy = dy, .dfilter = dfilter, .add_tap = add_tap_f64
    };
    add_row(&taps, row);
}
