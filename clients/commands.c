#include "clients/commands.h"

#include <stdlib.h>

#include "base/file.h"
#include "rpc/tls.h"

#define ARENA_BYTES ((size_t)4 << 30)

static struct command_options options;

static const struct flag rows[] = {
    { "server", FLAG_TEXT, &options.server, "localhost:8500",
      .help = "host:port or unix:/path for gRPC, http://host:port for REST" },
    { "model", FLAG_TEXT, &options.model, "default", .help = "the model's name" },
    { "model_version", FLAG_INT64, &options.version_number, "-1",
      .help = "a version; less than 0: the latest", .min = -1, .max = 9.2e18 },
    { "label", FLAG_TEXT, &options.label, "", .help = "a version's label, instead of a version" },
    { "signature", FLAG_TEXT, &options.signature, "",
      .help = "the signature; none: serving_default" },
    { "input", FLAG_TEXTS, &options.inputs, "",
      .help = "predict: name=file.npy or name=JSON; once for each input" },
    { "examples", FLAG_TEXT, &options.examples, "",
      .help = "classify, regress: a JSON list of objects, feature to value" },
    { "context", FLAG_TEXT, &options.context, "",
      .help = "classify, regress: a JSON object with features that all examples share" },
    { "format", FLAG_TEXT, &options.format, "table", .help = "how answers are printed",
      .choices = "table json" },
    { "repeat", FLAG_INT64, &options.repeat, "0",
      .help = "ask this often more, or until Ctrl-C, and print rate and latency", .max = 1e9 },
    { "concurrency", FLAG_INT32, &options.concurrency, "1",
      .help = "requests at a time, with --repeat", .min = 1, .max = 10000 },
    { "connections", FLAG_INT32, &options.connections, "1",
      .help = "gRPC connections that they share; REST has one for each", .min = 1, .max = 1000 },
    { "timeout_ms", FLAG_INT64, &options.timeout_ms, "60000", .help = "of each request", .min = 1,
      .max = 1e9 },
    { "tls", FLAG_BOOL, &options.tls, "false", .help = "gRPC over TLS" },
    { "tls_ca", FLAG_TEXT, &options.tls_ca, "",
      .help = "PEM file of whom to believe; none: the system's" },
    { "tls_cert", FLAG_TEXT, &options.tls_cert, "", .help = "PEM file of our own certificate" },
    { "tls_key", FLAG_TEXT, &options.tls_key, "", .help = "PEM file of its key" },
    { "server_name", FLAG_TEXT, &options.server_name, "",
      .help = "the name that the server's certificate is for; none: the address' own" },
    { "help", FLAG_BOOL, &options.help, "false", .help = "print this text" },
};

static const struct flag_set flags = {
    "usage: modelclient predict|classify|regress|metadata|status [flags]\n\n"
    "  modelclient predict --signature predict_images --input images=digits.npy\n"
    "  modelclient predict --server http://localhost:8501 --input 'x=[[1.0, 2.0]]' --repeat 1000\n"
    "  modelclient classify --examples '[{\"x\": 1.0}]' --format json",
    rows, COUNT(rows)
};

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static bool is_usage;

struct status command_usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    is_usage = true;
    return status;
}

struct status command_line_fault(struct status status)
{
    is_usage = !status_is_ok(status);
    return status;
}

struct load_options command_load(const struct session *session)
{
    const struct command_options *given = &session->options;
    return (struct load_options){ .count = given->repeat,
                                  .concurrency = given->concurrency,
                                  .connections = given->connections,
                                  .timeout_ms = given->timeout_ms,
                                  .tls = session->maker,
                                  .server_name = or_null(given->server_name) };
}

void command_print_load(struct session *session, struct load_result *result)
{
    load_print(result, session->options.concurrency, &session->out);
    free(result->times_ns);
}

