#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "proto/text.h"
#include "savedmodel/load.h"
#include "savedmodel/save.h"
#include "support/directory.h"
#include "support/test_group.h"

/* ---- a model, y = x · w + b, whose values are written in chunks of `piece` bytes ---- */

static const float w_value[6] = { 1, 2, 3, 4, 5, 6 }, b_value[3] = { 10, 20, 30 };

struct memory_source {
    struct value_source source;
    const char *data;
    size_t left, piece;
    int fail_at; /* fails after this many chunks; 0: never */
    bool counts; /* only the source knows how many rows w has */
    int given;
};

static struct status source_begin(struct value_source *source, const char *name)
{
    struct memory_source *memory = (struct memory_source *)source;
    memory->data = (const char *)(name[0] == 'w' ? w_value : b_value);
    memory->left = name[0] == 'w' ? sizeof w_value : sizeof b_value;
    return status_ok();
}

static struct status source_next(struct value_source *source, struct bytes *chunk)
{
    struct memory_source *memory = (struct memory_source *)source;
    if (memory->fail_at > 0 && ++memory->given == memory->fail_at)
        return status_error(STATUS_UNAVAILABLE, "the ps is gone");
    size_t size = memory->left < memory->piece ? memory->left : memory->piece;
    *chunk = (struct bytes){ memory->data, size };
    memory->data += size;
    memory->left -= size;
    return status_ok();
}

static struct status source_count_rows(struct value_source *source, const char *name, int64_t *rows)
{
    (void)source;
    assert_string_equal(name, "w");
    *rows = 2;
    return status_ok();
}

static struct endpoint build_variable(struct builder *b, const char *name, struct shape shape)
{
    struct endpoint handle =
        build(b, "VarHandleOp", name, 0, NULL,
              (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape),
                               attr_text("shared_name", name), ATTR_END });
    return build(b, "ReadVariableOp", "read", 1, &handle,
                 (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
}

static struct status write_model_with(const char *path, struct memory_source *source,
                                      struct status (*write)(const char *directory,
                                                             const struct saved_model *model,
                                                             struct value_source *source))
{
    struct graph *graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct shape w = shape_of(source->counts ? -1 : 2, 3);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 2));
    struct endpoint y = build_binary(&b, "MatMul", "product", x, build_variable(&b, "w", w));
    build_binary(&b, "BiasAdd", "y", y, build_variable(&b, "b", shape_of(3)));
    assert_ok(builder_status(&b));
    source->source = (struct value_source){ .begin = source_begin, .next = source_next };
    if (source->counts && source->fail_at == 0)
        source->source.count_rows = source_count_rows;

    struct signature_tensor in = { "x", "x:0", DT_FLOAT, .has_shape = true,
                                   .shape = shape_of(-1, 2) };
    struct signature_tensor out = { "y", "y:0", DT_FLOAT, .has_shape = true,
                                    .shape = shape_of(-1, 3) };
    struct signature signature = { SIGNATURE_DEFAULT, SIGNATURE_PREDICT, &in, &out, 1, 1 };
    struct saved_variable variables[] = { { "w", DT_FLOAT, w, true },
                                          { "b", DT_FLOAT, shape_of(3), true } };
    struct saved_model model = { .graph = graph,
                                 .signatures = &signature,
                                 .signatures_count = 1,
                                 .variables = variables,
                                 .variables_count = 2 };
    struct status status = write(path, &model, &source->source);
    graph_finish(graph);
    return status;
}

static struct status write_model(const char *path, struct memory_source *source)
{
    return write_model_with(path, source, savedmodel_write);
}

/* ---- a model of five signatures that share its variables ---- */

