/* monitoring_config: reads --monitoring_config_file, a MonitoringConfig of TensorFlow Serving in
 * text format. */
#ifndef SERVER_METRICS_MONITORING_CONFIG_H
#define SERVER_METRICS_MONITORING_CONFIG_H

#include "base/arena.h"
#include "base/bytes.h"

#define MONITORING_PATH "/monitoring/prometheus/metrics"

/* `path`: the URL path of TensorFlow Serving's metrics, in `arena`; NULL: the configuration does
 * not enable them.
 *
 * Errors  those of reading the file; INVALID_ARGUMENT "Invalid protobuf file: '…'", a path that
 *         does not begin with '/' or that no request can have */
struct status monitoring_config_load(const char *file, struct arena *arena, const char **path);

/* The same for the text of a file. */
struct status monitoring_config_read(struct bytes text, struct arena *arena, const char **path);

#endif
