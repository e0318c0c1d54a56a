/*
 * projective: ImageProjectiveTransformV2 and V3, which rotate, shift and bend images. For each
 * pixel of the output, eight numbers determine the point of the input.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"

enum fill_mode { FILL_REFLECT, FILL_WRAP, FILL_CONSTANT, FILL_NEAREST };

struct projective_state {
    bool nearest;
    enum fill_mode fill;
};

static struct status projective_prepare(struct prepare_context *p)
{
    static const char *const fills[] = { "REFLECT", "WRAP", "CONSTANT", "NEAREST" };
    const struct node *node = prepare_node(p);
    struct projective_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes interpolation, fill;
    size_t i = 0;
    TRY(node_attr_string(node, "interpolation", &interpolation));
    TRY(node_attr_string(node, "fill_mode", &fill));
    state->nearest = bytes_equal(interpolation, bytes_of("NEAREST"));
    if (!state->nearest && !bytes_equal(interpolation, bytes_of("BILINEAR")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid interpolation %.*s. Supported types: NEAREST, BILINEAR",
                            (int)interpolation.size, interpolation.data);
    while (i < COUNT(fills) && !bytes_equal(fill, bytes_of(fills[i])))
        i++;
    if (i == COUNT(fills))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid mode %.*s. Supported types: REFLECT, WRAP, CONSTANT, NEAREST",
                            (int)fill.size, fill.data);
    state->fill = (enum fill_mode)i;
    return status_ok();
}

struct projective {
    int64_t h, w, c, out_h, out_w;
    struct projective_state how;
    const float *transform; /* [8], of one image */
    float fill;
};

/* A whole number of times that `period` fits in x; 0 for numbers that no int64 holds. */
static float times(float x, int64_t period)
{
    return fabsf(x) < 9e18f ? (float)(period * (int64_t)(x / (float)period)) : 0;
}

static float reflected(float at, int64_t length)
{
    float last = (float)(length - 1), period = (float)(2 * length);
    if (length <= 1 || (at >= 0 && at <= last))
        return at >= 0 && at <= last ? at : 0;
    if (at < 0) {
        if (at < period)
            at = times(-at, 2 * length) + at;
        return at < (float)-length ? at + period : -at - 1;
    }
    at -= times(at, 2 * length);
    return at >= (float)length ? period - at - 1 : at;
}

static float wrapped_around(float at, int64_t length)
{
    float last = (float)(length - 1);
    if (length <= 1 || (at >= 0 && at <= last))
        return at >= 0 && at <= last ? at : 0;
    float count = fabsf(at) / last;
    if (!(count < 9e18f / (float)length))
        return 0;
    return at < 0 ? at + (float)(length * ((int64_t)count + 1))
                  : at - (float)(length * (int64_t)count);
}

/* Maps a point outside the image into it; with FILL_CONSTANT it stays outside. */
static float map_place(enum fill_mode fill, float at, int64_t length)
{
    float last = (float)(length - 1);
    if (fill == FILL_CONSTANT)
        return at;
    if (fill == FILL_REFLECT)
        at = reflected(at, length);
    else if (fill == FILL_WRAP)
        at = wrapped_around(at, length);
    return at < 0 ? 0 : at > last ? last : at;
}

/* The point of the input for a pixel of the output. Returns false if it is at infinity. */
static bool find_place(const struct projective *p, int64_t y, int64_t x, float *in_y, float *in_x)
{
    const float *t = p->transform;
    float fx = (float)x, fy = (float)y, k = t[6] * fx + t[7] * fy + 1;
    if (k == 0)
        return false;
    *in_x = map_place(p->how.fill, (t[0] * fx + t[1] * fy + t[2]) / k, p->w);
    *in_y = map_place(p->how.fill, (t[3] * fx + t[4] * fy + t[5]) / k, p->h);
    return true;
}

/* A whole coordinate as an index; -2 is outside any image, and so are its neighbours. */
static int64_t index_of(float at)
{
    return fabsf(at) < 1e18f ? (int64_t)at : -2;
}

