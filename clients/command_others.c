/*
 * classify, regress, metadata, status.
 */
#include "clients/client_type.h"
#include "clients/commands.h"
#include "clients/example_text.h"

static const char *context_of(const struct session *session)
{
    return session->options.context[0] != '\0' ? session->options.context : NULL;
}

/* What gRPC needs made of them is made to see whether it can be; REST sends them as they are. */
static struct status check_examples(const struct session *session)
{
    const char *examples = session->options.examples, *context = context_of(session);
    struct buffer scratch = { 0 };
    if (examples[0] == '\0')
        return command_usage("--examples '[{\"feature\": value}]' is wanted");
    if (rest_address(session->options.server) != NULL)
        return status_ok();
    struct status status = status_in(examples_from_json(examples, 1, &scratch), "--examples");
    if (status_is_ok(status) && context != NULL)
        status = status_in(example_from_json(context, 1, &scratch), "--context");
    buffer_finish(&scratch);
    return command_line_fault(status);
}

static struct status repeat(struct session *session, const char *verb)
{
    struct load_options load = command_load(session);
    struct load_result result;
    if (load.count == 0)
        return status_ok();
    TRY(load_examples(session->options.server, &load, &session->target, verb,
                      session->options.examples, context_of(session), &result));
    command_print_load(session, &result);
    return status_ok();
}

struct status command_classify(struct session *session)
{
    struct client_classes answer;
    struct buffer *out = &session->out;
    TRY(check_examples(session));
    TRY(client_classify(session->client, &session->target, session->options.examples,
                        context_of(session), session->arena, &answer));
    buffer_append_text(out, session->json ? "{\"results\": [" : "");
    for (int i = 0; i < answer.examples_count; i++) {
        if (session->json)
            buffer_append_text(out, i > 0 ? ",\n[" : "[");
        else
            buffer_printf(out, "example %d\n", i);
        for (int j = 0; j < answer.classes_count[i]; j++) {
            const struct client_class *class = &answer.rows[i][j];
            buffer_append_text(out, !session->json ? "  " : j > 0 ? ", [" : "[");
            if (session->json)
                json_put_string(out, class->label);
            else
                buffer_printf(out, "%-24.*s", (int)class->label.size, class->label.data);
            buffer_printf(out, session->json ? ", %.9g]" : " %.9g\n", (double)class->score);
        }
        buffer_append_text(out, session->json ? "]" : "");
    }
    buffer_append_text(out, session->json ? "]}\n" : "");
    return repeat(session, "classify");
}

struct status command_regress(struct session *session)
{
    struct client_values answer;
    struct buffer *out = &session->out;
    TRY(check_examples(session));
    TRY(client_regress(session->client, &session->target, session->options.examples,
                       context_of(session), session->arena, &answer));
    buffer_append_text(out, session->json ? "{\"results\": [" : "");
    for (int i = 0; i < answer.count; i++)
        if (session->json)
            buffer_printf(out, "%s%.9g", i > 0 ? ", " : "", (double)answer.values[i]);
        else
            buffer_printf(out, "%.9g\n", (double)answer.values[i]);
    buffer_append_text(out, session->json ? "]}\n" : "");
    return repeat(session, "regress");
}

static void print_endpoints(const struct session *session, const char *what,
                            const struct client_endpoint *endpoints, int count, struct buffer *out)
{
    if (session->json)
        buffer_printf(out, ", \"%s\": {", what);
    for (int i = 0; i < count; i++) {
        const struct client_endpoint *endpoint = &endpoints[i];
        if (!session->json) {
            buffer_printf(out, "  %-8s%-24s %-8s %s\n", i == 0 ? what : "", endpoint->key,
                          dtype_name(endpoint->dtype), shape_text(&endpoint->shape));
            continue;
        }
        buffer_append_text(out, i > 0 ? ", " : "");
        json_put_string(out, bytes_of(endpoint->key));
        buffer_printf(out, ": {\"dtype\": \"%s\"", dtype_enum_name(endpoint->dtype));
        if (endpoint->shape.rank >= 0)
            buffer_append_text(out, ", \"shape\": [");
        for (int d = 0; d < endpoint->shape.rank; d++)
            buffer_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)endpoint->shape.dims[d]);
        buffer_append_text(out, endpoint->shape.rank >= 0 ? "]}" : "}");
    }
    buffer_append_text(out, session->json ? "}" : "");
}

struct status command_metadata(struct session *session)
{
    struct client_metadata answer;
    struct buffer *out = &session->out;
    TRY(client_metadata(session->client, &session->target, session->arena, &answer));
    if (session->json)
        buffer_printf(out, "{\"version\": \"%lld\", \"signatures\": {", (long long)answer.version);
    else
        buffer_printf(out, "%s version %lld\n", session->target.model, (long long)answer.version);
    for (int i = 0; i < answer.count; i++) {
        const struct client_signature *signature = &answer.signatures[i];
        if (session->json) {
            buffer_append_text(out, i > 0 ? ",\n" : "");
            json_put_string(out, bytes_of(signature->name));
            buffer_append_text(out, ": {\"method\": ");
            json_put_string(out, bytes_of(signature->method));
        } else {
            buffer_printf(out, "%s  %s\n", signature->name, signature->method);
        }
        print_endpoints(session, "inputs", signature->inputs, signature->inputs_count, out);
        print_endpoints(session, "outputs", signature->outputs, signature->outputs_count, out);
        buffer_append_text(out, session->json ? "}" : "");
    }
    buffer_append_text(out, session->json ? "}}\n" : "");
    return status_ok();
}

/* "3            END        NOT_FOUND: no such file": one line, whatever the message has. */
static void print_version_row(const struct client_version *version, struct buffer *out)
{
    buffer_printf(out, "%-12lld %s", (long long)version->number, version->state);
    if (version->code != STATUS_OK) {
        buffer_printf(out, "%*s %s: ", 10 - (int)strlen(version->state), "",
                      status_code_name(version->code));
        for (const char *at = version->message; *at != '\0'; at++)
            buffer_append_char(out, *at == '\n' ? ' ' : *at);
    }
    buffer_append_char(out, '\n');
}

struct status command_status(struct session *session)
{
    struct client_versions answer;
    struct buffer *out = &session->out;
    TRY(client_status(session->client, &session->target, session->arena, &answer));
    buffer_append_text(out, session->json ? "{\"versions\": [" : "");
    for (int i = 0; i < answer.count; i++) {
        const struct client_version *version = &answer.versions[i];
        if (!session->json) {
            print_version_row(version, out);
            continue;
        }
        buffer_printf(out, "%s{\"version\": \"%lld\", \"state\": \"%s\", \"error_code\": \"%s\", ",
                      i > 0 ? ",\n" : "", (long long)version->number, version->state,
                      status_code_name(version->code));
        buffer_append_text(out, "\"error_message\": ");
        json_put_string(out, bytes_of(version->message));
        buffer_append_char(out, '}');
    }
    buffer_append_text(out, session->json ? "]}\n" : "");
    return status_ok();
}
