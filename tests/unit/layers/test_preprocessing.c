/* Preprocessing layers: what Keras makes of edge values (tests/golden/preprocessing), and what is
 * refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers/layers.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "support/status.h"
#include "support/test_group.h"

#define GOLDEN     "tests/golden/preprocessing/keras3.txt"
#define CASES_MAX  200
#define INPUTS_MAX 4

struct preprocessing_case {
    const char *name, *json;
    struct tensor inputs[INPUTS_MAX], output;
    int inputs_count;
};

static struct arena *arena;

/* ---- reading the cases ---- */

static int hex(char c)
{
    return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* Reads "a%20b". */
static struct bytes read_text(char **at)
{
    char *begin = *at + 1, *from = begin, *to = begin;

    for (; *from != '"'; to++) {
        bool escaped = *from == '%';
        *to = escaped ? (char)(hex(from[1]) * 16 + hex(from[2])) : *from;
        from += escaped ? 3 : 1;
    }
    *at = from + 1;
    return (struct bytes){ begin, (size_t)(to - begin) };
}

static enum dtype read_dtype(const char *name)
{
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_name(i), name) == 0)
            return i;
    fail_msg("unknown dtype '%s'", name);
    return DT_INVALID;
}

/* Reads "int64 [2,1] 4 5". */
static struct tensor read_tensor(char *at)
{
    struct shape shape = { 0 };
    char name[16];
    int size;

    assert_int_equal(sscanf(at, "%15s [%n", name, &size), 1);
    for (at += size; *at != ']'; at += *at == ',')
        shape.dims[shape.rank++] = strtol(at, &at, 10);
    at += 2;
    enum dtype dtype = read_dtype(name);
    void *data = arena_array(arena, dtype_size(dtype), (size_t)shape_size(&shape) + 1);
    for (int64_t i = 0; i < shape_size(&shape); i++, at += *at == ' ') {
        if (dtype == DT_STRING)
            ((struct bytes *)data)[i] = read_text(&at);
        else if (dtype == DT_FLOAT)
            ((float *)data)[i] = strtof(at, &at);
        else if (dtype == DT_INT32)
            ((int32_t *)data)[i] = (int32_t)strtol(at, &at, 10);
        else
            ((int64_t *)data)[i] = strtoll(at, &at, 10);
    }
    return tensor_borrow(dtype, &shape, data);
}

static int read_cases(struct preprocessing_case *cases)
{
    FILE *file = fopen(GOLDEN, "r");
    char *line = NULL;
    size_t capacity = 0;
    int count = 0;

    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *kept = arena_strdup(arena, line), *rest = strchr(kept, ' ') + 1;
        struct preprocessing_case *last = &cases[count - 1];
        if (strncmp(kept, "case ", 5) == 0)
            cases[count++].name = rest;
        else if (strncmp(kept, "json ", 5) == 0)
            last->json = rest;
        else if (strncmp(kept, "input ", 6) == 0)
            last->inputs[last->inputs_count++] = read_tensor(rest);
        else
            last->output = read_tensor(rest);
    }
    free(line);
    fclose(file);
    return count;
}

/* ---- running a model ---- */

/* Texts that are fetched may lie in the plan. */
static struct plan *run_plan(const struct graph *graph, const struct flatten_request *request,
                             struct resources *resources, const struct tensor *feeds,
                             struct run *run, struct tensor *fetches)
{
    struct plan *plan;

    assert_ok(plan_create(graph, request, resources, NULL, NULL, &plan));
    assert_ok(plan_run(plan, run, feeds, fetches));
    return plan;
}

static bool is_same(const struct tensor *got, const struct tensor *want, int64_t i)
{
    if (want->dtype == DT_STRING)
        return bytes_equal(tensor_strings(got)[i], tensor_strings(want)[i]);
    if (want->dtype != DT_FLOAT)
        return tensor_index(got, i) == tensor_index(want, i);
    float a = tensor_floats(got)[i], b = tensor_floats(want)[i];
    return a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= 1e-6f * fabsf(b);
}

