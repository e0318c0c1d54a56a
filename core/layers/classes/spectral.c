/* spectral: SpectralNormalization, which divides the kernel of the layer inside it by its
 * largest singular value. Each training step first replaces the kernel by the quotient, and
 * computes the gradient there. The ps does the same before it applies the gradient. Source:
 * keras/src/layers/normalization/spectral_normalization.py */
#include "layers/classes/spectral.h"

#include "layers/build_state.h"
#include "layers/classes/classes.h"
#include "tensor/spectral.h"

static const struct layer_arg spectral_args[] = {
    { "layer", ARG_LAYER, REQUIRED },
    { "power_iterations", ARG_INT, "1" },
};

bool spectral_divides(const struct layer_context *context, const struct layer *layer,
                      const char *name)
{
    return context->build->spectral != NULL && context->build->spectral->inner == layer &&
           (strcmp(name, "kernel") == 0 || strcmp(name, "embeddings") == 0);
}

static struct endpoint product(struct builder *b, struct endpoint x, struct endpoint y,
                               bool transposed)
{
    return build(b, "MatMul", NULL, 2, (const struct endpoint[]){ x, y },
                 (const struct attr[]){ attr_bool("transpose_b", transposed), ATTR_END });
}

/* x, or `otherwise` if the kernel is all zeros. */
static struct endpoint unless_zero(struct builder *b, struct endpoint matrix, struct endpoint x,
                                   struct endpoint otherwise)
{
    const int32_t both[] = { 0, 1 };
    struct endpoint any = build_binary(
        b, "Any", NULL, build_binary(b, "NotEqual", NULL, matrix, build_const_float(b, 0)),
        build_const_ints(b, NULL, 2, both));

    return build_select(b, any, x, otherwise);
}

/* Divides the kernel, and advances *vector by the power iterations. */
static struct endpoint divide(struct layer_context *context, struct endpoint kernel,
                              int64_t iterations, struct endpoint *vector)
{
    struct builder *b = &context->builder;
    const struct shape *shape = endpoint_shape(kernel);
    const int32_t dims[] = { -1, (int32_t)shape->dims[shape->rank - 1] }, columns = 1;
    struct endpoint matrix =
        build_binary(b, "Reshape", NULL, kernel, build_const_ints(b, NULL, 2, dims));
    struct endpoint u = *vector, v = u;

    for (int64_t i = 0; i < iterations && status_is_ok(b->status); i++) {
        v = build_unit_vectors(context, product(b, u, matrix, true), 1, &columns, 1e-7f);
        u = build_unit_vectors(context, product(b, v, matrix, false), 1, &columns, 1e-7f);
    }
    struct endpoint norm = product(b, product(b, v, matrix, false), u, true);
    norm = build_binary(b, "Reshape", NULL, norm, build_const_ints(b, NULL, 0, dims));
    struct endpoint divided = build_binary(b, "RealDiv", NULL, kernel, norm);
    *vector = unless_zero(b, matrix, u, *vector);
    return unless_zero(b, matrix, divided, kernel);
}

/* The variable "vector_u" of the wrapper, after the kernel in the list. */
static struct endpoint vector_of(struct layer_context *context, const struct layer *wrapper,
                                 const struct shape *kernel)
{
    const struct initializer draw = { .kind = INITIALIZER_TRUNCATED_NORMAL, .b = 0.02 };
    const char *scope = context->builder.scope;

    context->builder.scope = arena_printf(context->arena, "%s/", wrapper->name);
    struct endpoint vector =
        layer_variable_with(context, wrapper, "vector_u",
                            shape_of(1, kernel->dims[kernel->rank - 1]), &draw, NULL, false);
    context->builder.scope = scope;
    return vector;
}

/* Each further call of the layer divides what the call before has divided. That is the variable
 * itself, divided after all iterations so far. */
