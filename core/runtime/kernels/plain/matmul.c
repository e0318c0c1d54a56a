#include "runtime/kernels/plain/matmul.h"

#include <complex.h>
#include <string.h>

#include "base/parallel.h"
#include "runtime/kernels/plain/gemm.h"
#include "runtime/kernels/plain/types.h"

void matmul_f32(const struct matmul_size *size, const float *a, const float *b, float *out)
{
    int64_t m = size->m, k = size->k, n = size->n;
    int64_t a_row = size->transpose_a ? 1 : k, a_column = size->transpose_a ? m : 1;
    int64_t b_row = size->transpose_b ? 1 : n, b_column = size->transpose_b ? k : 1;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += a[i * a_row + p * a_column] * b[p * b_row + j * b_column];
            out[i * n + j] = sum;
        }
}

/* Memory is read in its order, whether b is transposed or not. Integers are added as the unsigned
 * type W, which wraps. */
#define GEMM_PLAIN(name, T, W)                                                                     \
    bool name(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const void *va, \
              int64_t lda, const void *vb, int64_t ldb, void *vout, int64_t ldout)                 \
    {                                                                                              \
        int64_t step = transpose_a ? lda : 1;                                                      \
        for (int64_t i = 0; i < m; i++) {                                                          \
            const T *a = (const T *)va + (transpose_a ? i : i * lda), *b = vb;                     \
            T *row = (T *)vout + i * ldout;                                                        \
            for (int64_t j = 0; j < n; j++) {                                                      \
                W sum = 0;                                                                         \
                for (int64_t p = 0; transpose_b && p < k; p++)                                     \
                    sum += (W)a[p * step] * (W)b[j * ldb + p];                                     \
                row[j] = (T)sum;                                                                   \
            }                                                                                      \
            for (int64_t p = 0; !transpose_b && p < k; p++) {                                      \
                const W x = (W)a[p * step];                                                        \
                for (int64_t j = 0; j < n; j++)                                                    \
                    row[j] = (T)((W)row[j] + x * (W)b[p * ldb + j]);                               \
            }                                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }
GEMM_PLAIN(gemm_plain_f64, double, double)
GEMM_PLAIN(gemm_plain_i16, int16_t, uint32_t)
GEMM_PLAIN(gemm_plain_i32, int32_t, uint32_t)
GEMM_PLAIN(gemm_plain_i64, int64_t, uint64_t)
GEMM_PLAIN(gemm_plain_c64, float complex, float complex)
GEMM_PLAIN(gemm_plain_c128, double complex, double complex)

/* Four rows of b at a time, so that out is read and written a quarter as often. */
SIMD static void vector_columns_f32(int64_t k, int64_t n, int64_t ldb, const float *restrict x,
                                    const float *restrict b, float *restrict out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    int64_t p = 0;
    for (; p + 4 <= k; p += 4) {
        const float *restrict b0 = b + p * ldb, *restrict b1 = b0 + ldb, *restrict b2 = b1 + ldb,
                              *restrict b3 = b2 + ldb;
        const float x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3];
        for (int64_t j = 0; j < n; j++)
            out[j] += x0 * b0[j] + x1 * b1[j] + x2 * b2[j] + x3 * b3[j];
    }
    for (; p < k; p++) {
        const float *restrict row = b + p * ldb;
        const float xp = x[p];
        for (int64_t j = 0; j < n; j++)
            out[j] += xp * row[j];
    }
}

/*
 * Rows of a by rows of a transposed b: DOWN and ACROSS of them at a time. Each pair has a vector of
 * sums, and all of them stay in the registers of AVX2. Rows of [784] by [10, 784], where OpenBLAS
 * spends most of its time packing, take 0.26 us each in blocks of 4 by 3 (OpenBLAS: 0.94 of 4 rows,
 * 0.74 of 8, 0.40 of 128), and a row alone takes 0.46 us (3.6).
 */
#define DOT_ROWS(name, DOWN, ACROSS)                                                              \
    SIMD static void name(int64_t k, int64_t n, const float *restrict a, const float *restrict b, \
                          float *restrict out)                                                    \
    {                                                                                             \
        for (int64_t j = 0; j < n; j += (ACROSS)) {                                               \
            int count = n - j < (ACROSS) ? (int)(n - j) : (ACROSS);                               \
            float8 sums[DOWN][ACROSS] = { 0 };                                                    \
            const float *rows[ACROSS];                                                            \
            for (int c = 0; c < (ACROSS); c++)                                                    \
                rows[c] = b + (c < count ? j + c : j) * k;                                        \
            int64_t p = 0;                                                                        \
            for (; p + LANES <= k; p += LANES)                                                    \
                _Pragma("GCC unroll 4") for (int r = 0; r < (DOWN); r++)                          \
                    _Pragma("GCC unroll 4") for (int c = 0; c < (ACROSS); c++) sums[r][c] +=      \
                    *(const float8 *)(a + r * k + p) * *(const float8 *)(rows[c] + p);            \
            _Pragma("GCC unroll 4") for (int r = 0; r < (DOWN); r++)                              \
                _Pragma("GCC unroll 4") for (int c = 0; c < (ACROSS); c++)                        \
            {                                                                                     \
                float sum = 0;                                                                    \
                for (int64_t q = p; q < k; q++)                                                   \
                    sum += a[r * k + q] * rows[c][q];                                             \
                for (int i = 0; i < LANES; i++)                                                   \
                    sum += sums[r][c][i];                                                         \
                if (c < count)                                                                    \
                    out[r * n + j + c] = sum;                                                     \
            }                                                                                     \
        }                                                                                         \
    }

