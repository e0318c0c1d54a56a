#include "clients/client_type.h"
#include "clients/commands.h"
#include "tensor/npy.h"
#include "tensor/value_json.h"

#define INPUT_BYTES_MAX ((size_t)2 << 30)

/* JSON does not say which dtype is meant: the signature does. */
static struct status dtype_of(struct session *session, struct client_metadata *metadata,
                              const char *name, enum dtype *out)
{
    const char *wanted = session->target.signature;
    wanted = wanted != NULL ? wanted : "serving_default";
    if (metadata->count == 0)
        TRY(client_metadata(session->client, &session->target, session->arena, metadata));
    const struct client_signature *signature = client_find_signature(metadata, wanted);
    if (signature == NULL)
        return status_error(STATUS_NOT_FOUND, "model '%s' has no signature '%s'",
                            session->target.model, wanted);
    for (int i = 0; i < signature->inputs_count; i++) {
        *out = signature->inputs[i].dtype;
        if (strcmp(signature->inputs[i].key, name) == 0)
            return status_ok();
    }
    return status_error(STATUS_INVALID_ARGUMENT, "signature '%s' has no input '%s'", wanted, name);
}

static struct status read_input(struct session *session, const char *text,
                                struct client_metadata *metadata, struct client_tensor *out)
{
    const char *equals = strchr(text, '=');
    enum dtype dtype;
    if (equals == NULL || equals == text)
        return command_usage("--input '%s': name=file.npy or name=JSON is wanted", text);
    out->name = arena_memdup(session->arena, text, (size_t)(equals - text));
    size_t size = strlen(equals + 1);
    if (size > 4 && strcmp(equals + 1 + size - 4, ".npy") == 0)
        return command_line_fault(
            status_in(npy_read_file(equals + 1, INPUT_BYTES_MAX, session->arena, &out->tensor),
                      "--input %s", out->name));
    TRY(dtype_of(session, metadata, out->name, &dtype));
    return command_line_fault(status_in(
        value_from_json(equals + 1, dtype, session->arena, &out->tensor), "--input %s", out->name));
}

static void print_table(const struct client_outputs *answer, struct buffer *out)
{
    for (int i = 0; i < answer->count; i++) {
        const struct client_tensor *output = &answer->outputs[i];
        buffer_printf(out, "%s: %s %s\n", output->name, dtype_name(output->tensor.dtype),
                      shape_text(&output->tensor.shape));
        value_to_text(&output->tensor, out);
        buffer_append_char(out, '\n');
    }
}

/* {"outputs": {name: values}}, whatever their number: easier to read than REST's two forms. */
static void print_json(const struct client_outputs *answer, struct buffer *out)
{
    buffer_append_text(out, "{\"outputs\": {");
    for (int i = 0; i < answer->count; i++) {
        buffer_append_text(out, i > 0 ? ",\n" : "");
        json_put_string(out, bytes_of(answer->outputs[i].name));
        buffer_append_text(out, ": ");
        value_to_text(&answer->outputs[i].tensor, out);
    }
    buffer_append_char(out, '}');
    if (answer->version >= 0)
        buffer_printf(out, ", \"version\": \"%lld\"", (long long)answer->version);
    buffer_append_text(out, "}\n");
}

static struct status repeat(struct session *session, const struct client_tensor *inputs, int count)
{
    struct load_options load = command_load(session);
    struct load_result result;
    TRY(load_predict(session->options.server, &load, &session->target, inputs, count, &result));
    command_print_load(session, &result);
    return status_ok();
}

static struct status ask(struct session *session, struct client_tensor *inputs, int count)
{
    struct client_metadata metadata = { 0 };
    struct client_outputs answer;
    for (int i = 0; i < count; i++)
        TRY(read_input(session, session->options.inputs.values[i], &metadata, &inputs[i]));
    TRY(client_predict(session->client, &session->target, inputs, count, session->arena, &answer));
    if (session->json)
        print_json(&answer, &session->out);
    else
        print_table(&answer, &session->out);
    return session->options.repeat > 0 ? repeat(session, inputs, count) : status_ok();
}

struct status command_predict(struct session *session)
{
    int count = (int)session->options.inputs.count;
    struct client_tensor *inputs = ARENA_ARRAY(session->arena, struct client_tensor, count);
    struct status status = ask(session, inputs, count);
    for (int i = 0; i < count; i++)
        tensor_release(&inputs[i].tensor);
    return status;
}
