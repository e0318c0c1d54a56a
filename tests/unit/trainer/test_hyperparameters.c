#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "trainer/flags/hyperparameters.h"
#include "support/test_group.h"

static struct {
    int32_t batch_size;
    double rate;
    bool sync;
    const char *model, *hyperparameters;
} values;

static const struct flag rows[] = {
    { "batch_size", FLAG_INT32, &values.batch_size, "100", .help = "", .max = 1e6 },
    { "rate", FLAG_DOUBLE, &values.rate, "0", .help = "" },
    { "sync", FLAG_BOOL, &values.sync, "false", .help = "" },
    { "model", FLAG_TEXT, &values.model, "softmax", .help = "" },
    { "hyperparameters", FLAG_TEXT, &values.hyperparameters, "", .help = "" },
};
static const struct flag_set flags = { "", rows, COUNT(rows) };

static char path[] = "/tmp/slipway-hyper-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);

    return file < 0 || close(file) != 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* The words of a line, in which FILE stands for the file. */
static struct status read_line(const char *json, const char *line, struct arena *arena,
                               const char **shown, int *positional)
{
    char *copy = arena_strdup(arena, line), **argv = ARENA_ARRAY(arena, char *, 16);
    int argc = 1;

    assert_true(status_is_ok(file_write(path, (struct bytes){ json, strlen(json) })));
    argv[0] = arena_strdup(arena, "pstrain");
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "FILE") == 0 ? path
                       : strncmp(word, "--hyperparameters=", 18) == 0
                           ? arena_printf(arena, "--hyperparameters=%s", path)
                           : word;
    TRY(hyperparameters_insert(&flags, &argc, &argv, arena, shown));
    return flags_parse(&flags, argc, argv, positional);
}

static void takes_values_and_the_command_line_wins(void **state)
{
    static const char json[] =
        "{\"batch_size\": 32, \"rate\": 0.125, \"sync\": true, \"model\": \"a b\"}";
    struct arena *arena = arena_create(0);
    const char *shown;
    int positional;
    (void)state;

    assert_true(status_is_ok(
        read_line(json, "dir --batch_size=64 --hyperparameters=", arena, &shown, &positional)));
    assert_int_equal(values.batch_size, 64);
    assert_true(values.rate == 0.125 && values.sync);
    assert_string_equal(values.model, "a b");
    assert_int_equal(positional, 1);
    assert_string_equal(shown, "batch_size=32 rate=0.125 sync=true model=a b");
    assert_true(status_is_ok(
        read_line(json, "--hyperparameters FILE --nosync", arena, &shown, &positional)));
    assert_false(values.sync);
    assert_int_equal(values.batch_size, 32);
    assert_true(status_is_ok(read_line(json, "--batch_size=1", arena, &shown, &positional)));
    assert_string_equal(shown, "");
    assert_false(values.sync);
    arena_destroy(arena);
}

static const struct refusal {
    const char *label, *json, *words;
} refusals[] = {
    { "an unknown key", "{\"batchsize\": 1}", "'batchsize' is no flag" },
    { "itself", "{\"hyperparameters\": \"x\"}", "'hyperparameters' is no flag" },
    { "a list", "{\"rate\": [1]}", "'rate' is a list" },
    { "null", "{\"rate\": null}", "'rate' is null" },
    { "no object", "[1]", "expected an object" },
    { "a value out of range", "{\"batch_size\": 10000000}", "batch_size" },
    { "a value of another kind", "{\"batch_size\": \"many\"}", "batch_size" },
    { "a key twice", "{\"rate\": 1, \"rate\": 2}", "rate" },
    { "no JSON", "rate: 1", path },
};

static void refuses(void **state)
{
    const struct refusal *refusal = *state;
    struct arena *arena = arena_create(0);
    const char *shown;
    int positional;
    struct status status =
        read_line(refusal->json, "--hyperparameters=", arena, &shown, &positional);

    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    if (strstr(status.message, refusal->words) == NULL)
        fail_msg("%s", status.message);
    arena_destroy(arena);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    char *words[] = { "pstrain", "--hyperparameters=/none/such.json", NULL }, **argv = words;
    struct arena *arena = arena_create(0);
    const char *shown;
    int argc = 2;
    (void)state;

    struct status status = hyperparameters_insert(&flags, &argc, &argv, arena, &shown);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, "/none/such.json"));
    arena_destroy(arena);
}

/* The flags beside a wrong one may tell the other tasks of the job. */
static void inserts_the_flags_beside_a_wrong_one(void **state)
{
    static const char json[] = "{\"batch_size\": 32, \"rat\": 1, \"model\": \"a\", \"sync\": []}";
    char program[] = "pstrain", word[] = "--hyperparameters", *given[] = { program, word, path };
    struct arena *arena = arena_create(0);
    const char *shown;
    char **argv = given;
    int argc = COUNT(given);
    (void)state;

    assert_true(status_is_ok(file_write(path, bytes_of(json))));
    struct status status = hyperparameters_insert(&flags, &argc, &argv, arena, &shown);
    assert_non_null(strstr(status.message, "'rat' is no flag"));
    assert_int_equal(argc, 5);
    assert_string_equal(argv[1], "--batch_size=32");
    assert_string_equal(argv[2], "--model=a");
    assert_string_equal(argv[3], word);
    assert_string_equal(shown, "batch_size=32 model=a");
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(takes_values_and_the_command_line_wins),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(inserts_the_flags_beside_a_wrong_one),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refusals, label, refuses);
    return test_group_run(&group, "hyperparameters", make_file, remove_file);
}
