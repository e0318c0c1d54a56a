/*
 * fast_math: exp, tanh, the logistic function, softplus and the error functions for float without
 * branches or calls, so that a loop over them becomes vector code. Errors, over all floats, are
 * below 1e-6 relative (about 2 ulp for exp, 3 for most others); results that libm would make
 * subnormal may be 0. NaN stays NaN.
 * The polynomials are least-maximum-error fits of our own.
 * Test: tests/unit/runtime/test_plain.c, against libm.
 */
#ifndef KERNELS_PLAIN_FAST_MATH_H
#define KERNELS_PLAIN_FAST_MATH_H

#include "base/float_bits.h"

/* exp(x) = 2^n · exp(r), n the nearest integer to x / ln 2, |r| <= ln(2) / 2. */
static inline float fast_exp(float x)
{
    /* Outside, the result is 0 or infinity anyway. A comparison with NaN is false: it passes. */
    x = x < -104.0f ? -104.0f : x;
    x = x > 89.0f ? 89.0f : x;

    /* Adding 1.5·2^23 leaves the rounded integer in the low bits. */
    const float magic = 12582912.0f;
    float shifted = x * 1.44269504f + magic;
    int32_t n = (int32_t)(bits_of_float(shifted) - bits_of_float(magic));
    float rounded = shifted - magic;
    float r = (x - rounded * 0.693145752f) - rounded * 1.42860677e-6f;

    float q = 1.39412142e-3f;
    q = q * r + 8.36323507e-3f;
    q = q * r + 4.16663741e-2f;
    q = q * r + 0.166665766f;
    q = q * r + 0.5f;
    float e = q * (r * r) + r + 1.0f;

    /* 2^n in two factors: n goes from -150 to 128, one float's exponent from -126 to 127. For NaN n
     * is arbitrary, hence unsigned. */
    uint32_t half = (uint32_t)(n >> 1);
    uint32_t rest = (uint32_t)n - half;
    return e * float_of_bits((half + 127) << 23) * float_of_bits((rest + 127) << 23);
}

static inline float fast_sigmoid(float x)
{
    return 1.0f / (1.0f + fast_exp(-x));
}

/* log(1 + u) for u in [0, 1]: 2 · atanh(s) with s = u / (2 + u), which is 1/3 at most: a polynomial
 * in s². */
static inline float fast_log1p(float u)
{
    float s = u / (2.0f + u), z = s * s;
    float p = 0.134418041f;
    p = p * z + 0.141156405f;
    p = p * z + 0.20003891f;
    p = p * z + 0.333333194f;
    float twice = s + s;
    return twice + twice * (z * p);
}

/* log(1 + exp(x)), which is max(x, 0) + log(1 + exp(-|x|)). */
static inline float fast_softplus(float x)
{
    return (x > 0 ? x : 0) + fast_log1p(fast_exp(-__builtin_fabsf(x)));
}

/* From here on TensorFlow's tanh is exactly 1, 4 ulp above the truth, which reaches 1 at 9.01.
 * atanh of it is infinite, so graphs that invert tanh depend on it. */
#define TANH_IS_1 7.90738964f

/* Near 0 a polynomial in x², elsewhere by exp; both are computed, one is chosen. */
static inline float fast_tanh(float x)
{
    float size = __builtin_fabsf(x);
    float u = x * x;
    float p = -6.11318847e-3f;
    p = p * u + 2.10100791e-2f;
    p = p * u - 5.38540692e-2f;
    p = p * u + 0.133327945f;
    p = p * u - 0.333333292f;
    float near_zero = size + size * (u * p);
    float away = 1.0f - 2.0f / (1.0f + fast_exp(2.0f * size));
    away = size >= TANH_IS_1 ? 1.0f : away;
    return __builtin_copysignf(size < 0.625f ? near_zero : away, x);
}

/* erfc(x) for x >= 0: exp(-x²) · t · a polynomial in t, with t = 1 / (1 + x / 2). */
static inline float fast_erfc_of_size(float x)
{
    x = x > 10.1f ? 10.1f : x; /* its square is far beyond what fast_exp takes */

    /* Rounding x² to a float would shift the exponent by up to 4e-6. The part that is rounded away
     * is exact from the halves of x, and so small that exp of it is 1 plus it. */
    float high = float_of_bits(bits_of_float(x) & 0xfffff000u), low = x - high;
    float square = x * x;
    float lost = ((high * high - square) + 2 * high * low) + low * low;

    float t = 1.0f / (1.0f + 0.5f * x), s = t - 0.58f;
    float q = -5.90976535e-2f;
    q = q * s + 1.05022037e-2f;
    q = q * s + 0.111800232f;
    q = q * s - 5.24423866e-2f;
    q = q * s - 0.203220188f;
    q = q * s + 8.51856899e-2f;
    q = q * s + 0.586851422f;
    q = q * s + 0.779018348f;
    q = q * s + 0.569408728f;
    float e = fast_exp(-square) * (t * q);
    return e - e * lost;
}

static inline float fast_erfc(float x)
{
    float away = fast_erfc_of_size(__builtin_fabsf(x));
    return x < 0 ? 2.0f - away : away;
}

static inline float fast_erf(float x)
{
    float size = __builtin_fabsf(x), u = x * x;
    float p = 7.85386454e-5f;
    p = p * u - 8.01019670e-4f;
    p = p * u + 5.18832833e-3f;
    p = p * u - 2.68538125e-2f;
    p = p * u + 0.112835852f;
    p = p * u - 0.376126258f;
    p = p * u + 1.12837917f;
    float away = 1.0f - fast_erfc_of_size(size);
    return __builtin_copysignf(size < 1.0f ? size * p : away, x);
}

#endif
