/*
 * settings: the effective settings, from the flags and the files that they name. They are read
 * before the server starts anything.
 */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "base/arena.h"
#include "server/config/session_config.h"
#include "server/models/batching.h"
#include "server/options.h"

struct settings {
    struct batching batching; /* if --enable_batching */
    struct session_config session;
    const char *monitoring_path; /* NULL: TensorFlow Serving's metrics are not served */
};

/**
 * Checks flags against each other, and reads the files. The fields of --platform_config_file
 * replace flags in `options`. Logs warnings about flags that have no effect.
 *
 * Owner   texts live in `arena`
 * Errors  INVALID_ARGUMENT flags that exclude each other, a file with wrong fields, with
 *         TensorFlow Serving's texts where it has them; NOT_FOUND and others: a file that cannot
 *         be read
 */
struct status settings_read(struct server_options *options, struct arena *arena,
                            struct settings *out);

/* The number of cores that runs may use; 0: all. Flags take precedence over
 * --tensorflow_session_config_file, and the file over TF_NUM_INTRAOP_THREADS of the environment. */
int settings_width(const struct server_options *options, const struct settings *settings);

#endif
