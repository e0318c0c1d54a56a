/*
 * unary: plain loops over one row, defined by a macro for each number type.
 */
#ifndef KERNELS_PLAIN_UNARY_H
#define KERNELS_PLAIN_UNARY_H

#include "runtime/kernels/plain/types.h"

/* Defines `name`: out[i] = EXPR(T, W, x), elements T in, R out. */
#define UNARY_ROW(attributes, name, T, W, R, EXPR)                         \
    attributes static void name(const void *x_, void *out_, int64_t count) \
    {                                                                      \
        const T *xs = x_;                                                  \
        R *out = out_;                                                     \
        IVDEP for (int64_t i = 0; i < count; i++)                          \
        {                                                                  \
            const T x = xs[i];                                             \
            out[i] = EXPR(T, W, x);                                        \
        }                                                                  \
    }

#endif
