#include "runtime/kernels/plain/conv.h"

#include <string.h>

#include "runtime/kernels/plain/gemm.h"
#include "runtime/kernels/plain/types.h"

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

#define CONV_DIRECT(name, T)                                                                   \
    static T name##_pixel(const struct conv_size *s, const T *x, const T *filter, int64_t oh,  \
                          int64_t ow, int64_t q)                                               \
    {                                                                                          \
        int64_t cg = s->c / s->groups, mg = s->m / s->groups, c0 = q / mg * cg;                \
        T sum = 0;                                                                             \
        for (int64_t i = 0; i < s->rows.kernel; i++)                                           \
            for (int64_t j = 0; j < s->columns.kernel; j++) {                                  \
                int64_t h = input_place(&s->rows, oh, i), w = input_place(&s->columns, ow, j); \
                if (!inside(&s->rows, h) || !inside(&s->columns, w))                           \
                    continue;                                                                  \
                const T *pixel = x + (h * s->columns.in + w) * s->c + c0;                      \
                const T *weights = filter + (i * s->columns.kernel + j) * cg * s->m + q;       \
                for (int64_t c = 0; c < cg; c++)                                               \
                    sum += pixel[c] * weights[c * s->m];                                       \
            }                                                                                  \
        return sum;                                                                            \
    }                                                                                          \
    void name(const struct conv_size *s, const T *x, const T *filter, T *out)                  \
    {                                                                                          \
        for (int64_t n = 0; n < s->n; n++, x += s->rows.in * s->columns.in * s->c)             \
            for (int64_t oh = 0; oh < s->rows.out; oh++)                                       \
                for (int64_t ow = 0; ow < s->columns.out; ow++)                                \
                    for (int64_t q = 0; q < s->m; q++)                                         \
                        *out++ = name##_pixel(s, x, filter, oh, ow, q);                        \
    }
CONV_DIRECT(conv2d_direct_f32, float)
CONV_DIRECT(conv2d_direct_f64, double)

/* The patches of output pixels [first, first + count) of image `x` [h, w, c] for one group:
 * patches [count, kh·kw·c/groups]; 0 outside of the image. */
static void read_patches(const struct conv_size *size, const float *x, int64_t group, int64_t first,
                         int64_t count, float *patches)
{
    const struct window *rows = &size->rows, *columns = &size->columns;
    int64_t cg = size->c / size->groups;
    for (int64_t p = first; p < first + count; p++) {
        int64_t oh = p / columns->out, ow = p % columns->out;
        for (int64_t i = 0; i < rows->kernel; i++)
            for (int64_t j = 0; j < columns->kernel; j++, patches += cg) {
                int64_t h = input_place(rows, oh, i), w = input_place(columns, ow, j);
                if (inside(rows, h) && inside(columns, w))
                    memcpy(patches, x + (h * columns->in + w) * size->c + group * cg,
                           (size_t)cg * sizeof *patches);
                else
                    memset(patches, 0, (size_t)cg * sizeof *patches);
            }
    }
}

/* The reverse, for gradients: adds patches to the image. */
static void add_patches(const struct conv_size *size, const float *patches, int64_t group,
                        int64_t first, int64_t count, float *x)
{
    const struct window *rows = &size->rows, *columns = &size->columns;
    int64_t cg = size->c / size->groups;
    for (int64_t p = first; p < first + count; p++) {
        int64_t oh = p / columns->out, ow = p % columns->out;
        for (int64_t i = 0; i < rows->kernel; i++)
            for (int64_t j = 0; j < columns->kernel; j++, patches += cg) {
                int64_t h = input_place(rows, oh, i), w = input_place(columns, ow, j);
                if (!inside(rows, h) || !inside(columns, w))
                    continue;
                float *pixel = x + (h * columns->in + w) * size->c + group * cg;
                for (int64_t c = 0; c < cg; c++)
                    pixel[c] += patches[c];
            }
    }
}

static int64_t depth_of(const struct conv_size *size)
{
    return size->rows.kernel * size->columns.kernel * (size->c / size->groups);
}

static int64_t block_of(const struct conv_size *size)
{
    int64_t depth = depth_of(size), pixels = size->rows.out * size->columns.out;
    int64_t block = depth > 0 ? PATCHES_FLOATS / depth : 1;
    block = block < 16 ? 16 : block;
    return block < pixels ? block : pixels;
}

int64_t conv2d_scratch_size(const struct conv_size *size)
{
    return block_of(size) * depth_of(size);
}

/* With a 1×1 kernel, stride 1 and no padding, the image is the matrix of patches. */
static bool patches_are_image(const struct conv_size *size)
{
    return size->groups == 1 && size->rows.kernel == 1 && size->columns.kernel == 1 &&
           size->rows.stride == 1 && size->columns.stride == 1 && size->rows.out == size->rows.in &&
           size->columns.out == size->columns.in;
}

void conv2d_f32(const struct conv_size *size, const float *x, const float *filter, float *scratch,
                float *out)
{
    int64_t depth = depth_of(size), pixels = size->rows.out * size->columns.out;
    int64_t image = size->rows.in * size->columns.in * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    if (patches_are_image(size)) {
        gemm_f32(false, false, size->n * pixels, size->m, depth, x, depth, filter, size->m, false,
                 out, size->m);
        return;
    }
    for (int64_t n = 0; n < size->n; n++, x += image, out += pixels * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < pixels; p += block) {
                int64_t count = pixels - p < block ? pixels - p : block;
                read_patches(size, x, g, p, count, scratch);
                gemm_f32(false, false, count, mg, depth, scratch, depth, filter + g * mg, size->m,
                         false, out + p * size->m + g * mg, size->m);
            }
}

void conv2d_input_grad_f32(const struct conv_size *size, const float *dy, const float *filter,
                           float *scratch, float *dx)
{
    int64_t depth = depth_of(size), pixels = size->rows.out * size->columns.out;
    int64_t image = size->rows.in * size->columns.in * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    memset(dx, 0, (size_t)(size->n * image) * sizeof *dx);
    for (int64_t n = 0; n < size->n; n++, dx += image, dy += pixels * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < pixels; p += block) {
                int64_t count = pixels - p < block ? pixels - p : block;
                gemm_f32(false, true, count, depth, mg, dy + p * size->m + g * mg, size->m,
                         filter + g * mg, size->m, false, scratch, depth);
                add_patches(size, scratch, g, p, count, dx);
            }
}

void conv2d_filter_grad_f32(const struct conv_size *size, const float *x, const float *dy,
                            float *scratch, float *dfilter)
{
    int64_t depth = depth_of(size), pixels = size->rows.out * size->columns.out;
    int64_t image = size->rows.in * size->columns.in * size->c, block = block_of(size);
    int64_t mg = size->m / size->groups;
    memset(dfilter, 0, (size_t)(depth * size->m) * sizeof *dfilter);
    for (int64_t n = 0; n < size->n; n++, x += image, dy += pixels * size->m)
        for (int64_t g = 0; g < size->groups; g++)
            for (int64_t p = 0; p < pixels; p += block) {
                int64_t count = pixels - p < block ? pixels - p : block;
                read_patches(size, x, g, p, count, scratch);
                gemm_f32(true, false, depth, mg, count, scratch, depth, dy + p * size->m + g * mg,
                         size->m, true, dfilter + g * mg, size->m);
            }
}
