/*
 * session_config: TensorFlow's ConfigProto, of which the number of threads counts here.
 */
#ifndef SERVER_CONFIG_SESSION_CONFIG_H
#define SERVER_CONFIG_SESSION_CONFIG_H

#include <stdint.h>

#include "base/status.h"
#include "proto/session_config.pb-c.h"

struct session_config {
    int32_t intra_op_threads; /* for parallel_set_width; 0 or less: every core */
};

/**
 * Reads the message. Any value of inter_op_parallelism_threads is met: the ops of a run are
 * computed one after another.
 *
 * Errors  UNIMPLEMENTED a field that asks for what this server does not do, with its name
 */
struct status session_config_read(const Tensorflow__ConfigProto *message,
                                  struct session_config *out);

/* Reads the file of --tensorflow_session_config_file. INVALID_ARGUMENT: it is not such a text. */
struct status session_config_load(const char *path, struct session_config *out);

#endif
