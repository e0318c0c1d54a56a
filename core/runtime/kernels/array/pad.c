/* Pad, PadV2, MirrorPad and its gradient. */
#include "runtime/kernels/array/pad.h"

#include "base/parallel.h"
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

struct status pads_read(const struct kernel_context *k, const struct shape *x,
                        const struct tensor *list, struct pads *pads)
{
    int rank = x->rank;
    if (list->shape.rank != 2 || list->shape.dims[1] != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                            shape_text(&list->shape));
    if (list->shape.dims[0] != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The first dimension of paddings must be the rank of inputs%s %s",
                            shape_text(&list->shape), shape_text(x));
    *pads = (struct pads){ 0 };
    for (int d = 0; d < rank; d++) {
        int64_t before = tensor_index(list, 2 * d), after = tensor_index(list, 2 * d + 1), dim;
        if (before < 0 || after < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld",
                                (long long)before, (long long)after);
        if (__builtin_add_overflow(before, after, &dim) ||
            __builtin_add_overflow(dim, x->dims[d], &dim))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d would not fit int64", d);
        pads->before[d] = before;
        shape_append(&pads->out, dim);
    }
    return shape_check(pads->out.rank, pads->out.dims, &pads->out);
}

/* A row: the last padded dimension, with the dimensions after it, at one place of those before. */
struct pad_run {
    const struct pads *pads;
    const struct shape *x_shape;
    int outer; /* dimensions before the row */
    int64_t before, in, after;
    size_t element_bytes;
    const void *value, *x;
    void *out;
};

/* The number of the row of x that an output's row copies. -1: it is all padding. */
static int64_t row_of_x(const struct pad_run *run, int64_t row)
{
    int64_t from = 0, rows = 1;
    for (int d = run->outer - 1; d >= 0; d--) {
        int64_t dim = run->x_shape->dims[d];
        int64_t at = row % run->pads->out.dims[d] - run->pads->before[d];
        if (at < 0 || at >= dim)
            return -1;
        from += at * rows;
        rows *= dim;
        row /= run->pads->out.dims[d];
    }
    return from;
}

static void pad_rows(void *context, int64_t first, int64_t end)
{
    const struct pad_run *run = context;
    int64_t each = run->before + run->in + run->after;
    size_t bytes = run->element_bytes;
    for (int64_t row = first; row < end; row++) {
        char *out = at_bytes(run->out, row * each, bytes);
        int64_t from = row_of_x(run, row);
        if (from < 0) {
            repeat_element(out, bytes, run->value, each);
            continue;
        }
        repeat_element(out, bytes, run->value, run->before);
        memcpy(at_bytes(out, run->before, bytes), at_bytes_const(run->x, from * run->in, bytes),
               (size_t)run->in * bytes);
        repeat_element(at_bytes(out, run->before + run->in, bytes), bytes, run->value, run->after);
    }
}

#define PAD_BYTES_PER_NS 8
#define PAD_ROW_NS       10

/* Both have elements. */
static void pad_all(const struct pads *pads, const struct tensor *x, const void *value,
                    struct tensor *out)
{
    int last = x->shape.rank - 1;
    while (last > 0 && x->shape.dims[last] == pads->out.dims[last])
        last--;
    int64_t inner = 1, dim = last >= 0 ? x->shape.dims[last] : 1;
    for (int d = last + 1; d < x->shape.rank; d++)
        inner *= x->shape.dims[d];
    int64_t before = last >= 0 ? pads->before[last] : 0;
    int64_t all = last >= 0 ? pads->out.dims[last] : 1;
    struct pad_run run = {
        .pads = pads,
        .x_shape = &x->shape,
        .outer = last > 0 ? last : 0,
        .before = before * inner,
        .in = dim * inner,
        .after = (all - before - dim) * inner,
        .element_bytes = dtype_size(x->dtype),
        .value = value,
        .x = x->data,
        .out = out->data,
    };
    int64_t rows = out->size / (all * inner);
    double bytes = (double)out->size * (double)run.element_bytes;
    parallel_for(rows, (double)rows * PAD_ROW_NS + bytes / PAD_BYTES_PER_NS, pad_rows, &run);
}

static struct status pad_compute(struct kernel_context *k)
{
    static const char zeros[16];
    const struct tensor *x = kernel_input(k, 0);
    const void *value = zeros;
    struct pads pads;
    struct tensor *out;
    if (kernel_inputs_count(k) > 2) { /* PadV2 */
        if (kernel_input(k, 2)->shape.rank != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "constant_values must be a scalar. Found: %s",
                                shape_text(&kernel_input(k, 2)->shape));
        value = kernel_input(k, 2)->data;
    }
    TRY(pads_read(k, &kernel_input(k, 0)->shape, kernel_input(k, 1), &pads));
    TRY(kernel_output(k, 0, &pads.out, &out));
    if (x->size == 0)
        repeat_element(out->data, dtype_size(x->dtype), value, out->size);
    else
        pad_all(&pads, x, value, out);
    return status_ok();
}

/* ---- MirrorPad ---- */

struct mirror_state {
    int offset; /* 1: REFLECT omits the edge; 0: SYMMETRIC repeats it */
};

