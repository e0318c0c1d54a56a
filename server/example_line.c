#include "server/example_line.h"

#include "tensor/shell_value.h"

#define BODY_BYTES_MAX 10000000 /* beyond that it is no example any more */

/* Zeros fit every number; an unknown dimension is taken as 1. */
static bool is_number(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_INT32:
    case DT_INT64:
    case DT_INT16:
    case DT_INT8:
    case DT_UINT8:
    case DT_UINT32:
    case DT_UINT64:
        return true;
    default:
        return false;
    }
}

static const char *zero_of(const struct signature_tensor *input)
{
    return dtype_is_floating(input->dtype) ? "0.0" : "0";
}

/* How long a body of zeros is; UINT64_MAX: there is none. */
static uint64_t body_size(const struct signature *signature)
{
    uint64_t size = 1000; /* names and braces */
    if (signature->inputs_count == 0 || signature->name[0] == '_')
        return UINT64_MAX;
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        if (!is_number(input->dtype) || input->shape.rank < 0 ||
            __builtin_add_overflow(size, shell_value_expanded(&input->shape, zero_of(input)),
                                   &size))
            return UINT64_MAX;
    }
    return size;
}

static const struct signature *choose(const struct servable *servable)
{
    const struct signature *found = NULL;
    for (int i = 0; i < servable->callables_count; i++) {
        const struct callable *callable = &servable->callables[i];
        if (callable->plan == NULL || body_size(callable->signature) > BODY_BYTES_MAX)
            continue;
        if (found == NULL || strcmp(callable->signature->name, SIGNATURE_DEFAULT) == 0)
            found = callable->signature;
    }
    return found;
}

static void print_inputs(const struct signature *signature, struct buffer *out)
{
    buffer_append_text(out, "\\\"inputs\\\":{");
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        buffer_printf(out, "%s\\\"%s\\\":", i > 0 ? "," : "", input->key);
        shell_value_print(&input->shape, zero_of(input), out);
    }
    buffer_append_char(out, '}');
}

/* The row form where there is one input with rows; it is what most people write. */
static void print_body(const struct signature *signature, struct buffer *out)
{
    const struct signature_tensor *input = &signature->inputs[0];
    buffer_append_char(out, '{');
    if (strcmp(signature->name, SIGNATURE_DEFAULT) != 0)
        buffer_printf(out, "\\\"signature_name\\\":\\\"%s\\\",", signature->name);
    if (signature->inputs_count == 1 && input->shape.rank > 0) {
        buffer_append_text(out, "\\\"instances\\\":");
        shell_value_print(&input->shape, zero_of(input), out);
    } else {
        print_inputs(signature, out);
    }
    buffer_append_char(out, '}');
}

void example_line_print(const struct servable *servable, int port, struct buffer *out)
{
    const struct signature *signature = choose(servable);
    if (signature == NULL) {
        buffer_printf(out, "curl http://localhost:%d/v1/models/%s/metadata", port, servable->name);
        return;
    }
    struct buffer body = { 0 }, url = { 0 };
    print_body(signature, &body);
    buffer_printf(&url, "http://localhost:%d/v1/models/%s:predict", port, servable->name);
    buffer_append_char(&url, '\0');
    shell_command_print((struct bytes){ body.data, body.size }, body_size(signature), url.data,
                        out);
    buffer_finish(&body);
    buffer_finish(&url);
}
