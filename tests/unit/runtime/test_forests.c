/*
 * Decision forests, against TensorFlow's answers: tests/golden/forests/forests.py trains the
 * forests and writes the graphs. Damaged files of these forests are refused, or give a forest that
 * runs.
 */
#include "unit/runtime/answered_graph.h"

#include "base/parallel.h"
#include "graph/build.h"
#include "runtime/kernels/forests/forest_parse.h"
#include "support/forest_row.h"

#define FORESTS "tests/golden/forests/"

/* ---- damaged files ---- */

struct forest_bytes {
    struct buffer files[4]; /* header, data_spec, trees, nodes */
};

static void read_forest(const char *name, const char *trees, struct forest_bytes *out)
{
    const char *const files[] = { "header.pb", "data_spec.pb", trees, "nodes-00000-of-00001" };
    for (int i = 0; i < 4; i++) {
        out->files[i] = (struct buffer){ 0 };
        assert_ok(
            file_read(arena_printf(arena, FORESTS "%s/%s", name, files[i]), 0, &out->files[i]));
    }
}

static bool parse(const struct forest_bytes *bytes, int changed, struct bytes content,
                  struct forest **out)
{
    struct bytes files[4];
    bool is_gzip;
    for (int i = 0; i < 4; i++)
        files[i] =
            i == changed ? content : (struct bytes){ bytes->files[i].data, bytes->files[i].size };
    size_t left = 1 << 24;
    struct forest_source source = { .header = files[0],
                                    .data_spec = files[1],
                                    .trees = files[2],
                                    .nodes = &files[3],
                                    .nodes_count = 1,
                                    .may_take = forest_take_memory,
                                    .argument = &left };
    return status_is_ok(forest_nodes_body(&files[3], &is_gzip)) &&
           status_is_ok(forest_parse(&source, out));
}

static bool parse_and_run(const struct forest_bytes *bytes, int changed, struct bytes content)
{
    struct forest *forest;
    if (!parse(bytes, changed, content, &forest))
        return false;
    assert_true(forest_run_rows(forest));
    forest_destroy(forest);
    return true;
}

/* The copy has its own block, so that a read past the end is found. */
static bool parse_copy(const struct forest_bytes *bytes, int file, size_t size, size_t at, int bits)
{
    char *copy = malloc(size + 1);
    memcpy(copy, bytes->files[file].data, size);
    if (at < size)
        copy[at] = (char)(copy[at] ^ bits);
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, copy, size);
    bool parsed = parse_and_run(bytes, file, (struct bytes){ exact, size });
    free(exact);
    free(copy);
    return parsed;
}

static void damage(const char *name, const char *trees)
{
    static const int changes[] = { 0x01, 0x08, 0x80, 0xff };
    struct forest_bytes bytes;
    read_forest(name, trees, &bytes);
    for (int file = 0; file < 4; file++) {
        size_t size = bytes.files[file].size, step = 1 + size / 1000;
        assert_true(parse_copy(&bytes, file, size, size, 0));
        for (size_t at = 0; at < size; at += step) {
            bool parsed = parse_copy(&bytes, file, at, at, 0);
            if (file == 3)
                assert_false(parsed); /* nodes are missing */
            for (size_t i = 0; i < COUNT(changes); i++)
                parse_copy(&bytes, file, size, at, changes[i]);
        }
    }
    for (int file = 0; file < 4; file++)
        buffer_finish(&bytes.files[file]);
}

static void damaged_files_are_refused_or_run(void **state)
{
    (void)state;
    graph = graph_create(arena);
    damage("forest_distributions", "random_forest_header.pb");
    damage("forest_oblique", "random_forest_header.pb");
    damage("forest_votes", "random_forest_header.pb");
    damage("boosted_discretized", "gradient_boosted_trees_header.pb");
    damage("boosted_missing", "gradient_boosted_trees_header.pb");
    damage("boosted_sets", "gradient_boosted_trees_header.pb");
    damage("forest_sets", "random_forest_header.pb");
}

