#include "runtime/kernels/plain/fractional.h"

#include <float.h>
#include <stddef.h>

/* One window of one image, or a pixel of it, at depth 0. */
struct cell_visit {
    const struct fractional_cells *cells;
    int64_t cell, pixel; /* in elements of the windows and of the image */
    int64_t size;        /* pixels of the window */
};
typedef void visit_loop(const struct cell_visit *visit);

#define LOOPS(s, T, W, lowest)                                                            \
    static void begin_max_##s(const struct cell_visit *v)                                 \
    {                                                                                     \
        T *y = (T *)v->cells->y + v->cell;                                                \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] = lowest;                                                                \
    }                                                                                     \
    static void max_##s(const struct cell_visit *v)                                       \
    {                                                                                     \
        const T *x = (const T *)v->cells->x + v->pixel;                                   \
        T *y = (T *)v->cells->y + v->cell;                                                \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] = y[d] < x[d] ? x[d] : y[d];                                             \
    }                                                                                     \
    static void begin_mean_##s(const struct cell_visit *v)                                \
    {                                                                                     \
        T *y = (T *)v->cells->y + v->cell;                                                \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] = 0;                                                                     \
    }                                                                                     \
    static void mean_##s(const struct cell_visit *v)                                      \
    {                                                                                     \
        const T *x = (const T *)v->cells->x + v->pixel;                                   \
        T *y = (T *)v->cells->y + v->cell;                                                \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] = (T)((W)y[d] + (W)x[d]);                                                \
    }                                                                                     \
    static void end_mean_##s(const struct cell_visit *v)                                  \
    {                                                                                     \
        T *y = (T *)v->cells->y + v->cell;                                                \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] /= (T)v->size;                                                           \
    }                                                                                     \
    static void places_##s(const struct cell_visit *v)                                    \
    {                                                                                     \
        const T *x = (const T *)v->cells->x + v->pixel;                                   \
        T *y = (T *)v->cells->y + v->cell;                                                \
        int64_t *places = v->cells->places + v->cell;                                     \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            if (places[d] < 0 || y[d] < x[d]) {                                           \
                y[d] = x[d];                                                              \
                places[d] = v->pixel + d;                                                 \
            }                                                                             \
    }                                                                                     \
    static void spread_##s(const struct cell_visit *v)                                    \
    {                                                                                     \
        const T *x = (const T *)v->cells->x + v->cell;                                    \
        double *y = (double *)v->cells->y + v->pixel;                                     \
        for (int64_t d = 0; d < v->cells->depth; d++)                                     \
            y[d] += (double)x[d] / (double)v->size;                                       \
    }                                                                                     \
    static void narrow_##s(const double *x, int64_t count, void *to)                      \
    {                                                                                     \
        T *out = to;                                                                      \
        for (int64_t i = 0; i < count; i++)                                               \
            out[i] = CLAMP_##s(x[i]);                                                     \
    }                                                                                     \
    static bool add_##s(const void *from, const int64_t *places, int64_t count, void *to) \
    {                                                                                     \
        const T *x = from;                                                                \
        T *out = to;                                                                      \
        for (int64_t i = 0; i < count; i++) {                                             \
            if (places[i] < 0)                                                            \
                return false;                                                             \
            out[places[i]] = (T)((W)out[places[i]] + (W)x[i]);                            \
        }                                                                                 \
        return true;                                                                      \
    }
/* A number that does not fit becomes the lowest one, as the processor converts it. */
#define CLAMP_f32(v) ((float)(v))
#define CLAMP_f64(v) (v)
#define CLAMP_i32(v) ((v) > -2147483649.0 && (v) < 2147483648.0 ? (int32_t)(v) : INT32_MIN)
#define CLAMP_i64(v) \
    ((v) >= -9223372036854775808.0 && (v) < 9223372036854775808.0 ? (int64_t)(v) : INT64_MIN)
