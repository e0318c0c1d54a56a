#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trainer/options/other_optimizers.h"
#include "support/test_group.h"

#define PATTERNS 2

/* Which of two patterns a variable of the model "net" gets. */
static const struct row {
    const char *label, *patterns[PATTERNS], *variable;
    int number;        /* 0: the job's own */
    const char *words; /* of the error; NULL: there is none */
} rows[] = {
    { "no pattern fits", { "dense", "dense/" }, "dense/kernel", 0, NULL },
    { "the whole name must fit", { "dense/.*", ".*/kern" }, "dense/kernel", 1, NULL },
    { "an alternative is whole as well",
      { "a|dense/kernel", "dense/k|b" },
      "dense/kernel",
      1,
      NULL },
    { "the name of the model in front", { "other/.*", "net/dense/.*" }, "dense/kernel", 2, NULL },
    { "the name itself comes first", { ".*kernel", "dense/kernel" }, "dense/kernel", 2, NULL },
    { "a name that is no expression", { "dense_[", "x" }, "dense/kernel", 0, "pattern 'dense_['" },
    { "two fit", { ".*", "dense.*" }, "dense/kernel", 0, "'.*' and 'dense.*' both fit" },
    { "a class of characters", { "dense_\\d+/.*", "x" }, "dense_1/kernel", 0, "that POSIX has" },
    { "a class in a set", { "dense_[\\d]", "x" }, "dense_1", 0, "that POSIX has" },
    { "a look ahead", { "(?!dense).*", "x" }, "dense/kernel", 0, "that POSIX has" },
    { "counted repeats", { "((a{1,99}){1,99}){1,99}", "x" }, "dense/kernel", 0, "without {}" },
    { "an escape at the end", { "dense\\", "x" }, "dense/kernel", 0, "that POSIX has" },
    { "an escaped point", { "dense\\.1/.*", "dense.1/bias" }, "dense.1/kernel", 1, NULL },
};

static void gives_the_variable_its_optimizer(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct layers_other_optimizer patterns[PATTERNS];
    struct client_job job = { .others_count = PATTERNS };

    for (int i = 0; i < PATTERNS; i++)
        patterns[i] = (struct layers_other_optimizer){ .pattern = row->patterns[i] };
    struct status status = other_optimizers_match(patterns, "net", &row->variable, 1, arena, &job);
    if (row->words != NULL) {
        assert_non_null(strstr(status.message, row->words));
    } else {
        assert_string_equal(status.message, "");
        assert_int_equal(job.optimizer_of[0], row->number);
    }
    arena_destroy(arena);
}

static void refuses_a_pattern_that_is_too_long(void **state)
{
    char pattern[4000];
    const char *name = "dense/kernel";
    struct arena *arena = arena_create(0);
    struct layers_other_optimizer patterns[] = { { .pattern = pattern } };
    struct client_job job = { .others_count = 1 };

    (void)state;
    memset(pattern, '(', sizeof pattern);
    pattern[sizeof pattern - 1] = '\0';
    struct status status = other_optimizers_match(patterns, "net", &name, 1, arena, &job);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(refuses_a_pattern_that_is_too_long),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, gives_the_variable_its_optimizer);
    return test_group_run(&group, "other optimizers", NULL, NULL);
}
