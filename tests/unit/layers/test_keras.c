/* Builds and runs models that Keras printed. Outputs, losses and gradients must match Keras'. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers/layers.h"
#include "runtime/plan.h"

#define DIRECTORY "tests/golden/layers"
#define MEMBERS   16

/* A file written by tests/golden/layers/models.py. */
struct printed {
    struct arena *arena;
    struct layers_model *model;
    struct tensor input, labels, output;
    double loss;
    const char *names[MEMBERS];
    struct tensor values[MEMBERS], gradients[MEMBERS]; /* DT_INVALID: no gradient */
    int count;
};

static void must(struct status status)
{
    if (!status_is_ok(status))
        fail_msg("%s", status.message);
}

/* Parses "[2,3] 0.5 …". */
static struct tensor read_tensor(struct arena *arena, const char *text)
{
    struct shape shape = { 0 };
    char *at = (char *)(uintptr_t)strchr(text, '[') + 1;

    while (*at != ']') {
        shape.dims[shape.rank++] = strtol(at, &at, 10);
        at += *at == ',';
    }
    float *values = arena_alloc(arena, (size_t)(shape_size(&shape) + 1) * sizeof *values);
    at++;
    for (int64_t i = 0; i < shape_size(&shape); i++)
        values[i] = strtof(at, &at);
    return tensor_borrow(DT_FLOAT, &shape, values);
}

static void read_line(struct printed *p, char *line)
{
    char name[64];

    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "json ", 5) == 0)
        must(layers_parse(bytes_of(line + 5), p->arena, &p->model));
    else if (strncmp(line, "input ", 6) == 0)
        p->input = read_tensor(p->arena, line);
    else if (strncmp(line, "labels ", 7) == 0)
        p->labels = read_tensor(p->arena, line);
    else if (strncmp(line, "output ", 7) == 0)
        p->output = read_tensor(p->arena, line);
    else if (sscanf(line, "loss %lf", &p->loss) == 1)
        return;
    else if (sscanf(line, "variable %63s", name) == 1) {
        p->names[p->count] = arena_strdup(p->arena, name);
        p->values[p->count++] = read_tensor(p->arena, line);
    } else if (strncmp(line, "grad ", 5) == 0) {
        p->gradients[p->count - 1] = read_tensor(p->arena, line);
    }
}

static void read_printed(const char *path, struct printed *out)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;

    assert_non_null(file);
    *out = (struct printed){ .arena = arena_create(0) };
    while (getline(&line, &capacity, file) > 0)
        read_line(out, line);
    free(line);
    fclose(file);
}

static void compare(const char *what, const struct tensor *got, const struct tensor *want)
{
    double scale = 1e-3;

    assert_string_equal(shape_text(&got->shape), shape_text(&want->shape));
    for (int64_t i = 0; i < want->size; i++)
        scale = fmax(scale, fabs((double)tensor_floats(want)[i]));
    for (int64_t i = 0; i < want->size; i++) {
        double a = (double)tensor_floats(got)[i], b = (double)tensor_floats(want)[i];
        if (!(fabs(a - b) <= 2e-5 * scale)) /* the order of float sums differs */
            fail_msg("%s[%d] is %.7g, Keras says %.7g", what, (int)i, a, b);
    }
}

/* Cross-entropy takes class indices as labels. */
static struct tensor labels_of(const struct printed *p)
{
    if (p->model->loss != LAYERS_CROSS_ENTROPY)
        return p->labels;
    int32_t *classes = arena_alloc(p->arena, (size_t)p->labels.size * sizeof *classes);
    for (int64_t i = 0; i < p->labels.size; i++)
        classes[i] = (int32_t)tensor_floats(&p->labels)[i];
    return tensor_borrow(DT_INT32, &p->labels.shape, classes);
}

static int right_answers(const struct printed *p)
{
    int64_t classes = p->output.shape.dims[1];
    int right = 0;

    for (int64_t i = 0; i < p->labels.size; i++) {
        const float *row = tensor_floats(&p->output) + i * classes;
        int64_t best = 0;
        for (int64_t k = 1; k < classes; k++)
            best = row[k] > row[best] ? k : best;
        right += best == (int64_t)tensor_floats(&p->labels)[i];
    }
    return right;
}