static void compare(const struct tensor *got, const struct tensor *want)
{
    assert_string_equal(dtype_name(got->dtype), dtype_name(want->dtype));
    assert_string_equal(shape_text(&got->shape), shape_text(&want->shape));
    for (int64_t i = 0; i < want->size; i++)
        if (!is_same(got, want, i))
            fail_msg("element %d differs from Keras'", (int)i);
}

/* The layers behind a layer of images need to know their size. */
static void knows_the_size(struct endpoint output, const struct shape *want)
{
    for (int i = 1; i < want->rank && want->rank == 4; i++)
        assert_int_equal(endpoint_shape(output)->dims[i], want->dims[i]);
}

static void check_case(const struct preprocessing_case *one, bool is_open)
{
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct layers_model *model;
    struct layers_graph built;
    struct resources *resources = resources_create();
    struct run *run = run_create(0);
    struct tensor got;

    assert_ok(layers_parse(bytes_of(one->json), arena, &model));
    for (int i = 1; i <= 2 && is_open; i++)
        model->inputs[0].shape.dims[i] = -1;
    assert_ok(layers_recheck(model));
    assert_ok(layers_build(model, &options, arena, &built));
    assert_int_equal(built.adapting_count, 0);
    const struct flatten_request init = { .targets = &built.init, .targets_count = 1 };
    const struct flatten_request request = { .feeds = built.inputs,
                                             .feeds_count = one->inputs_count,
                                             .fetches = &built.heads[0].output,
                                             .fetches_count = 1 };
    if (built.init != NULL)
        plan_destroy(run_plan(built.graph, &init, resources, NULL, run, NULL));
    struct plan *plan = run_plan(built.graph, &request, resources, one->inputs, run, &got);
    compare(&got, &one->output);
    if (!is_open || strncmp(one->name, "random", 6) != 0)
        knows_the_size(built.heads[0].output, &one->output.shape);
    /* So that the server batches requests with images of one size. */
    if (is_open)
        assert_true(plan_rows_independent(plan));
    tensor_release(&got);
    plan_destroy(plan);
    run_destroy(run);
    resources_destroy(resources);
    graph_finish(built.graph);
}

static void gives_what_keras_gives(void **state)
{
    check_case(*state, false);
}

/* Images of any size. */
static void gives_it_for_open_sides(void **state)
{
    const struct preprocessing_case *one = *state;

    if (one->inputs[0].shape.rank == 4)
        check_case(one, true);
}

/* ---- what is refused ---- */

#define MODEL(type, layer, config)                                                                 \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": {\"batch_shape\": [null, 2], \"dtype\": \"" type                                  \
    "\", \"name\": \"in\"}}, {\"class_name\": \"" layer                                            \
    "\", \"config\": {\"name\": \"it\", " config "}}]}}"

#define RESIZED(config)                                                                            \
    "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", " \
    "\"config\": {\"batch_shape\": [null, 1, 46340, 1], \"name\": \"in\"}}, {\"class_name\": "     \
    "\"Resizing\", \"config\": {\"name\": \"it\", " config "}}]}}"

