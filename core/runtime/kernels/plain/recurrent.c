#include "runtime/kernels/plain/recurrent.h"

#include <math.h>
#include <string.h>

#include "runtime/kernels/plain/fast_math.h"
#include "runtime/kernels/plain/types.h"

void panels_pack(int64_t k, int64_t n, const float *b, int64_t ldb, float *packed)
{
    for (int64_t from = 0; from < n; from += PANEL_COLUMNS) {
        int64_t count = n - from < PANEL_COLUMNS ? n - from : PANEL_COLUMNS;
        for (int64_t p = 0; p < k; p++, packed += PANEL_COLUMNS) {
            memset(packed, 0, PANEL_COLUMNS * sizeof *packed);
            memcpy(packed, b + p * ldb + from, (size_t)count * sizeof *packed);
        }
    }
}

void panels_multiply_plain(const struct panels_size *s, const float *a, const float *packed,
                           const float *start, float *out)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            const float *b = packed + j / PANEL_COLUMNS * PANEL_COLUMNS * s->k + j % PANEL_COLUMNS;
            float sum = start[i * s->ld_start + j];
            for (int64_t p = 0; p < s->k; p++)
                sum += a[i * s->lda + p] * b[p * PANEL_COLUMNS];
            out[i * s->ldout + j] = sum;
        }
}

/* ---- tiles: some rows by one panel, or one row by some panels, in registers ---- */

/* Column `from` of some panels, by the rows that `a`, `start` and `out` point at. */
typedef void tile(const struct panels_size *s, const float *a, const float *packed,
                  const float *start, float *out);

/*
 * A tile of ROWS rows by PANELS panels. Sums, the vectors of a row of the panels and one number of
 * `a` have a register each: with AVX-512, 12 rows by one panel need 24 + 2 + 1 of 32. One row alone
 * takes several panels, because an addition has to wait for the one before it.
 */
#define TILE(name, TARGET, VECTOR, ROWS, PANELS)                                                   \
    TARGET static void name(const struct panels_size *s, const float *a, const float *packed,      \
                            const float *start, float *out)                                        \
    {                                                                                              \
        enum { LANES = sizeof(VECTOR) / sizeof(float), COUNT = PANEL_COLUMNS / LANES };            \
        VECTOR sums[ROWS][PANELS][COUNT];                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                  \
            _Pragma("GCC unroll 16") for (int q = 0; q < (PANELS); q++)                            \
                _Pragma("GCC unroll 16") for (int v = 0; v < COUNT; v++) sums[i][q][v] =           \
                    *(const VECTOR *)(start + i * s->ld_start + q * PANEL_COLUMNS + v * LANES);    \
        for (int64_t p = 0; p < s->k; p++) {                                                       \
            const float *row = packed + p * PANEL_COLUMNS;                                         \
            _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                              \
                _Pragma("GCC unroll 16") for (int q = 0; q < (PANELS); q++)                        \
                    _Pragma("GCC unroll 16") for (int v = 0; v < COUNT; v++) sums[i][q][v] +=      \
                a[i * s->lda + p] * *(const VECTOR *)(row + q * PANEL_COLUMNS * s->k + v * LANES); \
        }                                                                                          \
        _Pragma("GCC unroll 16") for (int i = 0; i < (ROWS); i++)                                  \
                _Pragma("GCC unroll 16") for (int q = 0; q < (PANELS); q++)                        \
                    _Pragma("GCC unroll 16") for (int v = 0; v < COUNT; v++) *                     \
            (VECTOR *)(out + i * s->ldout + q * PANEL_COLUMNS + v * LANES) = sums[i][q][v];        \
    }

typedef float float4 __attribute__((vector_size(16), aligned(4), may_alias));

struct panel_tiles {
    int rows[4]; /* descending, the last is 1 */
    tile *by_rows[4];
    int panels; /* of `line` */
    tile *line; /* one row by several panels */
};

TILE(tile_1, , float4, 1, 1)
static const struct panel_tiles tiles_any = { { 1 }, { tile_1 }, 1, tile_1 };

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#define V3 __attribute__((target("arch=x86-64-v3"), optimize("O3")))
#define V4 __attribute__((target("arch=x86-64-v4"), optimize("O3")))
typedef float float8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float float16 __attribute__((vector_size(64), aligned(4), may_alias));

