/*
 * apply: TensorFlow's training ops, which update a variable and its slots by a gradient: ApplyAdam,
 * ResourceApplyAdam, …, and by gradients of some rows: SparseApplyFtrl, ResourceSparseApplyFtrl, ….
 * All variables of a node are locked while it changes them, whatever use_locking says.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/optimize.h"
#include "runtime/kernels/state/variable.h"

/* The inputs of the op by their place: variables come first, in order. */
struct apply_state {
    const struct optimize_rule *rule;
    bool flag;
    int gradient, indices; /* 0: it has no indices */
    int scalars[OPTIMIZE_SCALARS_MAX];
};

static struct status apply_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct apply_state *state = prepare_state(p, sizeof *state, NULL);
    int scalars = 0;
    state->rule = optimize_find(node->op_name);
    for (int i = state->rule->variables_count; i < node->op->inputs_count; i++) {
        const char *name = node->op->inputs[i].name;
        if (strcmp(name, "grad") == 0 || strcmp(name, "delta") == 0)
            state->gradient = i;
        else if (strcmp(name, "indices") == 0)
            state->indices = i;
        else if (scalars < OPTIMIZE_SCALARS_MAX)
            state->scalars[scalars++] = i;
    }
    if (state->rule->flag == NULL)
        return status_ok();
    return node_attr_bool(node, state->rule->flag, &state->flag);
}

/* The inputs of a run. */
struct apply {
    struct kernel_context *context;
    const struct apply_state *state;
    const struct tensor *gradient, *indices;
    struct optimize_step step;
};

static const char *input_name(const struct apply *apply, int input)
{
    return kernel_node(apply->context)->op->inputs[input].name;
}

static double _Complex scalar_value(const struct tensor *scalar)
{
    switch (scalar->dtype) {
    case DT_COMPLEX64:
        return *(const float _Complex *)scalar->data;
    case DT_COMPLEX128:
        return *(const double _Complex *)scalar->data;
    case DT_INT64:
        return (double)tensor_index(scalar, 0);
    default:
        return floating_element(scalar, 0);
    }
}

static struct status read_scalars(struct apply *apply)
{
    struct kernel_context *k = apply->context;
    for (int i = 0; i < apply->state->rule->scalars_count; i++) {
        int index = apply->state->scalars[i];
        const struct tensor *scalar = kernel_input(k, index);
        if (scalar->shape.rank != 0)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s is not a scalar: %s",
                                input_name(apply, index), shape_text(&scalar->shape));
        apply->step.scalars[i] = scalar_value(scalar);
    }
    return status_ok();
}

static struct status check_scalar(const struct apply *apply, int input, double value)
{
    static const struct {
        const char *input;
        double sign;
        bool may_be_0;
        const char *complaint;
    } ranges[] = {
        { "lr", 1, false, "lr is not a positive scalar" },
        { "l1", 1, true, "l1 regularization strength is not a non-negative scalar" },
        { "l2", 1, true, "l2 regularization strength is not a non-negative scalar" },
        { "l2_shrinkage", 1, true,
          "l2 shrinkage regularization strength is not a non-negative scalar" },
        { "lr_power", -1, true, "lr_power is not a non-positive scalar" },
    };
    for (size_t r = 0; r < COUNT(ranges); r++) {
        bool fits = value * ranges[r].sign > 0 || (ranges[r].may_be_0 && value == 0);
        if (!fits && strcmp(ranges[r].input, input_name(apply, input)) == 0)
            return kernel_error(apply->context, STATUS_INVALID_ARGUMENT, "%s: %g",
                                ranges[r].complaint, value);
    }
    return status_ok();
}

/* TensorFlow checks the ranges for some of its kernels only. */
static struct status check_scalars(const struct apply *apply)
{
    const struct apply_state *state = apply->state;
    bool is_checked = strcmp(state->rule->name, "ProximalAdagrad") == 0 ||
                      (apply->step.by_rows && strncmp(state->rule->name, "Ftrl", 4) == 0);
    for (int i = 0; is_checked && i < state->rule->scalars_count; i++)
        TRY(check_scalar(apply, state->scalars[i], creal(apply->step.scalars[i])));
    return status_ok();
}