static struct endpoint read_handle(struct builder *b, struct endpoint handle)
{
    return build(b, "ReadVariableOp", NULL, 1, &handle,
                 (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
}

static struct endpoint handle_of(struct builder *b, const char *name, struct shape shape)
{
    return build(b, "VarHandleOp", name, 0, NULL,
                 (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape),
                                  attr_text("shared_name", name), ATTR_END });
}

static struct endpoint scaled(struct builder *b, struct endpoint x, struct endpoint w, float scale)
{
    const float scales[3] = { scale, 2 * scale, 3 * scale };
    struct endpoint product = build_binary(b, "MatMul", NULL, x, read_handle(b, w));
    struct shape shape = shape_of(3);
    struct tensor constant = tensor_borrow(DT_FLOAT, &shape, scales);
    return build_binary(b, "Mul", NULL, product, build_const(b, NULL, &constant));
}

static const char *const shared_names[] = { "a_scaled", "b_raw", "c_scaled", "serve",
                                            SIGNATURE_DEFAULT };

/* The values of each signature for x = { 1, 1 }: both rows of w added up, or w itself. */
static const float shared_values[COUNT(shared_names)][6] = {
    { 5, 14, 27 }, { 1, 2, 3, 4, 5, 6 }, { 50, 140, 270 }, { 15, 27, 39 }, { 15, 27, 39 }
};

static void write_shared_model(const char *path)
{
    struct memory_source source = { .piece = 1000 };
    struct graph *graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct endpoint w = handle_of(&b, "w", shape_of(2, 3)), bias = handle_of(&b, "b", shape_of(3));
    struct signature_tensor in[COUNT(shared_names)], out[COUNT(shared_names)];
    struct signature signatures[COUNT(shared_names)];
    for (size_t i = 0; i < COUNT(shared_names); i++) {
        struct endpoint x =
            build_placeholder(&b, arena_printf(arena, "x%zu", i), DT_FLOAT, shape_of(-1, 2));
        struct endpoint y;
        if (i == 0 || i == 2)
            y = scaled(&b, x, w, i == 0 ? 1 : 10);
        else if (i == 1)
            y = read_handle(&b, w);
        else
            y = build_binary(&b, "BiasAdd", NULL,
                             build_binary(&b, "MatMul", NULL, x, read_handle(&b, w)),
                             read_handle(&b, bias));
        in[i] = (struct signature_tensor){ "x", arena_strdup(arena, endpoint_text(x)), DT_FLOAT,
                                           .has_shape = true, .shape = shape_of(-1, 2) };
        out[i] = (struct signature_tensor){ "y", arena_strdup(arena, endpoint_text(y)), DT_FLOAT,
                                            .has_shape = true, .shape = shape_of(-1, 3) };
        signatures[i] =
            (struct signature){ shared_names[i], SIGNATURE_PREDICT, &in[i], &out[i], 1, 1 };
    }
    assert_ok(builder_status(&b));
    source.source = (struct value_source){ .begin = source_begin, .next = source_next };
    struct saved_variable variables[] = { { "w", DT_FLOAT, shape_of(2, 3), true },
                                          { "b", DT_FLOAT, shape_of(3), true } };
    struct saved_model model = { .graph = graph,
                                 .signatures = signatures,
                                 .signatures_count = COUNT(shared_names),
                                 .variables = variables,
                                 .variables_count = 2 };
    assert_ok(savedmodel_write(path, &model, &source.source));
    graph_finish(graph);
}

static void assert_answers(const struct plan *plan, size_t index)
{
    const float x[2] = { 1, 1 };
    const struct shape shape = shape_of(1, 2);
    struct tensor feed = tensor_borrow(DT_FLOAT, &shape, x), fetch;
    struct run *run = run_create(0);
    assert_ok(plan_run(plan, run, &feed, &fetch));
    assert_memory_equal(fetch.data, shared_values[index], tensor_bytes(&fetch));
    tensor_release(&fetch);
    run_destroy(run);
}

/* ---- tests ---- */

static void signatures_that_compute_the_same_share_a_plan(void **state)
{
    (void)state;
    struct savedmodel *model;
    const struct plan *plans[COUNT(shared_names)];
    write_shared_model(in("shared/1"));
    assert_ok(savedmodel_load(in("shared/1"), NULL, &model));
    assert_ok(savedmodel_plan_all(model));
    for (size_t i = 0; i < COUNT(shared_names); i++)
        assert_ok(savedmodel_plan(model, savedmodel_signature(model, bytes_of(shared_names[i])),
                                  &plans[i]));
    for (size_t i = 0; i < COUNT(shared_names); i++)
        assert_answers(plans[i], i);
    assert_ptr_equal(plans[3], plans[4]);
    for (int i = 0; i < 3; i++)
        assert_ptr_not_equal(plans[i], plans[i + 1]);
    savedmodel_destroy(model);
}

/* The flattened graph that signatures share is there for the plans that are made last. */
static void plans_made_before_all_the_others_stay(void **state)
{
    (void)state;
    struct savedmodel *model;
    const struct plan *before[COUNT(shared_names)], *plan;
    write_shared_model(in("before/1"));
    for (size_t first = 0; first < COUNT(shared_names); first++) {
        assert_ok(savedmodel_load(in("before/1"), NULL, &model));
        for (size_t i = 0; i <= first; i++)
            assert_ok(savedmodel_plan(model, savedmodel_signature(model, bytes_of(shared_names[i])),
                                      &before[i]));
        assert_ok(savedmodel_plan_all(model));
        for (size_t i = 0; i < COUNT(shared_names); i++) {
            assert_ok(savedmodel_plan(model, savedmodel_signature(model, bytes_of(shared_names[i])),
                                      &plan));
            assert_answers(plan, i);
            if (i <= first)
                assert_ptr_equal(plan, before[i]);
        }
        savedmodel_destroy(model);
    }
}

static void the_only_plan_takes_the_variables(void **state)
{
    (void)state;
    write_shared_model(in("only/1"));
    for (size_t i = 0; i < COUNT(shared_names); i++) {
        struct savedmodel *model;
        const struct plan *plan;
        assert_ok(savedmodel_load(in("only/1"), NULL, &model));
        assert_ok(savedmodel_plan_only(
            model, savedmodel_signature(model, bytes_of(shared_names[i])), &plan));
        assert_answers(plan, i);
        const char *other = shared_names[i == 0 ? 1 : 0];
        struct status status =
            savedmodel_plan(model, savedmodel_signature(model, bytes_of(other)), &plan);
        assert_int_equal(status.code, STATUS_FAILED_PRECONDITION);
        assert_non_null(strstr(status.message, other));
        savedmodel_destroy(model);
    }
}

static void what_is_saved_loads_and_answers(void **state)
{
    (void)state;
    const size_t pieces[] = { 1, 5, 12, 1000 };
    for (size_t i = 0; i < COUNT(pieces); i++) {
        char name[32];
        snprintf(name, sizeof name, "model/%zu", i + 1);
        struct memory_source source = { .piece = pieces[i] };
        assert_ok(write_model(in(name), &source));

        struct savedmodel *model;
        const struct plan *plan;
        assert_ok(savedmodel_load(in(name), NULL, &model));
        assert_int_equal(savedmodel_variables_count(model), 2);
        const struct signature *signature =
            savedmodel_signature(model, bytes_of(SIGNATURE_DEFAULT));
        assert_non_null(signature);
        assert_string_equal(signature->method, SIGNATURE_PREDICT);
        assert_ok(savedmodel_plan(model, signature, &plan));
        const float x[4] = { 1, 0, 1, 1 }, want[6] = { 11, 22, 33, 15, 27, 39 };
        const struct shape shape = shape_of(2, 2);
        struct tensor feed = tensor_borrow(DT_FLOAT, &shape, x), fetch;
        struct run *run = run_create(0);
        assert_ok(plan_run(plan, run, &feed, &fetch));
        assert_int_equal(fetch.size, 6);
        assert_memory_equal(fetch.data, want, sizeof want);
        tensor_release(&fetch);
        run_destroy(run);
        savedmodel_destroy(model);
    }
}

/* The graph that is written has the shape, as TensorFlow wants it. */
static void a_source_knows_how_many_rows_there_are(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12, .counts = true };
    struct savedmodel *model;

