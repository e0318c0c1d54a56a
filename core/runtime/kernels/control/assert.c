/* Ops that check values: Assert, CheckNumerics. */
#include <math.h>

#include "runtime/kernels/control/print.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

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

/* ---- CheckNumerics, and CheckNumericsV2, which tells the infinities apart ---- */

struct numerics_state {
    struct bytes message;
    bool signs;
};

enum { HAS_NEGATIVE = 1, HAS_POSITIVE = 2, HAS_NAN = 4 };

static const char *const signed_texts[] = {
    "",    "-Inf",         "+Inf",         "-Inf and +Inf",
    "NaN", "-Inf and NaN", "+Inf and NaN", "-Inf, +Inf, and NaN",
};
static const char *const unsigned_texts[] = {
    "", "Inf", "Inf", "Inf", "NaN", "Inf and NaN", "Inf and NaN", "Inf and NaN",
};

static struct status numerics_prepare(struct prepare_context *p)
{
    struct numerics_state *state = prepare_state(p, sizeof *state, NULL);
    state->signs = strcmp(prepare_node(p)->op_name, "CheckNumericsV2") == 0;
    return node_attr_string(prepare_node(p), "message", &state->message);
}

static struct status numerics_compute(struct kernel_context *k)
{
    const struct numerics_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    unsigned found = 0;
    for (int64_t i = 0; i < x->size; i++) {
        double value = floating_element(x, i);
        found |= isnan(value) ? HAS_NAN : 0;
        found |= !isinf(value) ? 0 : value > 0 ? HAS_POSITIVE : HAS_NEGATIVE;
    }
    if (found != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%.*s : Tensor had %s values",
                            (int)state->message.size, state->message.data,
                            (state->signs ? signed_texts : unsigned_texts)[found]);
    kernel_output_set(k, 0, kernel_take_input(k, 0));
    return status_ok();
}

static const struct kernel rows[] = {
    { "Assert", DTYPES_ALL, .prepare = assert_prepare, .compute = assert_compute },
    { "CheckNumerics", DTYPES_FLOATING, .prepare = numerics_prepare, .compute = numerics_compute },
    { "CheckNumericsV2", DTYPES_FLOATING, .prepare = numerics_prepare,
      .compute = numerics_compute },
};
const struct kernel_table kernels_assert = { rows, COUNT(rows) };
