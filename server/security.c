#include "server/security.h"

#include <string.h>

#include "server/config/ssl_config.h"

/* Called before the file is read. */
static void watch(struct security *security, const char *flag, const char *path,
                  struct status (*reload)(void *context))
{
    struct watched_file *file = &security->files[security->files_count++];
    *file =
        (struct watched_file){ .flag = flag, .path = path, .reload = reload, .context = security };
    watched_file_note(file);
}

static struct status reload_grpc(void *context)
{
    struct security *security = context;
    return ssl_config_reload(security->options->ssl_config_file, security->grpc_tls);
}

static struct status reload_rest(void *context)
{
    struct security *security = context;
    return ssl_config_reload(security->options->rest_ssl_config_file, security->rest_tls);
}

static struct status reload_tokens(void *context)
{
    return auth_reload(((struct security *)context)->auth);
}

static bool is_given(const char *file)
{
    return file[0] != '\0';
}

/* A connection presents its certificate before it reveals its protocol. */
static struct status check_shared_port(const struct server_options *options)
{
    if (strcmp(options->ssl_config_file, options->rest_ssl_config_file) == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "--ssl_config_file and --rest_ssl_config_file must name the same file if "
                        "REST and gRPC share a port, %d",
                        options->port);
}

static struct status load_tls(struct security *security)
{
    const struct server_options *options = security->options;
    bool grpc = is_given(options->ssl_config_file), rest = is_given(options->rest_ssl_config_file);
    bool shared = options->port != 0 && options->port == options->rest_api_port;
    if (grpc && rest && shared)
        TRY(check_shared_port(options));
    if (grpc) {
        watch(security, "--ssl_config_file", options->ssl_config_file, reload_grpc);
        TRY(status_in(ssl_config_load(options->ssl_config_file, TLS_HTTP2, security->budget,
                                      &security->grpc_tls),
                      "--ssl_config_file"));
    }
    if (rest) {
        enum tls_protocols protocols = grpc && shared ? TLS_HTTP2_OR_1 : TLS_HTTP1;
        watch(security, "--rest_ssl_config_file", options->rest_ssl_config_file, reload_rest);
        TRY(status_in(ssl_config_load(options->rest_ssl_config_file, protocols, security->budget,
                                      &security->rest_tls),
                      "--rest_ssl_config_file"));
    }
    return status_ok();
}

struct status security_create(const struct server_options *options, struct budget *budget,
                              struct security *out)
{
    out->options = options;
    out->budget = budget;
    TRY(load_tls(out));
    if (is_given(options->auth_token_file)) {
        watch(out, "--auth_token_file", options->auth_token_file, reload_tokens);
        TRY(status_in(auth_create(options->auth_token_file, &out->auth), "--auth_token_file"));
    }
    return out->files_count == 0 ? status_ok()
                                 : file_watcher_create(out->files, out->files_count,
                                                       clock_monotonic(), &out->watcher);
}

void security_destroy(struct security *security)
{
    file_watcher_destroy(security->watcher);
    tls_destroy(security->grpc_tls);
    tls_destroy(security->rest_tls);
    auth_destroy(security->auth);
}

struct transport_maker *security_grpc(const struct security *security)
{
    return security->grpc_tls != NULL ? tls_maker(security->grpc_tls) : NULL;
}

struct transport_maker *security_rest(const struct security *security)
{
    return security->rest_tls != NULL ? tls_maker(security->rest_tls) : NULL;
}
