#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "support/directory.h"
#include "trainer/report/metrics_log.h"

static const float half = .5, one = 1;
static int warnings;
static char warned[1024];

static void take_warning(void *context, const char *text)
{
    (void)context;
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

static struct metrics_log *open_log(struct clock *clock, const char *file, const char *directory_)
{
    struct metrics_log *log;
    struct metrics_log_options options = { .file = file,
                                           .directory = directory_,
                                           .trains = true,
                                           .every_steps = 100,
                                           .last_step = 250,
                                           .rows_per_step = 20,
                                           .clock = clock,
                                           .warn = take_warning };

    assert_ok(metrics_log_open(&options, &log));
    return log;
}

/* The lines without what is between ,"time": and ,"step": */
static const char *lines_of(const char *path)
{
    struct buffer file = { 0 };

    assert_ok(file_read(path, 0, &file));
    buffer_append_char(&file, '\0');
    char *out = arena_strdup(arena, file.data), *at;
    buffer_finish(&file);
    while ((at = strstr(out, ",\"time\":1")) != NULL) {
        char *end = strstr(at, ",\"step\"");
        memmove(at, end, strlen(end) + 1);
    }
    return out;
}

static void lines_are_of_the_multiples_the_first_and_the_last(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_create(0);
    struct metrics_log *log = open_log(clock, in("m"), "");
    const uint64_t steps[] = { 1, 2, 99, 101, 150, 199, 200, 201, 250 };

    for (size_t i = 0; i < COUNT(steps); i++) {
        metrics_log_step(log, steps[i], &half, .01);
        clock_fake_advance(clock, NS_PER_S);
    }
    metrics_log_evaluation(log, "test", 250,
                           (struct event_scalar[]){ { "loss", .25 }, { "accuracy", NAN } }, 2);
    metrics_log_close(log);
    assert_string_equal(lines_of(in("m")),
                        "{\"kind\":\"train\",\"step\":1,\"loss\":0.5,\"learning_rate\":0.01}\n"
                        "{\"kind\":\"train\",\"step\":101,\"loss\":0.5,\"learning_rate\":0.01,"
                        "\"steps_per_second\":33.33333,\"examples_per_second\":666.6667}\n"
                        "{\"kind\":\"train\",\"step\":200,\"loss\":0.5,\"learning_rate\":0.01,"
                        "\"steps_per_second\":33,\"examples_per_second\":660}\n"
                        "{\"kind\":\"train\",\"step\":250,\"loss\":0.5,\"learning_rate\":0.01,"
                        "\"steps_per_second\":25,\"examples_per_second\":500}\n"
                        "{\"kind\":\"evaluation\",\"name\":\"test\",\"step\":250,\"loss\":0.25,"
                        "\"accuracy\":null}\n");
    assert_int_equal(warnings, 0);
    clock_fake_destroy(clock);
}

static void a_restart_appends_after_a_whole_line(void **state)
{
    (void)state;
    const char *line = "{\"kind\":\"train\",\"step\":7,\"loss\":1,\"learning_rate\":1}\n";

    assert_ok(file_write(in("m"), bytes_of("{\"half")));
    for (int i = 0; i < 2; i++) {
        struct metrics_log *log = open_log(clock_monotonic(), in("m"), "");
        metrics_log_step(log, 7, &one, 1);
        metrics_log_close(log);
    }
    assert_string_equal(lines_of(in("m")), arena_printf(arena, "{\"half\n%s%s", line, line));
}

static void a_step_back_has_a_line_without_a_rate(void **state)
{
    (void)state;
    struct metrics_log *log = open_log(clock_monotonic(), in("m"), "");

    metrics_log_step(log, 7, &one, 1);
    metrics_log_step(log, 5, &one, 1);
    metrics_log_step(log, 6, &one, 1);
    metrics_log_close(log);
    assert_non_null(strstr(lines_of(in("m")), "\"step\":5,\"loss\":1,\"learning_rate\":1}"));
    assert_null(strstr(lines_of(in("m")), "\"step\":6"));
}

/* Others made the steps 8 to 100, and then all others. */
static void a_line_without_a_step_of_ours_has_no_loss(void **state)
{
    (void)state;
    struct metrics_log *log = open_log(clock_monotonic(), in("m"), "");

    metrics_log_step(log, 1, &half, .01);
    metrics_log_step(log, 7, &one, .01);
    metrics_log_step(log, 100, NULL, .01);
    metrics_log_step(log, 250, NULL, .01);
    metrics_log_close(log);
    const char *lines = lines_of(in("m"));
    assert_non_null(strstr(lines, "\"step\":100,\"loss\":1,"));
    assert_non_null(strstr(lines, "\"step\":250,\"loss\":null,"));
}

static void shows_lines_after_a_second(void **state)
{
    (void)state;
    struct clock *clock = clock_fake_create(5 * NS_PER_S);
    struct metrics_log *log = open_log(clock, in("m"), in("logs"));

    metrics_log_show(log);
    metrics_log_step(log, 1, &half, .01);
    metrics_log_show(log);
    assert_string_equal(lines_of(in("m")), "");
    clock_fake_advance(clock, NS_PER_S);
    metrics_log_show(log);
    assert_non_null(strstr(lines_of(in("m")), "\"step\":1"));
    metrics_log_close(log);
    clock_fake_destroy(clock);
}

static void evaluations_have_directories_of_their_own(void **state)
{
    (void)state;
    struct metrics_log *log = open_log(clock_monotonic(), "", in("logs"));

    assert_false(file_exists(in("logs/eval")));
    metrics_log_evaluation(log, "test", 9, (struct event_scalar[]){ { "loss", 1 } }, 1);
    metrics_log_evaluation(log, "validation", 9, (struct event_scalar[]){ { "loss", 1 } }, 1);
    assert_true(file_exists(in("logs/eval")));
    assert_true(file_exists(in("logs/eval_validation")));
    metrics_log_close(log);
}

static void a_full_disk_is_one_warning(void **state)
{
    (void)state;
    struct rlimit before, none = { 0, 0 };
    struct metrics_log *log = open_log(clock_monotonic(), in("m"), "");

    warnings = 0;
    getrlimit(RLIMIT_FSIZE, &before);
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    metrics_log_step(log, 1, &one, 1);
    metrics_log_show(log);
    setrlimit(RLIMIT_FSIZE, &before);
    metrics_log_step(log, 100, &one, 1);
    metrics_log_close(log);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(warned, "--metrics_file: write"));
    warnings = 0;
}

