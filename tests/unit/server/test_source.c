#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/models/source.h"

static char base[] = "/tmp/slipway-source-XXXXXX";

static const char *const names[] = { "1",
                                     "00000042",
                                     "7",
                                     "007",
                                     "1700000000",
                                     "-3",
                                     "+5",
                                     " 9\t", /* versions */
                                     "x",
                                     "1x",
                                     "1.0",
                                     "8 8",
                                     "+-6",
                                     "- 6",
                                     " ", /* none */
                                     "99999999999999999999",
                                     ".hidden" };

static int set_up(void **state)
{
    char path[128];
    (void)state;
    assert_non_null(mkdtemp(base));
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", base, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    char path[128];
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", base, names[i]);
        rmdir(path);
    }
    return rmdir(base);
}

static void whole_numbers_are_versions_in_order(void **state)
{
    static const int64_t numbers[] = { -3, 1, 5, 7, 9, 42, 1700000000 };
    struct source_versions found;
    (void)state;
    assert_string_equal(source_disk.scan(base, &found).message, "");
    assert_int_equal(found.count, COUNT(numbers));
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_int_equal(found.items[i].number, numbers[i]);
    source_versions_finish(&found);
}

static void of_several_spellings_the_last_counts(void **state)
{
    struct source_versions found;
    (void)state;
    assert_string_equal(source_disk.scan(base, &found).message, "");
    assert_string_equal(strrchr(found.items[3].directory, '/'), "/7");
    source_versions_finish(&found);
}

static void a_path_that_is_not_there_is_named(void **state)
{
    struct source_versions found;
    (void)state;
    struct status status = source_disk.scan("/nowhere/models", &found);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, "'/nowhere/models'"));
}

/* A file that the server could not read has to count as changed when it can. */
static void a_change_of_permissions_is_a_change(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/1/saved_model.pb", base);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fchmod(fileno(file), 0), 0);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "%s/1", base);
    uint64_t before = source_disk.fingerprint(path);
    assert_true(source_disk.fingerprint(path) == before);
    snprintf(path, sizeof path, "%s/1/saved_model.pb", base);
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(path, sizeof path, "%s/1", base);
    assert_true(source_disk.fingerprint(path) != before);
    snprintf(path, sizeof path, "%s/1/saved_model.pb", base);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_versions_in_order),
        cmocka_unit_test(of_several_spellings_the_last_counts),
        cmocka_unit_test(a_path_that_is_not_there_is_named),
        cmocka_unit_test(a_change_of_permissions_is_a_change),
    };
    return cmocka_run_group_tests_name("source", tests, set_up, tear_down);
}
