#include "runtime/kernels/plain/philox_fill.h"

#include <math.h>
#include <string.h>

#include "base/float_bits.h"

/* Samples of 128 bits that TensorFlow reserves for each number that may be redrawn. */
#define RESERVED_PER_NUMBER 64

/* A uniform number below this would have a logarithm that is too large. */
#define LEAST 1.0e-7

double philox_double(uint32_t high, uint32_t low)
{
    return double_of_bits((uint64_t)1023 << 52 | (uint64_t)(high & 0xfffff) << 32 | low) - 1;
}

/* Two normal numbers by the method of Box and Muller. */
static void normal_floats(uint32_t x0, uint32_t x1, float out[2])
{
    float u = philox_float(x0);
    if (u < (float)LEAST)
        u = (float)LEAST;
    float angle = (float)(2 * M_PI * (double)philox_float(x1));
    float radius = sqrtf(-2 * logf(u));
    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
}

void philox_normal_doubles(const uint32_t x[4], double out[2])
{
    double u = fmax(philox_double(x[0], x[1]), LEAST);
    double radius = sqrt(-2 * log(u));
    double angle = 2 * M_PI * philox_double(x[2], x[3]);
    out[0] = sin(angle) * radius;
    out[1] = cos(angle) * radius;
}

static uint64_t whole(const uint32_t *pair)
{
    return (uint64_t)pair[1] << 32 | pair[0];
}

/* ---- one block ---- */

static void block_of_floats(const struct draw *draw, const uint32_t x[4], float out[4])
{
    if (draw->distribution == NORMAL) {
        normal_floats(x[0], x[1], out);
        normal_floats(x[2], x[3], out + 2);
        return;
    }
    for (int i = 0; i < 4; i++) /* the 16-bit types have 10 and 7 fractional bits */
        out[i] = draw->dtype == DT_HALF       ? (float)(x[i] & 0x3ff) / 1024
                 : draw->dtype == DT_BFLOAT16 ? (float)(x[i] & 0x7f) / 128
                                              : philox_float(x[i]);
}

static void block_of_doubles(const struct draw *draw, const uint32_t x[4], double out[2])
{
    if (draw->distribution == NORMAL) {
        philox_normal_doubles(x, out);
        return;
    }
    out[0] = philox_double(x[0], x[1]);
    out[1] = philox_double(x[2], x[3]);
}

static void block_of_words(const struct draw *draw, const uint32_t x[4], uint32_t out[4])
{
    uint32_t range = (uint32_t)draw->range;
    for (int i = 0; i < 4; i++)
        out[i] = draw->distribution == FULL_INT ? x[i] : (uint32_t)draw->low + x[i] % range;
}

static void block_of_longs(const struct draw *draw, const uint32_t x[4], uint64_t out[2])
{
    for (int i = 0; i < 2; i++) {
        uint64_t bits = whole(x + 2 * i);
        out[i] = draw->distribution == FULL_INT ? bits : draw->low + bits % draw->range;
    }
}

/* ---- numbers that are drawn again: each group has a stream of its own ---- */

static void group_of_floats(struct philox_reader *reader, float out[4])
{
    for (int count = 0; count < 4;) {
        float pair[2];
        uint32_t x0 = philox_next(reader), x1 = philox_next(reader);
        normal_floats(x0, x1, pair);
        for (int i = 0; i < 2 && count < 4; i++)
            if (fabsf(pair[i]) < 2)
                out[count++] = pair[i];
    }
}

static void group_of_doubles(struct philox_reader *reader, double out[2])
{
    for (int count = 0; count < 2;) {
        double pair[2];
        uint32_t x[4];
        for (int i = 0; i < 4; i++)
            x[i] = philox_next(reader);
        philox_normal_doubles(x, pair);
        for (int i = 0; i < 2 && count < 2; i++)
            if (fabs(pair[i]) < 2)
                out[count++] = pair[i];
    }
}

/* ---- all ---- */

static int numbers_per_block(enum dtype dtype)
{
    return dtype == DT_DOUBLE || dtype == DT_INT64 || dtype == DT_UINT64 ? 2 : 4;
}

static void make_block(const struct draw *draw, const uint32_t x[4], void *out)
{
    if (draw->dtype == DT_DOUBLE)
        block_of_doubles(draw, x, out);
    else if (dtype_is_floating(draw->dtype))
        block_of_floats(draw, x, out);
    else if (dtype_size(draw->dtype) == 8)
        block_of_longs(draw, x, out);
    else
        block_of_words(draw, x, out);
}

/* Copies numbers of a block to the output, rounded to its type. */
static void store(enum dtype dtype, const void *numbers, void *out, int64_t at, int64_t count)
{
    size_t size = dtype_size(dtype);
    if (!dtype_is_floating(dtype) || size > sizeof(uint16_t)) {
        memcpy((char *)out + (size_t)at * size, numbers, (size_t)count * size);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float number = ((const float *)numbers)[i];
        ((uint16_t *)out)[at + i] =
            dtype == DT_HALF ? float_to_half(number) : float_to_bfloat16(number);
    }
}

static void fill_truncated(struct philox philox, const struct draw *draw, int64_t first, void *out,
                           int64_t count)
{
    int size = numbers_per_block(draw->dtype);
    for (int64_t at = 0; at < count; at += size) {
        uint64_t numbers[2], skipped = (uint64_t)(first + at) * RESERVED_PER_NUMBER;
        struct philox_reader reader = { .philox = philox_skip(philox, skipped) };
        if (draw->dtype == DT_DOUBLE)
            group_of_doubles(&reader, (double *)(void *)numbers);
        else
            group_of_floats(&reader, (float *)(void *)numbers);
        store(draw->dtype, numbers, out, at, count - at < size ? count - at : size);
    }
}

void philox_fill(struct philox philox, const struct draw *draw, int64_t first, void *out,
                 int64_t count)
{
    int size = numbers_per_block(draw->dtype);
    uint32_t words[PHILOX_BLOCKS][4];
    uint64_t numbers[2];

    if (draw->distribution == TRUNCATED_NORMAL) {
        fill_truncated(philox, draw, first, out, count);
        return;
    }
    philox = philox_skip(philox, (uint64_t)(first / size));
    if (draw->distribution == UNIFORM && draw->dtype == DT_FLOAT) {
        philox_uniform_f32(philox, out, count);
        return;
    }
    for (int64_t at = 0; at < count; at += size) {
        int lane = (int)(at / size % PHILOX_BLOCKS);
        if (lane == 0) {
            philox_blocks(&philox, words);
            philox = philox_skip(philox, PHILOX_BLOCKS);
        }
        make_block(draw, words[lane], numbers);
        store(draw->dtype, numbers, out, at, count - at < size ? count - at : size);
    }
}
