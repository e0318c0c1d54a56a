#include "base/text_print.h"
#include "clients/commands.h"
#include "clients/session.h"

static void print_endpoints(const struct client_session *session, const char *what,
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
        json_print_string(out, bytes_of(endpoint->key));
        buffer_printf(out, ": {\"dtype\": \"%s\"", dtype_enum_name(endpoint->dtype));
        if (endpoint->shape.rank >= 0)
            buffer_append_text(out, ", \"shape\": [");
        for (int d = 0; d < endpoint->shape.rank; d++)
            buffer_printf(out, "%s%lld", d > 0 ? ", " : "", (long long)endpoint->shape.dims[d]);
        buffer_append_text(out, endpoint->shape.rank >= 0 ? "]}" : "}");
    }
    buffer_append_text(out, session->json ? "}" : "");
}

static struct status metadata(struct client_session *session)
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
            json_print_string(out, bytes_of(signature->name));
            buffer_append_text(out, ": {\"method\": ");
            json_print_string(out, bytes_of(signature->method));
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

struct status command_metadata(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient metadata [flags]\n\n"
                       "Prints the signatures of a model, with dtypes and shapes.",
                       metadata);
}
