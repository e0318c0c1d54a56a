/*
 * byte_product: products of bytes, summed as int32 that wrap: Σ (x - x_zero) · (f - f_zero).
 */
#ifndef KERNELS_PLAIN_BYTE_PRODUCT_H
#define KERNELS_PLAIN_BYTE_PRODUCT_H

#include "runtime/kernels/plain/conv.h"

/* An operand: bytes with or without a sign, and their zero point. */
struct byte_operand {
    const void *bytes;
    bool is_signed;
    int32_t zero;
};

/* Pixel [m] of the n · rows.out · columns.out pixels of a convolution of images. The filter is
 * [kh, kw, c / groups, m]; padding is 0. */
void byte_conv_pixel(const struct conv_size *size, const struct byte_operand *x,
                     const struct byte_operand *filter, int64_t pixel, int32_t *out);

/* Row `row` [n] of the product of a [m, k] and b [k, n], elements of a being a_step apart and its
 * rows a_row. */
void byte_matmul_row(int64_t n, int64_t k, const struct byte_operand *a, int64_t a_row,
                     int64_t a_step, const struct byte_operand *b, int64_t row, int32_t *out);

#endif
