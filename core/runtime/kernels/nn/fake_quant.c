/*
 * fake_quant: FakeQuantWithMinMaxArgs, …Vars and …VarsPerChannel. Rounds numbers as a quantised
 * model would: to the 2^num_bits (narrow_range: one fewer) steps between min and max, shifted
 * slightly so that 0 is a step.
 */
#include "runtime/kernels/nn/fake_quant.h"

#include <math.h>

#include "runtime/kernels/kernel_tools.h"

struct status fake_quant_prepare(struct prepare_context *p)
{
    struct fake_quant_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    int64_t bits;
    bool narrow;
    TRY(node_attr_int32(node, "num_bits", &bits));
    TRY(node_attr_bool(node, "narrow_range", &narrow));
    if (bits < 2 || bits > 16)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_bits is between 2 and 16, inclusive, not %lld", (long long)bits);
    state->least = narrow;
    state->most = (float)((1 << bits) - 1);
    if (node_attr(node, "min") == NULL)
        return status_ok();
    TRY(node_attr_float(node, "min", &state->min));
    TRY(node_attr_float(node, "max", &state->max));
    if (!(state->min < state->max))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "min has to be smaller than max, was: %g >= %g", (double)state->min,
                            (double)state->max);
    return status_ok();
}

struct fake_quant_steps fake_quant_nudged(const struct fake_quant_state *state, float min,
                                          float max)
{
    struct fake_quant_steps steps = { .size = (max - min) / (state->most - state->least) };
    float zero = state->least - min / steps.size;
    if (zero < state->least)
        zero = state->least;
    else if (zero > state->most)
        zero = state->most;
    else
        zero = roundf(zero);
    steps.min = (state->least - zero) * steps.size;
    steps.max = (state->most - zero) * steps.size;
    steps.zero = floorf(-steps.min * (1 / steps.size) + 0.5f);
    return steps;
}

/* Not compiled for several instruction sets (SIMD): a fused multiply-add rounds differently, and
 * would move a number that is midway between two steps. */
static void round_to_steps(const float *in, float *out, int64_t rows, int64_t stride,
                           const struct fake_quant_steps *steps)
{
    float inverse = 1 / steps->size;
    for (int64_t i = 0; i < rows; i++, in += stride, out += stride) {
        float x = *in > steps->max ? steps->max : *in; /* NaN passes through */
        x = x < steps->min ? steps->min : x;
        *out = floorf((x - steps->min) * inverse - steps->zero + 0.5f) * steps->size;
    }
}

/* One channel in each `stride` numbers. */
static void fake_quant(const struct fake_quant_state *state, float min, float max, const float *in,
                       float *out, int64_t rows, int64_t stride)
{
    if (min == 0 && max == 0) {
        for (int64_t i = 0; i < rows; i++)
            out[i * stride] = 0;
        return;
    }
    struct fake_quant_steps steps = fake_quant_nudged(state, min, max);
    round_to_steps(in, out, rows, stride, &steps);
}

static struct status args_compute(struct kernel_context *k)
{
    const struct fake_quant_state *state = kernel_state(k);
    const struct tensor in = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &in.shape, &out));
    fake_quant(state, state->min, state->max, tensor_floats(&in), tensor_floats_mut(out), in.size,
               1);
    return status_ok();
}

struct status fake_quant_check_range(struct kernel_context *k, int first, int rank, int64_t size)
{
    static const char *const names[] = { "min", "max" };
    for (int i = 0; i < 2; i++) {
        const struct tensor *end = kernel_input(k, first + i);
        if (end->shape.rank != rank)
            return status_error(STATUS_INVALID_ARGUMENT, "`%s` must be rank %d but is rank %d",
                                names[i], rank, end->shape.rank);
        if (end->size != size)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%s has incorrect size, expected %lld was %lld", names[i],
                                (long long)size, (long long)end->size);
    }
    return status_ok();
}

static struct status vars_compute(struct kernel_context *k)
{
    const struct tensor in = *kernel_input(k, 0);
    struct tensor *out;
    TRY(fake_quant_check_range(k, 1, 0, 1));
    float min = tensor_floats(kernel_input(k, 1))[0], max = tensor_floats(kernel_input(k, 2))[0];
    TRY(kernel_output_forward(k, 0, 0, &in.shape, &out));
    fake_quant(kernel_state(k), min, max, tensor_floats(&in), tensor_floats_mut(out), in.size, 1);
    return status_ok();
}

static struct status channels_compute(struct kernel_context *k)
{
    const struct tensor in = *kernel_input(k, 0);
    struct tensor *out;
    if (in.shape.rank == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "inputs must have a channel for each of min");
    int64_t channels = in.shape.dims[in.shape.rank - 1];
    TRY(fake_quant_check_range(k, 1, 1, channels));
    const float *min = tensor_floats(kernel_input(k, 1)), *max = tensor_floats(kernel_input(k, 2));
    TRY(kernel_output_forward(k, 0, 0, &in.shape, &out));
    for (int64_t c = 0; c < channels && in.size > 0; c++)
        fake_quant(kernel_state(k), min[c], max[c], tensor_floats(&in) + c,
                   tensor_floats_mut(out) + c, in.size / channels, channels);
    return status_ok();
}

static const struct kernel rows[] = {
    { "FakeQuantWithMinMaxArgs", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = args_compute },
    { "FakeQuantWithMinMaxVars", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = vars_compute },
    { "FakeQuantWithMinMaxVarsPerChannel", DTYPES_ALL, .prepare = fake_quant_prepare,
      .compute = channels_compute },
};
const struct kernel_table kernels_fake_quant = { rows, COUNT(rows) };
