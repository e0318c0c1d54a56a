/* Qr: a matrix as the product of an orthogonal and an upper triangular one. */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/matrix/matrices.h"
#include "runtime/kernels/plain/linear.h"

struct qr {
    bool full;
    int m, n, columns; /* columns of Q, which are also the rows of R */
    struct tensor a, scales, work;
};

static struct status qr_prepare(struct prepare_context *p)
{
    bool *full = prepare_state(p, sizeof *full, NULL);
    return node_attr_bool(prepare_node(p), "full_matrices", full);
}

static struct status qr_make(struct kernel_context *k, enum dtype dtype, struct qr *qr)
{
    int widest = qr->n > qr->columns ? qr->n : qr->columns;
    struct shape a = shape_of(widest, qr->m), scales = shape_of(widest);
    struct shape work = shape_of(linear_work(qr->m, widest));
    struct status status;
    TRY_OR(done, kernel_scratch(k, dtype, &a, &qr->a));
    TRY_OR(done, kernel_scratch(k, dtype, &scales, &qr->scales));
    TRY_OR(done, kernel_scratch(k, dtype, &work, &qr->work));
done:
    return status;
}

/* Factors x [m, n] into q [m, columns] and r [columns, n], all by rows. */
static void factor_qr(struct qr *qr, const void *x, void *q, void *r)
{
    enum dtype dtype = qr->a.dtype;
    size_t size = dtype_size(dtype);
    int reflections = qr->m < qr->n ? qr->m : qr->n;
    matrix_transpose(dtype, qr->m, qr->n, x, qr->a.data);
    linear_reflect(dtype, qr->m, qr->n, qr->a.data, qr->scales.data, qr->work.data);
    for (int64_t i = 0; i < qr->columns; i++)
        for (int64_t j = 0; j < qr->n; j++)
            if (j >= i)
                memcpy(at_bytes(r, i * qr->n + j, size),
                       at_bytes_const(qr->a.data, j * qr->m + i, size), size);
            else
                matrix_set(dtype, r, i * qr->n + j, 0);
    linear_reflections_to_q(dtype, qr->m, qr->columns, reflections, qr->a.data, qr->scales.data,
                            qr->work.data);
    matrix_transpose(dtype, qr->columns, qr->m, qr->a.data, q);
}

static void qr_of_nothing(const struct qr *qr, int64_t count, struct tensor *q, struct tensor *r)
{
    if (r->size > 0)
        memset(r->data, 0, tensor_bytes(r));
    for (int64_t i = 0; i < count && q->size > 0; i++)
        matrix_set_identity(q->dtype, qr->m,
                            at_bytes(q->data, i * qr->m * qr->m, dtype_size(q->dtype)));
}

static struct status qr_each(struct kernel_context *k, struct qr *qr, int64_t count,
                             const struct tensor *x, struct tensor *q, struct tensor *r)
{
    struct status status = qr_make(k, x->dtype, qr);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < count && status_is_ok(status); i++) {
        status = matrices_begin(k);
        if (!status_is_ok(status))
            break;
        factor_qr(qr, at_bytes_const(x->data, i * qr->m * qr->n, size),
                  at_bytes(q->data, i * qr->m * qr->columns, size),
                  at_bytes(r->data, i * qr->columns * qr->n, size));
        matrices_end();
    }
    tensor_release(&qr->a);
    tensor_release(&qr->scales);
    tensor_release(&qr->work);
    return status;
}

static struct status qr_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct matrices m;
    struct tensor *q, *r;
    TRY(matrices_find(k, 0, false, &m));
    struct qr qr = { .full = *(const bool *)kernel_state(k),
                     .m = (int)m.rows,
                     .n = (int)m.columns,
                     .columns = (int)(m.rows < m.columns ? m.rows : m.columns) };
    qr.columns = qr.full ? qr.m : qr.columns;
    struct shape q_shape = x->shape, r_shape = x->shape;
    q_shape.dims[q_shape.rank - 1] = r_shape.dims[r_shape.rank - 2] = qr.columns;
    TRY(shape_check(q_shape.rank, q_shape.dims, &q_shape));
    TRY(shape_check(r_shape.rank, r_shape.dims, &r_shape));
    TRY(kernel_output(k, 0, &q_shape, &q));
    TRY(kernel_output(k, 1, &r_shape, &r));
    struct tensor wide = { 0 }, wide_q = { 0 }, wide_r = { 0 };
    struct status status;
    TRY_OR(done, widened(k, x, &wide));
    TRY_OR(done, widened_output(k, q, &wide_q));
    TRY_OR(done, widened_output(k, r, &wide_r));
    if (x->size > 0)
        TRY_OR(done, qr_each(k, &qr, m.count, &wide, &wide_q, &wide_r));
    else
        qr_of_nothing(&qr, m.count, &wide_q, &wide_r);
    widened_store(&wide_q, q);
    widened_store(&wide_r, r);
done:
    tensor_release(&wide);
    tensor_release(&wide_q);
    tensor_release(&wide_r);
    return status;
}

static const struct kernel rows[] = {
    { "Qr", DTYPES_LINEAR | DTYPES(DT_HALF), .prepare = qr_prepare, .compute = qr_compute,
      .costly = true },
};
const struct kernel_table kernels_qr = { rows, COUNT(rows) };
