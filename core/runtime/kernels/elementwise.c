#include "runtime/kernels/elementwise.h"

#include <math.h>

#include "base/parallel.h"
#include "runtime/kernels/float8.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/plain/types.h"

/* About the time for a float: more for functions of libm, less for a sum in the cache. */
#define ELEMENT_NS 1

SIMD void half_block_load(enum dtype dtype, const void *from, float *to, int64_t count)
{
    const uint16_t *in = from;
    if (dtype == DT_HALF)
        for (int64_t i = 0; i < count; i++)
            to[i] = half_to_float(in[i]);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = bfloat16_to_float(in[i]);
}

SIMD void half_block_store(enum dtype dtype, const float *from, void *to, int64_t count)
{
    uint16_t *out = to;
    if (dtype == DT_HALF)
        for (int64_t i = 0; i < count; i++)
            out[i] = float_to_half(from[i]);
    else
        for (int64_t i = 0; i < count; i++)
            out[i] = float_to_bfloat16(from[i]);
}

static int64_t block_at(int64_t start, int64_t count)
{
    return count - start < HALF_BLOCK ? count - start : HALF_BLOCK;
}

void half_block_round(enum dtype dtype, float *x, int64_t count)
{
    uint16_t bits[HALF_BLOCK];
    for (int64_t start = 0; start < count; start += HALF_BLOCK) {
        int64_t n = block_at(start, count);
        half_block_store(dtype, x + start, bits, n);
        half_block_load(dtype, bits, x + start, n);
    }
}

float half_step(float x)
{
    return half_to_float(float_to_half(x));
}

float bfloat16_step(float x)
{
    return bfloat16_to_float(float_to_bfloat16(x));
}

float half_round(enum dtype dtype, float x)
{
    return dtype == DT_HALF ? half_step(x) : bfloat16_step(x);
}

#define ADD_RUN(s, T, W)                                                  \
    static void add_run_##s(const void *x, void *sum, int64_t count)      \
    {                                                                     \
        for (int64_t i = 0; i < count; i++)                               \
            ((T *)sum)[i] = (T)((W)((T *)sum)[i] + (W)((const T *)x)[i]); \
    }
REAL_TYPES(ADD_RUN)

typedef void add_run(const void *x, void *sum, int64_t count);
static add_run *const add_runs[DTYPE_COUNT] = { ROWS_REAL(add_run) };

void add_elements(enum dtype dtype, const void *x, void *sum, int64_t count)
{
    if (!dtype_is_half(dtype)) {
        add_runs[dtype](x, sum, count);
        return;
    }
    float a[HALF_BLOCK], b[HALF_BLOCK];
    for (int64_t start = 0; start < count; start += HALF_BLOCK) {
        int64_t n = block_at(start, count);
        half_block_load(dtype, (const uint16_t *)x + start, a, n);
        half_block_load(dtype, (const uint16_t *)sum + start, b, n);
        add_run_f32(a, b, n);
        half_block_store(dtype, b, (uint16_t *)sum + start, n);
    }
}

double floating_element(const struct tensor *x, int64_t i)
{
    float value = NAN; /* of the types that no kernel computes with */
    if (x->dtype == DT_DOUBLE)
        return tensor_doubles(x)[i];
    if (x->dtype == DT_FLOAT)
        return (double)tensor_floats(x)[i];
    if (dtype_is_float8(x->dtype))
        float8_load(x->dtype, (const uint8_t *)x->data + i, &value, 1);
    else if (dtype_is_half(x->dtype))
        half_block_load(x->dtype, (const uint16_t *)x->data + i, &value, 1);
    return (double)value;
}

double real_element(const struct tensor *x, int64_t i)
{
    return dtype_is_floating(x->dtype) ? floating_element(x, i) : (double)tensor_index(x, i);
}

void floating_store(struct tensor *out, int64_t i, double value)
{
    float narrow = (float)value;
    if (out->dtype == DT_DOUBLE)
        tensor_doubles_mut(out)[i] = value;
    else if (out->dtype == DT_FLOAT)
        tensor_floats_mut(out)[i] = narrow;
    else
        half_block_store(out->dtype, &narrow, (uint16_t *)out->data + i, 1);
}

