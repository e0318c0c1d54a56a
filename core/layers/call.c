/* call: builds one call of a layer: its arguments, its inputs, its masks, and the penalty of its
 * outputs. */
#include "layers/layer_variable.h"
#include "layers/precision.h"

/* ---- the arguments and masks ---- */

static bool is_argument(const struct call_input *input, const char *argument)
{
    return input->argument != NULL && strcmp(input->argument, argument) == 0;
}

int io_tensors(const struct layer_io *io, const char *argument, int max, struct layer_value *out)
{
    int count = 0;

    for (int i = 0; i < io->call->inputs_count && count < max; i++)
        if (is_argument(&io->call->inputs[i], argument))
            out[count++] = io->inputs[i];
    return count;
}

struct layer_value io_tensor(const struct layer_io *io, const char *argument)
{
    struct layer_value value = { 0 };

    io_tensors(io, argument, 1, &value);
    return value;
}

bool io_flag(struct layer_context *context, const struct layer_io *io, const char *argument)
{
    const struct layer_call *call = io->call;

    for (int i = 0; i < call->constants_count; i++) {
        const struct json_value *value = call->constants[i].value;
        if (strcmp(call->constants[i].argument, argument) != 0)
            continue;
        if (value->kind == JSON_VALUE_BOOL)
            return value->boolean;
        layer_fail(context, call->layer, "argument '%s' of a call is %s, expected true or false",
                   argument, json_value_show(value, context->arena));
    }
    return false;
}

struct endpoint io_mask(const struct layer_io *io)
{
    struct layer_value given = io_tensor(io, "mask");

    return given.value.node != NULL ? given.value : io->inputs[0].mask;
}

struct endpoint mask_passed_on(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io)
{
    (void)context;
    (void)layer;
    return io_mask(io);
}

struct endpoint mask_of_any(struct layer_context *context, const struct layer *layer,
                            const struct layer_io *io)
{
    struct endpoint mask = io->inputs[0].mask;

    (void)layer;
    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->call->inputs[i].argument == NULL && io->inputs[i].mask.node == NULL)
            return (struct endpoint){ 0 };
    for (int i = 1; i < io->call->inputs_count && io->call->inputs[i].argument == NULL; i++)
        mask = build_binary(&context->builder, "LogicalOr", NULL, mask, io->inputs[i].mask);
    return mask;
}

/* ---- the call ---- */

struct endpoint cast_to(struct layer_context *context, struct endpoint x, enum dtype dtype)
{
    if (!status_is_ok(context->builder.status) ||
        endpoint_dtype(x) == builder_dtype(&context->builder, dtype))
        return x;
    return build_cast(&context->builder, NULL, x, dtype);
}

/* Casts the inputs to the types that the layer computes with. */
static void convert_inputs(struct layer_context *context, const struct layer *layer, int count,
                           struct endpoint *inputs)
{
    enum layer_inputs takes = layer->class->inputs;
    bool alike = true;

    if (takes == LAYER_TAKES_ANYTHING || !status_is_ok(context->builder.status))
        return;
    for (int i = 1; i < count; i++)
        alike = alike && endpoint_dtype(inputs[i]) == endpoint_dtype(inputs[0]);
    if (takes == LAYER_TAKES_ALIKE && alike)
        return;
    for (int i = 0; i < count; i++) {
        enum dtype dtype = endpoint_dtype(inputs[i]);
        if (dtype == DT_STRING) {
            layer_fail(context, layer, "input %d is text; expected numbers%s", i,
                       takes == LAYER_TAKES_ALIKE ? ", as another input is" : "");
            return;
        }
        if (takes != LAYER_TAKES_NUMBERS)
            inputs[i] = cast_to(context, inputs[i], DT_FLOAT);
    }
}

