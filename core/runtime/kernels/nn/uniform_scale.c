#include "runtime/kernels/nn/uniform_scale.h"

#include <math.h>
#include <stdio.h>

#include "runtime/kernels/kernel_tools.h"

static struct status read_int32(const struct node *node, const char *prefix, const char *name,
                                int64_t *out)
{
    char full[64];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    TRY(node_attr_int(node, full, out));
    if (*out >= INT32_MIN && *out <= INT32_MAX)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): %s is %lld, no int32", node->name,
                        node->op_name, full, (long long)*out);
}

struct status uniform_attrs_read(const struct node *node, const char *prefix,
                                 struct uniform_attrs *out)
{
    int64_t least, most;
    TRY(read_int32(node, prefix, "quantization_axis", &out->axis));
    TRY(read_int32(node, prefix, "quantization_min_val", &least));
    TRY(read_int32(node, prefix, "quantization_max_val", &most));
    out->least = (int32_t)least;
    out->most = (int32_t)most;
    if (out->axis >= -1)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%squantization_axis must be >= -1, given: %lld",
                        prefix, (long long)out->axis);
}

struct status uniform_scale_read(struct kernel_context *k, int input, const struct shape *shape,
                                 int64_t axis, struct uniform_scale *out)
{
    const struct tensor *scales = kernel_input(k, input), *zeros = kernel_input(k, input + 1);
    if (axis >= shape->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "quantization_axis must be -1 or within [0, %d), but given %lld",
                            shape->rank, (long long)axis);
    struct shape wanted = axis == -1 ? shape_scalar() : shape_of(shape->dims[axis]);
    if (!shape_equal(&scales->shape, &wanted) || !shape_equal(&zeros->shape, &wanted))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "scales and zero_points must have shape %s, but have %s and %s",
                            shape_text(&wanted), shape_text(&scales->shape),
                            shape_text(&zeros->shape));
    *out = (struct uniform_scale){ tensor_floats(scales), tensor_int32s(zeros), 1, 1 };
    if (axis >= 0) {
        out->count = shape->dims[axis];
        out->inner = shape_inner(shape, (int)axis);
    }
    return status_ok();
}

struct status uniform_scale_check(const struct kernel_context *k, int input)
{
    const struct tensor *scales = kernel_input(k, input);
    for (int64_t i = 0; i < scales->size; i++)
        if (!(tensor_floats(scales)[i] > 0))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "scales elements must be all positive, but one is %g",
                                (double)tensor_floats(scales)[i]);
    return status_ok();
}

struct status uniform_factor_of(struct kernel_context *k, double factor, struct uniform_factor *out)
{
    if (!(factor > 0) || isinf(factor))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "double_multiplier must be a positive finite number. Given %g", factor);
    int shift;
    int64_t multiplier = llround(frexp(factor, &shift) * 0x1p31);
    if (multiplier == (int64_t)1 << 31) {
        multiplier /= 2;
        shift++;
    }
    if (shift < -31) {
        shift = 0;
        multiplier = 0;
    } else if (shift > 30) {
        shift = 30;
        multiplier = INT32_MAX;
    }
    *out = (struct uniform_factor){ (int32_t)multiplier, shift };
    return status_ok();
}

int32_t uniform_multiply(int32_t x, struct uniform_factor factor)
{
    int shift = 31 - factor.shift;
    int64_t found = (x * (int64_t)factor.multiplier + ((int64_t)1 << (shift - 1))) >> shift;
    return (int32_t)(found < INT32_MIN ? INT32_MIN : found > INT32_MAX ? INT32_MAX : found);
}

int32_t uniform_quantize(float x, float inverse_scale, int32_t zero, int32_t least, int32_t most)
{
    float found = floorf(x * inverse_scale + 0.5f);
    /* a number that no int32 can hold becomes the lowest, as on x86 */
    int32_t integer = found >= -0x1p31f && found < 0x1p31f ? (int32_t)found : INT32_MIN;
    return uniform_clamp((int32_t)((uint32_t)integer + (uint32_t)zero), least, most);
}

/* The scale and zero for floats low .. high, which are widened to hold 0. Returns the inverse of
 * the scale, rounded once: with 1 / *scale, some floats near the middle of a step would round to
 * another integer than in TensorFlow. */
static float fit_scale(double low, double high, float *scale, int32_t *zero)
{
    *scale = 1;
    *zero = 0;
    if (low == 0 && high == 0)
        return 1;
    double step = (high - low) / (INT8_MAX - INT8_MIN);
    double from_low = INT8_MIN - low / step, from_high = INT8_MAX - high / step;
    double low_error = -INT8_MIN + fabs(low / step), high_error = INT8_MAX + fabs(high / step);
    double found = low_error < high_error ? from_low : from_high;
    *scale = (float)step;
    *zero = (int32_t)(!(found > INT8_MIN) ? INT8_MIN : found >= INT8_MAX ? INT8_MAX : round(found));
    return (float)(1 / step);
}

void uniform_quantize_run(const float *x, int64_t count, int8_t *out, float *scale, int32_t *zero)
{
    float low = 0, high = 0;
    for (int64_t i = 0; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float inverse = fit_scale((double)low, (double)high, scale, zero);
    for (int64_t i = 0; i < count; i++)
        out[i] = (int8_t)uniform_quantize(x[i], inverse, *zero, INT8_MIN, INT8_MAX);
}
