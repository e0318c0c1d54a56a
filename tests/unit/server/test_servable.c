#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "server/servable.h"

/* What was measured, and what a run of `rows` may then cost. */
static const struct row {
    const char *label;
    struct {
        int64_t rows, took_ns;
    } measured[2];
    int64_t rows;
    uint32_t cost_ns;
} cases[] = {
    { "nothing is known", { { 0 } }, 1, 0 },
    { "that size", { { 1, 500 } }, 1, 500 },
    { "the sizes up to the next power of two are one", { { 7, 800 } }, 8, 800 },
    { "a smaller one: as many times as dear", { { 2, 1000 } }, 16, 8000 },
    { "more than the largest", { { 64, 6400 } }, 128, 12800 },
    { "the nearest smaller one", { { 1, 900 }, { 4, 1000 } }, 8, 2000 },
    { "only a larger one, as of many calls at a time: its share", { { 64, 64000 } }, 1, 1000 },
    { "the nearest larger one", { { 64, 64000 }, { 8, 16000 } }, 2, 4000 },
    { "a smaller one before a larger one", { { 64, 64000 }, { 1, 3000 } }, 4, 12000 },
    { "hardly anything is not nothing", { { 64, 5 } }, 1, 1 },
    { "no overflow", { { 1, 3000000000 } }, 1000, UINT32_MAX },
};

static void costs_what_it_should(void **state)
{
    const struct row *row = *state;
    struct callable callable = { 0 };

    for (size_t i = 0; i < COUNT(row->measured); i++)
        if (row->measured[i].rows > 0)
            callable_measured(&callable, row->measured[i].rows, row->measured[i].took_ns);
    assert_int_equal(callable_cost_ns(&callable, row->rows), row->cost_ns);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(cases)];

    for (size_t i = 0; i < COUNT(cases); i++)
        tests[i] = (struct CMUnitTest){ .name = cases[i].label,
                                        .test_func = costs_what_it_should,
                                        .initial_state = (void *)(uintptr_t)&cases[i] };
    return cmocka_run_group_tests_name("servable", tests, NULL, NULL);
}
