/*
 * recurrent: the parts of a recurrent cell's step: a product by a matrix that is packed once, and
 * the gates that follow it.
 *
 *     panels_pack(64, 256, recurrent, 256, packed);       once
 *     panels_multiply(&size, h, packed, start, z);         z = start + h · recurrent
 *     lstm_gates(64, z, c, h);
 *
 * A panel is PANEL_COLUMNS columns of a matrix, [k][PANEL_COLUMNS], so that a step reads it in
 * order. Every element is one sum in the order of k, whatever the number of rows: a row has the
 * same bits alone and in a batch.
 */
#ifndef KERNELS_PLAIN_RECURRENT_H
#define KERNELS_PLAIN_RECURRENT_H

#include <stdint.h>

#define PANEL_COLUMNS 32

/* n rounded up to whole panels. */
static inline int64_t panels_columns(int64_t n)
{
    return (n + PANEL_COLUMNS - 1) / PANEL_COLUMNS * PANEL_COLUMNS;
}

struct panels_size {
    int64_t m, k, n; /* n: whole panels */
    int64_t lda, ld_start, ldout;
};

/* packed: panels_columns(n) · k floats; the columns beyond n are 0. */
void panels_pack(int64_t k, int64_t n, const float *b, int64_t ldb, float *packed);
/* out [m, n] = start [m, n] + a [m, k] · b. ld_start 0: all rows have the same start. start may be
 * out. */
void panels_multiply(const struct panels_size *size, const float *a, const float *packed,
                     const float *start, float *out);
/* The plain loop that defines the result. */
void panels_multiply_plain(const struct panels_size *size, const float *a, const float *packed,
                           const float *start, float *out);

/* One row of a cell of `cells` units. In z lie the sums of its gates, `cells` each: i, f, the
 * candidate, o. Overwrites c; h may be anywhere. */
void lstm_gates(int64_t cells, const float *z, float *c, float *h);
/* z, r and the input's part of the candidate in `x`; its recurrent part in `inner`. h_prev may
 * be h. */
void gru_gates(int64_t cells, const float *zr, const float *x, const float *inner,
               const float *h_prev, float *h);
void simple_gates(int64_t cells, const float *z, float *h);

/* The same by libm, which define the results. */
void lstm_gates_plain(int64_t cells, const float *z, float *c, float *h);
void gru_gates_plain(int64_t cells, const float *zr, const float *x, const float *inner,
                     const float *h_prev, float *h);
void simple_gates_plain(int64_t cells, const float *z, float *h);

/* The logistic function by libm. */
float sigmoid_f32(float x);

#endif
