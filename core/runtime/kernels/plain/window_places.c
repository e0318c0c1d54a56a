#include "runtime/kernels/plain/window_places.h"

#include <float.h>

#include "runtime/kernels/plain/types.h"

static int64_t place_of(const struct window *window, const struct window_taps *taps, int64_t tap)
{
    return taps->start + tap * window->dilation;
}

#define MAX_PLACES(s, T, W)                                                                 \
    static void keep_greater_##s(const T *image, int64_t pixel, int64_t c, int64_t *places) \
    {                                                                                       \
        for (int64_t i = 0; i < c; i++)                                                     \
            if (places[i] < 0 || image[pixel * c + i] > image[places[i] * c + i])           \
                places[i] = pixel;                                                          \
    }                                                                                       \
    static void max_places_##s(const struct conv_size *z, const void *image, int64_t row,   \
                               int64_t first, int64_t end, int64_t *places)                 \
    {                                                                                       \
        const struct window_taps rows = window_taps(&z->rows, row);                         \
        for (int64_t i = 0; i < (end - first) * z->c; i++)                                  \
            places[i] = -1;                                                                 \
        for (int64_t column = first; column < end; column++, places += z->c) {              \
            const struct window_taps columns = window_taps(&z->columns, column);            \
            for (int64_t i = rows.first; i < rows.end; i++)                                 \
                for (int64_t j = columns.first; j < columns.end; j++)                       \
                    keep_greater_##s(image,                                                 \
                                     place_of(&z->rows, &rows, i) * z->columns.in +         \
                                         place_of(&z->columns, &columns, j),                \
                                     z->c, places);                                         \
        }                                                                                   \
    }
REAL_TYPES(MAX_PLACES)

static max_places *const max_places_rows[DTYPE_COUNT] = { ROWS_REAL(max_places) };

max_places *max_places_of(enum dtype dtype)
{
    return max_places_rows[dtype];
}

/* ---- dilation ---- */

static float sum_f32(float x, float y, enum dtype narrow)
{
    float sum = x + y;
    if (narrow == DT_HALF)
        return half_to_float(float_to_half(sum));
    return narrow == DT_BFLOAT16 ? bfloat16_to_float(float_to_bfloat16(sum)) : sum;
}

#define SUM(s, T, W)                              \
    static T sum_##s(T x, T y, enum dtype narrow) \
    {                                             \
        (void)narrow;                             \
        return (T)((W)x + (W)y);                  \
    }
SUM(f64, double, double)
INTEGER_TYPES(SUM)

static float lowest_f32(enum dtype narrow)
{
    return narrow == DT_HALF ? -65504.0f : narrow == DT_BFLOAT16 ? -3.38953139e38f : -FLT_MAX;
}

#define LOWEST(s, T, least)                \
    static T lowest_##s(enum dtype narrow) \
    {                                      \
        (void)narrow;                      \
        return least;                      \
    }
LOWEST(f64, double, -DBL_MAX)
LOWEST(i8, int8_t, INT8_MIN)
LOWEST(i16, int16_t, INT16_MIN)
LOWEST(i32, int32_t, INT32_MIN)
LOWEST(i64, int64_t, INT64_MIN)
LOWEST(u8, uint8_t, 0)
LOWEST(u16, uint16_t, 0)
LOWEST(u32, uint32_t, 0)
LOWEST(u64, uint64_t, 0)

/* Before anything is greater, TensorFlow's gradient goes to the first place that is not in front
 * of the image. */
static int64_t first_pixel(const struct conv_size *z, int64_t row, int64_t column)
{
    int64_t y = row * z->rows.stride - z->rows.before;
    int64_t x = column * z->columns.stride - z->columns.before;
    y = y < 0 ? 0 : y;
    x = x < 0 ? 0 : x;
    return y < z->rows.in && x < z->columns.in ? y * z->columns.in + x : -1;
}

#define DILATE(s, T, W)                                                                          \
    static T dilate_one_##s(const struct conv_size *z, enum dtype narrow, const T *image,        \
                            const T *filter, int64_t row, int64_t column, int64_t *pixel,        \
                            int64_t *tap)                                                        \
    {                                                                                            \
        T greatest = lowest_##s(narrow);                                                         \
        const struct window_taps rows = window_taps(&z->rows, row),                              \
                                 columns = window_taps(&z->columns, column);                     \
        *pixel = first_pixel(z, row, column);                                                    \
        *tap = 0;                                                                                \
        for (int64_t i = rows.first; i < rows.end; i++)                                          \
            for (int64_t j = columns.first; j < columns.end; j++) {                              \
                int64_t at = i * z->columns.kernel + j,                                          \
                        from = place_of(&z->rows, &rows, i) * z->columns.in +                    \
                               place_of(&z->columns, &columns, j);                               \
                T value = sum_##s(image[from * z->c], filter[at * z->c], narrow);                \
                if (value > greatest) {                                                          \
                    greatest = value;                                                            \
                    *pixel = from;                                                               \
                    *tap = at;                                                                   \
                }                                                                                \
            }                                                                                    \
        return greatest;                                                                         \
    }                                                                                            \
    static void dilate_row_##s(const struct conv_size *z, enum dtype narrow, const void *image,  \
                               const void *filter, int64_t row, const struct dilated *out)       \
    {                                                                                            \
        int64_t pixel, tap, at = 0;                                                              \
        for (int64_t column = 0; column < z->columns.out; column++)                              \
            for (int64_t c = 0; c < z->c; c++, at++) {                                           \
                T value = dilate_one_##s(z, narrow, (const T *)image + c, (const T *)filter + c, \
                                         row, column, &pixel, &tap);                             \
                if (out->values != NULL)                                                         \
                    ((T *)out->values)[at] = value;                                              \
                if (out->pixels != NULL) {                                                       \
                    out->pixels[at] = pixel;                                                     \
                    out->taps[at] = tap;                                                         \
                }                                                                                \
            }                                                                                    \
    }
REAL_TYPES(DILATE)

static dilate_row *const dilate_rows[DTYPE_COUNT] = { ROWS_REAL(dilate_row) };

dilate_row *dilate_row_of(enum dtype dtype)
{
    return dilate_rows[dtype];
}