typedef float float8 __attribute__((vector_size(32), aligned(4), may_alias));
#define LANES 8

#define ROW_ACROSS 4
DOT_ROWS(dot_row_f32, 1, ROW_ACROSS)
#define BLOCK_DOWN 4
DOT_ROWS(dot_block_f32, BLOCK_DOWN, 3)

struct vector_product {
    int64_t k, n, m;
    const float *x, *b;
    float *out;
};

/* Columns begin at multiples of this many: what a block reads of a row of b is dense. There are no
 * more blocks than threads, because whole rows are read faster than parts of rows: one thread takes
 * 343 us for [1280, 1000] from memory, and 467 us in four blocks. The bits of a column do not
 * depend on the blocks. */
#define COLUMNS 128

static void multiply_columns(void *context, int64_t first, int64_t end)
{
    const struct vector_product *p = context;
    int64_t from = first * COLUMNS, to = end == p->n / COLUMNS ? p->n : end * COLUMNS;
    vector_columns_f32(p->k, to - from, p->n, p->x, p->b + from, p->out + from);
}

void vector_matmul_f32(int64_t k, int64_t n, const float *x, const float *b, float *out)
{
    struct vector_product product = { k, n, 1, x, b, out };
    /* b is read at about 20 bytes per nanosecond */
    int parts = parallel_parts(n / COLUMNS, (double)k * (double)n / 5);
    if (parts > parallel_width())
        parts = parallel_width();
    if (parts < 2)
        vector_columns_f32(k, n, n, x, b, out);
    else
        parallel_for_parts(n / COLUMNS, parts, multiply_columns, &product);
}

static void multiply_row(void *context, int64_t first, int64_t end)
{
    const struct vector_product *p = context;
    int64_t from = first * ROW_ACROSS, to = end * ROW_ACROSS < p->n ? end * ROW_ACROSS : p->n;
    dot_row_f32(p->k, to - from, p->x, p->b + from * p->k, p->out + from);
}

/* out [n] = x [k] · b [n, k] transposed. */
static void vector_matmul_transposed_f32(int64_t k, int64_t n, const float *x, const float *b,
                                         float *out)
{
    struct vector_product product = { k, n, 1, x, b, out };
    parallel_for((n + ROW_ACROSS - 1) / ROW_ACROSS, (double)k * (double)n / 5, multiply_row,
                 &product);
}

static void multiply_rows(void *context, int64_t first, int64_t end)
{
    const struct vector_product *p = context;
    int64_t i = first * BLOCK_DOWN, to = end * BLOCK_DOWN < p->m ? end * BLOCK_DOWN : p->m;
    for (; i + BLOCK_DOWN <= to; i += BLOCK_DOWN)
        dot_block_f32(p->k, p->n, p->x + i * p->k, p->b, p->out + i * p->n);
    for (; i < to; i++)
        dot_row_f32(p->k, p->n, p->x + i * p->k, p->b, p->out + i * p->n);
}

/* Is b [n, k] narrow enough that reading it again for each block costs less than packing it? Of
 * shorter rows, OpenBLAS multiplies many in the same time. */
static bool is_narrow(const struct matmul_size *size)
{
    return size->transpose_b && !size->transpose_a && size->n <= 32 && size->k >= 128;
}

/* out [m, n] = x [m, k] · b [n, k] transposed. */
static void narrow_matmul_f32(const struct matmul_size *size, const float *x, const float *b,
                              float *out)
{
    struct vector_product product = { size->k, size->n, size->m, x, b, out };
    double cost_ns = (double)size->m * (double)size->k * (double)size->n / 30;
    parallel_for((size->m + BLOCK_DOWN - 1) / BLOCK_DOWN, cost_ns, multiply_rows, &product);
}

void matmul_best_f32(const struct matmul_size *size, const float *a, const float *b, float *out)
{
    if (size->m == 1 && !size->transpose_b)
        vector_matmul_f32(size->k, size->n, a, b, out);
    else if (size->m == 1)
        vector_matmul_transposed_f32(size->k, size->n, a, b, out);
    else if (is_narrow(size))
        narrow_matmul_f32(size, a, b, out);
    else
        gemm_f32(size->transpose_a, size->transpose_b, size->m, size->n, size->k, a,
                 size->transpose_a ? size->m : size->k, b, size->transpose_b ? size->k : size->n,
                 false, out, size->n);
}