/* Builds the model, runs it once and compares the outputs of the mode. */
static void check_mode(const struct printed *p, enum layers_mode mode, int64_t batch)
{
    const struct layers_options options = { .mode = mode, .batch = batch };
    struct endpoint feeds[MEMBERS + 3], fetches[MEMBERS + 2];
    struct tensor given[MEMBERS + 3], got[MEMBERS + 2];
    int feeds_count = 0, fetches_count = 0;
    struct layers_graph built;
    struct plan *plan;

    must(layers_build(p->model, &options, p->arena, &built));
    assert_int_equal(built.variables_count, p->count);
    given[feeds_count] = p->input;
    feeds[feeds_count++] = built.input;
    if (mode != LAYERS_SERVE) {
        given[feeds_count] = labels_of(p);
        feeds[feeds_count++] = built.labels;
        fetches[fetches_count++] = built.loss;
    }
    fetches[fetches_count++] = built.output;
    bool counts = built.correct.node != NULL;
    if (counts)
        fetches[fetches_count++] = built.correct;
    for (int i = 0; i < p->count; i++) {
        assert_string_equal(built.variables[i].name, p->names[i]);
        given[feeds_count] = p->values[i];
        feeds[feeds_count++] = built.variables[i].value;
        bool gradient = mode == LAYERS_TRAIN && p->gradients[i].dtype == DT_FLOAT;
        if (mode == LAYERS_TRAIN)
            assert_int_equal(gradient, built.variables[i].gradient.node != NULL);
        if (gradient)
            fetches[fetches_count++] = built.variables[i].gradient;
    }
    const struct flatten_request request = { .feeds = feeds,
                                             .feeds_count = feeds_count,
                                             .fetches = fetches,
                                             .fetches_count = fetches_count };
    must(plan_create(built.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    must(plan_run(plan, run, given, got));
    int at = 0;
    if (mode != LAYERS_SERVE) {
        const float loss = (float)p->loss;
        const struct shape scalar = shape_scalar();
        const struct tensor want = tensor_borrow(DT_FLOAT, &scalar, &loss);
        compare("loss", &got[at++], &want);
    }
    compare("output", &got[at++], &p->output);
    if (counts)
        assert_int_equal(tensor_int32s(&got[at++])[0], right_answers(p));
    for (int i = 0; i < p->count; i++)
        if (mode == LAYERS_TRAIN && p->gradients[i].dtype == DT_FLOAT)
            compare(p->names[i], &got[at++], &p->gradients[i]);
    for (int i = 0; i < fetches_count; i++)
        tensor_release(&got[i]);
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(built.graph);
}

static void computes_what_keras_computes(void **state)
{
    struct printed p;

    read_printed(*state, &p);
    check_mode(&p, LAYERS_SERVE, 0);
    check_mode(&p, LAYERS_EVAL, 0);
    bool draws = strstr(*state, "dropped") != NULL;
    for (int known = 0; known < 2 && !draws; known++)
        check_mode(&p, LAYERS_TRAIN, known ? p.input.shape.dims[0] : 0);
    arena_destroy(p.arena);
}

static void reads_what_keras_compiled(void **state)
{
    (void)state;
    struct printed p;

    read_printed(DIRECTORY "/keras3_images.txt", &p);
    const struct layers_training *training = &p.model->training;
    assert_string_equal(training->optimizer, "sgd");
    assert_float_equal(training->learning_rate, 0.125, 1e-9);
    assert_int_equal(training->settings_count, 2);
    assert_string_equal(training->settings[0].name, "momentum");
    assert_float_equal(training->settings[0].value, 0.5, 1e-9);
    assert_string_equal(training->settings[1].name, "nesterov");
    assert_int_equal(p.model->loss, LAYERS_CROSS_ENTROPY);
    arena_destroy(p.arena);
}

int main(void)
{
    struct arena *arena = arena_create(0);
    struct CMUnitTest *tests = ARENA_ARRAY(arena, struct CMUnitTest, 300);
    struct dirent **entries;
    int found = scandir(DIRECTORY, &entries, NULL, alphasort);
    size_t count = 0;

    for (int i = 0; i < found; i++) {
        const char *name = arena_strdup(arena, entries[i]->d_name);
        if (strstr(name, ".txt") != NULL && count < 298)
            tests[count++] = (struct CMUnitTest){ .name = name,
                                                  .test_func = computes_what_keras_computes,
                                                  .initial_state = arena_printf(arena, "%s/%s",
                                                                                DIRECTORY, name) };
        free(entries[i]);
    }
    free(entries);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(reads_what_keras_compiled);
    int failed = count < 40 ? 1 : _cmocka_run_group_tests("keras", tests, count, NULL, NULL);
    arena_destroy(arena);
    return failed;
}
