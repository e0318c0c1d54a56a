/* Gradients of convolutions of doubles: nested loops, as conv_direct_f64. */
#include <string.h>

#include "runtime/kernels/plain/conv.h"

/* What an output pixel at (plane, row, column) was made of: one of the two gradients is NULL. */
struct taps {
    const struct conv_size *size;
    const double *x, *filter, *dy;
    double *dx, *dfilter;
};

static void add_tap(const struct taps *t, int64_t pixel, int64_t tap)
{
    const struct conv_size *s = t->size;
    int64_t cg = s->c / s->groups, mg = s->m / s->groups;
    for (int64_t q = 0; q < s->m; q++) {
        int64_t c0 = pixel * s->c + q / mg * cg, f0 = tap * cg * s->m + q;
        for (int64_t c = 0; c < cg; c++) {
            if (t->dx != NULL)
                t->dx[c0 + c] += t->filter[f0 + c * s->m] * t->dy[q];
            else
                t->dfilter[f0 + c * s->m] += t->x[c0 + c] * t->dy[q];
        }
    }
}

static bool find_place(const struct window *window, int64_t out, int64_t kernel, int64_t *place)
{
    *place = out * window->stride - window->before + kernel * window->dilation;
    return *place >= 0 && *place < window->in;
}

static void add_pixel(const struct taps *t, int64_t n, int64_t od, int64_t oh, int64_t ow)
{
    const struct conv_size *s = t->size;
    int64_t d, h, w;
    for (int64_t e = 0; e < s->planes.kernel; e++)
        for (int64_t i = 0; i < s->rows.kernel; i++)
            for (int64_t j = 0; j < s->columns.kernel; j++)
                if (find_place(&s->planes, od, e, &d) && find_place(&s->rows, oh, i, &h) &&
                    find_place(&s->columns, ow, j, &w))
                    add_tap(t, ((n * s->planes.in + d) * s->rows.in + h) * s->columns.in + w,
                            (e * s->rows.kernel + i) * s->columns.kernel + j);
}

static void add_pixels(struct taps *t)
{
    const struct conv_size *s = t->size;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t d = 0; d < s->planes.out; d++)
            for (int64_t h = 0; h < s->rows.out; h++)
                for (int64_t w = 0; w < s->columns.out; w++, t->dy += s->m)
                    add_pixel(t, n, d, h, w);
}

void conv_input_grad_f64(const struct conv_size *size, const double *dy, const double *filter,
                         double *dx)
{
    struct taps taps = { .size = size, .filter = filter, .dy = dy, .dx = dx };
    memset(dx, 0, (size_t)(size->n * conv_places_in(size) * size->c) * sizeof *dx);
    add_pixels(&taps);
}

void conv_filter_grad_f64(const struct conv_size *size, const double *x, const double *dy,
                          double *dfilter)
{
    struct taps taps = { .size = size, .x = x, .dy = dy, .dfilter = dfilter };
    int64_t places = size->planes.kernel * size->rows.kernel * size->columns.kernel;
    memset(dfilter, 0, (size_t)(places * (size->c / size->groups) * size->m) * sizeof *dfilter);
    add_pixels(&taps);
}
