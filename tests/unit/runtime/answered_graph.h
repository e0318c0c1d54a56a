/*
 * Graphs that bring TensorFlow's answers, as tests/golden/answered_graphs.py writes them: each file
 * of a directory becomes a test.
 */
#ifndef TESTS_ANSWERED_GRAPH_H
#define TESTS_ANSWERED_GRAPH_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "graph/graph_proto.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "support/status.h"

#define TENSORS_MAX 16

static struct arena *arena;
static struct graph *graph;
static struct resources *resources;
static struct run *run;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    resources = resources_create();
    run = run_create(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_destroy(run);
    resources_destroy(resources);
    graph_finish(graph);
    arena_destroy(arena);
    return 0;
}

static inline void load_graph(const char *path)
{
    struct buffer file = { 0 };
    Tensorflow__GraphDef *proto = NULL;
    assert_ok(file_read(path, 0, &file));
    assert_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                           (struct bytes){ file.data, file.size }, arena, &proto));
    buffer_finish(&file);
    assert_ok(graph_from_proto(proto, arena, false, &graph));
}

/* The constants of the graph whose names begin with `prefix`, and the nodes that they are for. */
struct answers {
    int count;
    struct endpoint of[TENSORS_MAX];
    const struct tensor *values[TENSORS_MAX];
};

static void find_answers(const char *prefix, struct answers *out)
{
    size_t size = strlen(prefix);
    *out = (struct answers){ 0 };
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (strncmp(node->name, prefix, size) != 0)
            continue;
        struct node *of = graph_find(graph, node->name + size);
        assert_non_null(of);
        out->of[out->count] = (struct endpoint){ of, 0 };
        assert_ok(node_attr_tensor(node, "value", &out->values[out->count++]));
    }
}

static void assert_same(const struct tensor *got, const struct tensor *wanted, const char *name)
{
    if (got->dtype != wanted->dtype || !shape_equal(&got->shape, &wanted->shape))
        fail_msg("%s: %s of %s, wanted %s of %s", name, shape_text(&got->shape),
                 dtype_name(got->dtype), shape_text(&wanted->shape), dtype_name(wanted->dtype));
    if (got->dtype != DT_FLOAT && !tensor_equal(got, wanted))
        fail_msg("%s differs", name);
    for (int64_t i = 0; got->dtype == DT_FLOAT && i < got->size; i++) {
        float a = tensor_floats(got)[i], b = tensor_floats(wanted)[i];
        if (fabsf(a - b) > 1e-5f * fmaxf(1, fabsf(b))) /* other orders of sums */
            fail_msg("%s: element %lld is %g, wanted %g", name, (long long)i, (double)a, (double)b);
    }
}

static struct plan *plan_of(const struct flatten_request *request, bool no_fold)
{
    struct plan_options options = { .no_fold = no_fold, .no_fuse = no_fold };
    struct plan *plan;
    assert_ok(plan_create(graph, request, resources, NULL, &options, &plan));
    return plan;
}

static void initialise(bool no_fold)
{
    struct node *init = graph_find(graph, "initialise");
    struct flatten_request request = { .targets = &init, .targets_count = 1 };
    struct plan *plan = plan_of(&request, no_fold);
    assert_ok(plan_run(plan, run, NULL, NULL));
    plan_destroy(plan);
}

/* The constant `answers/NUMBER/PART`, or NULL. */
static const struct tensor *find_part(int number, const char *part)
{
    const struct tensor *value;
    const struct node *node = graph_find(graph, arena_printf(arena, "answers/%d/%s", number, part));
    if (node == NULL)
        return NULL;
    assert_ok(node_attr_tensor(node, "value", &value));
    return value;
}

static const char *text_of(struct bytes bytes)
{
    return arena_memdup(arena, bytes.data, bytes.size);
}

/* The fetches of a run that fails are those of its graph. */
static void find_fetches(struct answers *out)
{
    for (int i = 0; i < graph->count; i++)
        if (strncmp(graph->nodes[i]->name, "out_", 4) == 0)
            out->of[out->count++] = (struct endpoint){ graph->nodes[i], 0 };
}

/* The nodes that a run is for, if it says so: those without outputs are targets. */
static void find_nodes(int number, struct answers *fetches, struct node **targets,
                       int *targets_count)
{
    const struct tensor *names = find_part(number, "run");
    *targets_count = 0;
    for (int64_t i = 0; names != NULL && i < names->size; i++) {
        struct node *node = graph_find(graph, text_of(tensor_strings(names)[i]));
        assert_non_null(node);
        if (node->outputs_count == 0)
            targets[(*targets_count)++] = node;
        else if (find_part(number, "error") != NULL)
            fetches->of[fetches->count++] = (struct endpoint){ node, 0 };
    }
}

