/*
 * wide: the types in which products are summed: half and bfloat16 in float, integers in int64,
 * which wrap as the result does. Operands may be narrower than the result, and integers if it is a
 * float, as the quantized weights of an export for XLA are.
 */
#ifndef KERNELS_XLA_WIDE_H
#define KERNELS_XLA_WIDE_H

#include "runtime/kernel.h"

#define DTYPES_PRODUCT (DTYPES_REAL | DTYPES_COMPLEX)

enum dtype wide_type(enum dtype dtype);

/**
 * The elements of x as the type in which a result of type `dtype` is summed.
 *
 * Owner   the caller: tensor_release
 * Errors  UNIMPLEMENTED no such conversion, as from float to int32
 */
struct status wide_operand(struct kernel_context *k, const struct tensor *x, enum dtype dtype,
                           struct tensor *out);

/* Room for the wide elements of a result: the result itself if it has that type. */
struct status wide_result(struct kernel_context *k, const struct tensor *result,
                          struct tensor *out);
/* Rounds them to the type of the result, and releases them. */
void wide_store(struct tensor *wide, struct tensor *result);

#endif
