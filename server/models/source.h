/*
 * source: the versions that a base path holds: its entries whose names are whole numbers, as
 * FileSystemStoragePathSource of TensorFlow Serving reads them.
 */
#ifndef SERVER_MODELS_SOURCE_H
#define SERVER_MODELS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct source_version {
    int64_t number;
    char *directory; /* the base path and the name as it is spelled there */
};

struct source_versions {
    struct source_version *items; /* ascending, each number once */
    size_t count;
    bool is_version; /* there is none, because the base path holds a model itself */
    char *doubled;   /* a text about names that spell one number; NULL: there are none */
};
void source_versions_finish(struct source_versions *versions);

struct version_source {
    /* Lists the versions. If several names spell one number, the one that sorts last counts.
     * Errors: of reading the base path. */
    struct status (*scan)(const char *base_path, struct source_versions *out);
    /* A number that changes when files of a version are added, removed, resized, rewritten, or get
     * other permissions. */
    uint64_t (*fingerprint)(const char *directory);
    /* The bytes of the graph and of the variables: the least memory that the version takes. */
    uint64_t (*bytes)(const char *directory);
};
extern const struct version_source source_disk;

#endif
