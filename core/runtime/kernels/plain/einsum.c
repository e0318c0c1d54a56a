#include "runtime/kernels/plain/einsum.h"

void nest_append(struct nest *nest, int64_t dim, int64_t a, int64_t b, int64_t out)
{
    int64_t *strides = nest->strides[nest->rank];
    nest->dims[nest->rank++] = dim;
    strides[0] = a;
    strides[1] = b;
    strides[2] = out;
}

bool nest_next(const struct nest *nest, struct nest_walk *walk)
{
    for (int d = nest->rank - 1; d >= 0; d--) {
        bool again = ++walk->at[d] < nest->dims[d];
        int64_t steps = again ? 1 : 1 - nest->dims[d];
        for (int i = 0; i < 3; i++)
            walk->offsets[i] += steps * nest->strides[d][i];
        if (again)
            return true;
        walk->at[d] = 0;
    }
    return false;
}

struct nest_walk nest_at(const struct nest *nest, int64_t steps)
{
    struct nest_walk walk = { 0 };
    for (int d = nest->rank - 1; d >= 0; d--) {
        walk.at[d] = steps % nest->dims[d];
        steps /= nest->dims[d];
        for (int i = 0; i < 3; i++)
            walk.offsets[i] += walk.at[d] * nest->strides[d][i];
    }
    return walk;
}

/* The innermost loop. */
struct innermost {
    int64_t count, a, b, out; /* strides */
};

/* `sum`: out[0] += Σ a · b. `multiply`: out[i] = a[i] · b[i]. */
struct einsum_rows {
    void (*sum)(const struct innermost *run, const void *a, const void *b, void *out,
                const int64_t *at);
    void (*multiply)(const struct innermost *run, const void *a, const void *b, void *out,
                     const int64_t *at);
    void (*clear)(void *out, int64_t at);
};

#define REAL(name, T, W)                                                                     \
    static void sum_##name(const struct innermost *run, const void *va, const void *vb,      \
                           void *vout, const int64_t *at)                                    \
    {                                                                                        \
        const T *a = (const T *)va + at[0], *b = (const T *)vb + at[1];                      \
        T *out = (T *)vout + at[2];                                                          \
        W sum = (W)*out;                                                                     \
        for (int64_t i = 0; i < run->count; i++)                                             \
            sum += (W)a[i * run->a] * (W)b[i * run->b];                                      \
        *out = (T)sum;                                                                       \
    }                                                                                        \
    static void multiply_##name(const struct innermost *run, const void *va, const void *vb, \
                                void *vout, const int64_t *at)                               \
    {                                                                                        \
        const T *a = (const T *)va + at[0], *b = (const T *)vb + at[1];                      \
        T *out = (T *)vout + at[2];                                                          \
        for (int64_t i = 0; i < run->count; i++)                                             \
            out[i * run->out] = (T)((W)a[i * run->a] * (W)b[i * run->b]);                    \
    }                                                                                        \
    static void clear_##name(void *out, int64_t at)                                          \
    {                                                                                        \
        ((T *)out)[at] = 0;                                                                  \
    }
REAL(f32, float, float)
REAL(f64, double, double)
REAL(i32, int32_t, uint32_t)
REAL(i64, int64_t, uint64_t)

/* C's own complex product tests each result for NaN; TensorFlow's does not. */
#define COMPLEX(name, T)                                                                     \
    struct name {                                                                            \
        T re, im;                                                                            \
    };                                                                                       \
    static struct name product_##name(struct name x, struct name y)                          \
    {                                                                                        \
        return (struct name){ x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re };        \
    }                                                                                        \
    static void sum_##name(const struct innermost *run, const void *va, const void *vb,      \
                           void *vout, const int64_t *at)                                    \
    {                                                                                        \
        const struct name *a = (const struct name *)va + at[0],                              \
                          *b = (const struct name *)vb + at[1];                              \
        struct name *out = (struct name *)vout + at[2];                                      \
        for (int64_t i = 0; i < run->count; i++) {                                           \
            struct name product = product_##name(a[i * run->a], b[i * run->b]);              \
            out->re += product.re;                                                           \
            out->im += product.im;                                                           \
        }                                                                                    \
    }                                                                                        \
    static void multiply_##name(const struct innermost *run, const void *va, const void *vb, \
                                void *vout, const int64_t *at)                               \
    {                                                                                        \
        const struct name *a = (const struct name *)va + at[0],                              \
                          *b = (const struct name *)vb + at[1];                              \
        struct name *out = (struct name *)vout + at[2];                                      \
        for (int64_t i = 0; i < run->count; i++)                                             \
            out[i * run->out] = product_##name(a[i * run->a], b[i * run->b]);                \
    }                                                                                        \
    static void clear_##name(void *out, int64_t at)                                          \
    {                                                                                        \
        ((struct name *)out)[at] = (struct name){ 0 };                                       \
    }
COMPLEX(c64, float)
COMPLEX(c128, double)

#define ROWS(name)                                \
    {                                             \
        sum_##name, multiply_##name, clear_##name \
    }
static const struct einsum_rows rows[DTYPE_COUNT] = {
    [DT_FLOAT] = ROWS(f32), [DT_DOUBLE] = ROWS(f64),    [DT_INT32] = ROWS(i32),
    [DT_INT64] = ROWS(i64), [DT_COMPLEX64] = ROWS(c64), [DT_COMPLEX128] = ROWS(c128),
};

/* Removes the innermost loop from the nest and returns it: one step if there is none. */
static struct innermost take_innermost(struct nest *nest)
{
    if (nest->rank == 0)
        return (struct innermost){ .count = 1 };
    int last = --nest->rank;
    return (struct innermost){ .count = nest->dims[last],
                               .a = nest->strides[last][0],
                               .b = nest->strides[last][1],
                               .out = nest->strides[last][2] };
}

void einsum_plain(enum dtype dtype, const struct nest *kept, const struct nest *summed,
                  const void *a, const void *b, void *out)
{
    const struct einsum_rows *row = &rows[dtype];
    struct nest outer = *kept, inner = *summed;
    struct nest_walk walk = { 0 };
    if (summed->rank == 0) {
        struct innermost run = take_innermost(&outer);
        do {
            row->multiply(&run, a, b, out, walk.offsets);
        } while (nest_next(&outer, &walk));
        return;
    }
    struct innermost run = take_innermost(&inner);
    do {
        struct nest_walk sum = { 0 };
        for (int i = 0; i < 3; i++)
            sum.offsets[i] = walk.offsets[i];
        row->clear(out, walk.offsets[2]);
        do {
            row->sum(&run, a, b, out, sum.offsets);
        } while (nest_next(&inner, &sum));
    } while (nest_next(&outer, &walk));
}
