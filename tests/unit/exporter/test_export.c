#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "exporter/export.h"
#include "layers/layers.h"
#include "support/directory.h"

/* Zeros as the values of softmax's variables: 784 × 10 weights and 10 biases. */
struct zeros {
    struct value_source source;
    size_t left;
    bool fails;
};

static struct status begin_zeros(struct value_source *source, const char *name)
{
    struct zeros *zeros = (struct zeros *)source;
    zeros->left = strstr(name, "bias") != NULL ? 40 : 31360;
    return status_ok();
}

static struct status next_zeros(struct value_source *source, struct bytes *chunk)
{
    static const char bytes[31360];
    struct zeros *zeros = (struct zeros *)source;
    if (zeros->fails)
        return status_error(STATUS_UNAVAILABLE, "the ps is gone");
    *chunk = (struct bytes){ bytes, zeros->left };
    zeros->left = 0;
    return status_ok();
}

static struct zeros zeros_of(bool fails)
{
    return (struct zeros){ .source = { begin_zeros, next_zeros }, .fails = fails };
}

static struct status export_named(struct export_request request,
                                  const struct layers_serving_options *options, bool fails)
{
    struct zeros zeros = zeros_of(fails);
    struct layers_model *model;
    TRY(layers_parse(layers_builtin("softmax"), arena, &model));
    request.recipe = layers_export_recipe(model, options, arena);
    return export_model(&request, &zeros.source);
}

static struct status export_softmax(struct export_request request, bool fails)
{
    return export_named(request, NULL, fails);
}

static int count_entries(const char *path)
{
    struct file_list list = { 0 };
    assert_ok(file_list(path, arena, &list));
    return (int)list.count;
}

static void the_next_version_follows_the_largest(void **state)
{
    static const struct {
        const char *name;
        int64_t next;
    } rows[] = {
        { "x", 1 },
        { "0", 1 },
        { "7", 8 },
        { "007", 8 },
        { "9x", 8 },
        { "-9", 8 },
        { "12", 13 },
        { "+14", 15 }, /* the server serves it as 14 */
        { "99999999999999999999", 15 },
        { "9223372036854775807", 15 },
        { "9223372036854775806", INT64_MAX },
    };
    (void)state;
    assert_int_equal(export_next_version(in("none")), 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(mkdir(in(rows[i].name), 0777), 0);
        assert_int_equal(export_next_version(directory), rows[i].next);
    }
    assert_string_equal(export_version_path("base", 12, FORMAT_SAVED_MODEL, arena), "base/12");
    assert_string_equal(export_version_path("base", 12, FORMAT_SESSION_BUNDLE, arena),
                        "base/00000012");
}

static void writes_what_can_be_loaded(void **state)
{
    (void)state;
    assert_ok(export_softmax((struct export_request){ .directory = in("1") }, false));
    assert_true(file_exists(in("1/saved_model.pb")));
    assert_true(file_exists(in("1/variables/variables.index")));
    assert_int_equal(count_entries(directory), 1);
}

static void a_directory_with_files_is_refused(void **state)
{
    struct export_request request = { .directory = in("1") };
    (void)state;
    assert_int_equal(mkdir(in("1"), 0777), 0);
    assert_ok(export_check_target(in("1")));
    assert_ok(file_write(in("1/notes"), bytes_of("mine")));
    assert_fails_naming(export_check_target(in("1")), STATUS_ALREADY_EXISTS, "export to '");
    assert_fails_naming(export_softmax(request, false), STATUS_ALREADY_EXISTS, "export to '");
    assert_int_equal(count_entries(directory), 1);
    assert_int_equal(count_entries(in("1")), 1);
}

static void a_place_that_cannot_be_made_is_refused(void **state)
{
    (void)state;
    assert_ok(file_write(in("file"), bytes_of("x")));
    struct status status = export_check_target(in("file/1"));
    assert_false(status_is_ok(status));
    assert_non_null(strstr(status.message, "file"));
}

static void a_failed_source_leaves_nothing(void **state)
{
    struct export_request request = { .directory = in("1") };
    (void)state;
    assert_fails_naming(export_softmax(request, true), STATUS_UNAVAILABLE, "the ps is gone");
    assert_int_equal(count_entries(directory), 0);
}

static void the_same_export_again_is_accepted_only_if_asked_for(void **state)
{
    struct export_request once = { .directory = in("1") };
    struct export_request again = { .directory = in("1"), .again = true };
    (void)state;
    assert_ok(export_softmax(again, false));
    assert_ok(export_softmax(again, false));
    assert_fails_naming(export_softmax(once, false), STATUS_ALREADY_EXISTS, "export to '");
}

static void a_wrong_number_of_class_names_is_refused(void **state)
{
    const struct bytes names[] = { bytes_of("a"), bytes_of("b") };
    const struct layers_serving_options options = { .classes = names,
                                                    .classes_count = COUNT(names) };
    (void)state;
    assert_fails_naming(
        export_named((struct export_request){ .directory = in("1") }, &options, false),
        STATUS_INVALID_ARGUMENT, "class");
    assert_int_equal(count_entries(directory), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(the_next_version_follows_the_largest),
        TEST_IN_DIRECTORY(writes_what_can_be_loaded),
        TEST_IN_DIRECTORY(a_directory_with_files_is_refused),
        TEST_IN_DIRECTORY(a_place_that_cannot_be_made_is_refused),
        TEST_IN_DIRECTORY(a_failed_source_leaves_nothing),
        TEST_IN_DIRECTORY(the_same_export_again_is_accepted_only_if_asked_for),
        TEST_IN_DIRECTORY(a_wrong_number_of_class_names_is_refused),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
