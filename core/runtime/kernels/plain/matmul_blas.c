#include <cblas.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/poison.h"
#include "runtime/kernels/plain/blas_buffers.h"
#include "runtime/kernels/plain/gemm.h"
#include "runtime/kernels/plain/matmul.h"

/*
 * OpenBLAS maps a work buffer of 128 MiB for each thread inside it, keeps it forever, and retries
 * forever if it cannot have one. A process with little address space therefore reserves the buffers
 * at its start; when all are in use, a product is computed without OpenBLAS.
 */
#define BUFFER_BYTES ((size_t)128 << 20)

/* Not in its header, but in every build of it. */
void *blas_memory_alloc(int unused);
void blas_memory_free(void *buffer);

static _Atomic bool is_limited;
static _Atomic int free_buffers;

/*
 * OpenBLAS must not compute in threads of its own. When it is loaded, it starts one for each other
 * core, which polls with sched_yield for 2^26 cycles before it sleeps: on two cores, up to 50 ms of
 * CPU in each program. This ends them. Builds without threads lack the function.
 */
int blas_thread_shutdown_(void) __attribute__((weak));

__attribute__((constructor)) static void use_one_thread(void)
{
    openblas_set_num_threads(1);
    if (blas_thread_shutdown_ != NULL)
        blas_thread_shutdown_();
}

/*
 * With 120 to 230 MB of address space, these threads do not end: each retries forever to map its
 * work buffer, while the constructor waits for it. They must not start. OpenBLAS is told in the
 * environment, which must be complete before its own constructor runs; the C library, which setenv
 * changes, takes the environment over later than .preinit_array. So the program begins again.
 */
#if !POISON_WORKS && !defined(__SANITIZE_THREAD__) /* which need address space, and begin later */
#define ONE_THREAD "OPENBLAS_NUM_THREADS=1"

static void begin_with_one_thread(int count, char **arguments, char **environment)
{
    struct rlimit limit;
    size_t kept = 0, entries = 0;
    (void)count;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        getauxval(AT_BASE) == 0 || /* AT_EXECFN may be the dynamic linker */
        getauxval(AT_SECURE) != 0) /* the caller may have exchanged the file: setuid */
        return;
    while (environment[entries] != NULL)
        if (strcmp(environment[entries++], ONE_THREAD) == 0)
            return;
    char **told = zalloc((entries + 2) * sizeof *told);
    told[kept++] = (char[]){ ONE_THREAD };
    for (size_t i = 0; i < entries; i++)
        if (strncmp(environment[i], ONE_THREAD, sizeof ONE_THREAD - 2) != 0)
            told[kept++] = environment[i];
    execve((const char *)(uintptr_t)getauxval(AT_EXECFN), arguments, told);
    free(told);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const preinit)(int, char **, char **) = begin_with_one_thread;
#endif

static size_t address_space_left(void)
{
    struct rlimit limit;
    size_t pages = 0;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%zu", &pages) != 1)
        pages = 0;
    fclose(file);
    size_t used = pages * (size_t)sysconf(_SC_PAGESIZE);
    return pages == 0 || used > limit.rlim_cur ? 0 : limit.rlim_cur - used;
}

static int take_buffers(int count)
{
    void **buffers = zalloc((size_t)count * sizeof *buffers);

    for (int i = 0; i < count; i++)
        buffers[i] = blas_memory_alloc(0);
    for (int i = 0; i < count; i++)
        blas_memory_free(buffers[i]);
    free(buffers);
    return count;
}

int matmul_blas_reserve(int threads, size_t others_bytes)
{
    size_t left = address_space_left();

    if (left == SIZE_MAX)
        return threads; /* untouched pages cost nothing: buffers are mapped on demand */
    size_t room = left > others_bytes ? (left - others_bytes) / BUFFER_BYTES : 0;
    int count = take_buffers(room < (size_t)threads ? (int)room : threads);
    atomic_store(&free_buffers, count);
    atomic_store(&is_limited, count < threads);
    return count;
}

