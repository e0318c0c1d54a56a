#include "server/grpc/ssl_config.h"

#include "base/file.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20)

static struct tls_pem pem(const char *text, const char *name)
{
    return text[0] == '\0' ? (struct tls_pem){ 0 } : (struct tls_pem){ .text = text, .name = name };
}

static struct status load(const char *path, struct arena *arena, struct buffer *text,
                          struct tls **out)
{
    Tensorflow__Serving__SSLConfig *config;
    TRY(file_read(path, CONFIG_BYTES_MAX, text));
    struct bytes bytes = { text->data, text->size };
    TRY(status_in(
        proto_text_read(&tensorflow__serving__sslconfig__descriptor, bytes, 0, arena, &config),
        "Invalid protobuf file: '%s'", path));
    struct tls_options options = { .cert = pem(config->server_cert, "server_cert"),
                                   .key = pem(config->server_key, "server_key"),
                                   .ca = pem(config->custom_ca, "custom_ca"),
                                   .verify_client = config->client_verify };
    return status_in(tls_server_create(&options, out), "--ssl_config_file=%s", path);
}

struct status ssl_config_load(const char *path, struct tls **out)
{
    struct arena *arena = arena_create(16 * CONFIG_BYTES_MAX);
    struct buffer text = { 0 };
    struct status status = load(path, arena, &text, out);
    buffer_finish(&text);
    arena_destroy(arena);
    return status;
}
