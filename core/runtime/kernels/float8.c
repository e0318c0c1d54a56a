#include "runtime/kernels/float8.h"

#include <math.h>
#include <string.h>

#include "base/float_bits.h"

struct float8_format {
    int fraction_bits, bias;
    float limit;      /* numbers beyond are not finite: half way to the one after the largest */
    bool limit_fits;  /* the tie goes to the largest, which is even */
    uint8_t infinite; /* what they become */
    uint8_t nan;
};

static const struct float8_format e4m3fn = { 3, 7, 464, true, 0x7f, 0x7f };
static const struct float8_format e5m2 = { 2, 15, 61440, false, 0x7c, 0x7e };

static const struct float8_format *format_of(enum dtype dtype)
{
    return dtype == DT_FLOAT8_E4M3FN ? &e4m3fn : &e5m2;
}

static float decode(const struct float8_format *format, uint8_t value)
{
    int bits = format->fraction_bits, magnitude = value & 0x7f;
    int exponent = magnitude >> bits, fraction = magnitude & ((1 << bits) - 1);
    float size;
    if (magnitude == format->infinite && format->infinite != format->nan)
        size = INFINITY;
    else if (magnitude >= format->infinite)
        size = NAN;
    else if (exponent == 0)
        size = ldexpf((float)fraction, 1 - format->bias - bits);
    else
        size = ldexpf((float)((1 << bits) + fraction), exponent - format->bias - bits);
    return value & 0x80 ? -size : size;
}

static uint8_t encode(const struct float8_format *format, float value)
{
    uint8_t sign = signbit(value) ? 0x80 : 0;
    float size = fabsf(value);
    int bits = format->fraction_bits, exponent;
    if (isnan(value))
        return sign | format->nan;
    if (size > format->limit || (size == format->limit && !format->limit_fits))
        return sign | format->infinite;
    float fraction = frexpf(size, &exponent);     /* 0.5 <= fraction < 1 */
    if (size == 0 || exponent < 2 - format->bias) /* subnormal: a multiple of the smallest */
        return sign | (uint8_t)lrintf(ldexpf(size, format->bias - 1 + bits));
    int rounded = (int)lrintf(ldexpf(fraction, bits + 1)); /* a carry is correct */
    /* The first bit of `rounded` adds 1 to the exponent. */
    return sign | (uint8_t)(((exponent + format->bias - 2) << bits) + rounded);
}

void float8_load(enum dtype dtype, const uint8_t *from, float *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = decode(format_of(dtype), from[i]);
}

void float8_store(enum dtype dtype, const float *from, uint8_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = encode(format_of(dtype), from[i]);
}

/* The float next to the number towards 0, with the last bit set if the number is not a float: no
 * tie and no side of one changes when it is rounded again. */
static float float_odd(double value)
{
    float rounded = (float)value;
    if (isnan(value) || (double)rounded == value)
        return rounded;
    uint32_t bits = bits_of_float(rounded);
    return float_of_bits((fabs((double)rounded) > fabs(value) ? bits - 1 : bits) | 1);
}

void float8_store_doubles(enum dtype dtype, const double *from, uint8_t *to, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = encode(format_of(dtype), float_odd(from[i]));
}
