#include "clients/commands.h"

#include <jansson.h>
#include <stdlib.h>

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
      .help = "predict: ask this often more and print rate and latency", .max = 1e9 },
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

static struct status as_usage(struct status status)
{
    is_usage = !status_is_ok(status);
    return status;
}

void print_json_string(struct buffer *out, struct bytes text)
{
    json_t *string = json_stringn_nocheck(text.data, text.size);
    char *dumped = json_dumps(string, JSON_ENCODE_ANY);
    buffer_append_text(out, dumped != NULL ? dumped : "\"\"");
    free(dumped);
    json_decref(string);
}

static const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

static struct status parse(int argc, char **argv)
{
    int positional;
    TRY(as_usage(flags_parse(&flags, argc, argv, &positional)));
    if (positional > 0)
        return command_usage("unknown argument: %s", argv[1]);
    if (options.label[0] != '\0' && options.version_number >= 0)
        return command_usage("--label and --model_version: one of them");
    bool wants_tls = options.tls_ca[0] != '\0' || options.tls_cert[0] != '\0';
    if (wants_tls && !options.tls)
        return command_usage("--tls_ca and --tls_cert want --tls");
    if (options.tls && strncmp(options.server, "http://", 7) == 0)
        return command_usage("--tls is for gRPC");
    return status_ok();
}

static struct status make_tls(struct tls **out)
{
    struct tls_options tls = { .cert.file = or_null(options.tls_cert),
                               .key.file = or_null(options.tls_key),
                               .ca.file = or_null(options.tls_ca) };
    *out = NULL;
    return options.tls ? tls_client_create(&tls, out) : status_ok();
}

static struct status ask(struct session *session, command_function *run)
{
    struct client_options client = { .timeout_ms = options.timeout_ms,
                                     .tls = session->maker,
                                     .server_name = or_null(options.server_name) };
    TRY(as_usage(client_open(options.server, &client, &session->client)));
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
    if (status_is_ok(status))
        return fflush(stdout) == 0 ? 0 : 1;
    if (is_usage)
        fprintf(stderr, "modelclient: %s\n", status.message);
    else
        fprintf(stderr, "modelclient: %s: %s: %s\n", options.server, status_code_name(status.code),
                status.message);
    return is_usage ? EXIT_USAGE : 1;
}
