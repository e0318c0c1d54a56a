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

static inline void assert_same_file(const char *a, const char *b)
{
    struct buffer x = { 0 }, y = { 0 };
    assert_ok(file_read(a, 0, &x));
    assert_ok(file_read(b, 0, &y));
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    buffer_finish(&x);
    buffer_finish(&y);
}

#define TEST_IN_DIRECTORY(name) \
    cmocka_unit_test_setup_teardown(name, directory_setup, directory_teardown)

#endif
