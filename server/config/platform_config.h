/*
 * platform_config: the file of --platform_config_file, which replaces the flags for loading and
 * running models of the platform "tensorflow".
 *
 *     platform_configs { key: "tensorflow" value { source_adapter_config {
 *       [type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] {
 *         legacy_config { batching_parameters { max_batch_size { value: 32 } } } } } } }
 */
#ifndef SERVER_CONFIG_PLATFORM_CONFIG_H
#define SERVER_CONFIG_PLATFORM_CONFIG_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "server/config/session_config.h"
#include "server/models/batching.h"

struct platform_config {
    struct session_config session;
    bool enable_batching; /* with `batching` */
    bool enable_per_model_batching_parameters;
    struct batching batching;
    const char *saved_model_tags; /* separated by commas */
    bool enable_model_warmup;
    int32_t num_request_iterations_for_warmup;
};

/**
 * Parses the text. A missing field has TensorFlow Serving's default, even if the flag's default
 * differs: no batches, and no warm-up.
 *
 * Owner   the result lives in `arena`
 * Errors  INVALID_ARGUMENT it does not parse, or has no configuration for the platform
 *         "tensorflow";
 *         UNIMPLEMENTED a field for an unsupported feature, or another platform
 */
struct status platform_config_read(struct bytes text, struct arena *arena,
                                   struct platform_config *out);

/* The same for a file. */
struct status platform_config_load(const char *path, struct arena *arena,
                                   struct platform_config *out);

#endif