static void memory_is_asked_for_first(void **state)
{
    (void)state;
    struct forest_bytes bytes;
    size_t left = 1000;
    graph = graph_create(arena);
    read_forest("forest_votes", "random_forest_header.pb", &bytes);
    struct bytes nodes = { bytes.files[3].data + 8, bytes.files[3].size - 8 };
    struct forest_source source = {
        .header = { bytes.files[0].data, bytes.files[0].size },
        .data_spec = { bytes.files[1].data, bytes.files[1].size },
        .trees = { bytes.files[2].data, bytes.files[2].size },
        .nodes = &nodes,
        .nodes_count = 1,
        .may_take = forest_take_memory,
        .argument = &left,
    };
    struct forest *forest;
    assert_int_equal(forest_parse(&source, &forest).code, STATUS_RESOURCE_EXHAUSTED);
    for (int file = 0; file < 4; file++)
        buffer_finish(&bytes.files[file]);
}

/* ---- walks ---- */

static const struct walked {
    const char *label, *name, *trees;
    bool has_walk;
} walked[] = {
    { "walk of forest_votes", "forest_votes", "random_forest_header.pb", true },
    { "walk of forest_distributions", "forest_distributions", "random_forest_header.pb", true },
    { "walk of forest_regression", "forest_regression", "random_forest_header.pb", true },
    { "walk of forest_uplift", "forest_uplift", "random_forest_header.pb", true },
    { "walk of forest_local", "forest_local", "random_forest_header.pb", false },
    { "walk of forest_oblique", "forest_oblique", "random_forest_header.pb", false },
    { "walk of boosted_binary", "boosted_binary", "gradient_boosted_trees_header.pb", true },
    { "walk of boosted_discretized", "boosted_discretized", "gradient_boosted_trees_header.pb",
      true },
    { "walk of boosted_missing", "boosted_missing", "gradient_boosted_trees_header.pb", false },
    { "walk of boosted_sets", "boosted_sets", "gradient_boosted_trees_header.pb", false },
};

static void a_walk_gives_the_bits_of_the_plain_one(void **state)
{
    const struct walked *row = *state;
    struct forest_bytes bytes;
    struct forest *forest;
    graph = graph_create(arena);
    read_forest(row->name, row->trees, &bytes);
    assert_true(parse(&bytes, -1, (struct bytes){ "", 0 }, &forest));
    assert_int_equal(forest->walk != NULL, row->has_walk);
    assert_true(forest_run_rows(forest));
    forest_destroy(forest);
    for (int file = 0; file < 4; file++)
        buffer_finish(&bytes.files[file]);
}

/* ---- the ops ---- */

struct forest_graph {
    struct builder b;
    struct endpoint features[6], load_path;
    struct node *load;
    struct endpoint out;
};

/* The model by its identifier, as TensorFlow 1 exports it. */
static void build_graph(struct forest_graph *out)
{
    static const enum dtype types[] = {
        DT_FLOAT, DT_FLOAT, DT_INT32, DT_INT32, DT_INT64, DT_INT64
    };
    graph = graph_create(arena);
    out->b = builder_init(graph);
    struct attr identifier = attr_text("model_identifier", "the one");
    for (int i = 0; i < 6; i++)
        out->features[i] =
            build_placeholder(&out->b, arena_printf(arena, "x%d", i), types[i], shape_unknown());
    out->load_path = build_placeholder(&out->b, "path", DT_STRING, shape_scalar());
    out->load = build(&out->b, "SimpleMLLoadModelFromPath", "load", 1, &out->load_path,
                      (struct attr[]){ identifier, ATTR_END })
                    .node;
    out->out = build(&out->b, "SimpleMLInferenceOp", "out", 6, out->features,
                     (struct attr[]){ identifier, attr_int("dense_output_dim", 1), ATTR_END });
    assert_ok(builder_status(&out->b));
}

