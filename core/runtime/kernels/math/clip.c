/* ClipByValue: the bounds are scalars or have the shape of x. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

#define CLIP(s, T, W)                                                                 \
    static void clip_##s(const void *x, const void *low, const void *high, void *out, \
                         int64_t count, int low_step, int high_step)                  \
    {                                                                                 \
        for (int64_t i = 0; i < count; i++) {                                         \
            T value = ((const T *)x)[i], least = ((const T *)low)[i * low_step],      \
              most = ((const T *)high)[i * high_step];                                \
            value = value > most ? most : value;                                      \
            ((T *)out)[i] = value < least ? least : value;                            \
        }                                                                             \
    }
REAL_TYPES(CLIP)

/* The parts of complex numbers by themselves: x has `count` pairs. */
#define CLIP_PAIRS(s, T)                                                                         \
    static void clip_pairs_##s(const void *x, const void *low, const void *high, void *out,      \
                               int64_t count, int low_step, int high_step)                       \
    {                                                                                            \
        for (int64_t i = 0; i < count; i++)                                                      \
            for (int part = 0; part < 2; part++)                                                 \
                clip_##s((const T *)x + 2 * i + part, (const T *)low + 2 * i * low_step + part,  \
                         (const T *)high + 2 * i * high_step + part, (T *)out + 2 * i + part, 1, \
                         0, 0);                                                                  \
    }
CLIP_PAIRS(f32, float)
CLIP_PAIRS(f64, double)

typedef void clip(const void *x, const void *low, const void *high, void *out, int64_t count,
                  int low_step, int high_step);
static clip *const clips[DTYPE_COUNT] = {
    ROWS_REAL(clip), [DT_COMPLEX64] = clip_pairs_f32, [DT_COMPLEX128] = clip_pairs_f64
};

static void clip_half(enum dtype dtype, const uint16_t *x, const uint16_t *low,
                      const uint16_t *high, uint16_t *out, int64_t count, int low_step,
                      int high_step)
{
    float value, least, most;
    for (int64_t i = 0; i < count; i++) {
        half_block_load(dtype, &x[i], &value, 1);
        half_block_load(dtype, &low[i * low_step], &least, 1);
        half_block_load(dtype, &high[i * high_step], &most, 1);
        clip_f32(&value, &least, &most, &value, 1, 0, 0);
        half_block_store(dtype, &value, &out[i], 1);
    }
}

static struct status clip_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct tensor *low = kernel_input(k, 1), *high = kernel_input(k, 2);
    struct tensor *out;
    for (int i = 1; i < 3; i++)
        if (kernel_input(k, i)->shape.rank != 0 &&
            !shape_equal(&kernel_input(k, i)->shape, &x->shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "clip_value_min and clip_value_max must be either of the same "
                                "shape as input, or a scalar. input shape: %sclip_value_min shape: "
                                "%sclip_value_max shape: %s",
                                shape_text(&x->shape), shape_text(&low->shape),
                                shape_text(&high->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    int low_step = low->shape.rank > 0, high_step = high->shape.rank > 0;
    if (x->size == 0)
        return status_ok();
    if (dtype_is_half(x->dtype))
        clip_half(x->dtype, x->data, low->data, high->data, out->data, x->size, low_step,
                  high_step);
    else
        clips[x->dtype](x->data, low->data, high->data, out->data, x->size, low_step, high_step);
    return status_ok();
}

static const struct kernel rows[] = {
    { "ClipByValue", DTYPES_REAL | DTYPES_COMPLEX, .compute = clip_compute },
};
const struct kernel_table kernels_clip = { rows, COUNT(rows) };
