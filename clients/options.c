#include "clients/options.h"

#include <string.h>

#include "base/file.h"

static struct modelclient_options options;

static const struct flag rows[] = {
    { "server", FLAG_TEXT, &options.server, "localhost:8500",
      .help = "host:port or unix:/path for gRPC, http://host:port or https://host:port for REST" },
    { "model", FLAG_TEXT, &options.model, "",
      .help = "the model's name; empty: default, or in a replay the name in each request" },
    { "model_version", FLAG_INT64, &options.version_number, "-1",
      .help = "the version; negative: the latest", .min = -1, .max = 9.2e18 },
    { "label", FLAG_TEXT, &options.label, "",
      .help = "the label of the version, instead of --model_version" },
    { "signature", FLAG_TEXT, &options.signature, "",
      .help = "the signature; empty: serving_default" },
    { "input", FLAG_TEXTS, &options.inputs, "",
      .help = "name=file.npy or name=JSON; once for each input" },
    { "examples", FLAG_TEXT, &options.examples, "",
      .help = "a JSON list of objects, feature to value" },
    { "context", FLAG_TEXT, &options.context, "",
      .help = "a JSON object with features that all examples share" },
    { "format", FLAG_TEXT, &options.format, "table", .help = "the format of the answer",
      .choices = "table json" },
    { "repeat", FLAG_INT64, &options.repeat, "0",
      .help = "repeat the request this many times, or until Ctrl-C; print rate and latency",
      .max = 1e9 },
    { "concurrency", FLAG_INT32, &options.concurrency, "1",
      .help = "requests in flight, with --repeat or in a replay", .min = 1, .max = 10000 },
    { "connections", FLAG_INT32, &options.connections, "1",
      .help = "gRPC connections that the requests share; REST opens one for each", .min = 1,
      .max = 1000 },
    { "against", FLAG_TEXT, &options.against, "",
      .help = "the server, host:port or unix:/path; empty: that of --server" },
    { "rate", FLAG_DOUBLE, &options.rate, "0",
      .help = "requests a second; latency counts from each request's due time. 0: the next "
              "request is sent when an answer has arrived",
      .max = 1e9 },
    { "count", FLAG_INT64, &options.count, "0", .help = "limit of the requests; 0: all",
      .max = 9.2e18 },
    { "rtol", FLAG_DOUBLE, &options.rtol, "1e-5",
      .help = "relative tolerance for numbers with a fraction, added to --atol", .max = 1e300 },
    { "atol", FLAG_DOUBLE, &options.atol, "1e-6",
      .help = "absolute tolerance for numbers with a fraction, added to --rtol", .max = 1e300 },
    { "show", FLAG_INT64, &options.show, "20",
      .help = "limit of the differences to print; all are counted", .max = 9.2e18 },
    { "timeout_ms", FLAG_INT64, &options.timeout_ms, "60000",
      .help = "the timeout of each request in milliseconds", .min = 1, .max = 1e9 },
    { "auth_token_file", FLAG_PATH, &options.auth_token_file, "",
      .help = "file whose first line is a token that the server requires" },
    { "tls", FLAG_BOOL, &options.tls, "false",
      .help = "use TLS, over gRPC; https:// uses it over REST" },
    { "tls_ca", FLAG_PATH, &options.tls_ca, "",
      .help = "PEM file of the authorities to trust; empty: the system's" },
    { "tls_cert", FLAG_PATH, &options.tls_cert, "",
      .help = "PEM file of the client's certificate" },
    { "tls_key", FLAG_PATH, &options.tls_key, "", .help = "PEM file of its key" },
    { "server_name", FLAG_TEXT, &options.server_name, "",
      .help = "the host name in the server's certificate; empty: the host of --server" },
    HELP_FLAG(&options.help),
};

static const struct flag_set flags = { "", rows, COUNT(rows) };

const char *or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* Flags that only some commands take, or that go with another flag. */
static const struct {
    const char *flag, *commands, *with;
    const char *alone; /* a command for which the flag needs no other */
} limited[] = {
    { "input", "predict", NULL, NULL },
    { "examples", "classify regress", NULL, NULL },
    { "context", "classify regress", NULL, NULL },
    { "signature", "predict classify regress", NULL, NULL },
    { "repeat", "predict classify regress", NULL, NULL },
    { "concurrency", "predict classify regress replay", "repeat", "replay" },
    { "connections", "predict classify regress replay", "repeat", "replay" },
    { "against", "replay", NULL, NULL },
    { "rate", "replay", NULL, NULL },
    { "count", "replay", NULL, NULL },
    { "rtol", "replay", NULL, NULL },
    { "atol", "replay", NULL, NULL },
    { "show", "replay", NULL, NULL },
    { "format", "predict classify regress metadata status", NULL, NULL },
    { "tls_ca", NULL, "tls", NULL },
    { "tls_cert", NULL, "tls", NULL },
    { "tls_key", NULL, "tls", NULL },
    { "server_name", NULL, "tls", NULL },
};

static bool applies(const char *flag, const char *command)
{
    for (size_t i = 0; i < COUNT(limited); i++)
        if (strcmp(limited[i].flag, flag) == 0)
            return limited[i].commands == NULL || strstr(limited[i].commands, command) != NULL;
    return true;
}

static bool is_https(const char *server)
{
    return strncmp(server, "https://", 8) == 0;
}

static struct status check_limited(const char *command)
{
    for (size_t i = 0; i < COUNT(limited); i++) {
        const char *with = limited[i].with;
        if (flag_is_default(flags_find(&flags, limited[i].flag)))
            continue;
        if (!applies(limited[i].flag, command))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s does not apply to %s, only to: %s",
                                limited[i].flag, command, limited[i].commands);
        bool alone = limited[i].alone != NULL && strcmp(limited[i].alone, command) == 0;
        if (with != NULL && strcmp(with, "tls") == 0)
            alone = alone || is_https(options.server);
        if (with != NULL && !alone && flag_is_default(flags_find(&flags, with)))
            return status_error(STATUS_INVALID_ARGUMENT, "--%s needs --%s", limited[i].flag, with);
    }
    return status_ok();
}

struct status options_parse(int argc, char **argv, const struct modelclient_options **out)
{
    int positional;
    TRY(flags_parse(&flags, argc, argv, &positional));
    bool replays = strcmp(argv[0], "replay") == 0;
    if (positional > replays)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "unknown argument: %s; --help lists what there is", argv[1 + replays]);
    options.log = positional > 0 ? file_path_of_uri(argv[1]) : NULL;
    TRY(check_limited(argv[0]));
    if (options.against[0] != '\0')
        options.server = options.against;
    if (options.label[0] != '\0' && options.version_number >= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--label and --model_version exclude each other");
    if (options.tls && strncmp(options.server, "http://", 7) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--tls is for gRPC; REST is encrypted with --server=https://%s",
                            options.server + 7);
    options.tls = options.tls || is_https(options.server);
    *out = &options;
    return status_ok();
}

void options_print_help(const char *command, const char *usage, FILE *out)
{
    struct flag shown[COUNT(rows)];
    struct flag_set set = { usage, shown, 0 };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (applies(rows[i].name, command))
            shown[set.count++] = rows[i];
    flags_print_help(&set, out);
}