/* ---- changes ---- */

#define BLOCK 128 /* of floats: five blocks fit the L1 cache */

static void apply_halves(const struct optimize_rule *rule, enum dtype dtype,
                         const struct optimize_step *step)
{
    float variables[OPTIMIZE_VARIABLES_MAX][BLOCK], gradient[BLOCK];
    struct optimize_step block = *step;
    block.gradient = gradient;
    for (int v = 0; v < rule->variables_count; v++)
        block.variables[v] = variables[v];
    for (int64_t start = 0; start < step->count; start += BLOCK) {
        block.count = step->count - start < BLOCK ? step->count - start : BLOCK;
        half_block_load(dtype, (const uint16_t *)step->gradient + start, gradient, block.count);
        for (int v = 0; v < rule->variables_count; v++)
            half_block_load(dtype, (const uint16_t *)step->variables[v] + start, variables[v],
                            block.count);
        rule->loops[DT_FLOAT](&block);
        for (int v = 0; v < rule->variables_count; v++)
            half_block_store(dtype, variables[v], (uint16_t *)step->variables[v] + start,
                             block.count);
    }
}

static void run_loop(const struct optimize_rule *rule, enum dtype dtype,
                     const struct optimize_step *step)
{
    if (dtype_is_half(dtype))
        apply_halves(rule, dtype, step);
    else
        rule->loops[dtype](step);
}

static struct status check_variables(const struct apply *apply, struct tensor *const *values)
{
    for (int i = 0; i < apply->state->rule->variables_count; i++) {
        if (values[i]->dtype != apply->gradient->dtype)
            return kernel_error(
                apply->context, STATUS_INVALID_ARGUMENT, "%s is of type %s and %s of type %s",
                input_name(apply, i), dtype_name(values[i]->dtype),
                input_name(apply, apply->state->gradient), dtype_name(apply->gradient->dtype));
        if (!shape_equal(&values[0]->shape, &values[i]->shape))
            return kernel_error(apply->context, STATUS_INVALID_ARGUMENT,
                                "var and %s do not have the same shape%s %s", input_name(apply, i),
                                shape_text(&values[0]->shape), shape_text(&values[i]->shape));
    }
    return status_ok();
}

static struct status apply_all(struct apply *apply, struct tensor *const *values)
{
    const struct optimize_rule *rule = apply->state->rule;
    if (!shape_equal(&values[0]->shape, &apply->gradient->shape))
        return kernel_error(apply->context, STATUS_INVALID_ARGUMENT,
                            "var and %s do not have the same shape%s %s",
                            input_name(apply, apply->state->gradient),
                            shape_text(&values[0]->shape), shape_text(&apply->gradient->shape));
    for (int i = 0; i < rule->variables_count; i++)
        apply->step.variables[i] = values[i]->data;
    apply->step.gradient = apply->gradient->data;
    apply->step.count = values[0]->size;
    if (apply->step.count > 0)
        run_loop(rule, values[0]->dtype, &apply->step);
    return status_ok();
}

static struct status check_rows(const struct apply *apply, const struct shape *variable)
{
    const struct shape *gradient = &apply->gradient->shape;
    const struct tensor *indices = apply->indices;
    struct kernel_context *k = apply->context;
    if (variable->rank < 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "var must be at least 1 dimensional");
    if (indices->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "indices must be one-dimensional");
    if (gradient->rank != variable->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "var and grad must have the same rank, not %s and %s",
                            shape_text(variable), shape_text(gradient));
    for (int d = 1; d < variable->rank; d++)
        if (variable->dims[d] != gradient->dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "var and grad must match in dimension %d", d);
    if (gradient->dims[0] != indices->size)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "grad must be the same size as indices in the first dimension.");
    for (int64_t i = 0; i < indices->size; i++)
        if (tensor_index(indices, i) < 0 || tensor_index(indices, i) >= variable->dims[0])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Index %lld at offset %lld in indices is out of range",
                                (long long)tensor_index(indices, i), (long long)i);
    return status_ok();
}

