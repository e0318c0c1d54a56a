/*
 * test_group: a group of tests, some of which are made from the rows of a table, one from each row.
 * Such a test is named by a member of the row, and its state is the row.
 *
 *     struct test_group group = { 0 };
 *
 *     ADD_TESTS(&group, plain);
 *     ADD_ROWS(&group, refusals, label, is_refused);
 *     return test_group_run(&group, "host list", set_up, tear_down);
 *
 * Include <cmocka.h> first.
 */
#ifndef SUPPORT_TEST_GROUP_H
#define SUPPORT_TEST_GROUP_H

#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/status.h"

struct test_group {
    struct CMUnitTest *tests;
    size_t count;
};

static inline void test_group_add(struct test_group *group, struct CMUnitTest test)
{
    group->tests = xrealloc(group->tests, (group->count + 1) * sizeof test);
    group->tests[group->count++] = test;
}

/* Both fixtures of the group may be NULL. */
static inline int test_group_run(struct test_group *group, const char *name,
                                 CMFixtureFunction before, CMFixtureFunction after)
{
    int failed = _cmocka_run_group_tests(name, group->tests, group->count, before, after);

    free(group->tests);
    return failed;
}

#define ADD_TESTS(group, list)                               \
    do {                                                     \
        for (size_t test_ = 0; test_ < COUNT(list); test_++) \
            test_group_add(group, (list)[test_]);            \
    } while (0)

/* The fixtures are those of each test. */
#define ADD_ROWS_WITH(group, rows, label, test, set_up, tear_down)                           \
    do {                                                                                     \
        for (size_t row_ = 0; row_ < COUNT(rows); row_++)                                    \
            test_group_add(group,                                                            \
                           (struct CMUnitTest){ (rows)[row_].label, test, set_up, tear_down, \
                                                (void *)(uintptr_t) & (rows)[row_] });       \
    } while (0)

#define ADD_ROWS(group, rows, label, test) ADD_ROWS_WITH(group, rows, label, test, NULL, NULL)

#endif
