#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/command.h"

static int ran_with;

static struct status count_arguments(int argc, char **argv)
{
    assert_string_equal(argv[0], "count");
    ran_with = argc;
    return status_ok();
}

static struct status refuse(int argc, char **argv)
{
    (void)argc, (void)argv;
    return command_usage("--%s is wrong", "x");
}

static struct status break_down(int argc, char **argv)
{
    (void)argc, (void)argv;
    return status_error(STATUS_UNAVAILABLE, "nobody there");
}

/* Fails with a usage error and recovers from it. */
static struct status recover(int argc, char **argv)
{
    status_ignore(command_usage("ignored"));
    return command_line_fault(break_down(argc, argv).code == STATUS_UNAVAILABLE
                                  ? status_ok()
                                  : status_error(STATUS_INTERNAL, "?"));
}

static struct status choose_exit(int argc, char **argv)
{
    (void)argc, (void)argv;
    command_exit_with(138);
    return status_ok();
}

static const struct command rows[] = {
    { "count", count_arguments, "counts its arguments" },
    { "refuse", refuse, "is never content" },
    { "break", break_down, "fails" },
    { "recover", recover, "fails and recovers" },
    { "exit", choose_exit, "ends with a status of its own" },
};
static const struct command_set set = { .program = "program",
                                        .arguments = "[flags] DIR",
                                        .purpose = "Does what its commands do.",
                                        .rows = rows,
                                        .count = COUNT(rows) };

static int work_without_a_command(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "--help") == 0 ? 40 : 30 + argc;
}

static const struct command_set working_set = { .program = "program",
                                                .arguments = "[flags]",
                                                .rows = rows,
                                                .count = COUNT(rows),
                                                .otherwise = work_without_a_command };

/* The output of the command. */
static struct {
    char out[1024], err[1024];
} printed;

static void redirect(FILE *stream, FILE *file, int *kept)
{
    fflush(stream);
    *kept = dup(fileno(stream));
    assert_true(dup2(fileno(file), fileno(stream)) >= 0);
}

static void restore(FILE *stream, FILE *file, int kept, char *text, size_t size)
{
    fflush(stream);
    dup2(kept, fileno(stream));
    close(kept);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static int call(const struct command_set *called, int argc, char **argv)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int kept_out, kept_err;
    assert_non_null(out);
    assert_non_null(err);
    redirect(stdout, out, &kept_out);
    redirect(stderr, err, &kept_err);
    int code = command_main(called, argc, argv);
    restore(stdout, out, kept_out, printed.out, sizeof printed.out);
    restore(stderr, err, kept_err, printed.err, sizeof printed.err);
    return code;
}

#define CALL_OF(set, ...)                                                \
    call(set, (int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *)), \
         (char *[]){ __VA_ARGS__, NULL })
#define CALL(...) CALL_OF(&set, __VA_ARGS__)

static void runs_the_command_with_its_own_arguments(void **state)
{
    (void)state;
    assert_int_equal(CALL("program", "count", "a", "--b"), 0);
    assert_int_equal(ran_with, 3);
    assert_string_equal(printed.out, "");
    assert_string_equal(printed.err, "");
}

static void a_failure_ends_with_1_and_a_wrong_command_line_with_2(void **state)
{
    (void)state;
    assert_int_equal(CALL("program", "break"), 1);
    assert_string_equal(printed.err, "program: nobody there\n");
    assert_int_equal(CALL("program", "refuse"), 2);
    assert_string_equal(printed.err, "program: --x is wrong\n");
    assert_true(command_line_is_wrong());
    assert_int_equal(CALL("program", "break"), 1);
    assert_int_equal(CALL("program", "recover"), 0);
}

static void lists_the_commands(void **state)
{
    (void)state;
    assert_int_equal(CALL("program", "--help"), 0);
    assert_non_null(strstr(printed.out,
                           "usage: program COMMAND [flags] DIR\n\nDoes what its commands do.\n\n"));
    assert_non_null(strstr(printed.out, "  count    counts its arguments\n"));
    assert_int_equal(CALL("program", "--version"), 0);
    assert_string_equal(printed.out, "program " SLIPWAY_VERSION "\n");
}

static void names_an_unknown_command(void **state)
{
    (void)state;
    assert_int_equal(CALL("program", "launch"), 2);
    assert_non_null(strstr(printed.err, "program: unknown command 'launch'\nusage: "));
    assert_string_equal(printed.out, "");
    assert_int_equal(CALL("program"), 2);
    assert_null(strstr(printed.err, "unknown"));
}

static void a_command_may_choose_its_exit_status(void **state)
{
    (void)state;
    assert_int_equal(CALL("program", "exit"), 138);
    assert_int_equal(CALL("program", "count"), 0);
}

static void without_a_command_the_main_work_is_done(void **state)
{
    (void)state;
    assert_int_equal(CALL_OF(&working_set, "program"), 31);
    assert_int_equal(CALL_OF(&working_set, "program", "other", "x"), 33);
    assert_int_equal(CALL_OF(&working_set, "program", "--help"), 40);
    assert_int_equal(CALL_OF(&working_set, "program", "count"), 0);
}

static void a_word_is_a_directory_if_it_has_a_slash_or_exists(void **state)
{
    (void)state;
    assert_true(status_is_ok(command_check_directory(&set, "./new")));
    assert_true(status_is_ok(command_check_directory(&set, "/tmp/new")));
    assert_true(status_is_ok(command_check_directory(&set, ".")));
    struct status status = command_check_directory(&set, "brake");
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message,
                        "'brake' is none of the commands count, refuse, break, recover, exit, and "
                        "no directory of this name exists; ./brake is a new one");
    assert_non_null(strstr(command_check_directory(&set, "break").message, "'break' comes first"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_the_command_with_its_own_arguments),
        cmocka_unit_test(a_failure_ends_with_1_and_a_wrong_command_line_with_2),
        cmocka_unit_test(lists_the_commands),
        cmocka_unit_test(names_an_unknown_command),
        cmocka_unit_test(a_command_may_choose_its_exit_status),
        cmocka_unit_test(without_a_command_the_main_work_is_done),
        cmocka_unit_test(a_word_is_a_directory_if_it_has_a_slash_or_exists),
    };
    return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
