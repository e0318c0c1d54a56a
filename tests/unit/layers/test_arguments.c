/*
 * Every argument of a layer's table has an effect: it is changed in models that Keras printed, and
 * either another graph is built, or the description is refused. An argument that is read and then
 * forgotten fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/graph_proto.h"
#include "layers/classes/classes.h"
#include "layers/read_layer.h"

#define PAIRS_MAX 2000 /* of a class and an argument */

static struct pair {
    const struct layer_class *class;
    const char *argument;
    bool counts;
} pairs[PAIRS_MAX];
static int pairs_count;

static struct pair *find_pair(const struct layer_class *class, const char *argument)
{
    for (int i = 0; i < pairs_count; i++)
        if (pairs[i].class == class && strcmp(pairs[i].argument, argument) == 0)
            return &pairs[i];
    assert_true(pairs_count < PAIRS_MAX);
    pairs[pairs_count] = (struct pair){ class, argument, false };
    return &pairs[pairs_count++];
}

/* ---- what a model is built to ---- */

#define MODES 2

struct outcome {
    bool refused;
    uint64_t hashes[MODES];
};

static uint64_t hash_variables(const struct layers_graph *built, uint64_t hash)
{
    for (int v = 0; v < built->variables_count; v++) {
        const struct layers_variable *variable = &built->variables[v];
        hash = hash * 31 + (uint64_t)variable->trainable + 2 * (uint64_t)variable->by_rows +
               (uint64_t)(variable->momentum * 1e6);
        struct initializer initializer = variable->initializer;
        hash = hash * 31 + (uint64_t)initializer.ones_begin * 3 + (uint64_t)initializer.ones_end;
        initializer.ones_begin = initializer.ones_end = 0; /* which may lie beyond the values */
        float values[7];
        const struct shape shape = shape_of(7);
        initializer_fill(&initializer, &shape, 1, values);
        for (size_t i = 0; i < COUNT(values); i++)
            hash = hash * 31 + (uint64_t)(int64_t)((double)values[i] * 1e6);
        hash = hash * 31 + (uint64_t)variable->constraint.kind * 7 +
               (uint64_t)(variable->constraint.high * 1e3);
        if (variable->by_keys)
            hash = hash * 31 + (uint64_t)variable->keys.bytes_max * 3 + variable->keys.ttl_steps +
                   (uint64_t)(variable->keys.probability * 1e3) + variable->keys.min_count * 5;
    }
    return hash;
}

static struct outcome build_all(struct layers_model *model)
{
    static const enum layers_mode modes[MODES] = { LAYERS_TRAIN, LAYERS_SERVE };
    struct outcome outcome = { 0 };

    outcome.refused = !status_is_ok(layers_recheck(model));
    for (int m = 0; m < MODES && !outcome.refused; m++) {
        const struct layers_options options = { .mode = modes[m], .batch = 3 };
        struct arena *arena = arena_create(0);
        struct layers_graph built;
        struct status status = layers_build(model, &options, arena, &built);
        if (status_is_ok(status)) {
            outcome.hashes[m] = hash_variables(&built, graph_hash(built.graph));
            graph_finish(built.graph);
        }
        outcome.refused = !status_is_ok(status) && status.code != STATUS_FAILED_PRECONDITION;
        arena_destroy(arena);
    }
    return outcome;
}

/* ---- other values ---- */

#define CHANGES 3 /* the ways in which a value is changed */

static const struct json_value *parse(const char *json, struct arena *arena)
{
    const struct json_value *value;

    assert_true(status_is_ok(json_value_read_strict(bytes_of(json), arena, &value)));
    return value;
}

static void change_sides(struct arg_value *value, int change, int first)
{
    for (int i = first; i < 3; i++)
        value->sides[i] = value->is_null ? 1 + change : value->sides[i] + 1 + change;
}

/* The word of this number that is another one. */
static bool change_choice(const struct layer_arg *arg, struct arg_value *value, int change,
                          struct arena *arena)
{
    const char *at = arg->fallback;

    for (int i = -1; *at != '\0';) {
        size_t size = strcspn(at, " ");
        const char *word = arena_printf(arena, "%.*s", (int)size, at);
        if (strcmp(word, value->text) != 0 && ++i == change) {
            value->text = word;
            return true;
        }
        at += size + (at[size] == ' ');
    }
    return false;
}

/* False: there is no such change. */
static bool change_value(const struct layer_arg *arg, struct arg_value *value, int change,
                         struct arena *arena)
{
    static const char *const activations[CHANGES] = { "\"tanh\"", "\"exponential\"", "\"relu\"" };
    static const char *const values[CHANGES] = { "\"no such value\"", "3", "[2]" };
    bool was_null = value->is_null;