static void unary_range(unary_row *const *rows, enum dtype dtype, const void *x, void *out,
                        int64_t count)
{
    if (!dtype_is_half(dtype)) {
        rows[dtype](x, out, count);
        return;
    }
    unary_row *row = rows[rows[dtype] != NULL ? dtype : DT_FLOAT];
    float block[HALF_BLOCK];
    for (int64_t start = 0; start < count; start += HALF_BLOCK) {
        int64_t n = block_at(start, count);
        half_block_load(dtype, (const uint16_t *)x + start, block, n);
        row(block, block, n);
        half_block_store(dtype, block, (uint16_t *)out + start, n);
    }
}

struct unary_run {
    unary_row *const *rows;
    enum dtype dtype;
    const void *x;
    void *out;
    int64_t count;
};

static void unary_blocks(void *context, int64_t first, int64_t end)
{
    const struct unary_run *run = context;
    size_t bytes = dtype_size(run->dtype);
    int64_t from = first * HALF_BLOCK, to = end * HALF_BLOCK;
    unary_range(run->rows, run->dtype, at_bytes_const(run->x, from, bytes),
                at_bytes(run->out, from, bytes), (to < run->count ? to : run->count) - from);
}

static int64_t blocks_of(int64_t count)
{
    return (count + HALF_BLOCK - 1) / HALF_BLOCK;
}

void unary_apply(unary_row *const *rows, enum dtype dtype, const void *x, void *out, int64_t count)
{
    struct unary_run run = { rows, dtype, x, out, count };
    if (count <= HALF_BLOCK)
        unary_range(rows, dtype, x, out, count);
    else
        parallel_for(blocks_of(count), (double)count * ELEMENT_NS, unary_blocks, &run);
}

static void binary_range(binary_row *const *rows, enum dtype dtype, enum dtype out_dtype,
                         const void *x, const void *y, void *out, int64_t count, int x_step,
                         int y_step)
{
    if (!dtype_is_half(dtype)) {
        rows[dtype](x, y, out, count, x_step, y_step);
        return;
    }
    binary_row *row = rows[rows[dtype] != NULL ? dtype : DT_FLOAT];
    float a[HALF_BLOCK], b[HALF_BLOCK];
    bool narrow = dtype_is_half(out_dtype);
    for (int64_t start = 0; start < count; start += HALF_BLOCK) {
        int64_t n = block_at(start, count);
        half_block_load(dtype, (const uint16_t *)x + start * x_step, a, x_step ? n : 1);
        half_block_load(dtype, (const uint16_t *)y + start * y_step, b, y_step ? n : 1);
        if (!narrow) {
            row(a, b, at_bytes(out, start, dtype_size(out_dtype)), n, x_step, y_step);
            continue;
        }
        float result[HALF_BLOCK];
        row(a, b, result, n, x_step, y_step);
        half_block_store(out_dtype, result, (uint16_t *)out + start, n);
    }
}

struct binary_run {
    binary_row *const *rows;
    enum dtype dtype, out_dtype;
    const void *x, *y;
    void *out;
    int64_t count; /* of one row */
    int x_step, y_step;
    const struct broadcast *broadcast; /* of many rows */
};

static void binary_blocks(void *context, int64_t first, int64_t end)
{
    const struct binary_run *run = context;
    size_t bytes = dtype_size(run->dtype);
    int64_t from = first * HALF_BLOCK, to = end * HALF_BLOCK;
    binary_range(run->rows, run->dtype, run->out_dtype,
                 at_bytes_const(run->x, from * run->x_step, bytes),
                 at_bytes_const(run->y, from * run->y_step, bytes),
                 at_bytes(run->out, from, dtype_size(run->out_dtype)),
                 (to < run->count ? to : run->count) - from, run->x_step, run->y_step);
}

