/*
 * dtype: TensorFlow's element types, with their numbers in the file formats. One table (dtype.c)
 * has their sizes and names.
 */
#ifndef TENSOR_DTYPE_H
#define TENSOR_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/float_bits.h"

#define DTYPE_COUNT 34

enum dtype {
    DT_INVALID = 0,
    DT_FLOAT = 1,
    DT_DOUBLE = 2,
    DT_INT32 = 3,
    DT_UINT8 = 4,
    DT_INT16 = 5,
    DT_INT8 = 6,
    DT_STRING = 7,
    DT_COMPLEX64 = 8,
    DT_INT64 = 9,
    DT_BOOL = 10,
    DT_QINT8 = 11,
    DT_QUINT8 = 12,
    DT_QINT32 = 13,
    DT_BFLOAT16 = 14,
    DT_QINT16 = 15,
    DT_QUINT16 = 16,
    DT_UINT16 = 17,
    DT_COMPLEX128 = 18,
    DT_HALF = 19,
    DT_RESOURCE = 20,
    DT_VARIANT = 21,
    DT_UINT32 = 22,
    DT_UINT64 = 23,
    DT_FLOAT8_E5M2 = 24,
    DT_FLOAT8_E4M3FN = 25,
    DT_FLOAT8_E4M3FNUZ = 26,
    DT_FLOAT8_E4M3B11FNUZ = 27,
    DT_FLOAT8_E5M2FNUZ = 28,
    DT_INT4 = 29,
    DT_UINT4 = 30,
    DT_INT2 = 31,
    DT_UINT2 = 32,
    DT_FLOAT4_E2M1FN = 33,
    DT_REF = 100, /* added to the number of the type that a reference refers to */
};

/* The type without DT_REF; DT_INVALID for a number that is no type. */
enum dtype dtype_base(int number);

/* Bytes per element in memory: tensor elements of strings are struct bytes, of resource and variant
 * struct object *. */
size_t dtype_size(enum dtype dtype);

/* Bytes per element in files and in tensor_content; 0 for string, resource, variant. */
size_t dtype_file_size(enum dtype dtype);

const char *dtype_name(enum dtype dtype); /* "float", "int32", …, as in error texts and REST */
const char *dtype_enum_name(enum dtype dtype); /* "DT_FLOAT", …, as in GetModelMetadata */
bool dtype_parse_enum(const char *name, enum dtype *out);
bool dtype_is_floating(enum dtype dtype);
bool dtype_is_complex(enum dtype dtype);
bool dtype_is_integer(enum dtype dtype); /* signed or not; neither bool nor quantised types */

/* Is it a floating type of 16 bits? */
static inline bool dtype_is_half(enum dtype dtype)
{
    return dtype == DT_HALF || dtype == DT_BFLOAT16;
}

/* Sets of types, for kernel tables. */
typedef uint64_t dtype_set;
#define DTYPES(dtype) ((dtype_set)1 << (dtype))
#define DTYPES_ALL    (~(dtype_set)0)
#define DTYPES_REAL                                                               \
    (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_UINT8) | \
     DTYPES(DT_INT16) | DTYPES(DT_INT8) | DTYPES(DT_INT64) | DTYPES(DT_UINT16) |  \
     DTYPES(DT_UINT32) | DTYPES(DT_UINT64) | DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16))
#define DTYPES_FLOATING \
    (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16))
#define DTYPES_COMPLEX (DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128))

/* 16-bit floating point to and from float, to nearest even. They select among values instead of
 * branching, so that loops over them are vectorised. */

static inline float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t rest = half & 0x7fff;
    uint32_t normal = (rest << 13) + ((127u - 15) << 23); /* the exponent's bias: 15, then 127 */
    uint32_t subnormal = bits_of_float((float)(int32_t)rest * 0x1p-24f); /* exact in float */
    uint32_t finite = rest >= 0x0400 ? normal : subnormal;
    /* infinity and NaN have the largest exponent in both */
    return float_of_bits(sign | (rest >= 0x7c00 ? 0x7f800000 | rest << 13 : finite));
}

static inline uint16_t float_to_half(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7fffffff;
    /* below 2^-14: adding 0.5 aligns the last bit of a subnormal half with the float's */
    uint32_t subnormal = bits_of_float(float_of_bits(rest) + 0.5f) - bits_of_float(0.5f);
    uint32_t normal = rest - ((127u - 15) << 23);
    /* to nearest, ties to even; a carry into the exponent is correct */
    normal = (normal + 0x0fff + (normal >> 13 & 1)) >> 13;
    uint32_t finite = rest < 0x38800000 ? subnormal : normal;
    /* 0x477ff000 rounds to 65536 */
    uint32_t other = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x1ff) : 0x7c00;
    return (uint16_t)(sign | (rest >= 0x477ff000 ? other : finite));
}

static inline float bfloat16_to_float(uint16_t value)
{
    return float_of_bits((uint32_t)value << 16);
}

static inline uint16_t float_to_bfloat16(float value)
{
    uint32_t bits = bits_of_float(value);
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0;
    uint32_t number = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : number);
}

#endif
