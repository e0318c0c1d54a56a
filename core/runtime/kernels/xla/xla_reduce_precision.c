/*
 * xla_reduce_precision: XlaReducePrecision rounds floats to a format with fewer bits of exponent
 * and mantissa, and keeps their type. The format has no subnormal numbers: they become zeros.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

struct float_format {
    int exponent_bits, mantissa_bits;
};

static struct float_format format_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_DOUBLE:
        return (struct float_format){ 11, 52 };
    case DT_FLOAT:
        return (struct float_format){ 8, 23 };
    case DT_BFLOAT16:
        return (struct float_format){ 8, 7 };
    default:
        return (struct float_format){ 5, 10 };
    }
}

static struct status reduce_precision_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct float_format *format = prepare_state(p, sizeof *format, NULL);
    int64_t exponent_bits, mantissa_bits;
    TRY(node_attr_int(node, "exponent_bits", &exponent_bits));
    TRY(node_attr_int(node, "mantissa_bits", &mantissa_bits));
    if (exponent_bits < 1 || mantissa_bits < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s': %lld bits of exponent and %lld of mantissa", node->name,
                            (long long)exponent_bits, (long long)mantissa_bits);
    format->exponent_bits = exponent_bits < 11 ? (int)exponent_bits : 11;
    format->mantissa_bits = mantissa_bits < 52 ? (int)mantissa_bits : 52;
    return status_ok();
}

/* To nearest even. A mantissa that overflows adds 1 to the exponent, which may become infinity. */
static uint64_t round_mantissa(uint64_t magnitude, int dropped)
{
    uint64_t odd = magnitude >> dropped & 1;
    uint64_t half = (uint64_t)1 << (dropped - 1);
    return (magnitude + half - 1 + odd) >> dropped << dropped;
}

/* `bits` of a number in format `from`, rounded to format `to`. */
static uint64_t reduce_precision(uint64_t bits, struct float_format from, struct float_format to)
{
    uint64_t one = 1, sign = bits & one << (from.exponent_bits + from.mantissa_bits);
    uint64_t magnitude = bits ^ sign;
    uint64_t infinity = ((one << from.exponent_bits) - 1) << from.mantissa_bits;
    if (magnitude > infinity) /* NaN */
        return bits;
    if (to.mantissa_bits < from.mantissa_bits)
        magnitude = round_mantissa(magnitude, from.mantissa_bits - to.mantissa_bits);
    if (to.exponent_bits < from.exponent_bits) {
        uint64_t bias = (one << (from.exponent_bits - 1)) - 1;
        uint64_t range = (one << (to.exponent_bits - 1)) - 1;
        uint64_t exponent = magnitude >> from.mantissa_bits;
        if (exponent > bias + range)
            magnitude = infinity;
        else if (exponent <= bias - range)
            magnitude = 0;
    }
    return sign | magnitude;
}

static struct status reduce_precision_compute(struct kernel_context *k)
{
    const struct float_format *to = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    struct float_format from = format_of(x->dtype);
    size_t bytes = dtype_size(x->dtype);
    TRY(kernel_output_forward(k, 0, 0, &x->shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        uint64_t bits = 0;
        memcpy(&bits, at_bytes_const(x->data, i, bytes), bytes);
        bits = reduce_precision(bits, from, *to);
        memcpy(at_bytes(out->data, i, bytes), &bits, bytes);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaReducePrecision", DTYPES_FLOATING, .prepare = reduce_precision_prepare,
      .compute = reduce_precision_compute },
};
const struct kernel_table kernels_xla_reduce_precision = { rows, COUNT(rows) };
