#include "base/json_writer.h"
#include "clients/commands.h"
#include "clients/session.h"

/* ---- as JSON ---- */

static void write_endpoints(struct json_writer *writer, const char *what,
                            const struct client_endpoint *endpoints, int count)
{
    json_open(writer, what, '{');
    for (int i = 0; i < count; i++) {
        const struct shape *shape = &endpoints[i].shape;
        json_open(writer, endpoints[i].key, '{');
        json_write_text(writer, "dtype", bytes_of(dtype_enum_name(endpoints[i].dtype)));
        if (shape->rank >= 0) { /* otherwise it is unknown */
            json_open(writer, "shape", '[');
            for (int d = 0; d < shape->rank; d++)
                json_write_integer(writer, NULL, shape->dims[d]);
            json_close(writer, ']');
        }
        json_close(writer, '}');
    }
    json_close(writer, '}');
}

static void write_metadata(const struct client_session *session,
                           const struct client_metadata *metadata, struct buffer *out)
{
    struct json_writer writer = { .out = out };

    json_open(&writer, NULL, '{');
    json_write_text(&writer, "version",
                    bytes_of(arena_printf(session->arena, "%lld", (long long)metadata->version)));
    json_open(&writer, "signatures", '{');
    for (int i = 0; i < metadata->count; i++) {
        const struct client_signature *signature = &metadata->signatures[i];
        json_open(&writer, signature->name, '{');
        json_write_text(&writer, "method", bytes_of(signature->method));
        write_endpoints(&writer, "inputs", signature->inputs, signature->inputs_count);
        write_endpoints(&writer, "outputs", signature->outputs, signature->outputs_count);
        json_close(&writer, '}');
    }
    json_close(&writer, '}');
    json_close(&writer, '}');
    buffer_append_char(out, '\n');
}

/* ---- as a table ---- */

static void print_endpoints(const char *what, const struct client_endpoint *endpoints, int count,
                            struct buffer *out)
{
    for (int i = 0; i < count; i++)
        buffer_printf(out, "  %-8s%-24s %-8s %s\n", i == 0 ? what : "", endpoints[i].key,
                      dtype_name(endpoints[i].dtype), shape_text(&endpoints[i].shape));
}

static void print_metadata(const struct client_session *session,
                           const struct client_metadata *metadata, struct buffer *out)
{
    buffer_printf(out, "%s version %lld\n", session->target.model, (long long)metadata->version);
    for (int i = 0; i < metadata->count; i++) {
        const struct client_signature *signature = &metadata->signatures[i];
        buffer_printf(out, "%s  %s\n", signature->name, signature->method);
        print_endpoints("inputs", signature->inputs, signature->inputs_count, out);
        print_endpoints("outputs", signature->outputs, signature->outputs_count, out);
    }
}

static struct status metadata(struct client_session *session)
{
    struct client_metadata answer;

    TRY(client_metadata(session->client, &session->target, session->arena, &answer));
    if (session->json)
        write_metadata(session, &answer, &session->out);
    else
        print_metadata(session, &answer, &session->out);
    return status_ok();
}

struct status command_metadata(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient metadata [flags]\n\n"
                       "Prints the signatures of a model, with dtypes and shapes.",
                       metadata);
}