bool blas_buffer_take(void)
{
    if (!atomic_load_explicit(&is_limited, memory_order_relaxed))
        return true;
    if (atomic_fetch_sub(&free_buffers, 1) > 0)
        return true;
    atomic_fetch_add(&free_buffers, 1);
    return false;
}

void blas_buffer_give_back(void)
{
    if (atomic_load_explicit(&is_limited, memory_order_relaxed))
        atomic_fetch_add(&free_buffers, 1);
}

/* BLAS counts in int, and does not take empty matrices. */
static bool fits(const struct matmul_size *size)
{
    return size->m <= INT_MAX && size->k <= INT_MAX && size->n <= INT_MAX;
}

/* The same without BLAS, for sizes that it cannot count and when no buffer is free. */
static void gemm_plain(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                       const float *a, int64_t lda, const float *b, int64_t ldb, bool add,
                       float *out, int64_t ldout)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = add ? out[i * ldout + j] : 0;
            for (int64_t p = 0; p < k; p++)
                sum += a[transpose_a ? p * lda + i : i * lda + p] *
                       b[transpose_b ? j * ldb + p : p * ldb + j];
            out[i * ldout + j] = sum;
        }
}

static bool counts(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldout)
{
    struct matmul_size size = { .m = m > ldout ? m : ldout,
                                .k = k > lda ? k : lda,
                                .n = n > ldb ? n : ldb };
    return k > 0 && fits(&size);
}

/* ---- blocks of the result, which are computed at the same time ---- */

/* A block has some rows of the result or some columns, never a part of a sum. */
struct blocks {
    gemm_blas *multiply; /* of one block */
    size_t element_bytes;
    bool transpose_a, transpose_b, by_rows;
    int64_t m, n, k;
    const char *a, *b;
    char *out;
    int64_t lda, ldb, ldout;
    _Atomic bool failed;
};

/* Blocks begin at multiples of this many rows or columns: the libraries' vectors are full. */
#define UNIT          16
/* A block packs the whole other matrix for itself, so it must not be small: with blocks of 32
 * columns, a transformer takes 20 % longer in one thread. */
#define BLOCK_ROWS    64
#define BLOCK_COLUMNS 128
#define BLOCKS_MAX    8

static void multiply_blocks(void *context, int64_t first, int64_t end)
{
    struct blocks *g = context;
    int64_t size = g->by_rows ? g->m : g->n, from = first * UNIT;
    int64_t count = (end == size / UNIT ? size : end * UNIT) - from;
    int64_t m = g->by_rows ? count : g->m, n = g->by_rows ? g->n : count;
    int64_t a = !g->by_rows ? 0 : g->transpose_a ? from : from * g->lda;
    int64_t b = g->by_rows ? 0 : g->transpose_b ? from * g->ldb : from;
    int64_t out = g->by_rows ? from * g->ldout : from;
    int64_t bytes = (int64_t)g->element_bytes;
    if (!g->multiply(g->transpose_a, g->transpose_b, m, n, g->k, g->a + a * bytes, g->lda,
                     g->b + b * bytes, g->ldb, g->out + out * bytes, g->ldout))
        atomic_store(&g->failed, true);
}

/* False: some block is not computed. `speed`: multiplications per nanosecond of one thread. */
static bool multiply_in_blocks(struct blocks *g, int speed)
{
    g->by_rows = g->m >= g->n;
    int64_t size = g->by_rows ? g->m : g->n;
    int64_t most = size / (g->by_rows ? BLOCK_ROWS : BLOCK_COLUMNS);
    double cost_ns = (double)g->m * (double)g->n * (double)g->k / speed;
    int parts = parallel_parts(most < BLOCKS_MAX ? most : BLOCKS_MAX, cost_ns);
    if (parts == 1)
        return g->multiply(g->transpose_a, g->transpose_b, g->m, g->n, g->k, g->a, g->lda, g->b,
                           g->ldb, g->out, g->ldout);
    parallel_for_parts(size / UNIT, parts, multiply_blocks, g);
    return !atomic_load(&g->failed);
}