static void check_error(struct status status, const char *error, int number)
{
    const struct tensor *code = find_part(number, "code");
    if (strstr(status.message, error) == NULL)
        fail_msg("run %d: '%s', wanted '%s'", number, status.message, error);
    if (code != NULL && tensor_index(code, 0) != (int64_t)status.code)
        fail_msg("run %d: %s, wanted code %d", number, status_code_name(status.code),
                 (int)tensor_index(code, 0));
}

/* One run. False: there is none of that number. */
static bool answer(int number, bool no_fold)
{
    struct answers feeds, fetches;
    struct node *targets[TENSORS_MAX];
    struct tensor values[TENSORS_MAX], got[TENSORS_MAX];
    const struct tensor *error = find_part(number, "error");
    int targets_count;
    find_answers(arena_printf(arena, "answers/%d/feed/", number), &feeds);
    find_answers(arena_printf(arena, "answers/%d/fetch/", number), &fetches);
    find_nodes(number, &fetches, targets, &targets_count);
    if (error == NULL && fetches.count + targets_count == 0)
        return false;
    if (error != NULL && targets_count + fetches.count == 0)
        find_fetches(&fetches);
    for (int i = 0; i < feeds.count; i++)
        values[i] = *feeds.values[i];
    struct flatten_request request = { .feeds = feeds.of,
                                       .feeds_count = feeds.count,
                                       .fetches = fetches.of,
                                       .fetches_count = fetches.count,
                                       .targets = targets,
                                       .targets_count = targets_count };
    struct plan *plan = NULL;
    struct plan_options options = { .no_fold = no_fold, .no_fuse = no_fold };
    struct status status = plan_create(graph, &request, resources, NULL, &options, &plan);
    if (status_is_ok(status))
        status = plan_run(plan, run, values, got);
    if (error != NULL) {
        if (status_is_ok(status))
            fail_msg("run %d: succeeds, wanted '%s'", number, text_of(tensor_strings(error)[0]));
        check_error(status, text_of(tensor_strings(error)[0]), number);
    } else if (!status_is_ok(status)) {
        fail_msg("run %d: %s: %s", number, status_code_name(status.code), status.message);
    }
    for (int i = 0; i < fetches.count && error == NULL; i++) {
        assert_same(&got[i], fetches.values[i], fetches.of[i].node->name);
        tensor_release(&got[i]);
    }
    plan_destroy(plan);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    return true;
}

static void answers_as_tensorflow_does(void **state)
{
    load_graph(*state);
    for (int no_fold = 0; no_fold < 2; no_fold++) {
        int number = 0;
        resources_destroy(resources); /* what the first pass left in them is not in the answers */
        resources = resources_create();
        initialise(no_fold == 1);
        while (answer(number, no_fold == 1))
            number++;
        assert_true(number > 0);
    }
}

/* Runs `test` for each graph that `is_left_out` (NULL: none) does not leave out, and the tests of
 * `more`. */
static inline int run_graphs_by(CMUnitTestFunction test, const char *group, const char *directory,
                                bool (*is_left_out)(const char *), const struct CMUnitTest *more,
                                int more_count)
{
    glob_t files;
    int count = 0;
    char pattern[256];
    snprintf(pattern, sizeof pattern, "%s*.pb", directory);
    if (glob(pattern, 0, NULL, &files) != 0) {
        fprintf(stderr, "no graphs are there: %s\n", pattern);
        return 1;
    }
    struct CMUnitTest *tests = calloc(files.gl_pathc + (size_t)more_count, sizeof *tests);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char *path = files.gl_pathv[i];
        if (is_left_out == NULL || !is_left_out(path))
            tests[count++] = (struct CMUnitTest){ .name = path + strlen(directory),
                                                  .test_func = test,
                                                  .setup_func = setup,
                                                  .teardown_func = teardown,
                                                  .initial_state = path };
    }
    for (int i = 0; i < more_count; i++)
        tests[count++] = more[i];
    int failed = _cmocka_run_group_tests(group, tests, (size_t)count, NULL, NULL);
    free(tests);
    globfree(&files);
    return failed;
}

static inline int run_graphs(const char *group, const char *directory,
                             bool (*is_left_out)(const char *), const struct CMUnitTest *more,
                             int more_count)
{
    return run_graphs_by(answers_as_tensorflow_does, group, directory, is_left_out, more,
                         more_count);
}

#endif
