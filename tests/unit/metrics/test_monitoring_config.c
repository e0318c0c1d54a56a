#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/metrics/monitoring_config.h"
#include "support/test_group.h"

static const struct row {
    const char *label, *text;
    const char *path;  /* NULL: off, or an error */
    const char *error; /* a part of it; NULL: there is none */
} rows[] = {
    { "enabled", "prometheus_config { enable: true path: \"/m/x\" }", "/m/x", NULL },
    { "the default path", "prometheus_config: < enable: true >  # on", MONITORING_PATH, NULL },
    { "not enabled", "prometheus_config { path: \"/m\" }", NULL, NULL },
    { "disabled", "prometheus_config { enable: false path: 'not a path' }", NULL, NULL },
    { "empty", "", NULL, NULL },
    { "an unknown field", "prometheus_config { port: 9090 }", NULL,
      "Error parsing text-format tensorflow.serving.MonitoringConfig: 1:21: " },
    { "no message", "prometheus_config", NULL,
      "Error parsing text-format tensorflow.serving.MonitoringConfig" },
    { "a path without a slash", "prometheus_config { enable: true path: \"metrics\" }", NULL,
      "path \"metrics\" is not the path of a URL" },
    { "a path with a query", "prometheus_config { enable: true path: \"/m?x\" }", NULL,
      "path \"/m?x\" is not the path of a URL" },
};

static void reads_the_config(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    const char *path = NULL;
    struct status status = monitoring_config_read(bytes_of(row->text), arena, &path);
    if (row->error != NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, row->error) == NULL)
            fail_msg("got: %s", status.message);
    } else {
        assert_string_equal(status.message, "");
        if (row->path == NULL)
            assert_null(path);
        else
            assert_string_equal(path, row->path);
    }
    arena_destroy(arena);
}

static void names_a_file_that_is_missing(void **state)
{
    struct arena *arena = arena_create(0);
    const char *path;
    (void)state;
    struct status status = monitoring_config_load("/nowhere/m.config", arena, &path);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, "/nowhere/m.config"));
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = { cmocka_unit_test(names_a_file_that_is_missing) };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, reads_the_config);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "monitoring config", NULL, NULL);
}
