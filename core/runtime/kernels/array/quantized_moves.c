/*
 * quantized_moves: QuantizedConcat, whose operands get one range, and QuantizedReshape, which
 * passes its range on.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/array/concat.h"
#include "runtime/kernels/array/reshape.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/quantized_numbers.h"

/* Operand i of `count`: its range is input 1 + count + i and input 1 + 2 · count + i. */
static struct status operand_range(const struct kernel_context *k, int count, int i, float out[2])
{
    for (int end = 0; end < 2; end++) {
        const struct tensor *x = kernel_input(k, 1 + (1 + end) * count + i);
        if (x->size != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "the range of value %d must be scalars, not of shape %s", i,
                                shape_text(&x->shape));
        out[end] = tensor_floats(x)[0];
    }
    return status_ok();
}

/* Wide enough for all operands, and for 0, which is in the middle of a range of int32. */
static struct status joint_range(const struct kernel_context *k, enum dtype dtype, int count,
                                 float out[2])
{
    out[0] = 0;
    out[1] = -FLT_MAX;
    for (int i = 0; i < count; i++) {
        float range[2] = { 0 };
        TRY(operand_range(k, count, i, range));
        out[0] = range[0] < out[0] ? range[0] : out[0];
        out[1] = range[1] > out[1] ? range[1] : out[1];
    }
    if (dtype == DT_QINT32) {
        out[1] = -out[0] > fabsf(out[1]) ? -out[0] : fabsf(out[1]);
        out[0] = -out[1];
    }
    return status_ok();
}

/* Elements of one range as those of another. */
static void convert(enum dtype dtype, const struct quantized_line *from,
                    const struct quantized_line *to, const void *x, void *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        quantized_set(
            dtype, out, i,
            quantized_line_of_float(to, quantized_line_to_float(from, quantized_get(dtype, x, i))));
}

static struct status concat_compute(struct kernel_context *k)
{
    int axis, count = (kernel_inputs_count(k) - 1) / 3;
    struct shape shape;
    struct tensor *out;
    float all[2], range[2];
    if (kernel_input(k, 0)->size == 1 && tensor_index(kernel_input(k, 0), 0) < 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "concat_dim must not be negative, but is %lld",
                            (long long)tensor_index(kernel_input(k, 0), 0));
    TRY(concat_plan(k, 1, count, 0, &axis, &shape));
    TRY(joint_range(k, kernel_input(k, 1)->dtype, count, all));
    TRY(kernel_output(k, 0, &shape, &out));
    size_t bytes = dtype_size(out->dtype);
    int64_t inner = shape_inner(&shape, axis), outer = shape_outer(&shape, axis), at = 0;
    struct quantized_line to = quantized_line(out->dtype, all);
    for (int i = 0; i < count && out->size > 0; i++) {
        const struct tensor *x = kernel_input(k, 1 + i);
        int64_t run = x->shape.dims[axis] * inner;
        TRY(operand_range(k, count, i, range));
        struct quantized_line from = quantized_line(x->dtype, range);
        for (int64_t o = 0; o < outer && run > 0; o++) {
            void *target = at_bytes(out->data, o * shape.dims[axis] * inner + at, bytes);
            const void *source = at_bytes_const(x->data, o * run, bytes);
            TRY(kernel_check(k));
            if (range[0] == all[0] && range[1] == all[1])
                memcpy(target, source, (size_t)run * bytes);
            else
                convert(x->dtype, &from, &to, source, target, run);
        }
        at += run;
    }
    return quantized_set_range(k, 1, all[0], all[1]);
}

static struct status quantized_reshape_compute(struct kernel_context *k)
{
    for (int i = 2; i <= 3; i++)
        if (kernel_input(k, i)->size != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "input %d must be a scalar, but has shape %s", i,
                                shape_text(&kernel_input(k, i)->shape));
    TRY(quantized_set_range(k, 1, tensor_floats(kernel_input(k, 2))[0],
                            tensor_floats(kernel_input(k, 3))[0]));
    return reshape(k);
}

#define WORDS (DTYPES(DT_QUINT8) | DTYPES(DT_QINT32))
static const struct kernel rows[] = {
    { "QuantizedConcat", WORDS, .compute = concat_compute, .costly = true },
    { "QuantizedReshape", WORDS, .compute = quantized_reshape_compute },
};
const struct kernel_table kernels_quantized_moves = { rows, COUNT(rows) };
