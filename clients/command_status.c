#include "base/json_writer.h"
#include "clients/commands.h"
#include "clients/session.h"

/* "3            END        NOT_FOUND: no such file": one line, even if the message has several. */
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

static void write_versions(const struct client_session *session,
                           const struct client_versions *versions, struct buffer *out)
{
    struct json_writer writer = { .out = out };

    json_open(&writer, NULL, '{');
    json_open(&writer, "versions", '[');
    for (int i = 0; i < versions->count; i++) {
        const struct client_version *version = &versions->versions[i];
        json_open(&writer, NULL, '{');
        json_write_text(&writer, "version",
                        bytes_of(arena_printf(session->arena, "%lld", (long long)version->number)));
        json_write_text(&writer, "state", bytes_of(version->state));
        json_write_text(&writer, "error_code", bytes_of(status_code_name(version->code)));
        json_write_text(&writer, "error_message", bytes_of(version->message));
        json_close(&writer, '}');
    }
    json_close(&writer, ']');
    json_close(&writer, '}');
    buffer_append_char(out, '\n');
}

static struct status print_status(struct client_session *session)
{
    struct client_versions answer;

    TRY(client_status(session->client, &session->target, session->arena, &answer));
    if (session->json)
        write_versions(session, &answer, &session->out);
    for (int i = 0; !session->json && i < answer.count; i++)
        print_version_row(&answer.versions[i], &session->out);
    return status_ok();
}

struct status command_status(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient status [flags]\n\n"
                       "Prints the versions of a model and their states.",
                       print_status);
}