    assert_ok(write_model(in("counted/1"), &source));
    assert_ok(savedmodel_load(in("counted/1"), NULL, &model));
    assert_int_equal(savedmodel_variables_count(model), 2);
    for (int i = 0; i < 2; i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        if (strcmp(variable.name, "w") == 0)
            assert_string_equal(shape_text(&variable.shape), "[2,3]");
    }
    savedmodel_destroy(model);
    source = (struct memory_source){ .piece = 12, .counts = true, .fail_at = 100 };
    struct status status = write_model(in("uncounted/1"), &source);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "variable 'w' has shape [?,3]"));
}

/* The text form of the same message also loads. A `.pb` file would take precedence. */
static void the_text_form_loads(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    struct buffer file = { 0 }, text = { 0 };
    Tensorflow__SavedModel *message;
    struct savedmodel *model;
    assert_ok(write_model(in("text/1"), &source));
    assert_ok(file_read(in("text/1/saved_model.pb"), 0, &file));
    assert_ok(proto_unpack(&tensorflow__saved_model__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &message));
    proto_text_print(message, &text);
    assert_ok(file_write(in("text/1/saved_model.pbtxt"), (struct bytes){ text.data, text.size }));
    assert_int_equal(remove(in("text/1/saved_model.pb")), 0);
    assert_ok(savedmodel_load(in("text/1"), NULL, &model));
    assert_int_equal(savedmodel_variables_count(model), 2);
    savedmodel_destroy(model);
    buffer_finish(&file);
    buffer_finish(&text);
}

