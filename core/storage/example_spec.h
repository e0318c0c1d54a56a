/*
 * example_spec: the types and functions that example.c shares with example_parse.c.
 */
#ifndef STORAGE_EXAMPLE_SPEC_H
#define STORAGE_EXAMPLE_SPEC_H

#include "base/map.h"
#include "storage/example.h"

struct example_column {
    struct example_feature feature;
    bool variable;    /* dense with a first dimension of -1 */
    int64_t elements; /* dense: of one example; variable: of one step of the first dimension */
    int place;        /* index among the features of its form */
};

struct example_spec {
    struct example_column *columns;
    int columns_count;
    int form_counts[3];
    struct map by_key; /* -> struct example_column */
};

#endif
