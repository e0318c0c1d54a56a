/*
 * Every argument of Keras' losses, metrics, initializers, regularizers and constraints has an
 * effect, or is refused: a model is read with an object of the class and with one that differs in
 * the argument. Keras prints the objects (tests/golden/arguments/objects.py), so that an argument
 * that no table here has is found as well. Layers: test_arguments.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "graph/graph_proto.h"
#include "layers/layers.h"
#include "support/argument_changes.h"

/* Models around an object, which takes the place of '@': what one kind of object is tried in. */
#define MODEL(shape, layers, compiled)                                                     \
    "{\"class_name\":\"Sequential\",\"keras_version\":\"3.15.1\",\"config\":{\"layers\":[" \
    "{\"class_name\":\"InputLayer\",\"config\":{\"batch_shape\":" shape                    \
    ",\"name\":\"x\"}}," layers "]},\"compile_config\":{" compiled "}}"
#define DENSE(units, more) \
    "{\"class_name\":\"Dense\",\"config\":{\"name\":\"dense\",\"units\":" units more "}}"
#define SOFTMAX ",\"activation\":\"softmax\""
#define SIGMOID ",\"activation\":\"sigmoid\""

static const struct frame {
    const char *kind, *model;
} frames[] = {
    { "loss", MODEL("[null,4]", DENSE("3", SOFTMAX), "\"loss\":@") },
    { "loss", MODEL("[null,4]", DENSE("3", ""), "\"loss\":@") },
    { "loss", MODEL("[null,4]", DENSE("1", SIGMOID), "\"loss\":@") },
    { "loss", MODEL("[null,5,4]", DENSE("3", SOFTMAX), "\"loss\":@") },
    { "metric", MODEL("[null,4]", DENSE("3", SOFTMAX),
                      "\"loss\":\"categorical_crossentropy\",\"metrics\":[@]") },
    { "metric",
      MODEL("[null,4]", DENSE("1", SIGMOID), "\"loss\":\"binary_crossentropy\",\"metrics\":[@]") },
    { "metric",
      MODEL(
          "[null,4]", DENSE("3", ""),
          "\"loss\":{\"class_name\":\"CategoricalCrossentropy\",\"config\":{\"from_logits\":true}},"
          "\"metrics\":[@]") },
    { "metric", MODEL("[null,4]", DENSE("3", ""), "\"loss\":\"mse\",\"metrics\":[@]") },
    { "initializer", MODEL("[null,4]", DENSE("3", ",\"kernel_initializer\":@"), "") },
    { "regularizer", MODEL("[null,4]", DENSE("3", ",\"kernel_regularizer\":@"), "") },
    { "constraint", MODEL("[null,4]", DENSE("3", ",\"kernel_constraint\":@"), "") },
};

/* ---- what a model is built to ---- */

static uint64_t hash_variable(uint64_t hash, const struct training_variable *variable)
{
    float values[64];
    const struct constraint *constraint = &variable->constraint;
    const double numbers[] = { constraint->kind, constraint->low,  constraint->high,
                               constraint->rate, constraint->axes, variable->momentum };

    assert_true((size_t)shape_size(&variable->shape) <= COUNT(values));
    if (status_is_ok(variable->fill(variable, 1, values)))
        hash = mix(hash, values, (size_t)shape_size(&variable->shape) * sizeof *values);
    return mix(hash, numbers, sizeof numbers);
}

/* A metric's results of three totals that are numbers like any others. */
static uint64_t hash_metric(uint64_t hash, const struct training_metric *metric)
{
    double *totals = zalloc((size_t)metric->totals_count * sizeof *totals);

    for (int64_t round = 0; round < 3; round++) {
        for (int64_t i = 0; i < metric->totals_count; i++)
            totals[i] = 1 + (double)((i * 7919 + round * 31) % 101);
        const double result = metric->result(metric, totals);
        hash = mix(hash, &result, sizeof result);
    }
    free(totals);
    return hash;
}

static uint64_t hash_training(const struct training_graph *graph)
{
    uint64_t hash = graph_hash(graph->step.graph) * 3 + graph_hash(graph->evaluation.graph);

    for (int v = 0; v < graph->variables_count; v++)
        hash = hash_variable(hash, &graph->variables[v]);
    for (int m = 0; m < graph->metrics_count; m++)
        hash = hash_metric(hash, &graph->metrics[m]);
    for (int f = 0; f < graph->feeds_count; f++)
        if (graph->feeds[f].ignored_class != NULL)
            hash = mix(hash, graph->feeds[f].ignored_class, sizeof(int64_t));
    return hash;
}

static struct outcome try_object(const char *frame, const char *object)
{
    const char *at = strchr(frame, '@');
    struct arena *arena = arena_create(0);
    struct outcome outcome = { 0 };
    struct layers_model *model;
    struct training_graph graph = { 0 };

    const char *json = arena_printf(arena, "%.*s%s%s", (int)(at - frame), frame, object, at + 1);
    struct status status = layers_parse(bytes_of(json), arena, &model);
    if (status_is_ok(status)) {
        const struct layers_training_options options = { .batch = 3,
                                                         .reduction = model->training.reduction,
                                                         .weighted = true };
        status = layers_training_graph(model, &options, arena, &graph);
    }
    outcome.refused = !status_is_ok(status);
    if (outcome.refused)
        snprintf(outcome.message, sizeof outcome.message, "%s", status.message);
    else
        outcome.hash = hash_training(&graph);
    training_graph_finish(&graph);
    arena_destroy(arena);
    return outcome;
}

/* ---- the changes of the file ---- */

/* What may be anything, with the reason. */
static const struct {
    const char *class, *argument;
} idle_by_design[] = {
    /* labels are class numbers here, also if they come as one-hot columns */
    { "IoU", "sparse_y_true" },
    { "MeanIoU", "sparse_y_true" },
};

static bool is_idle_by_design(const struct change *change)
{
    for (size_t i = 0; i < COUNT(idle_by_design); i++)
        if (strcmp(idle_by_design[i].class, change->class) == 0 &&
            strcmp(idle_by_design[i].argument, change->argument) == 0)
            return true;
    return false;
}

/* *taken: a model takes the class. */
static bool has_effect(const struct change *change, bool *taken)
{
    bool counts = false;

    *taken = false;
    for (size_t i = 0; i < COUNT(frames) && !counts; i++) {
        if (strcmp(frames[i].kind, change->kind) != 0)
            continue;
        struct outcome plain = try_object(frames[i].model, change->object);
        struct outcome other = try_object(frames[i].model, change->other);
        if (plain.refused) {
            counts = !other.refused && strstr(plain.message, change->argument) != NULL;
            continue;
        }
        *taken = true;
        counts = other.refused ? strstr(other.message, change->argument) != NULL
                               : other.hash != plain.hash;
        if (other.refused && !counts)
            print_message("%s.%s: '%s' does not name the argument\n", change->class,
                          change->argument, other.message);
    }
    return counts;
}

static bool counts(const struct change *change)
{
    bool taken;

    if (is_idle_by_design(change) || has_effect(change, &taken))
        return true;
    print_message("%s.%s: %s\n", change->class, change->argument,
                  taken ? "no effect" : "no model here takes the class");
    return false;
}

static void every_argument_has_an_effect(void **state)
{
    (void)state;
    int changes, idle = count_idle("tests/golden/arguments/objects.txt", counts, &changes);

    assert_true(changes > 100);
    assert_int_equal(idle, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_an_effect),
    };

    return cmocka_run_group_tests_name("arguments of objects", tests, NULL, NULL);
}
