/*
 * config_fields: checks that a configuration asks for nothing that this server does not do. A table
 * lists the fields that count here or ask for what is the case anyway; every other field that is
 * set is refused by its name.
 */
#ifndef SERVER_CONFIG_CONFIG_FIELDS_H
#define SERVER_CONFIG_CONFIG_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define FIELD_ANY INT64_MIN

struct config_field {
    const char *path;    /* such as "gpu_options.allow_growth"; of a message, all its fields */
    int64_t value;       /* the only integer, bool or enum value that is taken; or FIELD_ANY */
    const char *ignored; /* why the field has no effect here, for the log; NULL: it has, or asks for
                            what is the case */
};

/**
 * Checks the fields of a message of protobuf-c that are set, and logs those that have no effect.
 *
 * Errors  UNIMPLEMENTED a field that no row lists, or with another value than its row's
 */
struct status config_fields_check(const void *message, const struct config_field *rows,
                                  size_t count);

#endif