static void data_without_its_index_is_refused(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    struct savedmodel *model;
    assert_ok(write_model(in("half/1"), &source));
    assert_int_equal(remove(in("half/1/variables/variables.index")), 0);
    struct status status = savedmodel_load(in("half/1"), NULL, &model);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "variables.index, and nothing else fills"));
}

static void a_failing_source_leaves_nothing_behind(void **state)
{
    (void)state;
    for (int fail_at = 1; fail_at < 6; fail_at++) {
        struct memory_source source = { .piece = 12, .fail_at = fail_at };
        struct status status = write_model(in("gone/7"), &source);
        assert_int_equal(status.code, STATUS_UNAVAILABLE);
        assert_non_null(strstr(status.message, "the ps is gone"));
        struct file_list list;
        assert_ok(file_list(in("gone"), arena, &list));
        assert_int_equal(list.count, 0);
    }
}

static void a_source_that_gives_too_little_is_told(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 0 };
    struct status status = write_model(in("short/1"), &source);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_false(file_exists(in("short/1")));
}

static void a_directory_that_is_not_empty_is_refused(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    assert_ok(file_make_directories(in("full/1/empty")));
    assert_ok(file_make_directories(in("full/1/inner")));
    assert_ok(file_write(in("full/1/inner/something"), (struct bytes){ "x", 1 }));
    assert_int_equal(savedmodel_check_target(in("full/1")).code, STATUS_ALREADY_EXISTS);
    assert_int_equal(write_model(in("full/1"), &source).code, STATUS_ALREADY_EXISTS);
    assert_true(file_exists(in("full/1/inner/something")));
}

static void the_same_model_is_written_again_only_where_that_is_asked_for(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    assert_ok(write_model(in("same/1"), &source));
    assert_int_equal(write_model(in("same/1"), &source).code, STATUS_ALREADY_EXISTS);
    assert_ok(write_model_with(in("same/1"), &source, savedmodel_write_again));
    assert_ok(write_model_with(in("same/2"), &source, savedmodel_write_again));
    assert_ok(file_write(in("same/1/variables/variables.index"), (struct bytes){ "x", 1 }));
    assert_int_equal(write_model_with(in("same/1"), &source, savedmodel_write_again).code,
                     STATUS_ALREADY_EXISTS);
}

static void an_empty_directory_is_taken(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    assert_ok(file_make_directories(in("empty/1")));
    assert_ok(savedmodel_check_target(in("empty/1/")));
    assert_ok(write_model(in("empty/1/"), &source));
    assert_true(file_exists(in("empty/1/saved_model.pb")));
}

