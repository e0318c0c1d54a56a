#include "clients/options.h"

#include <string.h>

static struct modelclient_options options;

static const struct flag rows[] = {
    { "server", FLAG_TEXT, &options.server, "localhost:8500",
      .help = "host:port or unix:/path for gRPC, http://host:port for REST" },
    { "model", FLAG_TEXT, &options.model, "default", .help = "the model's name" },
    { "model_version", FLAG_INT64, &options.version_number, "-1",
      .help = "the version; negative: the latest", .min = -1, .max = 9.2e18 },
    { "label", FLAG_TEXT, &options.label, "",
      .help = "the label of the version, instead of --model_version" },
    { "signature", FLAG_TEXT, &options.signature, "",
      .help = "the signature; empty: serving_default" },
    { "input", FLAG_TEXTS, &options.inputs, "",
      .help = "predict: name=file.npy or name=JSON; once for each input" },
    { "examples", FLAG_TEXT, &options.examples, "",
      .help = "classify, regress: a JSON list of objects, feature to value" },
    { "context", FLAG_TEXT, &options.context, "",
      .help = "classify, regress: a JSON object with features that all examples share" },
    { "format", FLAG_TEXT, &options.format, "table", .help = "the format of the answer",
      .choices = "table json" },
    { "repeat", FLAG_INT64, &options.repeat, "0",
      .help = "repeat the request this many times, or until Ctrl-C; print rate and latency",
      .max = 1e9 },
    { "concurrency", FLAG_INT32, &options.concurrency, "1",
      .help = "requests in flight, with --repeat", .min = 1, .max = 10000 },
    { "connections", FLAG_INT32, &options.connections, "1",
      .help = "gRPC connections that the requests share; REST opens one for each", .min = 1,
      .max = 1000 },
    { "timeout_ms", FLAG_INT64, &options.timeout_ms, "60000",
      .help = "the timeout of each request in milliseconds", .min = 1, .max = 1e9 },
    { "tls", FLAG_BOOL, &options.tls, "false", .help = "use TLS, over gRPC" },
    { "tls_ca", FLAG_TEXT, &options.tls_ca, "",
      .help = "PEM file of the authorities to trust; empty: the system's" },
    { "tls_cert", FLAG_TEXT, &options.tls_cert, "",
      .help = "PEM file of the client's certificate" },
    { "tls_key", FLAG_TEXT, &options.tls_key, "", .help = "PEM file of its key" },
    { "server_name", FLAG_TEXT, &options.server_name, "",
      .help = "the host name in the server's certificate; empty: the host of --server" },
    { "help", FLAG_BOOL, &options.help, "false", .help = "print this text" },
};

static const struct flag_set flags = {
    "usage: modelclient predict|classify|regress|metadata|status [flags]\n\n"
    "  modelclient predict --signature predict_images --input images=digits.npy\n"
    "  modelclient predict --server http://localhost:8501 --input 'x=[[1.0, 2.0]]' --repeat 1000\n"
    "  modelclient classify --examples '[{\"x\": 1.0}]' --format json",
    rows, COUNT(rows)
};

const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* Flags that only some commands take, or that go with another flag. */
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
            return status_error(STATUS_INVALID_ARGUMENT, "--%s does not apply to %s, only to: %s",
                                limited[i].flag, command, commands);
        if (with != NULL && flag_is_default(flags_find(&flags, with)))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s needs --%s", limited[i].flag, with);
    }
    return status_ok();
}

struct status options_parse(int argc, char **argv, const struct modelclient_options **out)
{
    int positional;
    TRY(flags_parse(&flags, argc, argv, &positional));
    if (positional > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "unknown argument: %s; --help lists what there is", argv[1]);
    TRY(check_limited(argv[0]));
    if (options.label[0] != '\0' && options.version_number >= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--label and --model_version exclude each other");
    if (options.tls && strncmp(options.server, "http://", 7) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "--tls is for gRPC");
    if (strncmp(options.server, "https://", 8) == 0)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "--server=%s: REST has no TLS; gRPC is encrypted with --tls --server=%s",
            options.server, options.server + 8);
    *out = &options;
    return status_ok();
}

void options_print_help(FILE *out)
{
    flags_print_help(&flags, out);
}