static struct status load_from(const struct forest_graph *g, const char *path)
{
    struct node *target = g->load;
    struct flatten_request request = {
        .feeds = &g->load_path, .feeds_count = 1, .targets = &target, .targets_count = 1
    };
    struct plan *plan = plan_of(&request, false);
    struct bytes text = bytes_of(path);
    struct shape scalar = shape_scalar();
    struct tensor feed = tensor_borrow(DT_STRING, &scalar, &text);
    struct status status = plan_run(plan, run, &feed, NULL);
    plan_destroy(plan);
    return status;
}

/* Row i has the number 0.5 - i / 50; out: [rows]. */
static struct status predict_rows(const struct forest_graph *g, int rows, float *out)
{
    static const int64_t zero[] = { 0 };
    float *numbers = ARENA_ARRAY(arena, float, 2 * rows), *truths = ARENA_ARRAY(arena, float, rows);
    int32_t *categories = ARENA_ARRAY(arena, int32_t, rows);
    for (int i = 0; i < rows; i++) {
        numbers[2 * i] = 0.5f - (float)i / 50;
        numbers[2 * i + 1] = (float)(i % 7) - 1;
        truths[i] = 1;
        categories[i] = 2;
    }
    int64_t two[] = { rows, 2 }, one[] = { rows, 1 };
    struct shape none = shape_of(0), first = shape_of(1), pair = shape_make(2, two),
                 single = shape_make(2, one);
    struct tensor got, feeds[] = {
        tensor_borrow(DT_FLOAT, &pair, numbers),      tensor_borrow(DT_FLOAT, &single, truths),
        tensor_borrow(DT_INT32, &single, categories), tensor_borrow(DT_INT32, &none, zero),
        tensor_borrow(DT_INT64, &first, zero),        tensor_borrow(DT_INT64, &first, zero)
    };
    struct flatten_request request = {
        .feeds = g->features, .feeds_count = 6, .fetches = &g->out, .fetches_count = 1
    };
    struct plan *plan = plan_of(&request, false);
    struct status status = plan_run(plan, run, feeds, &got);
    if (status_is_ok(status)) {
        assert_int_equal(got.size, rows);
        memcpy(out, tensor_floats(&got), (size_t)rows * sizeof *out);
        tensor_release(&got);
    }
    plan_destroy(plan);
    run_reset(run);
    return status;
}

static struct status predict(const struct forest_graph *g, float *out)
{
    return predict_rows(g, 1, out);
}

static void rows_are_split_among_threads(void **state)
{
    enum { ROWS = 4096 + 64 * 5 + 3 };
    (void)state;
    struct forest_graph g;
    float *alone = ARENA_ARRAY(arena, float, ROWS), *split = ARENA_ARRAY(arena, float, ROWS);
    build_graph(&g);
    assert_ok(load_from(&g, FORESTS "forest_regression"));
    assert_ok(predict_rows(&g, ROWS, alone));
    parallel_set_part_ns(0);
    parallel_set_width(2);
    assert_ok(predict_rows(&g, ROWS, split));
    parallel_set_width(1);
    parallel_set_part_ns(25000);
    assert_memory_equal(alone, split, ROWS * sizeof *alone);
    assert_float_not_equal(alone[0], alone[ROWS - 1], 0);
}

static void a_model_is_found_by_its_identifier(void **state)
{
    (void)state;
    struct forest_graph g;
    float before, after;
    build_graph(&g);
    struct status status = predict(&g, &before);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_ok(load_from(&g, FORESTS "forest_regression"));
    assert_ok(predict(&g, &before));
    assert_ok(load_from(&g, FORESTS "boosted_regression")); /* the first one stays */
    assert_ok(predict(&g, &after));
    assert_float_equal(before, after, 0);
}