TILE(tile_v3_2, V3, float8, 2, 1)
TILE(tile_v3_1, V3, float8, 1, 1)
TILE(line_v3, V3, float8, 1, 2)
static const struct panel_tiles tiles_v3 = { { 2, 1 }, { tile_v3_2, tile_v3_1 }, 2, line_v3 };

TILE(tile_v4_12, V4, float16, 12, 1)
TILE(tile_v4_8, V4, float16, 8, 1)
TILE(tile_v4_4, V4, float16, 4, 1)
TILE(tile_v4_1, V4, float16, 1, 1)
TILE(line_v4, V4, float16, 1, 4)
static const struct panel_tiles tiles_v4 = {
    { 12, 8, 4, 1 }, { tile_v4_12, tile_v4_8, tile_v4_4, tile_v4_1 }, 4, line_v4
};

static const struct panel_tiles *choose_tiles(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return &tiles_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &tiles_v3;
    return &tiles_any;
}
#else
static const struct panel_tiles *choose_tiles(void)
{
    return &tiles_any;
}
#endif

/* Rows [i, i + count) by all panels. */
static void multiply_rows(const struct panels_size *s, int64_t i, tile *run, int panels,
                          const float *a, const float *packed, const float *start, float *out,
                          int64_t from)
{
    for (int64_t j = from; j + panels * PANEL_COLUMNS <= s->n; j += panels * PANEL_COLUMNS)
        run(s, a + i * s->lda, packed + j * s->k, start + i * s->ld_start + j,
            out + i * s->ldout + j);
}

void panels_multiply(const struct panels_size *s, const float *a, const float *packed,
                     const float *start, float *out)
{
    const struct panel_tiles *tiles = choose_tiles();
    int which = 0;
    for (int64_t i = 0; i < s->m;) {
        int rows = tiles->rows[which];
        if (s->m - i < rows) {
            which++;
            continue;
        }
        int64_t done = 0;
        if (rows == 1) {
            int64_t wide = tiles->panels * PANEL_COLUMNS;
            multiply_rows(s, i, tiles->line, tiles->panels, a, packed, start, out, 0);
            done = s->n / wide * wide;
        }
        multiply_rows(s, i, tiles->by_rows[which], 1, a, packed, start, out, done);
        i += rows;
    }
}

/* ---- gates ---- */

float sigmoid_f32(float x)
{
    return 1 / (1 + expf(-x));
}

#define LSTM_GATES(name, SIGMOID, TANH)                                      \
    void name(int64_t cells, const float *z, float *c, float *h)             \
    {                                                                        \
        const float *f = z + cells, *g = f + cells, *o = g + cells;          \
        IVDEP for (int64_t j = 0; j < cells; j++)                            \
        {                                                                    \
            float state = SIGMOID(f[j]) * c[j] + SIGMOID(z[j]) * TANH(g[j]); \
            c[j] = state;                                                    \
            h[j] = SIGMOID(o[j]) * TANH(state);                              \
        }                                                                    \
    }
SIMD LSTM_GATES(lstm_gates, fast_sigmoid, fast_tanh)
    LSTM_GATES(lstm_gates_plain, sigmoid_f32, tanhf)

#define GRU_GATES(name, SIGMOID, TANH)                                              \
    void name(int64_t cells, const float *zr, const float *x, const float *inner,   \
              const float *h_prev, float *h)                                        \
    {                                                                               \
        const float *r = zr + cells;                                                \
        IVDEP for (int64_t j = 0; j < cells; j++)                                   \
        {                                                                           \
            float z = SIGMOID(zr[j]);                                               \
            h[j] = z * h_prev[j] + (1 - z) * TANH(x[j] + SIGMOID(r[j]) * inner[j]); \
        }                                                                           \
    }
        SIMD GRU_GATES(gru_gates, fast_sigmoid, fast_tanh)
            GRU_GATES(gru_gates_plain, sigmoid_f32, tanhf)

#define SIMPLE_GATES(name, TANH)                                     \
    void name(int64_t cells, const float *z, float *h)               \
    {                                                                \
        IVDEP for (int64_t j = 0; j < cells; j++) h[j] = TANH(z[j]); \
    }
                SIMD SIMPLE_GATES(simple_gates, fast_tanh) SIMPLE_GATES(simple_gates_plain, tanhf)
