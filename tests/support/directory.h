/*
 * directory: a temporary directory for one test, and short names for its files.
 */
#ifndef SUPPORT_DIRECTORY_H
#define SUPPORT_DIRECTORY_H

#include <stdlib.h>

#include "base/file.h"
#include "support/arena.h"
#include "support/status.h"

static char *directory;

static inline const char *in(const char *name)
{
    return file_join(arena, directory, name);
}

static inline int directory_setup(void **state)
{
    arena_setup(state);
    directory = arena_strdup(arena, "/tmp/slipway_test_XXXXXX");
    return mkdtemp(directory) == NULL;
}

static inline int directory_teardown(void **state)
{
    struct status status = file_remove_tree(directory);
    bool left = file_exists(directory);
    arena_teardown(state);
    return !status_is_ok(status) || left;
}

#define TEST_IN_DIRECTORY(name) \
    cmocka_unit_test_setup_teardown(name, directory_setup, directory_teardown)

#endif
