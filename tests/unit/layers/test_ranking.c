/* FactorizedTopK counts as TensorFlow does, among candidates of one block and of several; and which
 * feeds the candidates need. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "layers/layers.h"
#include "runtime/plan.h"
#include "support/test_group.h"
#include "support/arena.h"

#define WIDTH    3
#define KS_COUNT 6

struct golden {
    const char *label;
    int64_t count; /* of candidates */
    int own[40];
    double by_scores[KS_COUNT], by_ids[KS_COUNT];
};

/* clang-format off */
#include "ranking_golden.h"

#define DENSE(name, from)                                                                        \
    "{\"name\": \"" name "\", \"class_name\": \"Dense\", \"config\": {\"name\": \"" name           \
    "\", \"units\": 3}, \"inbound_nodes\": [[[\"" from "\", 0, 0, {}]]]}"
#define INPUT(name, dtype)                                                                       \
    "{\"name\": \"" name "\", \"class_name\": \"InputLayer\", \"config\": {\"name\": \"" name      \
    "\", \"dtype\": \"" dtype "\", \"batch_shape\": [null, 1]}, \"inbound_nodes\": []}"
#define MODEL                                                                                    \
    "{\"class_name\": \"Functional\", \"config\": {\"layers\": [" INPUT("user", "float32") ", "    \
    INPUT("item", "float32") ", " INPUT("id", "%s") ", " DENSE("query", "user") ", "               \
    DENSE("candidate", "item") "], \"input_layers\": [[\"user\", 0, 0], [\"item\", 0, 0], "        \
    "[\"id\", 0, 0]], \"output_layers\": [[\"query\", 0, 0], [\"candidate\", 0, 0]]}, "            \
    "\"compile_config\": {\"loss\": {\"query\": {\"class_name\": \"Retrieval\", \"config\": "      \
    "{\"candidates\": \"candidate\"%s}}}, \"metrics\": {\"query\": [{\"class_name\": "             \
    "\"FactorizedTopK\", \"config\": {\"ks\": %s}}]}}}"
/* clang-format on */

#define BY_ID ", \"candidate_ids\": \"id\""

static struct layers_model *parse(const char *ids, const char *options, const char *ks)
{
    struct layers_model *model;

    assert_string_equal(
        layers_parse(bytes_of(arena_printf(arena, MODEL, ids, options, ks)), arena, &model).message,
        "");
    return model;
}

/* As ranking_golden.py. */
static float *whole(int64_t count, int64_t a, int64_t b)
{
    float *out = ARENA_ARRAY(arena, float, count *WIDTH);

    for (int64_t i = 0; i < count * WIDTH; i++)
        out[i] = (float)(i * i * a % b - b / 2);
    return out;
}

/* A number, or the text of it. */
static void put_id(enum dtype dtype, int64_t id, void *ids, int64_t place)
{
    if (dtype == DT_STRING)
        ((struct bytes *)ids)[place] = bytes_of(arena_printf(arena, "%lld", (long long)id));
    else
        ((int64_t *)ids)[place] = id;
}

struct given {
    struct endpoint feeds[5];
    struct tensor values[5];
    int count;
};

static void give(struct given *given, struct endpoint feed, struct tensor value)
{
    given->feeds[given->count] = feed;
    given->values[given->count++] = value;
}

static void give_ids(struct given *given, const struct golden *golden,
                     const struct candidate_ends *ends)
{
    enum dtype dtype = endpoint_dtype(ends->ids);
    const struct shape rows = shape_of(GOLDEN_ROWS), all = shape_of(golden->count);
    struct bytes *own_ids = ARENA_ARRAY(arena, struct bytes, GOLDEN_ROWS),
                 *ids = ARENA_ARRAY(arena, struct bytes, golden->count);
    int64_t different = golden->count / 2 + 1;

    for (int64_t i = 0; i < golden->count; i++)
        put_id(dtype, i % different, ids, i);
    for (int64_t i = 0; i < GOLDEN_ROWS; i++)
        put_id(dtype, golden->own[i] % different, own_ids, i);
    give(given, ends->ids, tensor_borrow(dtype, &rows, own_ids));
    give(given, ends->all_ids, tensor_borrow(dtype, &all, ids));
}

