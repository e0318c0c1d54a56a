#include "server/example_line.h"

#include "tensor/shell_value.h"

#define BODY_BYTES_MAX 10000000 /* a larger body is not a useful example */

/* A body of zeros is valid for any numeric type. Unknown dimensions count as 1. */
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

/* The size of a body of zeros; UINT64_MAX: not possible. */
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

/* The line is pasted into a shell, and its names come from the model: none may contain
 * characters that are special there. */
static bool is_harmless(const struct signature *signature)
{
    if (!shell_is_plain(signature->name))
        return false;
    for (int i = 0; i < signature->inputs_count; i++)
        if (!shell_is_plain(signature->inputs[i].key))
            return false;
    return true;
}

static const struct signature *choose(const struct servable *servable)
{
    const struct signature *found = NULL;
    for (int i = 0; i < servable->callables_count; i++) {
        const struct callable *callable = &servable->callables[i];
        if (callable->plan == NULL || body_size(callable->signature) > BODY_BYTES_MAX ||
            !is_harmless(callable->signature))
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

/* Prints rows, the more common form, if the only input has them. */
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

/* Prints the model's URL. Bytes that are special in a URL or a shell become %XX. */
static void print_url(const char *name, const char *server, struct buffer *out)
{
    buffer_printf(out, "%s/v1/models/", server);
    for (; *name != '\0'; name++) {
        const char one[] = { *name, '\0' };
        if (shell_is_plain(one) && *name != '/' && *name != ':')
            buffer_append_char(out, *name);
        else
            buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*name);
    }
}

void example_line_print(const struct servable *servable, const char *server, struct buffer *out)
{
    const struct signature *signature = choose(servable);
    if (signature == NULL) {
        buffer_append_text(out, "curl ");
        print_url(servable->name, server, out);
        buffer_append_text(out, "/metadata");
        return;
    }
    struct buffer body = { 0 }, url = { 0 };
    print_body(signature, &body);
    print_url(servable->name, server, &url);
    buffer_append_text(&url, ":predict");
    buffer_append_char(&url, '\0');
    shell_command_print((struct bytes){ body.data, body.size }, body_size(signature), url.data,
                        out);
    buffer_finish(&body);
    buffer_finish(&url);
}
