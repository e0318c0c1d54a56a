/*
 * float8: floats of eight bits. float8_e4m3fn has four bits of exponent, three of fraction, and no
 * infinity; float8_e5m2 is the upper half of a half.
 */
#ifndef KERNELS_FLOAT8_H
#define KERNELS_FLOAT8_H

#include "tensor/dtype.h"

static inline bool dtype_is_float8(enum dtype dtype)
{
    return dtype == DT_FLOAT8_E4M3FN || dtype == DT_FLOAT8_E5M2;
}

void float8_load(enum dtype dtype, const uint8_t *from, float *to, int64_t count);
/* To the nearest, ties to even. */
void float8_store(enum dtype dtype, const float *from, uint8_t *to, int64_t count);
/* Rounds the number once: a double that became a float first would be rounded twice. */
void float8_store_doubles(enum dtype dtype, const double *from, uint8_t *to, int64_t count);

#endif