static const struct refused {
    const char *json, *text;
} refused[] = {
    { MODEL("string", "Dense", "\"units\": 1"), "input 0 is text; expected numbers" },
    { MODEL("float64", "Dense", "\"units\": 1"), "dtype 'float64'" },
    { MODEL("float32", "StringLookup", "\"vocabulary\": [\"a\"]"), "the input is float" },
    { MODEL("string", "IntegerLookup", "\"vocabulary\": [1]"), "input 0 is text" },
    { MODEL("string", "StringLookup", "\"vocabulary\": [\"a\", \"a\"]"), "stands there twice" },
    { MODEL("string", "StringLookup", "\"vocabulary\": [\"a\", 1]"), "'vocabulary' has 1" },
    { MODEL("string", "StringLookup", "\"vocabulary\": []"), "list that is not empty" },
    { MODEL("string", "StringLookup", "\"vocabulary\": \"no/such/file\""), "no/such/file" },
    { MODEL("string", "StringLookup", "\"vocabulary\": [\"a\"], \"mask_token\": \"a\""),
      "is the mask token" },
    { MODEL("string", "StringLookup", "\"vocabulary\": [\"a\", \"b\"], \"max_tokens\": 2"),
      "a vocabulary of 3 tokens" },
    { MODEL("string", "StringLookup", "\"vocabulary\": [\"a\"], \"num_oov_indices\": -1"),
      "'num_oov_indices' is -1" },
    { MODEL("string", "StringLookup",
            "\"vocabulary\": [\"a\"], \"output_mode\": \"tf_idf\", \"idf_weights\": [1, 2]"),
      "2 numbers for a vocabulary of 1" },
    { MODEL("int64", "StringLookup", "\"invert\": true"), "'invert' needs a 'vocabulary'" },
    { MODEL("int64", "IntegerLookup", "\"vocabulary\": [1], \"num_oov_indices\": 2, \"salt\": 1"),
      "'salt' needs the oov_method" },
    { MODEL("string", "Hashing", "\"num_bins\": 3, \"salt\": [1]"), "'salt' wants" },
    { MODEL("string", "Hashing", "\"num_bins\": 3, \"mask_value\": 1"), "'mask_value' is 1" },
    { MODEL("string", "Hashing", "\"num_bins\": 3, \"sparse\": true"), "'sparse'" },
    { MODEL("float32", "Normalization", "\"mean\": [1, 2]"), "expected both or neither" },
    { MODEL("float32", "Normalization", "\"mean\": [1, 2, 3], \"variance\": [1, 2, 3]"),
      "'mean' has shape [3]" },
    { MODEL("float32", "Normalization", "\"mean\": [[1], 2], \"variance\": 1"),
      "lists of numbers" },
    { MODEL("float32", "Discretization", "\"epsilon\": 0.1"), "needs 'bin_boundaries'" },
    { MODEL("float32", "Discretization", "\"bin_boundaries\": [2, 1]"), "in rising order" },
    { MODEL("int64", "HashedCrossing", "\"num_bins\": 3"), "at least two inputs" },
    { "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"InputLayer\", "
      "\"config\": {\"batch_shape\": [null, 1], \"dtype\": \"string\"}}, {\"class_name\": "
      "\"TextVectorization\", \"config\": {\"vocabulary\": [\"a\"]}}, {\"class_name\": "
      "\"Embedding\", "
      "\"config\": {\"input_dim\": 3, \"output_dim\": 4}}, {\"class_name\": "
      "\"AdaptiveMaxPooling1D\", "
      "\"config\": {\"output_size\": 2}}]}}",
      "the input has shape [?,?,4], and dimension 1 must be known here" },
    { RESIZED("\"height\": 1000000, \"width\": 1, \"pad_to_aspect_ratio\": true"),
      "padded pixels: a row has 2^31 numbers or more" },
    { MODEL("int64", "CategoryEncoding", "\"output_mode\": \"count\""), "'num_tokens'" },
};

static void refuses_by_name(void **state)
{
    const struct refused *row = *state;
    struct layers_model *model;

    struct status status = layers_parse(bytes_of(row->json), arena, &model);
    assert_false(status_is_ok(status));
    if (strstr(status.message, row->text) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, row->text);
}

int main(void)
{
    struct test_group group = { 0 };

    arena = arena_create(0);
    struct preprocessing_case *cases = ARENA_ARRAY(arena, struct preprocessing_case, CASES_MAX);
    int cases_count = read_cases(cases);
    for (int i = 0; i < cases_count; i++) {
        test_group_add(&group, (struct CMUnitTest){ .name = cases[i].name,
                                                    .test_func = gives_what_keras_gives,
                                                    .initial_state = &cases[i] });
        test_group_add(&group,
                       (struct CMUnitTest){ .name = arena_printf(arena, "open %s", cases[i].name),
                                            .test_func = gives_it_for_open_sides,
                                            .initial_state = &cases[i] });
    }
    ADD_ROWS(&group, refused, text, refuses_by_name);
    int failed = (cases_count < 50) + test_group_run(&group, "preprocessing", NULL, NULL);
    arena_destroy(arena);
    return failed;
}