/* Builds a layer with a list of inputs. */
static struct endpoint build_merged(struct layer_context *context, const struct layer *layer,
                                    const struct layer_io *io, int count,
                                    const struct endpoint *inputs)
{
    struct endpoint *masks = ARENA_ARRAY(context->arena, struct endpoint, count);
    bool any = false;

    for (int i = 0, k = 0; i < io->call->inputs_count; i++)
        if (io->call->inputs[i].argument == NULL) {
            any = any || io->inputs[i].mask.node != NULL;
            masks[k++] = io->inputs[i].mask;
        }
    if (any && layer->class->merge_masked != NULL && !context->keras2)
        return layer->class->merge_masked(context, layer, count, inputs, masks);
    return layer->class->merge(context, layer, count, inputs);
}

/* Builds a layer with one output and no call arguments except its inputs. */
static void build_plain(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    const struct layer_class *class = layer->class;
    struct endpoint *inputs = ARENA_ARRAY(context->arena, struct endpoint, io->call->inputs_count);
    int count = 0;

    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->call->inputs[i].argument == NULL)
            inputs[count++] = io->inputs[i].value;
    if (io->inputs[0].lists == NULL)
        convert_inputs(context, layer, count, inputs);
    if (io->inputs[0].lists != NULL && class->build_lists != NULL)
        io->outputs[0].value = class->build_lists(context, layer, &io->inputs[0]);
    else if (class->build_masked != NULL)
        io->outputs[0].value = class->build_masked(context, layer, io, inputs[0]);
    else
        io->outputs[0].value = class->merge != NULL
                                   ? build_merged(context, layer, io, count, inputs)
                                   : layer_build(context, layer, inputs[0]);
    if (class->mask != NULL && status_is_ok(context->builder.status))
        io->outputs[0].mask = class->mask(context, layer, io);
    io->outputs_count = 1;
}

/* Refuses sparse and ragged inputs, which only few layers take. */
static void refuse_lists(struct layer_context *context, const struct layer *layer,
                         const struct layer_io *io)
{
    if (layer->class->takes_lists || layer->class->build_lists != NULL)
        return;
    for (int i = 0; i < io->call->inputs_count; i++)
        if (io->inputs[i].lists != NULL)
            layer_refuse(context, layer, "a %s input; it takes dense ones",
                         io->inputs[i].lists->layout == TENSOR_SPARSE ? "sparse" : "ragged");
}

/* Adds the penalty of "activity_regularizer". */
static void penalise_output(struct layer_context *context, const struct layer *layer,
                            struct endpoint y)
{
    const struct regularizer *regularizer = layer_activity_regularizer(layer);

    if (regularizer != NULL)
        layer_penalise_activity(context, layer, regularizer, y);
}

static void call_class(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct precision precision;

    if (!precision_begin(context, layer, io, &precision))
        return;
    if (layer->class->call != NULL)
        layer->class->call(context, layer, io);
    else
        build_plain(context, layer, io);
    precision_end(context, layer, io, &precision);
}

void layer_run_call(struct layer_context *context, const struct layer_call *call,
                    const struct layer_value *inputs, struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct layer *layer = call->layer;
    const char *scope = b->scope;

    *io = (struct layer_io){ .call = call, .inputs = inputs };
    refuse_lists(context, layer, io);
    if (!status_is_ok(b->status))
        return;
    b->scope = arena_printf(context->arena, "%s/", layer->name);
    call_class(context, layer, io);
    for (int i = 0; i < io->outputs_count && status_is_ok(b->status); i++)
        penalise_output(context, layer, io->outputs[i].value);
    b->scope = scope;
}

struct endpoint layer_call_inner(struct layer_context *context, const struct layer *inner,
                                 struct layer_value input)
{
    const char *const *arguments = inner->class->call_args;
    struct call_input taken = { .argument = arguments != NULL ? arguments[0] : NULL };
    const struct layer_call call = { .layer = inner, .inputs = &taken, .inputs_count = 1 };
    struct layer_io *io = ARENA_NEW(context->arena, struct layer_io);

    layer_run_call(context, &call, &input, io);
    if (status_is_ok(context->builder.status) && io->outputs_count != 1)
        layer_fail(context, inner, "%d outputs, expected 1 of a layer inside another one",
                   io->outputs_count);
    return io->outputs[0].value;
}
