#include "runtime/kernels/plain/conv.h"

#include <string.h>

#include "runtime/kernels/plain/gemm.h"

/* Scratch for patches, about the size of an L2 cache. */
#define PATCHES_FLOATS (256 * 1024)

static int64_t input_place(const struct window *window, int64_t out, int64_t kernel)
{
    return out * window->stride - window->before + kernel * window->dilation;
}

static bool inside(const struct window *window, int64_t place)
{
    return place >= 0 && place < window->in;
}

static int64_t place_of(const struct conv_size *size, int64_t plane, int64_t row, int64_t column)
{
    return (plane * size->rows.in + row) * size->columns.in + column;
}

#define CONV_ROW(linkage, name, T)                                                                 \
    static T name##_place(const struct conv_size *s, const T *x, const T *filter, int64_t od,      \
                          int64_t oh, int64_t ow, int64_t q)                                       \
    {                                                                                              \
        int64_t cg = s->c / s->groups, mg = s->m / s->groups, c0 = q / mg * cg;                    \
        T sum = 0;                                                                                 \
        for (int64_t e = 0; e < s->planes.kernel; e++)                                             \
            for (int64_t i = 0; i < s->rows.kernel; i++)                                           \
                for (int64_t j = 0; j < s->columns.kernel; j++, filter += cg * s->m) {             \
                    int64_t d = input_place(&s->planes, od, e);                                    \
                    int64_t h = input_place(&s->rows, oh, i);                                      \
                    int64_t w = input_place(&s->columns, ow, j);                                   \
                    if (!inside(&s->planes, d) || !inside(&s->rows, h) || !inside(&s->columns, w)) \
                        continue;                                                                  \
                    const T *from = x + place_of(s, d, h, w) * s->c + c0;                          \
                    for (int64_t c = 0; c < cg; c++)                                               \
                        sum += from[c] * filter[c * s->m + q];                                     \
                }                                                                                  \
        return sum;                                                                                \
    }                                                                                              \
    linkage void name(const struct conv_size *s, int64_t row, const void *vx, const void *filter,  \
                      void *vout)                                                                  \
    {                                                                                              \
        int64_t plane = row / s->rows.out, n = plane / s->planes.out;                              \
        const T *x = (const T *)vx + n * conv_places_in(s) * s->c;                                 \
        T *out = (T *)vout + row * s->columns.out * s->m;                                          \
        for (int64_t ow = 0; ow < s->columns.out; ow++)                                            \
            for (int64_t q = 0; q < s->m; q++)                                                     \
                *out++ =                                                                           \
                    name##_place(s, x, filter, plane % s->planes.out, row % s->rows.out, ow, q);   \
    }
CONV_ROW(static, conv_row_f32, float)
CONV_ROW(, conv_row_f64, double)
CONV_ROW(, conv_row_u32, uint32_t)

void conv_direct_f32(const struct conv_size *size, const float *x, const float *filter, float *out)
{
    for (int64_t row = 0; row < conv_rows_out(size); row++)
        conv_row_f32(size, row, x, filter, out);
}

/* The first element of the window of output `p`; it may be outside of the volume. */
struct corner {
    int64_t plane, row, column;
};

static struct corner corner_of(const struct conv_size *size, int64_t p)
{
    int64_t ow = p % size->columns.out, rest = p / size->columns.out;
    return (struct corner){ input_place(&size->planes, rest / size->rows.out, 0),
                            input_place(&size->rows, rest % size->rows.out, 0),
                            input_place(&size->columns, ow, 0) };
}

/* The patches of output places [first, first + count) of a volume `x` for one group:
 * patches [count, kd·kh·kw·c/groups]; 0 outside of the volume. */
static void read_patches(const struct conv_size *size, const float *x, int64_t group, int64_t first,
                         int64_t count, float *patches)
{
    const struct window *planes = &size->planes, *rows = &size->rows, *columns = &size->columns;
    int64_t cg = size->c / size->groups;
    for (int64_t p = first; p < first + count; p++) {
        struct corner at = corner_of(size, p);
        for (int64_t e = 0; e < planes->kernel; e++)
            for (int64_t i = 0; i < rows->kernel; i++)
                for (int64_t j = 0; j < columns->kernel; j++, patches += cg) {
                    int64_t d = at.plane + e * planes->dilation;
                    int64_t h = at.row + i * rows->dilation;
                    int64_t w = at.column + j * columns->dilation;
                    if (inside(planes, d) && inside(rows, h) && inside(columns, w))
                        memcpy(patches, x + place_of(size, d, h, w) * size->c + group * cg,
                               (size_t)cg * sizeof *patches);
                    else
                        memset(patches, 0, (size_t)cg * sizeof *patches);
                }
    }
}