    switch (arg->kind) {
    case ARG_INT:
        value->integer += change == 2 ? -1 : 1 + change;
        return value->integer > 0;
    case ARG_NULL_OR_INT:
        value->integer = was_null ? 1 + 2 * change : value->integer + 1 + change;
        break;
    case ARG_NUMBER:
    case ARG_NULL_OR_NUMBER:
    case ARG_ANY_NUMBER:
        value->number = was_null ? .375 + change : value->number * .5 + .125 + change;
        break;
    case ARG_BOOL:
        value->boolean = !value->boolean;
        return change == 0;
    case ARG_CHOICE:
        return change_choice(arg, value, change, arena);
    case ARG_TRIPLE:
    case ARG_NULL_OR_TRIPLE:
        change_sides(value, change, 0);
        break;
    case ARG_PAIR:
    case ARG_NULL_OR_PAIR:
        change_sides(value, change, 1);
        break;
    case ARG_SINGLE:
    case ARG_NULL_OR_SINGLE:
        change_sides(value, change, 2);
        break;
    case ARG_INTS:
        if (value->ints.count == 0)
            return false;
        value->ints.values[value->ints.count - 1] += 1 + change;
        break;
    case ARG_VALUE:
    case ARG_NULL_OR_VALUE:
        value->value = parse(values[change], arena);
        break;
    case ARG_ACTIVATION:
        assert_true(status_is_ok(
            activation_read(parse(activations[change], arena), arena, &value->activation)));
        break;
    case ARG_INITIALIZER:
        value->initializer = (struct initializer){ .kind = INITIALIZER_CONSTANT, .a = .375 };
        break;
    case ARG_REGULARIZER:
        value->regularizer = (struct regularizer){ .l2 = .375 };
        break;
    case ARG_CONSTRAINT:
        value->constraint =
            (struct constraint_choice){ .constraint = { .kind = CONSTRAINT_NON_NEGATIVE } };
        break;
    case ARG_LAYER:
    case ARG_LAYERS:
    case ARG_NONE: /* refused by name as it is read, unless it is null or false */
        return false;
    }
    value->is_null = false;
    return true;
}

/* ---- the arguments of a layer, and of those inside it ---- */

struct walk {
    const char *json;
    struct layers_model *model;
    bool is_built;
    struct outcome plain; /* if is_built */
    int at;               /* how many layers and their inner ones came before */
};

/* The layer of this number, inner ones counted. */
static struct layer *nth_layer(struct layer *layers, int count, int *at)
{
    for (int i = 0; i < count; i++) {
        if ((*at)-- == 0)
            return &layers[i];
        struct layer *found = NULL;
        for (int a = 0; a < layers[i].class->args_count && found == NULL; a++) {
            struct arg_value *value = &layers[i].args[a];
            if (layers[i].class->args[a].kind == ARG_LAYER && !value->is_null)
                found = nth_layer(value->layer, 1, at);
            if (layers[i].class->args[a].kind == ARG_LAYERS && !value->is_null)
                found = nth_layer(value->layers.values, value->layers.count, at);
        }
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* Does the argument of this number have an effect when it is changed so? */
static bool has_effect(struct walk *walk, int a, int change)
{
    if (!walk->is_built)
        walk->plain = build_all(walk->model);
    walk->is_built = true;
    struct arena *arena = arena_create(0);
    struct layers_model *model;
    int at = walk->at;
    bool counts = false;

    assert_true(status_is_ok(layers_parse(bytes_of(walk->json), arena, &model)));
    struct layer *layer = nth_layer(model->layers, model->layers_count, &at);
    if (change_value(&layer->class->args[a], &layer->args[a], change, arena)) {
        struct outcome other = build_all(model);
        counts =
            other.refused || memcmp(other.hashes, walk->plain.hashes, sizeof other.hashes) != 0;
    }
    arena_destroy(arena);
    return counts;
}

/* Arguments that may be anything. */
static const char *const idle_by_design[] = {
    "implementation",                     /* how Keras computes the same */
    "input_length",                       /* of Keras 2; the input has a length */
    "renorm_momentum",                    /* of renorm, which is refused */
    "BatchNormalization.synchronized",    /* the trainer asks for it */
    "SeparableConv1D.kernel_initializer", /* they have two others */
    "SeparableConv2D.kernel_initializer",
    "query_shape", /* these repeat the shapes of the inputs */
    "key_shape",
    "value_shape",
    "ActivityRegularization.activity_regularizer", /* repeats l1 and l2 */
    "MaxNumBoundingBoxes.max_number",              /* in a model there are images and no boxes */
    "MaxNumBoundingBoxes.fill_value",
    "Resize.fill_value",  /* of the two arguments for aspect ratios, which are refused */
    "TopK.sorted",        /* without it any order will do, that of size too */
    "IsIn.assume_unique", /* whether the list has a number twice changes nothing */
    /* These are read before they could be changed here, and every model has them: test_lists.c */
    "InputLayer.sparse",
    "InputLayer.ragged",
    /* No layer gives images a mask of steps only */
    "ConvLSTM1D.zero_output_for_mask",
    "ConvLSTM2D.zero_output_for_mask",
    "ConvLSTM3D.zero_output_for_mask",
};

static bool is_listed(const char *const *list, size_t count, const char *class,
                      const char *argument)
{
    char name[256];

    snprintf(name, sizeof name, "%s.%s", class, argument);
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], argument) == 0 || strcmp(list[i], name) == 0)
            return true;
    return false;
}

