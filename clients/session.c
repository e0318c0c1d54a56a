#include "clients/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/file.h"
#include "base/text_print.h"
#include "clients/client_type.h"
#include "rpc/tls.h"

#define ARENA_BYTES          ((size_t)4 << 30)
#define TOKEN_FILE_BYTES_MAX ((size_t)1 << 20)

struct load_options session_load_options(const struct client_session *session)
{
    const struct modelclient_options *given = session->options;
    return (struct load_options){ .count = given->repeat > 0 ? given->repeat : given->count,
                                  .concurrency = given->concurrency,
                                  .connections = given->connections,
                                  .timeout_ms = given->timeout_ms,
                                  .tls = session->maker,
                                  .server_name = or_null(given->server_name),
                                  .token = session->token };
}

void session_print_load(struct client_session *session, struct load_result *result)
{
    load_print(result, session->options->concurrency, &session->out);
    free(result->times_ns);
}

static struct status make_tls(const struct modelclient_options *options, struct tls **out)
{
    struct tls_options tls = { .cert.file = or_null(options->tls_cert),
                               .key.file = or_null(options->tls_key),
                               .ca.file = or_null(options->tls_ca),
                               .protocols =
                                   rest_is_encrypted(options->server) ? TLS_HTTP1 : TLS_HTTP2 };
    *out = NULL;
    return options->tls ? command_line_fault(tls_client_create(&tls, out)) : status_ok();
}

/* The first line that is not empty and does not begin with #, as the server reads its own file. */
static struct status read_token(const char *path, struct arena *arena, const char **out)
{
    struct buffer text = { 0 };
    *out = NULL;
    if (path[0] == '\0')
        return status_ok();
    TRY(command_line_fault(file_read(path, TOKEN_FILE_BYTES_MAX, &text)));
    char *rest = arena_memdup(arena, text.data, text.size), *line;
    buffer_finish(&text);
    while (*out == NULL && (line = strsep(&rest, "\n")) != NULL) {
        char *token = strsep(&line, " \t\r");
        if (token[0] != '\0' && token[0] != '#')
            *out = token;
    }
    return *out != NULL ? status_ok()
                        : command_usage("--auth_token_file=%s: the file has no token", path);
}

static struct status ask(struct client_session *session, session_function *run)
{
    const struct modelclient_options *options = session->options;
    struct client_options client = { .timeout_ms = options->timeout_ms,
                                     .tls = session->maker,
                                     .server_name = or_null(options->server_name),
                                     .token = session->token };
    TRY(command_line_fault(client_open(options->server, &client, &session->client)));
    struct status status = run(session);
    client_close(session->client);
    return status;
}

/* The failure, prefixed by the server if that is to blame. Copies its text, which may be in the
 * session's arena. */
static struct status describe(const struct modelclient_options *options, struct status status)
{
    if (command_line_is_wrong())
        return status_error(status.code, "%s", status.message);
    return status_error(status.code, "%s: %s: %s", options->server, status_code_name(status.code),
                        status.message);
}

/* The names and texts in it come from a server. */
static void print_answer(const struct buffer *out)
{
    struct buffer text = { 0 };
    text_print_lines(&text, (struct bytes){ out->data, out->size });
    fwrite(text.data, 1, text.size, stdout);
    buffer_finish(&text);
}

struct status session_run(int argc, char **argv, const char *usage, session_function *run)
{
    const struct modelclient_options *options;
    struct tls *tls;
    TRY(command_line_fault(options_parse(argc, argv, &options)));
    if (options->help) {
        options_print_help(argv[0], usage, stdout);
        return status_ok();
    }
    struct client_session session = {
        .options = options,
        .target = { .model = options->model[0] != '\0' ? options->model : "default",
                    .version = options->version_number,
                    .label = or_null(options->label),
                    .signature = or_null(options->signature) },
        .json = strcmp(options->format, "json") == 0,
        .arena = arena_create(ARENA_BYTES),
    };
    struct status status = make_tls(options, &tls);
    if (status_is_ok(status))
        status = read_token(options->auth_token_file, session.arena, &session.token);
    if (status_is_ok(status)) {
        session.maker = tls != NULL ? tls_maker(tls) : NULL;
        status = ask(&session, run);
    }
    if (!status_is_ok(status))
        status = describe(options, status);
    else if (session.out.size > 0)
        print_answer(&session.out);
    tls_destroy(tls);
    buffer_finish(&session.out);
    arena_destroy(session.arena);
    return status;
}
