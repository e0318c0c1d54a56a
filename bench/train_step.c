/*
 * train_step: measures a training step in microseconds, without data, ps or channel: the executor's
 * time for the loss and the gradients of a compiled-in model, then what a plain SGD update adds.
 *
 *     train_step [MODEL [STEPS [BATCH [--plan]]]]      all four models if none is named
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/random.h"
#include "layers/layers.h"
#include "runtime/plan.h"
#include "runtime/resources.h"

struct session {
    struct arena *arena;
    struct layers_graph built;
    struct plan *plan;
    struct run *run;
    struct tensor *feeds; /* input, labels[, seed], values */
    int feeds_count, values_at;
    struct tensor *fetches; /* loss, gradients */
    int fetches_count;
};

static void must(struct status status)
{
    if (status_is_ok(status))
        return;
    fprintf(stderr, "train_step: %s\n", status.message);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* CPU time: other programs may share the core */
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct tensor tensor_for(struct endpoint endpoint)
{
    struct tensor tensor;

    must(tensor_create(endpoint_dtype(endpoint), endpoint_shape(endpoint), &tensor));
    memset(tensor.data, 0, tensor_bytes(&tensor));
    return tensor;
}

/* Pixels in [0, 1), most of them 0 as in images of digits; labels in turn. */
static void fill_examples(struct session *s)
{
    struct random random;

    random_init(&random, 1, 0);
    for (int64_t i = 0; i < s->feeds[0].size; i++)
        tensor_floats_mut(&s->feeds[0])[i] = random_below(&random, 5) ? 0 : random_float(&random);
    for (int64_t i = 0; i < s->feeds[1].size; i++)
        if (s->feeds[1].dtype == DT_INT32)
            tensor_int32s_mut(&s->feeds[1])[i] = (int32_t)(i % 10);
        else
            tensor_floats_mut(&s->feeds[1])[i] = 0.3f;
}

static void prepare(struct session *s, const char *name, int64_t batch)
{
    struct layers_model *model;
    const struct layers_options options = { .mode = LAYERS_TRAIN, .batch = batch };

    s->arena = arena_create(0);
    must(layers_parse(layers_builtin(name), s->arena, &model));
    must(layers_build(model, &options, s->arena, &s->built));

    int count = s->built.variables_count, at = 0;
    struct endpoint *feeds = ARENA_ARRAY(s->arena, struct endpoint, count + 3);
    struct endpoint *fetches = ARENA_ARRAY(s->arena, struct endpoint, count + 1);
    feeds[at++] = s->built.inputs[0];
    feeds[at++] = s->built.heads[0].labels;
    if (s->built.random_seed.node != NULL)
        feeds[at++] = s->built.random_seed;
    s->values_at = at;
    fetches[0] = s->built.loss;
    for (int i = 0; i < count; i++) {
        feeds[at++] = s->built.variables[i].value;
        fetches[i + 1] = s->built.variables[i].gradient;
    }
    s->feeds_count = at;
    s->fetches_count = count + 1;
    const struct flatten_request request = {
        .feeds = feeds, .feeds_count = at, .fetches = fetches, .fetches_count = count + 1
    };
    must(plan_create(s->built.graph, &request, NULL, NULL, NULL, &s->plan));
    s->run = run_create(0);
    s->feeds = ARENA_ARRAY(s->arena, struct tensor, at);
    s->fetches = ARENA_ARRAY(s->arena, struct tensor, count + 1);
    for (int i = 0; i < at; i++)
        s->feeds[i] = tensor_for(feeds[i]);
    fill_examples(s);
    for (int i = 0; i < count; i++)
        initializer_fill(&s->built.variables[i].initializer, &s->built.variables[i].shape,
                         (uint64_t)i, tensor_floats_mut(&s->feeds[s->values_at + i]));
}

static float step(struct session *s, float rate)
{
    must(plan_run(s->plan, s->run, s->feeds, s->fetches));
    float loss = tensor_floats(&s->fetches[0])[0];

    for (int i = 1; i < s->fetches_count; i++) {
        float *value = tensor_floats_mut(&s->feeds[s->values_at + i - 1]);
        const float *gradient = tensor_floats(&s->fetches[i]);
        for (int64_t k = 0, size = s->fetches[i].size; rate != 0 && k < size; k++)
            value[k] -= rate * gradient[k];
    }
    tensors_release(s->fetches_count, s->fetches);
    run_reset(s->run);
    return loss;
}

/* The best of five rounds, because other programs take turns on the core. */
static double best_of(struct session *s, int steps, float rate)
{
    double best = 1e9;

    for (int round = 0; round < 5; round++) {
        double start = seconds();
        for (int i = 0; i < steps; i++)
            step(s, rate);
        double took = (seconds() - start) / steps;
        best = took < best ? took : best;
    }
    return best;
}

static void measure(const char *name, int steps, int64_t batch, bool print_plan)
{
    struct session s = { 0 };

    prepare(&s, name, batch);
    if (print_plan) {
        struct buffer text = { 0 };
        plan_print(s.plan, &text);
        fwrite(text.data, 1, text.size, stdout);
        buffer_finish(&text);
    }
    double start = seconds();
    float loss = step(&s, 0);
    if (steps == 0)
        steps = (int)fmax(5, fmin(2000, 0.3 / (seconds() - start)));
    double plain = best_of(&s, steps, 0), updated = best_of(&s, steps, 0.01f);
    printf("%-8s batch %lld: %8.1f us a step, %8.1f with SGD: %9.0f rows/s; loss %.4f -> %.4f\n",
           name, (long long)batch, plain * 1e6, updated * 1e6, (double)batch / updated,
           (double)loss, (double)step(&s, 0));
    tensors_release(s.feeds_count, s.feeds);
    run_destroy(s.run);
    plan_destroy(s.plan);
    graph_finish(s.built.graph);
    arena_destroy(s.arena);
}

int main(int argc, char **argv)
{
    static const char *const all[] = { "softmax", "linear", "mlp", "convnet" };
    int steps = argc > 2 ? atoi(argv[2]) : 0;
    int64_t batch = argc > 3 ? atoi(argv[3]) : 100;
    bool print_plan = argc > 4 && strcmp(argv[4], "--plan") == 0;

    for (size_t i = 0; i < COUNT(all); i++)
        if (argc < 2 || strcmp(argv[1], all[i]) == 0)
            measure(all[i], steps, batch, print_plan);
    return 0;
}
