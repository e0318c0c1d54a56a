/*
 * matmul: MatMul and BatchMatMul (V1 to V3).
 */
#include <complex.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/kernels/product.h"

struct matmul_state {
    bool transpose_a, transpose_b;
    bool adjoint; /* complex numbers that are transposed are conjugated as well */
};

static struct status matmul_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct matmul_state *state = prepare_state(p, sizeof *state, NULL);
    bool batch = strcmp(node->op_name, "MatMul") != 0;
    state->adjoint = batch;
    TRY(node_attr_bool(node, batch ? "adj_x" : "transpose_a", &state->transpose_a));
    return node_attr_bool(node, batch ? "adj_y" : "transpose_b", &state->transpose_b);
}

static bool is_byte(enum dtype dtype)
{
    return dtype == DT_INT8 || dtype == DT_UINT8;
}

/* BatchMatMulV3 also takes bytes: two of them give int32, one and a bfloat16 give bfloat16. */
static struct status types_prepare(struct prepare_context *p)
{
    enum dtype a, b, out;
    TRY(node_attr_type(prepare_node(p), "Ta", &a));
    TRY(node_attr_type(prepare_node(p), "Tb", &b));
    TRY(node_attr_type(prepare_node(p), "Tout", &out));
    bool same = a == out && b == out;
    bool bytes = out == DT_INT32 && is_byte(a) && is_byte(b);
    bool half = out == DT_BFLOAT16 && (is_byte(a) || a == out) && (is_byte(b) || b == out);
    if (!same && !bytes && !half)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (BatchMatMulV3): %s times %s giving %s",
                            prepare_node(p)->name, dtype_name(a), dtype_name(b), dtype_name(out));
    return matmul_prepare(p);
}

/* One product of any type. half and bfloat16 are converted to float, in `wide`, and complex
 * matrices are conjugated there. */
struct matmul_wide {
    struct tensor a, b, out;
};

static struct status wide_make(struct kernel_context *k, enum dtype dtype,
                               const struct matmul_size *size, struct matmul_wide *wide)
{
    const struct matmul_state *state = kernel_state(k);
    struct shape a = shape_of(size->m * size->k), b = shape_of(size->k * size->n),
                 out = shape_of(size->m * size->n);
    struct status status = status_ok();
    if (dtype_is_half(dtype)) {
        TRY_OR(done, kernel_scratch(k, DT_FLOAT, &a, &wide->a));
        TRY_OR(done, kernel_scratch(k, DT_FLOAT, &b, &wide->b));
        TRY_OR(done, kernel_scratch(k, DT_FLOAT, &out, &wide->out));
    } else if (dtype_is_complex(dtype) && state->adjoint) {
        if (size->transpose_a)
            TRY_OR(done, kernel_scratch(k, dtype, &a, &wide->a));
        if (size->transpose_b)
            TRY_OR(done, kernel_scratch(k, dtype, &b, &wide->b));
    }
done:
    return status;
}

static void wide_release(struct matmul_wide *wide)
{
    tensor_release(&wide->a);
    tensor_release(&wide->b);
    tensor_release(&wide->out);
}

/* The matrix, or its conjugate in the scratch tensor if there is one. */
static const void *conjugated(const void *x, struct tensor *scratch)
{
    if (scratch->data == NULL)
        return x;
    if (scratch->dtype == DT_COMPLEX64)
        for (int64_t i = 0; i < scratch->size; i++)
            ((float complex *)scratch->data)[i] = conjf(((const float complex *)x)[i]);
    else
        for (int64_t i = 0; i < scratch->size; i++)
            ((double complex *)scratch->data)[i] = conj(((const double complex *)x)[i]);
    return scratch->data;
}

static struct status matmul_any(struct kernel_context *k, enum dtype dtype,
                                const struct matmul_size *size, const void *a, const void *b,
                                void *out, struct matmul_wide *wide)
{
    if (!dtype_is_half(dtype))
        return product_dense(k, dtype, size, conjugated(a, &wide->a), conjugated(b, &wide->b), out);
    half_block_load(dtype, a, wide->a.data, size->m * size->k);
    half_block_load(dtype, b, wide->b.data, size->k * size->n);
    TRY(product_dense(k, DT_FLOAT, size, wide->a.data, wide->b.data, wide->out.data));
    half_block_store(dtype, wide->out.data, out, size->m * size->n);
    return status_ok();
}

