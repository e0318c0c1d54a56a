/*
 * binary: plain loops over two rows, defined by a macro for each number type. An operand of step 0
 * is one element that goes with the whole row.
 */
#ifndef KERNELS_PLAIN_BINARY_H
#define KERNELS_PLAIN_BINARY_H

#include "runtime/kernels/plain/types.h"

/* Defines `name`: out[i] = EXPR(T, W, x, y), elements T in, R out. */
#define BINARY_ROW(attributes, name, T, W, R, EXPR)                                        \
    attributes static void name(const void *x_, const void *y_, void *out_, int64_t count, \
                                int x_step, int y_step)                                    \
    {                                                                                      \
        const T *xs = x_, *ys = y_;                                                        \
        R *out = out_;                                                                     \
        if (y_step == 0) {                                                                 \
            const T y = ys[0];                                                             \
            IVDEP for (int64_t i = 0; i < count; i++)                                      \
            {                                                                              \
                const T x = xs[i];                                                         \
                out[i] = EXPR(T, W, x, y);                                                 \
            }                                                                              \
        } else if (x_step == 0) {                                                          \
            const T x = xs[0];                                                             \
            IVDEP for (int64_t i = 0; i < count; i++)                                      \
            {                                                                              \
                const T y = ys[i];                                                         \
                out[i] = EXPR(T, W, x, y);                                                 \
            }                                                                              \
        } else {                                                                           \
            IVDEP for (int64_t i = 0; i < count; i++)                                      \
            {                                                                              \
                const T x = xs[i], y = ys[i];                                              \
                out[i] = EXPR(T, W, x, y);                                                 \
            }                                                                              \
        }                                                                                  \
    }

/* Defines `name` for an op whose operands have the same shape: no element goes with a whole row. */
#define SAME_SHAPE_ROW(attributes, name, T, W, R, EXPR)                                    \
    attributes static void name(const void *x_, const void *y_, void *out_, int64_t count, \
                                int x_step, int y_step)                                    \
    {                                                                                      \
        const T *xs = x_, *ys = y_;                                                        \
        R *out = out_;                                                                     \
        (void)x_step, (void)y_step;                                                        \
        IVDEP for (int64_t i = 0; i < count; i++)                                          \
        {                                                                                  \
            const T x = xs[i], y = ys[i];                                                  \
            out[i] = EXPR(T, W, x, y);                                                     \
        }                                                                                  \
    }

/* Defines `name` as `other` with its operands exchanged: x > y is y < x. */
#define EXCHANGED_ROW(name, other)                                                       \
    static void name(const void *x, const void *y, void *out, int64_t count, int x_step, \
                     int y_step)                                                         \
    {                                                                                    \
        other(y, x, out, count, y_step, x_step);                                         \
    }

#endif
