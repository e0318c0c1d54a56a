/* layer_fail: failures of a layer, which stay in the context of its model. */
#include "layers/layer.h"

static void fail(struct layer_context *context, const struct layer *layer, enum status_code code,
                 const char *format, va_list arguments)
{
    struct builder *builder = &context->builder;

    if (!status_is_ok(builder->status))
        return;
    struct status status = status_errorv(code, format, arguments);
    builder->status = status_keep(
        context->arena, status_in(status, "layer '%s' (%s)", layer->name, layer->class->name));
}

void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(context, layer, STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
}

void layer_refuse(struct layer_context *context, const struct layer *layer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail(context, layer, STATUS_UNIMPLEMENTED, format, arguments);
    va_end(arguments);
}
