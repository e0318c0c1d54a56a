/*
 * compile_config: the flags for losses and metrics: --compile_config, a file with the output of
 * Keras' get_compile_config(), or --loss and --metrics instead.
 */
#ifndef TRAINER_OPTIONS_COMPILE_CONFIG_H
#define TRAINER_OPTIONS_COMPILE_CONFIG_H

#include "base/bytes.h"
#include "trainer/flags/option_flags.h"

/* Appends the JSON for layers_wrap. INVALID_ARGUMENT both are given, or a flag is not JSON;
 * errors of reading the file. */
struct status compile_config_read(const struct flag_values *flags, struct buffer *out);

/* The same without a loss in the flags: that of the export in `directory`, with its metrics unless
 * --metrics gives others. Appends nothing if the export does not tell it. */
struct status compile_config_read_export(const struct flag_values *flags, const char *directory,
                                         struct buffer *out);

/* Do the settings come from --loss and --metrics? See layers_body.has_flags. */
bool compile_config_is_flags(const struct flag_values *flags);

#endif
