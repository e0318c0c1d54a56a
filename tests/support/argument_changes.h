/*
 * The lines of the files that tests/golden/arguments/objects.py writes, for the tests that change
 * each argument of Keras' objects.
 */
#ifndef TESTS_ARGUMENT_CHANGES_H
#define TESTS_ARGUMENT_CHANGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* An object as Keras prints it, and one that differs in the argument. */
struct change {
    char *kind, *class, *argument, *object, *other;
};

/* What a description becomes. */
struct outcome {
    bool refused;
    uint64_t hash;
    char message[400]; /* if refused */
};

static inline uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    return hash;
}

static inline bool read_change(char *line, struct change *out)
{
    char **fields[] = { &out->kind, &out->class, &out->argument, &out->object, &out->other };
    char *rest = line;

    for (size_t i = 0; i < COUNT(fields); i++) {
        *fields[i] = strsep(&rest, "\t\n");
        if (*fields[i] == NULL)
            return false;
    }
    return true;
}

/* Asks `counts` about each change; it prints why one does not count. Returns how many do not. */
static inline int count_idle(const char *path, bool (*counts)(const struct change *change),
                             int *changes)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    int idle = 0;

    assert_non_null(file);
    for (*changes = 0; getline(&line, &capacity, file) > 0; ++*changes) {
        struct change change;
        assert_true(read_change(line, &change));
        idle += !counts(&change);
    }
    free(line);
    fclose(file);
    return idle;
}

#endif
