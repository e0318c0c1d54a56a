/* call: the arguments of a layer's call, and masks. */
#include "layers/layer.h"

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
