/*
 * types: the lists of number types for plain loops, and the attributes that make the compiler
 * vectorize them. A loop is a macro of (suffix, T, W): the C type, and the type to compute in. W is
 * unsigned for integers: their sums and products wrap, as TensorFlow's do, instead of being
 * undefined. half and bfloat16 have no loops: they go through float, block by block.
 */
#ifndef KERNELS_PLAIN_TYPES_H
#define KERNELS_PLAIN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clones.h"

#define FLOAT_TYPES(X) X(f32, float, float) X(f64, double, double)

#define SIGNED_TYPES(X)       \
    X(i8, int8_t, uint32_t)   \
    X(i16, int16_t, uint32_t) \
    X(i32, int32_t, uint32_t) \
    X(i64, int64_t, uint64_t)

#define UNSIGNED_TYPES(X)      \
    X(u8, uint8_t, uint32_t)   \
    X(u16, uint16_t, uint32_t) \
    X(u32, uint32_t, uint32_t) \
    X(u64, uint64_t, uint64_t)

#define INTEGER_TYPES(X) SIGNED_TYPES(X) UNSIGNED_TYPES(X)
#define REAL_TYPES(X)    FLOAT_TYPES(X) INTEGER_TYPES(X)

/* The unit in which loops that only move elements handle those of 16 bytes. */
struct wide_element {
    uint64_t low, high;
};

/* Entries of a table by dtype: static row *const rows[DTYPE_COUNT] = { ROWS_REAL(add) }; */
#define ROWS_FLOAT(name) [DT_FLOAT] = name##_f32, [DT_DOUBLE] = name##_f64
#define ROWS_SIGNED(name) \
    [DT_INT8] = name##_i8, [DT_INT16] = name##_i16, [DT_INT32] = name##_i32, [DT_INT64] = name##_i64
#define ROWS_UNSIGNED(name)                                                     \
    [DT_UINT8] = name##_u8, [DT_UINT16] = name##_u16, [DT_UINT32] = name##_u32, \
    [DT_UINT64] = name##_u64
#define ROWS_INTEGER(name) ROWS_SIGNED(name), ROWS_UNSIGNED(name)
#define ROWS_REAL(name)    ROWS_FLOAT(name), ROWS_INTEGER(name)

/* The compiler takes a loop in place, which reads and writes the same element, for a dependence. */
#if defined(__clang__)
#define IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define IVDEP _Pragma("GCC ivdep")
#endif

#define SIMD     CLONES
#define SIMD_f32 SIMD
#define SIMD_f64
#define SIMD_i8
#define SIMD_i16
#define SIMD_i32
#define SIMD_i64
#define SIMD_u8
#define SIMD_u16
#define SIMD_u32
#define SIMD_u64

#endif