static struct status matmul_rank_error(const struct shape *a, const struct shape *b)
{
    if (a->rank == b->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "In[0] and In[1] ndims must be == 2: %d",
                            a->rank);
    return status_error(STATUS_INVALID_ARGUMENT, "In[0] and In[1] has different ndims: %s vs. %s",
                        shape_text(a), shape_text(b));
}

static struct status matmul_compute(struct kernel_context *k)
{
    const struct matmul_state *state = kernel_state(k);
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct tensor *out;
    if (a->shape.rank != 2 || b->shape.rank != 2)
        return matmul_rank_error(&a->shape, &b->shape);
    struct matmul_size size = { .m = a->shape.dims[state->transpose_a],
                                .k = a->shape.dims[!state->transpose_a],
                                .n = b->shape.dims[!state->transpose_b],
                                .transpose_a = state->transpose_a,
                                .transpose_b = state->transpose_b };
    if (size.k != b->shape.dims[state->transpose_b])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Matrix size-incompatible: In[0]: %s, In[1]: %s", shape_text(&a->shape),
                            shape_text(&b->shape));
    struct shape shape = shape_of(size.m, size.n);
    TRY(kernel_output(k, 0, &shape, &out));
    struct matmul_wide wide = { 0 };
    struct status status = wide_make(k, a->dtype, &size, &wide);
    if (status_is_ok(status))
        status = matmul_any(k, a->dtype, &size, a->data, b->data, out->data, &wide);
    wide_release(&wide);
    return status;
}

/* ---- many products ---- */

static struct status batch_shapes(const struct matmul_state *state, const struct tensor *x,
                                  const struct tensor *y, struct matmul_size *size,
                                  struct shape *x_batch, struct shape *y_batch, struct shape *out)
{
    if (x->shape.rank < 2 || y->shape.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: %d",
                            x->shape.rank < 2 ? 0 : 1,
                            x->shape.rank < 2 ? x->shape.rank : y->shape.rank);
    const int64_t *x_dims = x->shape.dims + x->shape.rank - 2;
    const int64_t *y_dims = y->shape.dims + y->shape.rank - 2;
    *size = (struct matmul_size){ .m = x_dims[state->transpose_a],
                                  .k = x_dims[!state->transpose_a],
                                  .n = y_dims[!state->transpose_b],
                                  .transpose_a = state->transpose_a,
                                  .transpose_b = state->transpose_b };
    *x_batch = shape_make(x->shape.rank - 2, x->shape.dims);
    *y_batch = shape_make(y->shape.rank - 2, y->shape.dims);
    struct status status = shape_broadcast(x_batch, y_batch, out);
    if (!status_is_ok(status))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                            shape_text(&x->shape), shape_text(&y->shape));
    if (size->k != y_dims[state->transpose_b])
        return status_error(
            STATUS_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s %d %d",
            shape_text(&x->shape), shape_text(&y->shape), state->transpose_a, state->transpose_b);
    return status_ok();
}

struct matmul_batch {
    struct kernel_context *k;
    enum dtype dtype;
    struct matmul_size size;
    const struct broadcast *broadcast;
    const void *x, *y;
    void *out;
    struct matmul_wide *wide;
};

/* Products [first, end) of the batch. */
static struct status multiply_some(void *context, int64_t first, int64_t end)
{
    const struct matmul_batch *p = context;
    const struct matmul_size *size = &p->size;
    int64_t row = broadcast_row(p->broadcast), i = first % row;
    struct broadcast_walk walk = broadcast_at(p->broadcast, first / row);
    size_t bytes = dtype_size(p->dtype);
    for (int64_t at = first; at < end; at++, i++) {
        if (i == row) {
            broadcast_next(p->broadcast, &walk);
            i = 0;
        }
        int64_t at_x = walk.offsets[0] + i * broadcast_step(p->broadcast, 0);
        int64_t at_y = walk.offsets[1] + i * broadcast_step(p->broadcast, 1);
        TRY(matmul_any(p->k, p->dtype, size, at_bytes_const(p->x, at_x * size->m * size->k, bytes),
                       at_bytes_const(p->y, at_y * size->k * size->n, bytes),
                       at_bytes(p->out, at * size->m * size->n, bytes), p->wide));
    }
    return status_ok();
}

static struct status multiply_all(struct matmul_batch *p, int64_t count)
{
    const struct matrix_product size = {
        .dtype = p->dtype, .m = p->size.m, .n = p->size.n, .k = p->size.k
    };
    bool in_order = p->wide->a.data != NULL || p->wide->b.data != NULL;
    return products_compute(p->k, count, product_ns(&size), in_order, multiply_some, p);
}

