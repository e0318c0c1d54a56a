#include "server/config/ssl_config.h"

#include <string.h>

#include "base/file.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20)

static struct tls_pem pem(const char *text, const char *name)
{
    return text[0] == '\0' ? (struct tls_pem){ 0 } : (struct tls_pem){ .text = text, .name = name };
}

/* Reads the file and hands its contents over. */
static struct status read_options(const char *path, struct arena *arena, struct buffer *text,
                                  struct tls_options *out)
{
    Tensorflow__Serving__SSLConfig *config;
    TRY(file_read(path, CONFIG_BYTES_MAX, text));
    struct bytes bytes = { text->data, text->size };
    TRY(status_in(proto_text_read(&tensorflow__serving__sslconfig__descriptor, bytes,
                                  PROTO_TEXT_CHECK_UTF8, arena, &config),
                  "Invalid protobuf file: '%s'", path));
    *out = (struct tls_options){ .cert = pem(config->server_cert, "server_cert"),
                                 .key = pem(config->server_key, "server_key"),
                                 .ca = pem(config->custom_ca, "custom_ca"),
                                 .verify_client = config->client_verify };
    return status_ok();
}

/* `tls` NULL: makes *out, which offers `protocols`; otherwise loads its new certificates. */
static struct status load(const char *path, enum tls_protocols protocols, struct budget *budget,
                          struct tls *tls, struct tls **out)
{
    struct arena *arena = arena_create(16 * CONFIG_BYTES_MAX);
    struct buffer text = { 0 };
    struct tls_options options;
    struct status status = read_options(path, arena, &text, &options);
    if (status_is_ok(status)) {
        options.protocols = protocols;
        options.budget = budget;
        status = status_in(tls != NULL ? tls_server_reload(tls, &options)
                                       : tls_server_create(&options, out),
                           "'%s'", path);
    }
    if (text.data != NULL)
        explicit_bzero(text.data, text.capacity); /* it has the private key */
    buffer_finish(&text);
    arena_destroy(arena);
    return status;
}

struct status ssl_config_load(const char *path, enum tls_protocols protocols, struct budget *budget,
                              struct tls **out)
{
    return load(path, protocols, budget, NULL, out);
}

struct status ssl_config_reload(const char *path, struct tls *tls)
{
    return load(path, TLS_HTTP2, NULL, tls, NULL);
}