static void gemm_block_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                           const float *a, int64_t lda, const float *b, int64_t ldb, bool add,
                           float *out, int64_t ldout)
{
    if (!counts(m, n, k, lda, ldb, ldout)) {
        gemm_plain(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, add, out, ldout);
        return;
    }
    if (gemm_onednn_f32(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, add, out, ldout))
        return;
    if (!blas_buffer_take()) {
        gemm_plain(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, add, out, ldout);
        return;
    }
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b,
                (int)ldb, add ? 1 : 0, out, (int)ldout);
    blas_buffer_give_back();
}

static bool set_block_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          const void *a, int64_t lda, const void *b, int64_t ldb, void *out,
                          int64_t ldout)
{
    gemm_block_f32(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, false, out, ldout);
    return true;
}

static bool add_block_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                          const void *a, int64_t lda, const void *b, int64_t ldb, void *out,
                          int64_t ldout)
{
    gemm_block_f32(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, true, out, ldout);
    return true;
}

void gemm_f32(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float *a,
              int64_t lda, const float *b, int64_t ldb, bool add, float *out, int64_t ldout)
{
    if (m == 0 || n == 0)
        return;
    struct blocks blocks = { .multiply = add ? add_block_f32 : set_block_f32,
                             .element_bytes = sizeof(float),
                             .transpose_a = transpose_a,
                             .transpose_b = transpose_b,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = (const char *)a,
                             .b = (const char *)b,
                             .out = (char *)out,
                             .lda = lda,
                             .ldb = ldb,
                             .ldout = ldout };
    multiply_in_blocks(&blocks, 32);
}

/* `one` and `zero` are numbers for real types, and pointers to them for complex ones. */
#define GEMM_BLAS(name, gemm, T, speed, one, zero)                                                 \
    static bool name##_block(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,  \
                             const void *a, int64_t lda, const void *b, int64_t ldb, void *out,    \
                             int64_t ldout)                                                        \
    {                                                                                              \
        if (!counts(m, n, k, lda, ldb, ldout) || !blas_buffer_take())                              \
            return false;                                                                          \
        gemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,                               \
             transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, one, a, (int)lda, b, \
             (int)ldb, zero, out, (int)ldout);                                                     \
        blas_buffer_give_back();                                                                   \
        return true;                                                                               \
    }                                                                                              \
    bool name(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const void *a,  \
              int64_t lda, const void *b, int64_t ldb, void *out, int64_t ldout)                   \
    {                                                                                              \
        if (m == 0 || n == 0)                                                                      \
            return true;                                                                           \
        struct blocks blocks = { .multiply = name##_block,                                         \
                                 .element_bytes = sizeof(T),                                       \
                                 .transpose_a = transpose_a,                                       \
                                 .transpose_b = transpose_b,                                       \
                                 .m = m,                                                           \
                                 .n = n,                                                           \
                                 .k = k,                                                           \
                                 .a = a,                                                           \
                                 .b = b,                                                           \
                                 .out = out,                                                       \
                                 .lda = lda,                                                       \
                                 .ldb = ldb,                                                       \
                                 .ldout = ldout };                                                 \
        return multiply_in_blocks(&blocks, speed);                                                 \
    }
GEMM_BLAS(gemm_blas_f64, cblas_dgemm, double, 16, 1, 0)
GEMM_BLAS(gemm_blas_c64, cblas_cgemm, float[2], 8, ((const float[]){ 1, 0 }),
          ((const float[]){ 0, 0 }))
GEMM_BLAS(gemm_blas_c128, cblas_zgemm, double[2], 4, ((const double[]){ 1, 0 }),
          ((const double[]){ 0, 0 }))