static struct status batch_products(struct kernel_context *k, const struct tensor *x,
                                    const struct tensor *y)
{
    const struct matmul_state *state = kernel_state(k);
    struct matmul_size size;
    struct shape x_batch, y_batch, batch, shape;
    struct tensor *out;
    TRY(batch_shapes(state, x, y, &size, &x_batch, &y_batch, &batch));
    shape = batch;
    shape_append(&shape, size.m);
    shape_append(&shape, size.n);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();

    struct matmul_wide wide = { 0 };
    struct status status = wide_make(k, x->dtype, &size, &wide);
    struct broadcast broadcast;
    broadcast_init(&broadcast, &batch, 2, (const struct shape *[]){ &x_batch, &y_batch });
    struct matmul_batch products = { k,       x->dtype, size,      &broadcast,
                                     x->data, y->data,  out->data, &wide };
    if (status_is_ok(status))
        status = multiply_all(&products, shape_size(&batch));
    wide_release(&wide);
    return status;
}

static struct status batch_matmul_compute(struct kernel_context *k)
{
    return batch_products(k, kernel_input(k, 0), kernel_input(k, 1));
}

/* The first version does not broadcast. */
static struct status batch_matmul_v1_compute(struct kernel_context *k)
{
    const struct shape *x = &kernel_input(k, 0)->shape, *y = &kernel_input(k, 1)->shape;

    if (x->rank != y->rank)
        return matmul_rank_error(x, y);
    for (int d = 0; d < x->rank - 2; d++)
        if (x->dims[d] != y->dims[d])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "In[0].dim(%d) and In[1].dim(%d) must be the same: %s vs %s", d, d,
                                shape_text(x), shape_text(y));
    return batch_matmul_compute(k);
}

/* A copy of int8 or uint8 as int32 or bfloat16; both have room for these numbers. */
static struct status widen(struct kernel_context *k, const struct tensor *x, enum dtype to,
                           struct tensor *out)
{
    if (x->dtype == to) {
        *out = tensor_acquire(x);
        return status_ok();
    }
    TRY(kernel_scratch(k, to, &x->shape, out));
    for (int64_t i = 0; i < x->size; i++) {
        float value = (float)tensor_index(x, i);
        if (to == DT_INT32)
            tensor_int32s_mut(out)[i] = (int32_t)tensor_index(x, i);
        else
            half_block_store(to, &value, (uint16_t *)out->data + i, 1);
    }
    return status_ok();
}

static struct status widened_matmul_compute(struct kernel_context *k)
{
    enum dtype dtype = DT_BFLOAT16;
    struct tensor x = { 0 }, y = { 0 };
    struct status status;

    if (is_byte(kernel_input(k, 0)->dtype) && is_byte(kernel_input(k, 1)->dtype))
        dtype = DT_INT32;
    TRY_OR(done, widen(k, kernel_input(k, 0), dtype, &x));
    TRY_OR(done, widen(k, kernel_input(k, 1), dtype, &y));
    status = batch_products(k, &x, &y);
done:
    tensor_release(&x);
    tensor_release(&y);
    return status;
}

static struct status batch_matmul_v3_compute(struct kernel_context *k)
{
    bool widened = is_byte(kernel_input(k, 0)->dtype) || is_byte(kernel_input(k, 1)->dtype);

    return widened ? widened_matmul_compute(k) : batch_matmul_compute(k);
}

#define DTYPES_MATMUL (DTYPES_FLOATING | DTYPES_COMPLEX | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "MatMul", DTYPES_MATMUL, "T", .prepare = matmul_prepare, .compute = matmul_compute,
      .costly = true },
    { "BatchMatMul", DTYPES_MATMUL, "T", .prepare = matmul_prepare,
      .compute = batch_matmul_v1_compute, .costly = true },
    { "BatchMatMulV3", DTYPES_MATMUL | DTYPES(DT_INT16), "Tout", .prepare = types_prepare,
      .compute = batch_matmul_v3_compute, .costly = true },
    { "BatchMatMulV2", DTYPES_MATMUL | DTYPES(DT_INT16), "T", .prepare = matmul_prepare,
      .compute = batch_matmul_compute, .costly = true },
};
const struct kernel_table kernels_matmul = { rows, COUNT(rows) };
