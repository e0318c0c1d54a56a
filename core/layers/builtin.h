/*
 * builtin: the descriptions of models/, compiled in, so that the programs work from anywhere.
 * builtin_models is made by builtin.cmake. Internal to layers/.
 */
#ifndef LAYERS_BUILTIN_H
#define LAYERS_BUILTIN_H

#include "base/bytes.h"

/* By name; ended by a row of NULL. */
struct builtin_model {
    const char *name;
    struct bytes json;
};
extern const struct builtin_model builtin_models[];

#endif
