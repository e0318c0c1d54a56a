/*
 * Tokenizers of TensorFlow Text that need a table or a model, against TensorFlow's answers:
 * tests/golden/text/graphs.py writes the graphs. And damaged models.
 */
#include "unit/runtime/answered_graph.h"

#define GRAPHS "tests/golden/text/"

/* The bytes of the model that the first SentencepieceOp has. */
static struct bytes *find_model(void)
{
    for (int i = 0; i < graph->count; i++)
        if (strcmp(graph->nodes[i]->op_name, "SentencepieceOp") == 0)
            return (struct bytes *)&node_attr(graph->nodes[i], "model")->s;
    fail();
    return NULL;
}

/* Reads the model and, if that is possible, answers with it. */
static struct status answer_within(const struct work_limits *limits)
{
    struct answers feeds;
    struct tensor values[TENSORS_MAX], got[2];
    struct plan *plan = NULL;
    find_answers("answers/3/feed/", &feeds);
    for (int i = 0; i < feeds.count; i++)
        values[i] = *feeds.values[i];
    struct endpoint fetches[] = { { graph_find(graph, "out_output_values"), 0 },
                                  { graph_find(graph, "out_joined"), 0 } };
    struct flatten_request request = { .feeds = feeds.of,
                                       .feeds_count = feeds.count,
                                       .fetches = fetches,
                                       .fetches_count = COUNT(fetches) };
    struct plan_options options = { .limits = limits };
    resources_destroy(resources);
    resources = resources_create();
    struct status status = plan_create(graph, &request, resources, NULL, &options, &plan);
    if (status_is_ok(status))
        status = plan_run(plan, run, values, got);
    if (status_is_ok(status)) {
        tensor_release(&got[0]);
        tensor_release(&got[1]);
    }
    plan_destroy(plan);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    return status;
}

static struct status answer_with_model(void)
{
    return answer_within(NULL);
}

/* The tree of the pieces is larger than the model. */
static void counts_the_memory_of_a_model(void **state)
{
    load_graph(*state);
    size_t size = find_model()->size;
    struct work_limits limits = { .memory_bytes = size + 1000 };
    struct status status = answer_within(&limits);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    limits.memory_bytes = size * 200;
    assert_ok(answer_within(&limits));
}

#define DAMAGES 400 /* of each kind */

static void answers_or_refuses_a_damaged_model(void **state)
{
    int refused = 0;
    load_graph(*state);
    struct bytes *model = find_model(), whole = *model;
    char *copy = arena_memdup(arena, whole.data, whole.size);
    *model = (struct bytes){ copy, whole.size };
    for (size_t i = 0; i < DAMAGES; i++) {
        size_t at = i * whole.size / DAMAGES + i % 3;
        copy[at % whole.size] ^= (char)(1u << (i * 5 % 8));
        refused += !status_is_ok(answer_with_model());
        copy[at % whole.size] = whole.data[at % whole.size];
    }
    for (size_t i = 0; i < DAMAGES; i++) {
        model->size = i * whole.size / DAMAGES;
        refused += !status_is_ok(answer_with_model());
    }
    assert_true(refused > DAMAGES / 4);
    *model = whole;
    assert_ok(answer_with_model());
}

static void names_what_is_wrong_with_a_model(void **state)
{
    static const char unknown[] = "\x0a\x0a\x0a\x05<unk>\x18\x02";
    static const struct {
        const char *error;
        struct bytes model;
    } rows[] = {
        { "Model argument must be specified.", { "", 0 } },
        { "cut short", { unknown, 5 } },
        { "unk is not defined.", { "\x0a\x03\x0a\x01x", 5 } },
        { "piece must not be empty.", { "\x0a\x02\x18\x01", 4 } },
        { "unk is already defined.", { "\x0a\x05\x0a\x01x\x18\x02\x0a\x05\x0a\x01y\x18\x02", 14 } },
        { "x is already defined.", { "\x0a\x03\x0a\x01x\x0a\x03\x0a\x01x", 10 } },
        { "byte piece x is found although", { "\x0a\x05\x0a\x01x\x18\x06", 7 } },
        { "not 256 byte pieces", { "\x0a\x05\x0a\x01x\x18\x02\x12\x03\x98\x02\x01", 12 } },
        { "null character", { "\x0a\x05\x0a\x01\x00\x18\x02", 7 } },
        { "rule is broken", { "\x1a\x03\x12\x01x", 5 } },
        { "exceeds the input blob size", { "\x1a\x07\x12\x05\x02\x00\x00\x00x", 9 } },
    };
    load_graph(*state);
    for (size_t i = 0; i < COUNT(rows); i++) {
        *find_model() = rows[i].model;
        struct status status = answer_with_model();
        assert_false(status_is_ok(status));
        if (strstr(status.message, rows[i].error) == NULL)
            fail_msg("'%s', wanted '%s'", status.message, rows[i].error);
    }
}

#define PIECES_TEST(test, name)                                                      \
    {                                                                                \
#test " " name, test, setup, teardown, (char *)(GRAPHS "pieces_" name ".pb") \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        PIECES_TEST(answers_or_refuses_a_damaged_model, "unigram_bytes"),
        PIECES_TEST(answers_or_refuses_a_damaged_model, "bpe"),
        PIECES_TEST(answers_or_refuses_a_damaged_model, "unigram_back"),
        PIECES_TEST(names_what_is_wrong_with_a_model, "unigram"),
        PIECES_TEST(counts_the_memory_of_a_model, "unigram"),
    };
    return run_graphs("tokenizers", GRAPHS, NULL, tests, (int)COUNT(tests));
}