LOOPS(f32, float, float, -FLT_MAX)
LOOPS(f64, double, double, -DBL_MAX)
LOOPS(i32, int32_t, uint32_t, INT32_MIN)
LOOPS(i64, int64_t, uint64_t, INT64_MIN)
#define ROWS_POOLED(name)                                                       \
    [DT_FLOAT] = name##_f32, [DT_DOUBLE] = name##_f64, [DT_INT32] = name##_i32, \
    [DT_INT64] = name##_i64

static visit_loop *const begin_loops[FRACTIONAL_KINDS][DTYPE_COUNT] = {
    [FRACTIONAL_MAX] = { ROWS_POOLED(begin_max) },
    [FRACTIONAL_MEAN] = { ROWS_POOLED(begin_mean) },
    [FRACTIONAL_PLACES] = { ROWS_POOLED(begin_max) },
};
static visit_loop *const pixel_loops[FRACTIONAL_KINDS][DTYPE_COUNT] = {
    [FRACTIONAL_MAX] = { ROWS_POOLED(max) },
    [FRACTIONAL_MEAN] = { ROWS_POOLED(mean) },
    [FRACTIONAL_PLACES] = { ROWS_POOLED(places) },
    [FRACTIONAL_SPREAD] = { ROWS_POOLED(spread) },
};
static visit_loop *const end_loops[FRACTIONAL_KINDS][DTYPE_COUNT] = {
    [FRACTIONAL_MEAN] = { ROWS_POOLED(end_mean) },
};

/* The part of a window that lies in the image. */
struct cell_window {
    int64_t begin, end;
};

static struct cell_window find_window(const struct fractional_cells *c, int axis, int64_t i)
{
    int64_t begin = c->borders[axis][i], end = c->borders[axis][i + 1];
    if (c->overlapping && end < c->in[axis])
        end++;
    end = end < c->in[axis] ? end : c->in[axis];
    return (struct cell_window){ begin, end > begin ? end : begin };
}

static void visit_window(const struct fractional_cells *c, visit_loop *loop, int64_t image,
                         struct cell_window rows, struct cell_window columns,
                         struct cell_visit *visit)
{
    for (int64_t row = rows.begin; row < rows.end; row++)
        for (int64_t column = columns.begin; column < columns.end; column++) {
            visit->pixel = ((image * c->in[0] + row) * c->in[1] + column) * c->depth;
            loop(visit);
        }
}

void fractional_row(const struct fractional_cells *c, enum dtype dtype, enum fractional_kind kind,
                    int64_t image, int64_t row)
{
    visit_loop *begin = begin_loops[kind][dtype], *end = end_loops[kind][dtype];
    struct cell_window rows = find_window(c, 0, row);
    for (int64_t column = 0; column < c->out[1]; column++) {
        struct cell_window columns = find_window(c, 1, column);
        struct cell_visit visit = {
            .cells = c,
            .cell = ((image * c->out[0] + row) * c->out[1] + column) * c->depth,
            .size = (rows.end - rows.begin) * (columns.end - columns.begin),
        };
        if (begin != NULL)
            begin(&visit);
        visit_window(c, pixel_loops[kind][dtype], image, rows, columns, &visit);
        if (end != NULL && visit.size > 0) /* an integer cannot be divided by 0 */
            end(&visit);
    }
}

void fractional_narrow(enum dtype dtype, const double *x, int64_t count, void *out)
{
    static void (*const loops[DTYPE_COUNT])(const double *, int64_t,
                                            void *) = { ROWS_POOLED(narrow) };
    loops[dtype](x, count, out);
}

bool fractional_add(enum dtype dtype, const void *x, const int64_t *places, int64_t count,
                    void *out)
{
    static bool (*const loops[DTYPE_COUNT])(const void *, const int64_t *, int64_t,
                                            void *) = { ROWS_POOLED(add) };
    return loops[dtype](x, places, count, out);
}