static void walk_layer(struct walk *walk, const struct layer *layer)
{
    for (int a = 0; a < layer->class->args_count; a++) {
        struct pair *pair = find_pair(layer->class, layer->class->args[a].name);
        enum arg_kind kind = layer->class->args[a].kind;
        pair->counts |=
            kind == ARG_NONE || kind == ARG_LAYER || kind == ARG_LAYERS ||
            (kind == ARG_CHOICE && strchr(layer->class->args[a].fallback, ' ') == NULL) ||
            is_listed(idle_by_design, COUNT(idle_by_design), layer->class->name, pair->argument);
        for (int change = 0; change < CHANGES && !pair->counts; change++)
            pair->counts = has_effect(walk, a, change);
    }
}

static void walk_model(const char *json)
{
    struct arena *arena = arena_create(0);
    struct walk walk = { .json = json };

    assert_true(status_is_ok(layers_parse(bytes_of(json), arena, &walk.model)));
    for (;; walk.at++) {
        int at = walk.at;
        const struct layer *layer = nth_layer(walk.model->layers, walk.model->layers_count, &at);
        if (layer == NULL)
            break;
        walk_layer(&walk, layer);
    }
    arena_destroy(arena);
}

/* Does the table of the class have the argument? */
static bool has_argument(const struct layer_class *class, const char *argument)
{
    for (int i = 0; i < class->args_count; i++)
        if (strcmp(class->args[i].name, argument) == 0)
            return true;
    return false;
}

/* Arguments of Keras' constructors that no table has. A description that has one is refused by the
 * argument's name, unless it is null. */
static const char *const not_read[] = {
    "Bidirectional.weights",     /* in no description */
    "gptq_unpacked_column_size", /* of quantization, which is refused */
    "use_cudnn",                 /* in no description */
    "InputLayer.shape",          /* batch_shape has it */
    "InputLayer.batch_size",     /* the same */
    "InputLayer.batch_shape",    /* read without a table */
    "InputLayer.input_tensor",   /* in no description */
};

/* Was the class in one of the models? */
static bool is_walked(const struct layer_class *class)
{
    for (int i = 0; i < pairs_count; i++)
        if (pairs[i].class == class)
            return true;
    return false;
}

/* After every_argument_has_an_effect. */
static void every_argument_of_keras_is_known(void **state)
{
    (void)state;
    FILE *file = fopen("tests/golden/arguments/arguments.txt", "r");
    char *line = NULL, *rest;
    size_t capacity = 0;
    int classes = 0, unknown = 0;

    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        if (strncmp(line, "layer ", 6) != 0)
            continue;
        const char *name = strtok_r(line + 6, " \n", &rest);
        const struct layer_class *class = layer_class_find(NULL, name);
        classes += class != NULL;
        if (class != NULL && class->args_count > 0 && class != &layer_input && !is_walked(class)) {
            print_message("%s is in no model\n", name);
            unknown++;
        }
        for (const char *argument;
             class != NULL && (argument = strtok_r(NULL, " \n", &rest)) != NULL;)
            if (!has_argument(class, argument) &&
                !is_listed(not_read, COUNT(not_read), name, argument)) {
                print_message("%s.%s\n", name, argument);
                unknown++;
            }
    }
    free(line);
    fclose(file);
    assert_true(classes > 100);
    assert_int_equal(unknown, 0);
}

/* The models of a file: lines that begin with "json ". */
static void walk_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;

    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0)
        if (strncmp(line, "json ", 5) == 0)
            walk_model(line + 5);
    free(line);
    fclose(file);
}

static void walk_directory(const char *directory)
{
    DIR *stream = opendir(directory);
    char path[512];

    assert_non_null(stream);
    for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
        if (strstr(entry->d_name, ".txt") != NULL) {
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
            walk_file(path);
        }
    closedir(stream);
}

static void every_argument_has_an_effect(void **state)
{
    (void)state;
    int idle = 0;

    walk_directory("tests/golden/layers");
    walk_file("tests/golden/preprocessing/keras3.txt");
    walk_file("tests/golden/arguments/arguments.txt");
    for (int i = 0; i < pairs_count; i++)
        if (!pairs[i].counts) {
            print_message("%s: %s\n", pairs[i].class->name, pairs[i].argument);
            idle++;
        }
    assert_true(pairs_count > 500);
    assert_int_equal(idle, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_argument_has_an_effect),
        cmocka_unit_test(every_argument_of_keras_is_known),
    };

    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
