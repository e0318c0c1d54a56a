/*
 * compile_config: the flags that say what outputs are compared with: --compile_config, a file of
 * what Keras' get_compile_config() prints, or --loss and --metrics in its place.
 */
#ifndef TRAINER_OPTIONS_COMPILE_CONFIG_H
#define TRAINER_OPTIONS_COMPILE_CONFIG_H

#include "base/bytes.h"
#include "trainer/flags/option_flags.h"

/* Appends the JSON that layers_wrap reads. INVALID_ARGUMENT both are given, or a flag is not JSON;
 * those of reading the file. */
struct status compile_config_read(const struct flag_values *flags, struct buffer *out);

/* Are the settings of --loss and --metrics, as layers_body.has_flags says? */
bool compile_config_is_flags(const struct flag_values *flags);

#endif
