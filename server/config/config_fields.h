/*
 * config_fields: refuses configurations that request unsupported features. A table lists the fields
 * that are implemented or that request the actual behaviour; every other field that is set is
 * refused by name.
 */
#ifndef SERVER_CONFIG_CONFIG_FIELDS_H
#define SERVER_CONFIG_CONFIG_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define FIELD_ANY INT64_MIN

struct config_field {
    const char *path;    /* such as "gpu_options.allow_growth"; for a message, all its fields */
    int64_t value;       /* the only integer, bool or enum value that is accepted; or FIELD_ANY */
    const char *ignored; /* why the field has no effect here, for the log; NULL: it has an
                          * effect, or requests the actual behaviour */
};

/**
 * Checks the set fields of a protobuf-c message, and logs those that have no effect.
 *
 * Errors  UNIMPLEMENTED a field without a row, or with another value than its row's
 */
struct status config_fields_check(const void *message, const struct config_field *rows,
                                  size_t count);

#endif