static void what_cannot_be_opened_is_named(void **state)
{
    (void)state;
    struct metrics_log *log;
    struct metrics_log_options options = { .file = in("no/m"), .directory = "", .trains = true };

    assert_fails_naming(metrics_log_open(&options, &log), STATUS_NOT_FOUND, "--metrics_file: open");
    assert_ok(file_write(in("f"), bytes_of("x")));
    options.file = "";
    options.directory = in("f/d");
    struct status status = metrics_log_open(&options, &log);
    assert_false(status_is_ok(status));
    assert_non_null(strstr(status.message, "--log_dir: "));
    assert_null(log);
    metrics_log_step(log, 1, &one, 1); /* no log: nothing happens */
    metrics_log_evaluation(log, "test", 1, NULL, 0);
    metrics_log_show(log);
    metrics_log_close(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(lines_are_of_the_multiples_the_first_and_the_last),
        TEST_IN_DIRECTORY(a_restart_appends_after_a_whole_line),
        TEST_IN_DIRECTORY(a_step_back_has_a_line_without_a_rate),
        TEST_IN_DIRECTORY(a_line_without_a_step_of_ours_has_no_loss),
        TEST_IN_DIRECTORY(shows_lines_after_a_second),
        TEST_IN_DIRECTORY(evaluations_have_directories_of_their_own),
        TEST_IN_DIRECTORY(a_full_disk_is_one_warning),
        TEST_IN_DIRECTORY(what_cannot_be_opened_is_named),
    };
    return cmocka_run_group_tests_name("metrics_log", tests, NULL, NULL);
}
