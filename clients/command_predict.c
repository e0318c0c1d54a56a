#include "base/text_print.h"
#include "clients/commands.h"
#include "clients/session.h"
#include "tensor/input_flag.h"
#include "tensor/value_json.h"

#define INPUT_BYTES_MAX ((size_t)2 << 30)

/* JSON does not say which dtype is meant; the signature does. */
static struct status find_dtype(struct client_session *session, struct client_metadata *metadata,
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

static struct status read_input(struct client_session *session, const char *text,
                                struct client_metadata *metadata, struct client_tensor *out)
{
    struct input_flag input;
    enum dtype dtype = DT_INVALID;
    TRY(command_line_fault(input_flag_parse(text, session->arena, &input)));
    if (!input_flag_is_file(&input))
        TRY(find_dtype(session, metadata, input.name, &dtype));
    out->name = input.name;
    return command_line_fault(
        input_flag_read(&input, dtype, INPUT_BYTES_MAX, session->arena, &out->tensor));
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

/* Prints {"outputs": {name: values}} even for a single output, for which REST has another form. */
static void print_json(const struct client_outputs *answer, struct buffer *out)
{
    buffer_append_text(out, "{\"outputs\": {");
    for (int i = 0; i < answer->count; i++) {
        buffer_append_text(out, i > 0 ? ",\n" : "");
        json_print_string(out, bytes_of(answer->outputs[i].name));
        buffer_append_text(out, ": ");
        value_to_text(&answer->outputs[i].tensor, out);
    }
    buffer_append_char(out, '}');
    if (answer->version >= 0)
        buffer_printf(out, ", \"version\": \"%lld\"", (long long)answer->version);
    buffer_append_text(out, "}\n");
}

static struct status repeat(struct client_session *session, const struct client_tensor *inputs,
                            int count)
{
    struct load_options load = session_load_options(session);
    struct load_result result;
    TRY(load_predict(session->options->server, &load, &session->target, inputs, count, &result));
    session_print_load(session, &result);
    return status_ok();
}

static struct status ask(struct client_session *session, struct client_tensor *inputs, int count)
{
    struct client_metadata metadata = { 0 };
    struct client_outputs answer;
    for (int i = 0; i < count; i++)
        TRY(read_input(session, session->options->inputs.values[i], &metadata, &inputs[i]));
    TRY(client_predict(session->client, &session->target, inputs, count, session->arena, &answer));
    if (session->json)
        print_json(&answer, &session->out);
    else
        print_table(&answer, &session->out);
    return session->options->repeat > 0 ? repeat(session, inputs, count) : status_ok();
}

static struct status predict(struct client_session *session)
{
    int count = (int)session->options->inputs.count;
    struct client_tensor *inputs = ARENA_ARRAY(session->arena, struct client_tensor, count);
    struct status status = ask(session, inputs, count);
    for (int i = 0; i < count; i++)
        tensor_release(&inputs[i].tensor);
    return status;
}

struct status command_predict(int argc, char **argv)
{
    return session_run(
        argc, argv,
        "usage: modelclient predict [flags]\n\n"
        "Sends tensors to a signature and prints its outputs:\n"
        "  modelclient predict --signature predict_images --input images=digits.npy\n"
        "  modelclient predict --server http://localhost:8501 --input 'x=[[1.0, 2.0]]' "
        "--repeat 1000",
        predict);
}