/* Feeds what the towers and the pass over the candidates would give, and compares the totals. */
static void check(const struct golden *golden, const struct layers_model *model,
                  const double *wanted)
{
    const struct layers_options options = { .mode = LAYERS_EVAL };
    struct given given = { 0 };
    struct layers_graph built;
    struct plan *plan;
    struct tensor got[KS_COUNT];
    const struct shape rows = shape_of(GOLDEN_ROWS, WIDTH), all = shape_of(golden->count, WIDTH);
    const float *candidates = whole(golden->count, 104729, 997);
    float *own = ARENA_ARRAY(arena, float, GOLDEN_ROWS *WIDTH);

    for (int i = 0; i < GOLDEN_ROWS; i++)
        memcpy(own + i * WIDTH, candidates + golden->own[i] * WIDTH, WIDTH * sizeof(float));
    assert_string_equal(layers_build(model, &options, arena, &built).message, "");
    give(&given, built.heads[0].output,
         tensor_borrow(DT_FLOAT, &rows, whole(GOLDEN_ROWS, 7919, 31)));
    give(&given, built.candidates.vectors, tensor_borrow(DT_FLOAT, &rows, own));
    give(&given, built.candidates.all_vectors, tensor_borrow(DT_FLOAT, &all, candidates));
    if (built.candidates.ids.node != NULL)
        give_ids(&given, golden, &built.candidates);
    const struct flatten_request request = { .feeds = given.feeds,
                                             .feeds_count = given.count,
                                             .fetches = built.metrics,
                                             .fetches_count = KS_COUNT };
    assert_string_equal(plan_create(built.graph, &request, NULL, NULL, NULL, &plan).message, "");
    struct run *run = run_create(0);
    assert_string_equal(plan_run(plan, run, given.values, got).message, "");
    for (int k = 0; k < KS_COUNT; k++) {
        assert_float_equal(tensor_floats(&got[k])[0], wanted[k], 0);
        assert_float_equal(tensor_floats(&got[k])[1], GOLDEN_ROWS, 0);
        tensor_release(&got[k]);
    }
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(built.graph);
}

static void counts_as_tensorflow(void **state)
{
    const struct golden *golden = *state;

    check(golden, parse("int64", "", GOLDEN_KS), golden->by_scores);
    check(golden, parse("int64", BY_ID, GOLDEN_KS), golden->by_ids);
    check(golden, parse("string", BY_ID, GOLDEN_KS), golden->by_ids);
}

static void each_k_is_a_metric_with_a_name(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct training_graph graph;

    assert_string_equal(
        layers_training_graph(parse("int64", "", "[3, 40]"), &options, arena, &graph).message, "");
    assert_int_equal(graph.metrics_count, 2);
    assert_string_equal(graph.metrics[0].name, "query_factorized_top_k/top_3_categorical_accuracy");
    assert_string_equal(graph.metrics[1].name,
                        "query_factorized_top_k/top_40_categorical_accuracy");
    assert_true(graph.metrics[1].larger_is_better);
    assert_string_equal(graph.ranking_metric, graph.metrics[0].name);
    training_graph_finish(&graph);
}

static void candidates_need_the_inputs_of_their_tower_and_the_ids(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20 };
    struct training_graph graph;

    for (int by_id = 0; by_id < 2; by_id++) {
        struct layers_model *model = parse("int64", by_id ? BY_ID : "", "[1]");
        assert_string_equal(layers_training_graph(model, &options, arena, &graph).message, "");
        assert_null(graph.ranking.feeds[0].values.node);
        assert_non_null(graph.ranking.feeds[1].values.node);
        assert_true((graph.ranking.feeds[2].values.node != NULL) == by_id);
        assert_non_null(graph.evaluation.feeds[0].values.node);
        assert_int_equal(graph.evaluation.candidates_count, 1 + by_id);
        assert_int_equal(graph.ranking.candidates_count, 0);
        training_graph_finish(&graph);
    }
}

static void a_step_does_not_rank(void **state)
{
    (void)state;
    const struct layers_training_options options = { .batch = 20, .metrics = true };
    struct training_graph graph;

    struct status status =
        layers_training_graph(parse("int64", "", "[1]"), &options, arena, &graph);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(status.message, "only an evaluation does"));
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(each_k_is_a_metric_with_a_name),
        cmocka_unit_test(candidates_need_the_inputs_of_their_tower_and_the_ids),
        cmocka_unit_test(a_step_does_not_rank),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, goldens, label, counts_as_tensorflow);
    return test_group_run(&group, "ranking", arena_setup, arena_teardown);
}