static bool is_pixel(const struct projective *p, int64_t y, int64_t x)
{
    return y >= 0 && y < p->h && x >= 0 && x < p->w;
}

/* Weights of the four pixels around a point. */
struct corners {
    int64_t y, x; /* of the first */
    float up, down, left, right;
};

static struct corners corners_of(float y, float x)
{
    float top = floorf(y), left = floorf(x);
    return (struct corners){ index_of(top), index_of(left), top + 1 - y,
                             y - top,       left + 1 - x,   x - left };
}

#define TRANSFORM(s, T, F)                                                                        \
    static float pixel_##s(const struct projective *p, const T *image, int64_t y, int64_t x,      \
                           int64_t c, T fill)                                                     \
    {                                                                                             \
        return (float)(is_pixel(p, y, x) ? image[(y * p->w + x) * p->c + c] : fill);              \
    }                                                                                             \
    static void mix_##s(const struct projective *p, const T *image, float y, float x, T fill,     \
                        T *out)                                                                   \
    {                                                                                             \
        struct corners at = corners_of(y, x);                                                     \
        for (int64_t c = 0; c < p->c; c++) {                                                      \
            float above = at.left * pixel_##s(p, image, at.y, at.x, c, fill) +                    \
                          at.right * pixel_##s(p, image, at.y, at.x + 1, c, fill);                \
            float below = at.left * pixel_##s(p, image, at.y + 1, at.x, c, fill) +                \
                          at.right * pixel_##s(p, image, at.y + 1, at.x + 1, c, fill);            \
            out[c] = F(at.up * above + at.down * below);                                          \
        }                                                                                         \
    }                                                                                             \
    static void transform_##s(const struct projective *p, int64_t y, const void *image, void *to) \
    {                                                                                             \
        T fill = F(p->fill), *out = to;                                                           \
        float in_y, in_x;                                                                         \
        for (int64_t x = 0; x < p->out_w; x++, out += p->c) {                                     \
            bool finite = find_place(p, y, x, &in_y, &in_x);                                      \
            int64_t from_y = finite ? index_of(roundf(in_y)) : -2,                                \
                    from_x = finite ? index_of(roundf(in_x)) : -2;                                \
            if (finite && !p->how.nearest)                                                        \
                mix_##s(p, image, in_y, in_x, fill, out);                                         \
            else if (is_pixel(p, from_y, from_x))                                                 \
                memcpy(out, (const T *)image + (from_y * p->w + from_x) * p->c,                   \
                       (size_t)p->c * sizeof *out);                                               \
            else                                                                                  \
                for (int64_t c = 0; c < p->c; c++)                                                \
                    out[c] = fill;                                                                \
        }                                                                                         \
    }

/* A float as an integer; one that does not fit becomes the nearest that does. */
static int64_t integer_of(float x)
{
    if (!(x > -9.2e18f))
        return INT64_MIN;
    return x < 9.2e18f ? (int64_t)x : INT64_MAX;
}

#define AS_FLOAT(x)  (x)
#define AS_DOUBLE(x) ((double)(x))
#define AS_U8(x)     ((uint8_t)integer_of(x))
#define AS_I32(x)    ((int32_t)integer_of(x))
#define AS_I64(x)    (integer_of(x))
TRANSFORM(f32, float, AS_FLOAT)
TRANSFORM(f64, double, AS_DOUBLE)
TRANSFORM(u8, uint8_t, AS_U8)
TRANSFORM(i32, int32_t, AS_I32)
TRANSFORM(i64, int64_t, AS_I64)

typedef void transform_row(const struct projective *p, int64_t y, const void *image, void *to);
static transform_row *const transforms[DTYPE_COUNT] = { [DT_FLOAT] = transform_f32,
                                                        [DT_DOUBLE] = transform_f64,
                                                        [DT_UINT8] = transform_u8,
                                                        [DT_INT32] = transform_i32,
                                                        [DT_INT64] = transform_i64 };

