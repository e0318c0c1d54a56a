#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "storage/bundle_writer.h"
#include "trainer/model/init_from.h"
#include "support/test_group.h"

/* base/w, base/b and base/nan are in the files; the model has enc/w, enc/b and head. */
static char directory[] = "/tmp/slipway-init-XXXXXX";
static struct placement placement;

#define ROWS 400000 /* of w: several chunks */

static void write_floats(struct bundle_writer *writer, const char *name, struct shape shape,
                         float first)
{
    int64_t count = shape_size(&shape);
    float *values = malloc((size_t)count * sizeof *values);

    for (int64_t i = 0; i < count; i++)
        values[i] = first + (float)(i % 1000);
    assert_true(status_is_ok(bundle_writer_begin(writer, name, DT_FLOAT, &shape)));
    assert_true(status_is_ok(bundle_writer_append(writer, values, (size_t)count * sizeof *values)));
    assert_true(status_is_ok(bundle_writer_end(writer)));
    free(values);
}

static void write_bundle(const char *prefix)
{
    struct bundle_writer *writer;

    assert_true(status_is_ok(bundle_writer_open(prefix, &writer)));
    write_floats(writer, "base/b", shape_of(3), 7);
    write_floats(writer, "base/nan", shape_of(2), NAN);
    write_floats(writer, "base/w", shape_of(ROWS, 3), 1);
    assert_true(status_is_ok(bundle_writer_commit(writer)));
}

static int start(void **state)
{
    const struct placed_variable variables[] = {
        { .name = "enc/w", .dtype = DT_FLOAT, .shape = shape_of(ROWS, 3), .trainable = true },
        { .name = "enc/b", .dtype = DT_FLOAT, .shape = shape_of(3), .trainable = true },
        { .name = "head", .dtype = DT_FLOAT, .shape = shape_of(2), .trainable = true },
    };
    static const char state_file[] = "model_checkpoint_path: \"model.ckpt-5\"\n";
    struct arena *arena = arena_create(0);
    (void)state;

    placement_create(variables, 3, 2, 1 << 20, PLACE_BY_BYTES, &placement);
    if (mkdtemp(directory) == NULL || chdir(directory) != 0)
        return 1;
    assert_true(status_is_ok(file_make_directories("ckpt")));
    assert_true(status_is_ok(file_make_directories("saved/variables")));
    assert_true(status_is_ok(file_make_directories("bundle")));
    assert_true(status_is_ok(file_make_directories("empty")));
    write_bundle("ckpt/model.ckpt-5");
    write_bundle("saved/variables/variables");
    write_bundle("bundle/export");
    assert_true(status_is_ok(
        file_write("ckpt/checkpoint", (struct bytes){ state_file, strlen(state_file) })));
    arena_destroy(arena);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    placement_finish(&placement);
    return chdir("/") != 0 || !status_is_ok(file_remove_tree(directory));
}

static const struct row {
    const char *label, *path, *map;
    bool partial;
    const char *words; /* in the report, or in the failure */
    enum status_code code;
} rows[] = {
    { "a prefix", "ckpt/model.ckpt-5", "base/*=enc/*", true,
      "2 of 3 variables from ckpt/model.ckpt-5\n    taken: enc/w, there base/w\n    taken: enc/b, "
      "there base/b\n    anew:  head",
      STATUS_OK },
    { "a directory of checkpoints", "ckpt", "base/*=enc/*", true, "from ckpt/model.ckpt-5",
      STATUS_OK },
    { "a SavedModel", "saved", "base/*=enc/*", true, "from saved/variables/variables", STATUS_OK },
    { "a session_bundle", "bundle", "base/*=enc/*", true, "from bundle/export", STATUS_OK },
    { "one left out by the map", "ckpt", "=head,base/*=enc/*", false, "\n    anew:  head",
      STATUS_OK },
    { "the first entry that fits counts", "ckpt", "=enc/b,=head,base/*=enc/*", false,
      "1 of 3 variables", STATUS_OK },
    { "names behind the model's name", "ckpt", "*=enc/*,=head", false,
      "\n    taken: enc/w, there base/w\n    taken: enc/b, there base/b", STATUS_OK },
    { "no such files", "none", "", true, "--init_from=none: there is neither a checkpoint",
      STATUS_NOT_FOUND },
    { "an empty directory", "empty", "", true, "--init_from=empty: there is neither",
      STATUS_NOT_FOUND },
    { "a variable that is not there", "ckpt", "base/*=enc/*", false,
      "there is no 'head' for the variable 'head' of the model; --init_partial lets such variables "
      "begin anew, and --init_map takes other ones:\n    base/b\n    base/nan\n    base/w",
      STATUS_NOT_FOUND },
    { "an old name that is not there", "ckpt", "bose/*=enc/*,=head", false,
      "there is no 'bose/w' for the variable 'enc/w'", STATUS_NOT_FOUND },
    { "nothing is there", "ckpt", "", true, "no variable of the model is there", STATUS_NOT_FOUND },
    { "another shape names both", "ckpt", "base/w=enc/b", true,
      "'base/w' is float [400000,3] there, 'enc/b' of the model is float [3]",
      STATUS_INVALID_ARGUMENT },
    { "an entry for no variable", "ckpt", "base/*=enc/*,x=y", true,
      "no variable of the model is 'y'", STATUS_INVALID_ARGUMENT },
    { "an entry without =", "ckpt", "base", true, "'base' is not old=new",
      STATUS_INVALID_ARGUMENT },
    { "a * on one side", "ckpt", "base/w=enc/*", true, "needs one * on both sides",
      STATUS_INVALID_ARGUMENT },
    { "two *", "ckpt", "*/*=*/*", true, "needs one * on both sides", STATUS_INVALID_ARGUMENT },
};