static void other_tags_are_named_in_the_error(void **state)
{
    (void)state;
    struct memory_source source = { .piece = 12 };
    assert_ok(write_model(in("tags/1"), &source));
    const char *const tags[] = { "train" };
    struct savedmodel_options options = { .tags = tags, .tags_count = 1 };
    struct savedmodel *model;
    struct status status = savedmodel_load(in("tags/1"), &options, &model);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(
        strstr(status.message, "Could not find meta graph def matching supplied tags: { train }."));
    assert_non_null(strstr(status.message, "{ serve }"));
}

/* TensorFlow's code and text, plus the reason. Missing permissions are told in the same way, but
 * not to root. */
static void a_file_that_cannot_be_reached_says_why(void **state)
{
    (void)state;
    struct savedmodel *model;
    assert_ok(file_make_directories(in("loop")));
    assert_int_equal(symlink("saved_model.pb", in("loop/saved_model.pb")), 0);
    struct status status = savedmodel_load(in("loop"), NULL, &model);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    if (strstr(status.message, "does not appear to contain a SavedModel bundle") == NULL ||
        strstr(status.message, "saved_model.pb': Too many levels of symbolic links)") == NULL)
        fail_msg("%s", status.message);
}

static const struct bad {
    const char *label, *file, *content;
    enum status_code code;
    const char *text;
} bads[] = {
    { "no model there", NULL, NULL, STATUS_NOT_FOUND,
      "does not appear to contain a SavedModel bundle" },
    { "an empty session bundle", "export.meta", "", STATUS_DATA_LOSS,
      "export.meta': it has no graph" },
    { "the chunked form", "saved_model.cpb", "", STATUS_UNIMPLEMENTED, "saved_model.cpb" },
    { "random bytes", "saved_model.pb", "\xff\xfe\x01zzzz", STATUS_INTERNAL, "saved_model.pb" },
    { "a Git LFS pointer", "saved_model.pb", "version https://git-lfs.github.com/spec/v1\n",
      STATUS_DATA_LOSS, "git lfs pull" },
    { "an empty file", "saved_model.pb", "", STATUS_NOT_FOUND, "Could not find meta graph def" },
};

static void is_refused(void **state)
{
    const struct bad *bad = *state;
    struct savedmodel *model;
    assert_ok(file_make_directories(in(bad->label)));
    if (bad->file != NULL)
        assert_ok(file_write(file_join(arena, in(bad->label), bad->file), bytes_of(bad->content)));
    struct status status = savedmodel_load(in(bad->label), NULL, &model);
    if (status.code != bad->code || strstr(status.message, bad->text) == NULL)
        fail_msg("%s: %s %s", bad->label, status_code_name(status.code), status.message);
}

int main(void)
{
    static const struct CMUnitTest fixed[] = {
        cmocka_unit_test(what_is_saved_loads_and_answers),
        cmocka_unit_test(signatures_that_compute_the_same_share_a_plan),
        cmocka_unit_test(plans_made_before_all_the_others_stay),
        cmocka_unit_test(the_only_plan_takes_the_variables),
        cmocka_unit_test(a_source_knows_how_many_rows_there_are),
        cmocka_unit_test(the_text_form_loads),
        cmocka_unit_test(data_without_its_index_is_refused),
        cmocka_unit_test(a_failing_source_leaves_nothing_behind),
        cmocka_unit_test(a_source_that_gives_too_little_is_told),
        cmocka_unit_test(a_directory_that_is_not_empty_is_refused),
        cmocka_unit_test(the_same_model_is_written_again_only_where_that_is_asked_for),
        cmocka_unit_test(an_empty_directory_is_taken),
        cmocka_unit_test(other_tags_are_named_in_the_error),
        cmocka_unit_test(a_file_that_cannot_be_reached_says_why),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, fixed);
    ADD_ROWS(&group, bads, label, is_refused);
    return test_group_run(&group, "savedmodel", directory_setup, directory_teardown);
}
