/*
 * xla_dequantize: XlaDequantize reads four bytes from each uint32, the highest first, and makes
 * them bfloat16 numbers of a range. Each step of byte · (max - min) / 255 + min is rounded to
 * bfloat16.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

struct dequantize_state {
    uint16_t values[256]; /* bfloat16, for each byte */
    bool transpose;
};

static float round_bfloat16(float x)
{
    return bfloat16_to_float(float_to_bfloat16(x));
}

static struct status dequantize_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct dequantize_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes mode;
    float low, high;
    TRY(node_attr_string(node, "mode", &mode));
    TRY(node_attr_float(node, "min_range", &low));
    TRY(node_attr_float(node, "max_range", &high));
    if (!bytes_equal(mode, bytes_of("MIN_COMBINED")))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Only MIN_COMBINED mode is supported in xla::Dequantize Op. "
                            "[node '%s']",
                            node->name);
    low = round_bfloat16(low);
    float range = round_bfloat16(round_bfloat16(high) - low), scale = round_bfloat16(range / 255);
    for (int i = 0; i < 256; i++)
        state->values[i] = float_to_bfloat16(round_bfloat16((float)i * scale) + low);
    return node_attr_bool(node, "transpose_output", &state->transpose);
}

static void unpack(const uint32_t *in, int64_t count, const uint16_t *values, uint16_t *out)
{
    for (int64_t i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++)
            out[4 * i + byte] = values[in[i] >> (24 - 8 * byte) & 255];
}

/* As `unpack`, with the dimensions in reverse order. */
static struct status unpack_transposed(struct kernel_context *k, const struct tensor *x,
                                       const uint16_t *values, struct tensor *out)
{
    struct strided strided = { 0 };
    struct tensor numbers;
    int64_t strides[SHAPE_RANK_MAX];
    TRY(kernel_scratch(k, DT_BFLOAT16, &out->shape, &numbers));
    unpack(x->data, x->size, values, numbers.data);
    dense_strides(&out->shape, strides);
    for (int d = out->shape.rank - 1; d >= 0; d--)
        strided_append(&strided, out->shape.dims[d], strides[d]);
    strided_write(&strided, sizeof(uint16_t), numbers.data, out->data);
    tensor_release(&numbers);
    return status_ok();
}

static struct status dequantize_compute(struct kernel_context *k)
{
    const struct dequantize_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    struct shape shape = { 0 };
    int64_t dims[SHAPE_RANK_MAX];
    int rank = x->shape.rank;
    if (rank == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must have at least one dimension");
    for (int d = 0; d < rank; d++)
        dims[state->transpose ? rank - 1 - d : d] = x->shape.dims[d];
    if (__builtin_mul_overflow(x->shape.dims[rank - 1], 4, &dims[state->transpose ? 0 : rank - 1]))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input is too long: its shape is %s",
                            shape_text(&x->shape));
    TRY(shape_check(rank, dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (state->transpose && x->size > 0)
        return unpack_transposed(k, x, state->values, out);
    unpack(x->data, x->size, state->values, out->data);
    return status_ok();
}

static const struct kernel rows[] = {
    { "XlaDequantize", DTYPES_ALL, .prepare = dequantize_prepare, .compute = dequantize_compute },
};
const struct kernel_table kernels_xla_dequantize = { rows, COUNT(rows) };