static void decides_what_is_taken(void **state)
{
    const struct row *row = *state;
    const struct init_from_options options = { row->path, row->map, row->partial, "base" };
    struct init_from *init = NULL;
    struct status status = init_from_open(&options, &placement, &init);
    const char *text = status_is_ok(status) ? init_from_report(init) : status.message;

    if (status.code != row->code || strstr(text, row->words) == NULL)
        fail_msg("%s: %s", status_code_name(status.code), text);
    init_from_close(init);
}

static void gives_the_values_in_chunks(void **state)
{
    const struct init_from_options options = { .path = "ckpt",
                                               .map = "base/*=enc/*",
                                               .partial = true };
    struct init_from *init;
    struct bytes chunk;
    int64_t seen = 0;
    int chunks = 0;
    bool has;
    (void)state;

    assert_true(status_is_ok(init_from_open(&options, &placement, &init)));
    assert_true(status_is_ok(init_from_begin(init, 2, &has)));
    assert_false(has);
    assert_true(status_is_ok(init_from_begin(init, 0, &has)));
    assert_true(has);
    for (;; chunks++) {
        assert_true(status_is_ok(init_from_next(init, &chunk)));
        if (chunk.size == 0)
            break;
        for (size_t i = 0; i < chunk.size / sizeof(float); i++, seen++) {
            float value;
            memcpy(&value, chunk.data + i * sizeof value, sizeof value);
            assert_true(value == 1 + (float)(seen % 1000));
        }
    }
    assert_int_equal(seen, ROWS * 3);
    assert_true(chunks > 1); /* never the whole */
    init_from_close(init);
}

static void refuses_a_nan(void **state)
{
    const struct init_from_options options = { .path = "ckpt",
                                               .map = "base/nan=head",
                                               .partial = true };
    struct init_from *init;
    struct bytes chunk;
    bool has;
    (void)state;

    assert_true(status_is_ok(init_from_open(&options, &placement, &init)));
    assert_true(status_is_ok(init_from_begin(init, 2, &has)));
    assert_int_equal(init_from_next(init, &chunk).code, STATUS_OUT_OF_RANGE);
    init_from_close(init);
}

static void write_scoped_bundle(void)
{
    struct bundle_writer *writer;

    assert_true(status_is_ok(bundle_writer_open("scoped", &writer)));
    write_floats(writer, "one/same/kernel", shape_of(3), 1);
    write_floats(writer, "scale/variable_12", shape_of(3), 2);
    write_floats(writer, "stem/left/conv/kernel", shape_of(3), 3);
    write_floats(writer, "two/same/kernel", shape_of(3), 4);
    write_floats(writer, "wide/variable", shape_of(3), 5);
    assert_true(status_is_ok(bundle_writer_commit(writer)));
}

/* Names of Keras' models that have scopes around layers, or variables without names. */
static void finds_names_behind_scopes_and_variables_without_names(void **state)
{
    const struct placed_variable variables[] = {
        { .name = "conv/kernel", .dtype = DT_FLOAT, .shape = shape_of(3), .trainable = true },
        { .name = "tower/scale/gamma", .dtype = DT_FLOAT, .shape = shape_of(3) },
        { .name = "same/kernel", .dtype = DT_FLOAT, .shape = shape_of(3) }, /* two are there */
        { .name = "wide/kernel", .dtype = DT_FLOAT, .shape = shape_of(3) }, /* two variables, */
        { .name = "wide/bias", .dtype = DT_FLOAT, .shape = shape_of(3) },   /* and one there */
        { .name = "left/conv/bias", .dtype = DT_FLOAT, .shape = shape_of(3) },
    };
    const struct init_from_options options = { .path = "scoped", .map = "", .partial = true };
    struct placement scoped;
    struct init_from *init;
    (void)state;

    write_scoped_bundle();
    placement_create(variables, (int)COUNT(variables), 2, 1 << 20, PLACE_BY_BYTES, &scoped);
    assert_true(status_is_ok(init_from_open(&options, &scoped, &init)));
    assert_string_equal(init_from_report(init),
                        "2 of 6 variables from scoped\n"
                        "    taken: conv/kernel, there stem/left/conv/kernel\n"
                        "    taken: tower/scale/gamma, there scale/variable_12\n"
                        "    anew:  same/kernel\n"
                        "    anew:  wide/kernel\n"
                        "    anew:  wide/bias\n"
                        "    anew:  left/conv/bias");
    init_from_close(init);
    placement_finish(&scoped);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(gives_the_values_in_chunks),
        cmocka_unit_test(refuses_a_nan),
        cmocka_unit_test(finds_names_behind_scopes_and_variables_without_names),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, decides_what_is_taken);
    return test_group_run(&group, "init from", start, stop);
}
