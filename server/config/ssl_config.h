/* ssl_config: reads --ssl_config_file and --rest_ssl_config_file: an SSLConfig of TensorFlow
 * Serving in text format, which contains PEM texts rather than file names. */
#ifndef SERVER_CONFIG_SSL_CONFIG_H
#define SERVER_CONFIG_SSL_CONFIG_H

#include "rpc/tls.h"

/* Errors  those of reading the file; INVALID_ARGUMENT "Invalid protobuf file: '…'"; those of
 * tls_server_create */
struct status ssl_config_load(const char *path, enum tls_protocols protocols, struct budget *budget,
                              struct tls **out);
/* Loads the file again for new connections of `tls`, which a failure leaves unchanged. */
struct status ssl_config_reload(const char *path, struct tls *tls);

#endif
