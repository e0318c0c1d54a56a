#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/flags.h"
#include "support/test_group.h"

static struct {
    int32_t port;
    int64_t big;
    double rate;
    bool sync, batch, help;
    const char *dir, *mode, *source, *file;
    struct flag_texts inputs;
} options;

static const struct flag rows[] = {
    { "port", FLAG_INT32, &options.port, "8501", .help = "REST port", .min = 0, .max = 65535 },
    { "big", FLAG_INT64, &options.big, "60000000", .help = "a 64-bit number" },
    { "rate", FLAG_DOUBLE, &options.rate, "0.5", .help = "a real number" },
    { "sync", FLAG_BOOL, &options.sync, "false", .help = "a switch" },
    { "batch", FLAG_BOOL, &options.batch, "true", .help = "a switch" },
    { "dir", FLAG_TEXT, &options.dir, "", .help = "a directory", .elsewhere = "folder moda" },
    { "mode", FLAG_TEXT, &options.mode, "sgd", .help = "an optimizer", .choices = "sgd adam" },
    { "source", FLAG_TEXT, &options.source, "", .help = "where data are", .filled = true },
    { "file", FLAG_PATH, &options.file, "", .help = "a path" },
    { "input", FLAG_TEXTS, &options.inputs, NULL, .help = "name=value" },
    HELP_FLAG(&options.help),
};
static const struct flag_set flags = { "usage: test [flags] [DIR]", rows, COUNT(rows) };

static char *arguments[16];
static int positional;

/* Parses the arguments in `line`, which spaces separate. */
static struct status parse(const char *line)
{
    static char copy[256];
    int argc = 0;
    snprintf(copy, sizeof copy, "test %s", line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
        arguments[argc++] = word;
    arguments[argc] = NULL;
    free(options.inputs.values);
    return flags_parse(&flags, argc, arguments, &positional);
}

static void no_arguments_leave_the_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse("").code, STATUS_OK);
    assert_int_equal(options.port, 8501);
    assert_int_equal(options.big, 60000000);
    assert_true(options.rate == 0.5);
    assert_false(options.sync);
    assert_true(options.batch);
    assert_string_equal(options.dir, "");
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_true(flag_is_default(&rows[i]));
}

static void both_forms_of_a_value_are_read(void **state)
{
    (void)state;
    assert_int_equal(parse("--port=80 --big -7 --rate 1e-3 --dir=a=b --mode adam").code, STATUS_OK);
    assert_int_equal(options.port, 80);
    assert_int_equal(options.big, -7);
    assert_true(options.rate == 1e-3);
    assert_string_equal(options.dir, "a=b");
    assert_string_equal(options.mode, "adam");
    assert_false(flag_is_default(flags_find(&flags, "mode")));
}

static void a_switch_is_turned_in_every_form(void **state)
{
    (void)state;
    assert_int_equal(parse("--sync --nobatch").code, STATUS_OK);
    assert_true(options.sync && !options.batch);
    assert_int_equal(parse("--sync --no_batch").code, STATUS_OK);
    assert_true(options.sync && !options.batch);
    assert_int_equal(parse("--sync=true --batch=false").code, STATUS_OK);
    assert_true(options.sync && !options.batch);
    assert_int_equal(parse("--sync --nosync").code, STATUS_OK);
    assert_false(options.sync);
    assert_int_equal(parse("-h").code, STATUS_OK);
    assert_true(options.help);
}

static void positional_arguments_move_to_the_front(void **state)
{
    (void)state;
    assert_int_equal(parse("one --port 1 two --sync three -- --four").code, STATUS_OK);
    assert_int_equal(positional, 4);
    assert_string_equal(arguments[1], "one");
    assert_string_equal(arguments[2], "two");
    assert_string_equal(arguments[3], "three");
    assert_string_equal(arguments[4], "--four");
}

static void a_list_collects_every_value(void **state)
{
    (void)state;
    assert_int_equal(parse("--input x=1 --input=y=2").code, STATUS_OK);
    assert_int_equal(options.inputs.count, 2);
    assert_string_equal(options.inputs.values[0], "x=1");
    assert_string_equal(options.inputs.values[1], "y=2");
}

static void uris_of_local_files_are_paths(void **state)
{
    (void)state;
    assert_int_equal(parse("--file=file:///m/1 --dir=file:///m/1").code, STATUS_OK);
    assert_string_equal(options.file, "/m/1");
    assert_string_equal(options.dir, "file:///m/1");
    assert_int_equal(parse("--file=").code, STATUS_OK);
    assert_true(flag_is_default(flags_find(&flags, "file")));
}

static void a_value_equal_to_the_default_counts_as_default(void **state)
{
    (void)state;
    assert_int_equal(parse("--rate=0.50 --port=8501 --big=1").code, STATUS_OK);
    assert_true(flag_is_default(flags_find(&flags, "rate")));
    assert_true(flag_is_default(flags_find(&flags, "port")));
    assert_false(flag_is_default(flags_find(&flags, "big")));
}