static struct status apply_rows(struct apply *apply, struct tensor *const *values)
{
    const struct optimize_rule *rule = apply->state->rule;
    size_t size = dtype_size(values[0]->dtype);
    TRY(check_rows(apply, &values[0]->shape));
    int64_t inner = shape_inner(&values[0]->shape, 0);
    apply->step.count = inner;
    for (int64_t i = 0; inner > 0 && i < apply->indices->size; i++) {
        int64_t at = tensor_index(apply->indices, i) * inner;
        for (int v = 0; v < rule->variables_count; v++)
            apply->step.variables[v] = at_bytes(values[v]->data, at, size);
        apply->step.gradient = at_bytes_const(apply->gradient->data, i * inner, size);
        run_loop(rule, values[0]->dtype, &apply->step);
    }
    return status_ok();
}

static struct status apply_values(void *argument, struct tensor *const *values)
{
    struct apply *apply = argument;
    TRY(check_variables(apply, values));
    return apply->indices != NULL ? apply_rows(apply, values) : apply_all(apply, values);
}

static struct status apply_compute(struct kernel_context *k)
{
    const struct apply_state *state = kernel_state(k);
    struct variable *variables[OPTIMIZE_VARIABLES_MAX];
    struct apply apply = { .context = k,
                           .state = state,
                           .gradient = kernel_input(k, state->gradient),
                           .indices = state->indices > 0 ? kernel_input(k, state->indices) : NULL,
                           .step = { .flag = state->flag, .by_rows = state->indices > 0 } };
    for (int i = 0; i < state->rule->variables_count; i++)
        TRY(kernel_variable_at(k, i, &variables[i]));
    TRY(read_scalars(&apply));
    TRY(check_scalars(&apply));
    TRY(variables_modify(variables, state->rule->variables_count, apply_values, &apply));
    kernel_hand_on_reference(k);
    return status_ok();
}

#define ROW(op, dtypes)                                                     \
    {                                                                       \
        op, dtypes, "T", .prepare = apply_prepare, .compute = apply_compute \
    }
#define DENSE(name, dtypes) ROW("Apply" name, dtypes), ROW("ResourceApply" name, dtypes)
#define SPARSE(name, dtypes) \
    ROW("SparseApply" name, dtypes), ROW("ResourceSparseApply" name, dtypes)
#define BOTH(name, dtypes) DENSE(name, dtypes), SPARSE(name, dtypes)
#define ANY                (DTYPES_FLOATING | DTYPES_COMPLEX)

static const struct kernel rows[] = {
    DENSE("GradientDescent", ANY),
    BOTH("Momentum", ANY),
    ROW("ResourceApplyKerasMomentum", ANY),
    ROW("ResourceSparseApplyKerasMomentum", ANY),
    DENSE("Adam", ANY),
    ROW("ResourceApplyAdamWithAmsgrad", DTYPES_FLOATING),
    DENSE("AdaMax", DTYPES_FLOATING),
    BOTH("Adadelta", ANY),
    BOTH("Adagrad", ANY),
    BOTH("AdagradV2", ANY),
    BOTH("AdagradDA", DTYPES_FLOATING),
    BOTH("Ftrl", DTYPES_FLOATING),
    BOTH("FtrlV2", DTYPES_FLOATING),
    BOTH("RMSProp", ANY),
    BOTH("CenteredRMSProp", ANY),
    BOTH("ProximalAdagrad", DTYPES_FLOATING),
    BOTH("ProximalGradientDescent", DTYPES_FLOATING),
    DENSE("AddSign", DTYPES_FLOATING),
    DENSE("PowerSign", DTYPES_FLOATING),
};
const struct kernel_table kernels_apply = { rows, COUNT(rows) };