/* The reverse, for gradients: adds patches to the volume. */
static void add_patches(const struct conv_size *size, const float *patches, int64_t group,
                        int64_t first, int64_t count, float *x)
{
    const struct window *planes = &size->planes, *rows = &size->rows, *columns = &size->columns;
    int64_t cg = size->c / size->groups;
    for (int64_t p = first; p < first + count; p++) {
        struct corner at = corner_of(size, p);
        for (int64_t e = 0; e < planes->kernel; e++)
            for (int64_t i = 0; i < rows->kernel; i++)
                for (int64_t j = 0; j < columns->kernel; j++, patches += cg) {
                    int64_t d = at.plane + e * planes->dilation;
                    int64_t h = at.row + i * rows->dilation;
                    int64_t w = at.column + j * columns->dilation;
                    if (!inside(planes, d) || !inside(rows, h) || !inside(columns, w))
                        continue;
                    float *to = x + place_of(size, d, h, w) * size->c + group * cg;
                    for (int64_t c = 0; c < cg; c++)
                        to[c] += patches[c];
                }
    }
}

static int64_t depth_of(const struct conv_size *size)
{
    return size->planes.kernel * size->rows.kernel * size->columns.kernel *
           (size->c / size->groups);
}

static int64_t block_of(const struct conv_size *size)
{
    int64_t depth = depth_of(size), places = conv_places_out(size);
    int64_t block = depth > 0 ? PATCHES_FLOATS / depth : 1;
    block = block < 16 ? 16 : block;
    return block < places ? block : places;
}

int64_t conv_scratch_size(const struct conv_size *size)
{
    return block_of(size) * depth_of(size);
}

/* A kernel of one element with stride 1 and no padding. */
static bool reads_each_place(const struct window *window)
{
    return window->kernel == 1 && window->stride == 1 && window->out == window->in;
}

/* The volume is the matrix of patches. */
static bool patches_are_volume(const struct conv_size *size)
{
    return size->groups == 1 && reads_each_place(&size->planes) && reads_each_place(&size->rows) &&
           reads_each_place(&size->columns);
}

void conv_f32(const struct conv_size *size, const float *x, const float *filter, float *scratch,
              float *out)
{
    int64_t depth = depth_of(size), places = conv_places_out(size);
    int64_t volume = conv_places_in(size) * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    if (patches_are_volume(size)) {
        gemm_f32(false, false, size->n * places, size->m, depth, x, depth, filter, size->m, false,
                 out, size->m);
        return;
    }
    for (int64_t n = 0; n < size->n; n++, x += volume, out += places * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < places; p += block) {
                int64_t count = places - p < block ? places - p : block;
                read_patches(size, x, g, p, count, scratch);
                gemm_f32(false, false, count, mg, depth, scratch, depth, filter + g * mg, size->m,
                         false, out + p * size->m + g * mg, size->m);
            }
}

void conv_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                         float *scratch, float *dx)
{
    int64_t depth = depth_of(size), places = conv_places_out(size);
    int64_t volume = conv_places_in(size) * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    memset(dx, 0, (size_t)(size->n * volume) * sizeof *dx);
    for (int64_t n = 0; n < size->n; n++, dx += volume, dy += places * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < places; p += block) {
                int64_t count = places - p < block ? places - p : block;
                gemm_f32(false, true, count, depth, mg, dy + p * size->m + g * mg, size->m,
                         filter + g * mg, size->m, false, scratch, depth);
                add_patches(size, scratch, g, p, count, dx);
            }
}

void conv_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                          float *scratch, float *dfilter)
{
    int64_t depth = depth_of(size), places = conv_places_out(size);
    int64_t volume = conv_places_in(size) * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    memset(dfilter, 0, (size_t)(depth * size->m) * sizeof *dfilter);
    for (int64_t n = 0; n < size->n; n++, x += volume, dy += places * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < places; p += block) {
                int64_t count = places - p < block ? places - p : block;
                read_patches(size, x, g, p, count, scratch);
                gemm_f32(true, false, depth, mg, count, scratch, depth, dy + p * size->m + g * mg,
                         size->m, true, dfilter + g * mg, size->m);
            }
}