static const struct bad {
    const char *line;
    enum status_code code;
    const char *message;
} bads[] = {
    { "--nothing", STATUS_NOT_FOUND, "unknown argument: --nothing; --help lists what there is" },
    { "--moda=1", STATUS_NOT_FOUND, "unknown argument: --moda; did you mean --dir?" },
    { "--prot=1", STATUS_NOT_FOUND, "unknown argument: --prot; did you mean --port?" },
    { "--noport", STATUS_NOT_FOUND, "unknown argument: --noport; did you mean --port?" },
    { "-port=1", STATUS_NOT_FOUND, "unknown argument: -port; did you mean --port?" },
    { "-x", STATUS_NOT_FOUND, "unknown argument: -x; --help lists what there is" },
    { "--dir --port=1", STATUS_INVALID_ARGUMENT, "--dir has no value" },
    { "--port", STATUS_INVALID_ARGUMENT, "--port has no value" },
    { "--port=", STATUS_INVALID_ARGUMENT, "--port= has no value" },
    { "--source=", STATUS_INVALID_ARGUMENT, "--source: its value is empty" },
    { "--port=8x", STATUS_INVALID_ARGUMENT, "--port=8x: wants a whole number" },
    { "--port=99999", STATUS_INVALID_ARGUMENT, "--port=99999: wants a number from 0 to 65535" },
    { "--port=5000000000", STATUS_INVALID_ARGUMENT,
      "--port=5000000000: wants a number from 0 to 65535" },
    { "--big=99999999999999999999", STATUS_INVALID_ARGUMENT,
      "--big=99999999999999999999: wants a number from -9223372036854775808 to "
      "9223372036854775807" },
    { "--rate=nan", STATUS_INVALID_ARGUMENT, "--rate=nan: wants a number" },
    { "--sync=maybe", STATUS_INVALID_ARGUMENT, "--sync=maybe: wants true or false" },
    { "--mode=ada", STATUS_INVALID_ARGUMENT, "--mode=ada: wants one of: sgd adam" },
};

static void a_wrong_argument_is_named(void **state)
{
    const struct bad *bad = *state;
    struct status status = parse(bad->line);
    assert_int_equal(status.code, bad->code);
    assert_string_equal(status.message, bad->message);
}

static void help_lists_every_flag(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    flags_print_help(&flags, out);
    fclose(out);
    assert_ptr_equal(strstr(text, "usage: test [flags] [DIR]\n"), text);
    assert_non_null(strstr(text, "\nflags:\n"));
    assert_non_null(strstr(text, "  --port=8501\n      REST port\n"));
    assert_non_null(strstr(text, "  --[no]sync (false)\n  --[no]batch (true)\n      a switch\n"));
    assert_non_null(strstr(text, "  --mode=sgd   one of: sgd adam\n"));
    assert_non_null(strstr(text, "\n  --help\n      print this text and exit\n"));
    free(text);
}

static void a_group_ends_at_the_next_heading(void **state)
{
    (void)state;
    static bool on;
    static const struct flag grouped[] = {
        { "a", FLAG_BOOL, &on, "", .help = "", .group = "one" },
        { "b", FLAG_BOOL, &on, "", .help = "" },
        { "c", FLAG_BOOL, &on, "", .help = "", .group = "two" },
        { "d", FLAG_BOOL, &on, "", .help = "" },
        { "e", FLAG_BOOL, &on, "", .help = "", .group = "three" },
    };
    const struct flag_set all = { "usage", grouped, COUNT(grouped) };
    static const struct {
        const char *group;
        size_t first, count;
    } wanted[] = { { "one", 0, 2 }, { "two", 2, 2 }, { "three", 4, 1 }, { "four", 5, 0 } };

    for (size_t i = 0; i < COUNT(wanted); i++) {
        struct flag_set found = flags_group(&all, wanted[i].group);
        assert_ptr_equal(found.rows, grouped + wanted[i].first);
        assert_int_equal(found.count, wanted[i].count);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(no_arguments_leave_the_defaults),
        cmocka_unit_test(both_forms_of_a_value_are_read),
        cmocka_unit_test(a_switch_is_turned_in_every_form),
        cmocka_unit_test(positional_arguments_move_to_the_front),
        cmocka_unit_test(a_list_collects_every_value),
        cmocka_unit_test(uris_of_local_files_are_paths),
        cmocka_unit_test(a_value_equal_to_the_default_counts_as_default),
        cmocka_unit_test(help_lists_every_flag),
        cmocka_unit_test(a_group_ends_at_the_next_heading),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, bads, line, a_wrong_argument_is_named);
    int failed = test_group_run(&group, "flags", NULL, NULL);
    free(options.inputs.values);
    return failed;
}