/* What only some commands take, or only with another flag. */
static const struct {
    const char *flag, *commands, *with;
} limited[] = {
    { "input", "predict", NULL },
    { "examples", "classify regress", NULL },
    { "context", "classify regress", NULL },
    { "signature", "predict classify regress", NULL },
    { "repeat", "predict classify regress", NULL },
    { "concurrency", "predict classify regress", "repeat" },
    { "connections", "predict classify regress", "repeat" },
    { "tls_ca", NULL, "tls" },
    { "tls_cert", NULL, "tls" },
    { "tls_key", NULL, "tls" },
    { "server_name", NULL, "tls" },
};

static struct status check_limited(const char *command)
{
    for (size_t i = 0; i < COUNT(limited); i++) {
        const char *with = limited[i].with, *commands = limited[i].commands;
        if (flag_is_default(flags_find(&flags, limited[i].flag)))
            continue;
        if (commands != NULL && strstr(commands, command) == NULL)
            return command_usage("--%s is not for %s, but for: %s", limited[i].flag, command,
                                 commands);
        if (with != NULL && flag_is_default(flags_find(&flags, with)))
            return command_usage("--%s wants --%s", limited[i].flag, with);
    }
    return status_ok();
}

static struct status parse(int argc, char **argv)
{
    int positional;
    TRY(command_line_fault(flags_parse(&flags, argc, argv, &positional)));
    if (positional > 0)
        return command_usage("unknown argument: %s; --help lists what there is", argv[1]);
    TRY(check_limited(argv[0]));
    if (options.label[0] != '\0' && options.version_number >= 0)
        return command_usage("--label and --model_version: one of them");
    if (options.tls && strncmp(options.server, "http://", 7) == 0)
        return command_usage("--tls is for gRPC");
    if (strncmp(options.server, "https://", 8) == 0)
        return command_usage("--server=%s: REST is not encrypted; gRPC is, with --tls --server=%s",
                             options.server, options.server + 8);
    return status_ok();
}

static struct status make_tls(struct tls **out)
{
    struct tls_options tls = { .cert.file = or_null(options.tls_cert),
                               .key.file = or_null(options.tls_key),
                               .ca.file = or_null(options.tls_ca) };
    *out = NULL;
    return options.tls ? command_line_fault(tls_client_create(&tls, out)) : status_ok();
}

static struct status ask(struct session *session, command_function *run)
{
    struct client_options client = { .timeout_ms = options.timeout_ms,
                                     .tls = session->maker,
                                     .server_name = or_null(options.server_name) };
    TRY(command_line_fault(client_open(options.server, &client, &session->client)));
    struct status status = run(session);
    client_close(session->client);
    return status;
}

static struct status run_session(command_function *run)
{
    struct session session = {
        .options = options,
        .target = { .model = options.model,
                    .version = options.version_number,
                    .label = or_null(options.label),
                    .signature = or_null(options.signature) },
        .json = strcmp(options.format, "json") == 0,
        .arena = arena_create(ARENA_BYTES),
    };
    struct tls *tls;
    struct status status = make_tls(&tls);
    if (status_is_ok(status)) {
        session.maker = tls != NULL ? tls_maker(tls) : NULL;
        status = ask(&session, run);
    }
    if (status_is_ok(status) && session.out.size > 0)
        fwrite(session.out.data, 1, session.out.size, stdout);
    else if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message); /* it may lie in the arena */
    tls_destroy(tls);
    buffer_finish(&session.out);
    arena_destroy(session.arena);
    return status;
}

int command_main(int argc, char **argv, command_function *run)
{
    struct status status = parse(argc, argv);
    if (status_is_ok(status) && options.help) {
        flags_print_help(&flags, stdout);
        return 0;
    }
    if (status_is_ok(status))
        status = run_session(run);
    if (status_is_ok(status)) {
        status = file_flush_stdout();
        if (status_is_ok(status))
            return 0;
        fprintf(stderr, "modelclient: %s\n", status.message);
        return 1;
    }
    if (is_usage)
        fprintf(stderr, "modelclient: %s\n", status.message);
    else
        fprintf(stderr, "modelclient: %s: %s: %s\n", options.server, status_code_name(status.code),
                status.message);
    return is_usage ? EXIT_USAGE : 1;
}