static struct status mirror_prepare(struct prepare_context *p)
{
    struct mirror_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode;
    TRY(node_attr_string(prepare_node(p), "mode", &mode));
    state->offset = bytes_equal(mode, bytes_of("REFLECT"));
    if (!state->offset && !bytes_equal(mode, bytes_of("SYMMETRIC")))
        return status_error(STATUS_INVALID_ARGUMENT, "mode must be either REFLECT or SYMMETRIC.");
    return status_ok();
}

int64_t pads_mirrored(int64_t i, int64_t before, int64_t dim, int offset)
{
    i -= before;
    if (i < 0)
        return -i - 1 + offset;
    return i < dim ? i : 2 * dim - 1 - offset - i;
}

struct status pads_check_mirrored(const struct pads *pads, const struct shape *x, int offset)
{
    for (int d = 0; d < x->rank; d++) {
        int64_t most = x->dims[d] - offset;
        int64_t after = pads->out.dims[d] - x->dims[d] - pads->before[d];
        if (pads->before[d] > most || after > most)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "paddings must be %s the dimension size: %lld, %lld %s %lld",
                                offset ? "less than" : "no greater than",
                                (long long)pads->before[d], (long long)after,
                                offset ? "not less than" : "greater than", (long long)x->dims[d]);
    }
    return status_ok();
}

static struct status mirror_pad_compute(struct kernel_context *k)
{
    const struct mirror_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int rank = x->shape.rank;
    struct pads pads;
    struct tensor *out;
    int64_t strides[SHAPE_RANK_MAX], at[SHAPE_RANK_MAX] = { 0 };
    TRY(pads_read(k, &kernel_input(k, 0)->shape, kernel_input(k, 1), &pads));
    TRY(pads_check_mirrored(&pads, &x->shape, state->offset));
    TRY(kernel_output(k, 0, &pads.out, &out));
    dense_strides(&x->shape, strides);
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < out->size; i++) {
        int64_t from = 0;
        for (int d = 0; d < rank; d++)
            from +=
                strides[d] * pads_mirrored(at[d], pads.before[d], x->shape.dims[d], state->offset);
        memcpy(at_bytes(out->data, i, size), at_bytes_const(x->data, from, size), size);
        for (int d = rank - 1; d >= 0 && ++at[d] == pads.out.dims[d]; d--)
            at[d] = 0;
    }
    return status_ok();
}

/* ---- the gradient of MirrorPad ---- */

/* The shape without its paddings, which must fit it. */
static struct status unpadded(const struct kernel_context *k, const struct pads *pads,
                              struct shape *out)
{
    const struct mirror_state *state = kernel_state(k);
    const struct tensor *dy = kernel_input(k, 0);
    *out = dy->shape;
    for (int d = 0; d < dy->shape.rank; d++) {
        int64_t before = pads->before[d];
        int64_t after = pads->out.dims[d] - dy->shape.dims[d] - before;
        if (before + after >= out->dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Total paddings must be less than the input dimension size: %lld "
                                "was not less than %lld",
                                (long long)(before + after), (long long)out->dims[d]);
        out->dims[d] -= before + after;
        int64_t most = out->dims[d] - state->offset;
        if (before > most || after > most)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                state->offset ? "Paddings must be less than the dimension size: "
                                                "%lld, %lld not less than %lld"
                                              : "Paddings must be no greater than the dimension "
                                                "size: %lld, %lld greater than %lld",
                                (long long)before, (long long)after, (long long)out->dims[d]);
    }
    return status_ok();
}

static struct status mirror_pad_grad_compute(struct kernel_context *k)
{
    const struct mirror_state *state = kernel_state(k);
    const struct tensor *dy = kernel_input(k, 0);
    int rank = dy->shape.rank;
    struct pads pads;
    struct shape shape;
    struct tensor *out;
    int64_t strides[SHAPE_RANK_MAX], at[SHAPE_RANK_MAX] = { 0 };
    TRY(pads_read(k, &kernel_input(k, 0)->shape, kernel_input(k, 1), &pads));
    TRY(unpadded(k, &pads, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    dense_strides(&shape, strides);
    size_t size = dtype_size(dy->dtype);
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < dy->size; i++) {
        int64_t to = 0;
        for (int d = 0; d < rank; d++)
            to += strides[d] * pads_mirrored(at[d], pads.before[d], shape.dims[d], state->offset);
        combine_elements(COMBINE_ADD, dy->dtype, at_bytes_const(dy->data, i, size),
                         at_bytes(out->data, to, size), 1);
        for (int d = rank - 1; d >= 0 && ++at[d] == dy->shape.dims[d]; d--)
            at[d] = 0;
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Pad", DTYPES_MOVED, .compute = pad_compute },
    { "PadV2", DTYPES_MOVED, .compute = pad_compute },
    { "MirrorPad", DTYPES_MOVED, .prepare = mirror_prepare, .compute = mirror_pad_compute },
    { "MirrorPadGrad", DTYPES_REAL | DTYPES(DT_COMPLEX64) | DTYPES(DT_COMPLEX128),
      .prepare = mirror_prepare, .compute = mirror_pad_grad_compute },
};
const struct kernel_table kernels_pad = { rows, COUNT(rows) };