static void files_outside_of_the_model_are_refused(void **state)
{
    (void)state;
    struct forest_graph g;
    build_graph(&g);
    assert_ok(resources_confine(resources, FORESTS "forest_regression"));
    assert_int_equal(load_from(&g, FORESTS "boosted_regression").code, STATUS_PERMISSION_DENIED);
    assert_int_equal(load_from(&g, FORESTS "forest_regression/none").code, STATUS_NOT_FOUND);
    assert_ok(load_from(&g, FORESTS "forest_regression"));
}

static void a_model_takes_no_more_than_a_run_may_hold(void **state)
{
    (void)state;
    struct forest_graph g;
    build_graph(&g);
    run_destroy(run);
    run = run_create(1000);
    assert_int_equal(load_from(&g, FORESTS "forest_regression").code, STATUS_RESOURCE_EXHAUSTED);
}

/* ---- batches ---- */

/* Fetches output `output`; the matrices have rows, and the sets are fed or the constant of none. */
static bool has_independent_rows(bool feeds_sets, int output)
{
    static const enum dtype types[] = {
        DT_FLOAT, DT_FLOAT, DT_INT32, DT_INT32, DT_INT64, DT_INT64
    };
    static const int64_t zero[] = { 0 };
    graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct endpoint x[7];
    int feeds_count = feeds_sets ? 6 : 3;
    for (int i = 0; i < 6; i++) {
        int64_t dims[] = { -1, i == 0 ? 2 : 1 };
        struct shape shape = shape_make(i < 3 ? 2 : 1, dims), fixed = shape_of(i == 3 ? 0 : 1);
        struct tensor empty = tensor_borrow(types[i], &fixed, zero);
        const char *name = arena_printf(arena, "x%d", i);
        x[i] = i < feeds_count ? build_placeholder(&b, name, types[i], shape)
                               : build_const(&b, name, &empty);
    }
    x[6] = build(&b, "SimpleMLCreateModelResource", "handle", 0, NULL,
                 (struct attr[]){ attr_text("shared_name", "m"), ATTR_END });
    struct endpoint out = build(&b, "SimpleMLInferenceOpWithHandle", "out", 7, x,
                                (struct attr[]){ attr_int("dense_output_dim", 1), ATTR_END });
    out.index = output;
    assert_ok(builder_status(&b));
    struct flatten_request request = {
        .feeds = x, .feeds_count = feeds_count, .fetches = &out, .fetches_count = 1
    };
    struct plan *plan = plan_of(&request, false);
    bool independent = plan_rows_independent(plan);
    plan_destroy(plan);
    return independent;
}

static void rows_of_requests_share_a_run(void **state)
{
    (void)state;
    assert_true(has_independent_rows(false, 0));
}

static void names_of_outputs_have_no_rows(void **state)
{
    (void)state;
    assert_false(has_independent_rows(false, 1));
}

static void sets_are_not_batched(void **state)
{
    (void)state;
    assert_false(has_independent_rows(true, 0));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest more[] = {
        CASE(damaged_files_are_refused_or_run),
        CASE(memory_is_asked_for_first),
        CASE(a_model_is_found_by_its_identifier),
        CASE(rows_are_split_among_threads),
        CASE(files_outside_of_the_model_are_refused),
        CASE(a_model_takes_no_more_than_a_run_may_hold),
        CASE(rows_of_requests_share_a_run),
        CASE(names_of_outputs_have_no_rows),
        CASE(sets_are_not_batched),
    };
    struct CMUnitTest tests[COUNT(more) + COUNT(walked)];
    memcpy(tests, more, sizeof more);
    for (size_t i = 0; i < COUNT(walked); i++)
        tests[COUNT(more) + i] =
            (struct CMUnitTest){ .name = walked[i].label,
                                 .test_func = a_walk_gives_the_bits_of_the_plain_one,
                                 .setup_func = setup,
                                 .teardown_func = teardown,
                                 .initial_state = (void *)&walked[i] };
    return run_graphs("forests", FORESTS, NULL, tests, COUNT(tests));
}
