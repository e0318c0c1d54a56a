/*
 * session_config: TensorFlow's ConfigProto, of which only the number of threads has an effect here.
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
 * Reads the message. Any value of inter_op_parallelism_threads is accepted: the ops of a run are
 * computed one after the other.
 *
 * Errors  UNIMPLEMENTED a field for an unsupported feature, by name
 */
struct status session_config_read(const Tensorflow__ConfigProto *message,
                                  struct session_config *out);

/* Reads the file of --tensorflow_session_config_file. INVALID_ARGUMENT: it does not parse. */
struct status session_config_load(const char *path, struct session_config *out);

#endif
