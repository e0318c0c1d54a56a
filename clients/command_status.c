#include "base/text_print.h"
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

static struct status print_status(struct client_session *session)
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
        json_print_string(out, bytes_of(version->message));
        buffer_append_char(out, '}');
    }
    buffer_append_text(out, session->json ? "]}\n" : "");
    return status_ok();
}

struct status command_status(int argc, char **argv)
{
    return session_run(argc, argv,
                       "usage: modelclient status [flags]\n\n"
                       "Prints the versions of a model and their states.",
                       print_status);
}