static struct status read_projective(struct kernel_context *k, struct projective *out)
{
    const struct tensor *images = kernel_input(k, 0), *transform = kernel_input(k, 1);
    const struct tensor *size = kernel_input(k, 2);
    const int64_t *dims = images->shape.dims;
    if (images->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "Input images must have rank 4");
    if (transform->shape.rank != 2 || transform->shape.dims[1] != 8 ||
        (transform->shape.dims[0] != dims[0] && transform->shape.dims[0] != 1))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input transform should be num_images x 8 or 1 x 8");
    if (size->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "output shape must be 1-dimensional%s",
                            shape_text(&size->shape));
    if (size->size != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "output shape must have two elements%s",
                            shape_text(&size->shape));
    *out = (struct projective){ .h = dims[1],
                                .w = dims[2],
                                .c = dims[3],
                                .out_h = tensor_int32s(size)[0],
                                .out_w = tensor_int32s(size)[1],
                                .how = *(const struct projective_state *)kernel_state(k) };
    if (out->out_h <= 0 || out->out_w <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "output dimensions must be positive");
    if (kernel_inputs_count(k) < 4)
        return status_ok();
    if (kernel_input(k, 3)->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "fill_value must be a scalar%s",
                            shape_text(&kernel_input(k, 3)->shape));
    out->fill = tensor_floats(kernel_input(k, 3))[0];
    return status_ok();
}

static struct status transform_images(struct kernel_context *k, struct projective *p,
                                      const struct tensor *images, struct tensor *out)
{
    const struct tensor *transform = kernel_input(k, 1);
    int64_t image = p->h * p->w * p->c, row = p->out_w * p->c;
    size_t element = dtype_size(images->dtype);
    for (int64_t n = 0; n < out->shape.dims[0]; n++) {
        p->transform = tensor_floats(transform) + (transform->shape.dims[0] == 1 ? 0 : 8 * n);
        for (int64_t y = 0; y < p->out_h; y++) {
            TRY(kernel_check(k));
            transforms[images->dtype](p, y, at_bytes_const(images->data, n * image, element),
                                      at_bytes(out->data, (n * p->out_h + y) * row, element));
        }
    }
    return status_ok();
}

/* half and bfloat16 through floats. */
static struct status transform_halves(struct kernel_context *k, struct projective *p,
                                      struct tensor *out)
{
    struct tensor images = { 0 }, wide = { 0 };
    struct status status;
    p->fill = half_round(out->dtype, p->fill);
    TRY_OR(done, float_values(k, kernel_input(k, 0), &images));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &out->shape, &wide));
    TRY_OR(done, transform_images(k, p, &images, &wide));
    half_block_store(out->dtype, wide.data, out->data, out->size);
done:
    tensor_release(&images);
    tensor_release(&wide);
    return status;
}

static struct status projective_compute(struct kernel_context *k)
{
    const struct tensor *images = kernel_input(k, 0);
    struct projective p;
    struct tensor *out;
    TRY(read_projective(k, &p));
    struct shape shape = shape_of(images->shape.dims[0], p.out_h, p.out_w, p.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (images->size == 0) { /* images without pixels have no point inside */
        p.how.fill = FILL_CONSTANT;
        p.h = p.w = 0;
    }
    return dtype_is_half(out->dtype) ? transform_halves(k, &p, out)
                                     : transform_images(k, &p, images, out);
}

#define DTYPES_PROJECTIVE (DTYPES_FLOATING | DTYPES(DT_UINT8) | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "ImageProjectiveTransformV2", DTYPES_PROJECTIVE, "dtype", .prepare = projective_prepare,
      .compute = projective_compute, .costly = true },
    { "ImageProjectiveTransformV3", DTYPES_PROJECTIVE, "dtype", .prepare = projective_prepare,
      .compute = projective_compute, .costly = true },
};
const struct kernel_table kernels_projective = { rows, COUNT(rows) };
