/*
 * source: lists the versions in a base path: its entries whose names are integers, as in TensorFlow
 * Serving's FileSystemStoragePathSource.
 */
#ifndef SERVER_MODELS_SOURCE_H
#define SERVER_MODELS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct source_version {
    int64_t number;
    char *directory; /* the base path and the name as spelled there */
};

struct source_versions {
    struct source_version *items; /* ascending, each number once */
    size_t count;
    bool is_version; /* the base path has no versions, because it is itself a model */
    char *doubled;   /* a text about different names for one number; NULL: none */
};
void source_versions_finish(struct source_versions *versions);

struct version_source {
    /* Lists the versions. If several names are the same number, the one that sorts last counts.
     * Errors: of reading the base path. */
    struct status (*scan)(const char *base_path, struct source_versions *out);
    /* A number that changes when files of a version are added, removed, resized, rewritten, or
     * get other permissions. */
    uint64_t (*fingerprint)(const char *directory);
    /* The bytes of the graph and of the variables: a lower bound of the version's memory. */
    uint64_t (*bytes)(const char *directory);
};
extern const struct version_source source_disk;

#endif
