/* Ops that check values: Assert, CheckNumerics. */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/print.h"

struct assert_state {
    int64_t summarize;
};

static struct status assert_prepare(struct prepare_context *p)
{
    struct assert_state *state = prepare_state(p, sizeof *state, NULL);
    return node_attr_int32(prepare_node(p), "summarize", &state->summarize);
}

static struct status assert_compute(struct kernel_context *k)
{
    const struct assert_state *state = kernel_state(k);
    const struct tensor *condition = kernel_input(k, 0);
    if (condition->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "In[0] should be a scalar: %s",
                            shape_text(&condition->shape));
    if (tensor_bools(condition)[0])
        return status_ok();
    struct buffer text = { 0 };
    for (int n = 1; n < kernel_inputs_count(k); n++) {
        buffer_append_text(&text, n > 1 ? " " : "");
        print_tensor(&text, kernel_input(k, n), state->summarize);
    }
    buffer_append_char(&text, '\0');
    struct status status = status_error(STATUS_INVALID_ARGUMENT, "assertion failed: %s", text.data);
    buffer_finish(&text);
    return status;
}

/* ---- CheckNumerics ---- */

static struct status numerics_prepare(struct prepare_context *p)
{
    struct bytes *message = prepare_state(p, sizeof *message, NULL);
    return node_attr_string(prepare_node(p), "message", message);
}

static struct status numerics_compute(struct kernel_context *k)
{
    const struct bytes *message = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    bool nan = false, infinite = false;
    for (int64_t i = 0; i < x->size; i++) {
        double value = floating_element(x, i);
        nan |= isnan(value);
        infinite |= isinf(value);
    }
    if (nan || infinite)
        return status_error(STATUS_INVALID_ARGUMENT, "%.*s : Tensor had %s values",
                            (int)message->size, message->data,
                            nan && infinite ? "Inf and NaN"
                            : nan           ? "NaN"
                                            : "Inf");
    kernel_output_set(k, 0, kernel_take_input(k, 0));
    return status_ok();
}

static const struct kernel rows[] = {
    { "Assert", DTYPES_ALL, .prepare = assert_prepare, .compute = assert_compute },
    { "CheckNumerics", DTYPES_FLOATING, .prepare = numerics_prepare, .compute = numerics_compute },
};
const struct kernel_table kernels_assert = { rows, COUNT(rows) };
