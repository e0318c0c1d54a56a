/* MatchingFiles: what patterns find, and that they find nothing outside of the model. */
#include "unit/runtime/plan_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"

static char root[] = "/tmp/slipway-matching-XXXXXX";
static struct plan *plan;

static const char *in_root(const char *path)
{
    return arena_printf(arena, "%s/model/%s", root, path);
}

static int make_files(void **state)
{
    static const char *const files[] = { "x.txt",   "xy.txt",  ".dot.txt",
                                         "[q].txt", "a/y.txt", "a/b/z.txt" };
    setup(state);
    strcpy(root + strlen(root) - 6, "XXXXXX");
    assert_non_null(mkdtemp(root));
    assert_ok(file_make_directories(in_root("a/b")));
    for (size_t i = 0; i < COUNT(files); i++)
        assert_ok(file_write(in_root(files[i]), bytes_of("")));
    assert_ok(file_write(arena_printf(arena, "%s/beside.txt", root), bytes_of("")));
    struct endpoint pattern = build_placeholder(&b, "pattern", DT_STRING, shape_unknown());
    struct endpoint found = build(&b, "MatchingFiles", "found", 1, &pattern, NULL);
    plan = plan_of(1, &pattern, 1, &found, NULL);
    return 0;
}

static int remove_files(void **state)
{
    plan_destroy(plan);
    assert_ok(file_remove_tree(root));
    return teardown(state);
}

static struct status find(int count, struct bytes *patterns, struct tensor *out)
{
    struct shape shape = shape_of(count);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, patterns);
    return plan_run(plan, run, &feed, out);
}

/* `wanted`: the paths in the model's directory, separated by spaces. */
static void check_found(const struct tensor *found, const char *wanted)
{
    struct buffer text = { 0 };
    size_t skipped = strlen(in_root(""));
    for (int64_t i = 0; i < found->size; i++) {
        struct bytes path = tensor_strings(found)[i];
        assert_true(path.size > skipped);
        buffer_printf(&text, "%s%.*s", i > 0 ? " " : "", (int)(path.size - skipped),
                      path.data + skipped);
    }
    buffer_append_char(&text, '\0');
    assert_string_equal(text.data, wanted);
    buffer_finish(&text);
}

/* TensorFlow 2.21 gives the same for the same files. */
static void finds_what_a_pattern_matches(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *wanted;
    } cases[] = {
        { "*", ".dot.txt [q].txt a x.txt xy.txt" },
        { "?.txt", "x.txt" },
        { "*/*", "a/b a/y.txt" },
        { "*/*/*.txt", "a/b/z.txt" },
        { "**/*.txt", "a/y.txt" },
        { "[xz].txt", "x.txt" },
        { "[!x]*.txt", ".dot.txt [q].txt" },
        { "\\[q].txt", "[q].txt" },
        { "x.txt", "x.txt" },
        { "a/", "a/" },
        { "none", "" },
        { "none/*", "" },
        { "x.txt/*", "" },
        { "/*.txt", "" },
        { "[", "" },
        { "{x,xy}.txt", "" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bytes pattern = bytes_of(in_root(cases[i].pattern));
        struct tensor found;
        assert_ok(find(1, &pattern, &found));
        check_found(&found, cases[i].wanted);
        tensor_release(&found);
    }
}

static void sorts_the_paths_of_all_patterns(void **state)
{
    (void)state;
    struct bytes patterns[] = { bytes_of(in_root("xy*")), bytes_of(in_root("x*")) };
    struct tensor found;
    assert_ok(find(2, patterns, &found));
    check_found(&found, "x.txt xy.txt xy.txt");
    tensor_release(&found);
}

static void looks_into_the_models_directory_only(void **state)
{
    (void)state;
    struct tensor found;
    assert_int_equal(symlink(root, in_root("out")), 0);
    assert_ok(resources_confine(resources, in_root("")));
    struct bytes inside = bytes_of(in_root("*/*.txt"));
    assert_ok(find(1, &inside, &found));
    check_found(&found, "a/y.txt");
    tensor_release(&found);
    const char *const outside[] = { in_root("../*.txt"),
                                    in_root("out/*"),
                                    in_root("out/beside.txt"),
                                    "/etc/*",
                                    "/etc/passwd",
                                    "*" };
    for (size_t i = 0; i < COUNT(outside); i++) {
        struct bytes pattern = bytes_of(outside[i]);
        assert_int_equal(find(1, &pattern, &found).code, STATUS_PERMISSION_DENIED);
    }
}

static void ends_where_links_lead_back(void **state)
{
    (void)state;
    struct buffer pattern = { 0 };
    struct tensor found;
    assert_int_equal(symlink(".", in_root("one")), 0);
    assert_int_equal(symlink(".", in_root("other")), 0);
    buffer_append_text(&pattern, in_root(""));
    for (int i = 0; i < 40; i++)
        buffer_append_text(&pattern, "*/");
    buffer_append_char(&pattern, '*');
    struct bytes text = { pattern.data, pattern.size };
    assert_int_equal(find(1, &text, &found).code, STATUS_RESOURCE_EXHAUSTED);
    buffer_finish(&pattern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_what_a_pattern_matches, make_files, remove_files),
        cmocka_unit_test_setup_teardown(sorts_the_paths_of_all_patterns, make_files, remove_files),
        cmocka_unit_test_setup_teardown(looks_into_the_models_directory_only, make_files,
                                        remove_files),
        cmocka_unit_test_setup_teardown(ends_where_links_lead_back, make_files, remove_files),
    };
    return cmocka_run_group_tests_name("matching files", tests, NULL, NULL);
}
