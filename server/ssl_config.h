/*
 * ssl_config: --ssl_config_file, TensorFlow Serving's SSLConfig in text format (serving-api.md
 * §12.4): PEM contents, not names of files.
 */
#ifndef SERVER_SSL_CONFIG_H
#define SERVER_SSL_CONFIG_H

#include "rpc/tls.h"

/* Errors  of reading the file; INVALID_ARGUMENT "Invalid protobuf file: '…'"; tls_server_create's
 */
struct status ssl_config_load(const char *path, struct tls **out);

#endif