/* One row, in parts if it is long. */
static void binary_row_apply(const struct binary_run *run)
{
    if (run->count <= HALF_BLOCK)
        binary_range(run->rows, run->dtype, run->out_dtype, run->x, run->y, run->out, run->count,
                     run->x_step, run->y_step);
    else
        parallel_for(blocks_of(run->count), (double)run->count * ELEMENT_NS, binary_blocks,
                     (void *)run);
}

void binary_apply(binary_row *const *rows, enum dtype dtype, enum dtype out_dtype, const void *x,
                  const void *y, void *out, int64_t count, int x_step, int y_step)
{
    struct binary_run run = { rows, dtype, out_dtype, x, y, out, count, x_step, y_step, NULL };
    binary_row_apply(&run);
}

/* Rows [first, end) of a broadcast. */
static void binary_broadcast_rows(void *context, int64_t first, int64_t end)
{
    const struct binary_run *all = context;
    size_t size = dtype_size(all->dtype), out_size = dtype_size(all->out_dtype);
    struct broadcast_walk walk = broadcast_at(all->broadcast, first);
    struct binary_run run = *all;
    for (int64_t r = first; r < end; r++) {
        run.x = at_bytes_const(all->x, walk.offsets[0], size);
        run.y = at_bytes_const(all->y, walk.offsets[1], size);
        run.out = at_bytes(all->out, r * all->count, out_size);
        binary_row_apply(&run);
        broadcast_next(all->broadcast, &walk);
    }
}

/* The output, in the buffer of x or y if that has the size of the result and this is its last
 * use. */
static struct status binary_output(struct kernel_context *k, const struct shape *shape,
                                   struct tensor **out)
{
    if (shape_equal(&kernel_input(k, 0)->shape, shape))
        return kernel_output_forward(k, 0, 0, shape, out);
    if (shape_equal(&kernel_input(k, 1)->shape, shape))
        return kernel_output_forward(k, 0, 1, shape, out);
    return kernel_output(k, 0, shape, out);
}

struct status binary_compute_rows(struct kernel_context *k, binary_row *const *rows)
{
    struct tensor *out;
    return binary_compute_to(k, rows, &out);
}

struct status binary_compute_to(struct kernel_context *k, binary_row *const *rows,
                                struct tensor **result)
{
    /* Copies: the executor may clear an input that the output takes over. */
    const struct tensor x = *kernel_input(k, 0), y = *kernel_input(k, 1);
    struct tensor *out;
    struct shape shape;
    TRY(shape_broadcast(&x.shape, &y.shape, &shape));
    TRY(binary_output(k, &shape, &out));
    *result = out;
    if (out->size == 0)
        return status_ok();

    struct broadcast broadcast;
    if (shape.rank != SHAPE_PACKED) {
        broadcast_init(&broadcast, &shape, 2, (const struct shape *[]){ &x.shape, &y.shape });
    } else {
        struct shape shapes[] = { x.shape, y.shape };
        if (!broadcast_unpack(&shape, 2, shapes))
            return kernel_error(k, STATUS_UNIMPLEMENTED, "a broadcast of %s with %s",
                                shape_text(&x.shape), shape_text(&y.shape));
        broadcast_init(&broadcast, &shape, 2, (const struct shape *[]){ &shapes[0], &shapes[1] });
    }
    struct binary_run run = { .rows = rows,
                              .dtype = x.dtype,
                              .out_dtype = out->dtype,
                              .x = x.data,
                              .y = y.data,
                              .out = out->data,
                              .count = broadcast_row(&broadcast),
                              .x_step = broadcast_step(&broadcast, 0),
                              .y_step = broadcast_step(&broadcast, 1),
                              .broadcast = &broadcast };
    int64_t rows_count = broadcast.rank <= 1 ? 1 : out->size / run.count;
    if (rows_count == 1)
        binary_row_apply(&run);
    else if (rows_count < PARALLEL_PARTS_MAX) /* few rows, perhaps long ones: cuts each row */
        binary_broadcast_rows(&run, 0, rows_count);
    else
        parallel_for(rows_count, (double)out->size * ELEMENT_NS, binary_broadcast_rows, &run);
    return status_ok();
}
