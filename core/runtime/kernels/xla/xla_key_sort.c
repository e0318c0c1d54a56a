/*
 * xla_key_sort: XlaSort and XlaKeyValueSort sort numbers along the last dimension, the second one
 * together with values.
 *
 * Floats have IEEE 754's total order: NaNs with a sign, -inf, …, -0, 0, …, inf, other NaNs. Values
 * of equal keys keep their order, which XLA leaves open.
 */
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"

#define DTYPES_SIGNED (DTYPES(DT_INT8) | DTYPES(DT_INT16) | DTYPES(DT_INT32) | DTYPES(DT_INT64))

struct sort_key {
    uint64_t bits; /* in the order of the numbers */
    int64_t place;
};

/* A line of n elements, as unsigned numbers of the same order. */
static void read_keys(enum dtype dtype, const void *line, int64_t n, struct sort_key *keys)
{
    size_t bytes = dtype_size(dtype);
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
    bool is_floating = DTYPES(dtype) & DTYPES_FLOATING, is_signed = DTYPES(dtype) & DTYPES_SIGNED;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, at_bytes_const(line, i, bytes), bytes);
        if (is_floating && bits & sign)
            bits = sign - 1 - (bits & (sign - 1)); /* a greater magnitude comes first */
        else if (is_floating || is_signed)
            bits ^= sign;
        keys[i] = (struct sort_key){ bits, i };
    }
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct sort_key *a = left, *b = right;
    (void)context;
    if (a->bits != b->bits)
        return a->bits < b->bits ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static void move_line(size_t bytes, const struct sort_key *keys, int64_t n, const void *from,
                      void *to)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(at_bytes(to, i, bytes), at_bytes_const(from, keys[i].place, bytes), bytes);
}

static struct status sort_lines(struct kernel_context *k, int64_t n, struct tensor *const *outs)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape room = shape_of(n, (int64_t)sizeof(struct sort_key));
    struct tensor scratch;
    TRY(kernel_scratch(k, DT_UINT8, &room, &scratch));
    struct sort_key *keys = scratch.data;
    struct status status = status_ok();
    for (int64_t at = 0; status_is_ok(status) && at < x->size; at += n) {
        read_keys(x->dtype, at_bytes_const(x->data, at, dtype_size(x->dtype)), n, keys);
        status = kernel_sort(k, keys, n, sizeof *keys, compare_keys, NULL);
        for (int i = 0; status_is_ok(status) && i < kernel_outputs_count(k); i++) {
            size_t bytes = dtype_size(outs[i]->dtype);
            move_line(bytes, keys, n, at_bytes_const(kernel_input(k, i)->data, at, bytes),
                      at_bytes(outs[i]->data, at, bytes));
        }
    }
    tensor_release(&scratch);
    return status;
}

static struct status key_sort_compute(struct kernel_context *k)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    struct tensor *outs[2];
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        const struct tensor *x = kernel_input(k, i);
        if (!shape_equal(&x->shape, shape))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Sort keys and values dimensions must match: %s and %s",
                                shape_text(shape), shape_text(&x->shape));
        TRY(kernel_output_typed(k, i, x->dtype, shape, &outs[i]));
    }
    int64_t length = shape->rank == 0 ? 1 : shape->dims[shape->rank - 1];
    return outs[0]->size == 0 ? status_ok() : sort_lines(k, length, outs);
}

/* The values may have any type that XLA has. */
static struct status key_sort_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype dtype = node->outputs[1].dtype;
    if (DTYPES(dtype) & (DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL)))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "node '%s': %s of %s", node->name, node->op_name,
                        dtype_name(dtype));
}

/* TensorFlow sorts a scalar with a value, but refuses it alone. */
static struct status sort_compute(struct kernel_context *k)
{
    if (kernel_input(k, 0)->shape.rank == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "a scalar has no dimension to sort");
    return key_sort_compute(k);
}

static const struct kernel rows[] = {
    { "XlaSort", DTYPES_REAL | DTYPES(DT_BOOL), .compute = sort_compute, .costly = true },
    { "XlaKeyValueSort", DTYPES_REAL, .prepare = key_sort_prepare, .compute = key_sort_compute,
      .costly = true },
};
const struct kernel_table kernels_xla_key_sort = { rows, COUNT(rows) };
