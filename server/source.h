/*
 * source: the versions that a base path holds: sub-directories whose names are whole numbers
 * (serving-api.md §11.1).
 */
#ifndef SERVER_SOURCE_H
#define SERVER_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct source_version {
    int64_t number;
    char *directory; /* base path and name, as it is spelled there */
};

struct source_versions {
    struct source_version *items; /* ascending, each number once */
    size_t count;
};

/* Errors: of opening the base path. Of two spellings of a number the one that sorts later counts.
 */
struct status source_scan(const char *base_path, struct source_versions *out);
void source_versions_finish(struct source_versions *versions);

/* Does the directory hold a model, instead of directories that do? */
bool source_is_version(const char *directory);

/* A number that changes when files of a version come, go, grow or are written anew. */
uint64_t source_fingerprint(const char *directory);

#endif
