/*
 * builtin: the descriptions of models/, compiled into the programs. builtin.cmake generates
 * builtin_models. Internal to layers/.
 */
#ifndef LAYERS_BUILTIN_H
#define LAYERS_BUILTIN_H

#include "base/bytes.h"

/* Looked up by name; the last row is all NULL. */
struct builtin_model {
    const char *name;
    struct bytes json;
};
extern const struct builtin_model builtin_models[];

#endif