struct endpoint spectral_build_divided(struct layer_context *context, int number)
{
    struct layers_graph *out = context->build->out;
    struct spectral_wrapper *wrapper = context->build->spectral;
    struct endpoint kernel = out->variables[number].value;
    int64_t iterations = layer_arg(wrapper->layer, "power_iterations")->integer;

    wrapper->found = true;
    if (!status_is_ok(context->builder.status))
        return kernel;
    struct endpoint vector = vector_of(context, wrapper->layer, endpoint_shape(kernel));
    if (context->mode != LAYERS_TRAIN || !status_is_ok(context->builder.status))
        return kernel;
    struct layers_variable *variable = &out->variables[number];
    if (variable->vector.node == NULL)
        variable->vector = vector;
    struct endpoint divided = divide(context, kernel, iterations, &variable->vector);
    layer_move_average(context, vector, variable->vector, 0);
    if (!variable->trainable) {
        layer_move_average(context, kernel, divided, 0);
        return divided;
    }
    variable->power_iterations += (uint32_t)iterations;
    if (variable->power_iterations > SPECTRAL_ITERATIONS_MAX)
        layer_refuse(context, wrapper->layer,
                     "its calls take %u power iterations in a step; at most %d",
                     variable->power_iterations, SPECTRAL_ITERATIONS_MAX);
    variable->divided = ARENA_ROOM(context->arena, variable->divided, variable->divided_count);
    variable->divided[variable->divided_count++] = divided;
    return divided;
}

void spectral_penalise(struct layer_context *context)
{
    for (int i = 0; i < context->build->out->variables_count; i++) {
        const struct layers_variable *variable = &context->build->out->variables[i];
        if (variable->divided_penalty != NULL && status_is_ok(context->builder.status))
            layer_penalise_variable(context, variable->divided_penalty,
                                    variable->divided[variable->divided_count - 1]);
    }
}

static bool was_called(const struct layer_context *context, const struct layer *layer)
{
    for (int i = 0; i < context->build->out->variables_count; i++)
        if (context->build->out->variables[i].layer == layer)
            return true;
    return false;
}

static bool can_be_wrapped(struct layer_context *context, const struct layer *layer,
                           struct endpoint x)
{
    int64_t iterations = layer_arg(layer, "power_iterations")->integer;

    if (iterations > SPECTRAL_ITERATIONS_MAX)
        layer_refuse(context, layer, "argument 'power_iterations': %lld; at most %d",
                     (long long)iterations, SPECTRAL_ITERATIONS_MAX);
    else if (endpoint_dtype(x) != DT_FLOAT)
        layer_fail(context, layer,
                   "the input is %s, and Keras makes the output %s as well: make it float32",
                   dtype_name(endpoint_dtype(x)), dtype_name(endpoint_dtype(x)));
    else if (context->build->steps < 0)
        layer_refuse(context, layer,
                     "inside a TimeDistributed with an open number of steps: give the InputLayer a "
                     "size");
    return status_is_ok(context->builder.status) &&
           layer_can_be_inside(context, layer_arg(layer, "layer")->layer);
}

static struct endpoint spectral_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    const struct layer *inner = layer_arg(layer, "layer")->layer;
    struct spectral_wrapper own = { .layer = layer, .inner = inner };
    struct spectral_wrapper *outer = context->build->spectral;
    bool again = was_called(context, layer);

    if (!status_is_ok(context->builder.status) || !can_be_wrapped(context, layer, x))
        return x;
    context->build->spectral = &own;
    struct endpoint y = layer_call_inner(context, inner, (struct layer_value){ .value = x });
    context->build->spectral = outer;
    if (!own.found && !again)
        layer_fail(context, layer, "the layer inside it has no kernel and no embeddings");
    return y;
}

const struct layer_class layer_spectral_normalization = {
    .name = "SpectralNormalization",
    .args = spectral_args,
    .args_count = (int)COUNT(spectral_args),
    .build = spectral_build,
    .hides_inner = true,
    .inputs = LAYER_TAKES_NUMBERS,
    .precision = LAYER_REFUSES_16_BITS,
};
