/*
 * Measures the cost of the executor itself in one thread. Prints lines of `name value unit`:
 *
 *     executor_bench                               ns a step, over 1000 steps of one element each
 *     executor_bench DIR SIGNATURE                 loads a SavedModel and runs it once, one thread:
 *                                                  CPU time and peak memory after each
 *     executor_bench DIR SIGNATURE ROWS REPEAT     µs a run of a SavedModel's signature, median
 *     executor_bench DIR SIGNATURE ROWS REPEAT N   the same with one thread and with N in turn, and
 *                                                  the shortest time of each
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "graph/build.h"
#include "loaded_model.h"
#include "runtime/resources.h"

#define STEPS  1000
#define ROUNDS 200

static void must(struct status status)
{
    if (status_is_ok(status))
        return;
    fprintf(stderr, "executor_bench: %s\n", status.message);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The time of a run, in ns. */
static double time_run(const struct plan *plan, struct run *run, const struct tensor *feeds,
                       int fetches_count, struct tensor *fetches)
{
    int64_t start = clock_now_ns(clock_monotonic());
    must(plan_run(plan, run, feeds, fetches));
    tensors_release(fetches_count, fetches);
    run_reset(run);
    return (double)(clock_now_ns(clock_monotonic()) - start);
}

/* The times of `repeat` runs, ascending. */
static void time_runs(const struct plan *plan, const struct tensor *feeds, int fetches_count,
                      int repeat, double *times)
{
    struct run *run = run_create(0);
    struct tensor *fetches = zalloc((size_t)fetches_count * sizeof *fetches);
    for (int i = -3; i < repeat; i++) { /* the first runs fill the pool */
        double ns = time_run(plan, run, feeds, fetches_count, fetches);
        if (i >= 0)
            times[i] = ns;
    }
    qsort(times, (size_t)repeat, sizeof *times, by_value);
    free(fetches);
    run_destroy(run);
}

/* The median; *best: the shortest, which a busy machine disturbs least. */
static double time_plan(const struct plan *plan, const struct tensor *feeds, int fetches_count,
                        int repeat, double *best)
{
    double *times = zalloc((size_t)repeat * sizeof *times);
    time_runs(plan, feeds, fetches_count, repeat, times);
    double median = times[repeat / 2];
    *best = times[0];
    free(times);
    return median;
}

/* One thread and many in turn, so that both meet the same disturbances. */
static void compare_threads(const struct plan *plan, const struct tensor *feeds, int fetches_count,
                            int repeat, int threads)
{
    enum { ROUND = 3 };
    int rounds = (repeat + ROUND - 1) / ROUND, widths[2] = { 1, threads };
    double *times[2];
    for (int w = 0; w < 2; w++)
        times[w] = zalloc((size_t)rounds * ROUND * sizeof(double));
    for (int round = 0; round < rounds; round++)
        for (int w = 0; w < 2; w++) {
            parallel_set_width(widths[w]);
            time_runs(plan, feeds, fetches_count, ROUND, times[w] + round * ROUND);
        }
    for (int w = 0; w < 2; w++) {
        size_t count = (size_t)rounds * ROUND;
        qsort(times[w], count, sizeof(double), by_value);
        printf("executor_run_%d_threads %.2f us median\n", widths[w], times[w][count / 2] / 1e3);
        printf("executor_best_%d_threads %.2f us\n", widths[w], times[w][0] / 1e3);
        free(times[w]);
    }
}

static void time_one_thread(const struct plan *plan, const struct tensor *feeds, int fetches_count,
                            int repeat)
{
    double best, median = time_plan(plan, feeds, fetches_count, repeat, &best);
    printf("executor_run %.2f us median\nexecutor_best %.2f us\n", median / 1e3, best / 1e3);
}

static double time_chain(const char *op, bool in_place)
{
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct resources *resources = resources_create();
    struct builder b = builder_init(graph);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1)), at = x;
    for (int i = 0; i < STEPS; i++)
        at = in_place ? build_unary(&b, op, NULL, at) : build_binary(&b, op, NULL, x, at);
    must(builder_status(&b));
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &at, .fetches_count = 1
    };
    struct plan *plan;
    must(plan_create(graph, &request, resources, NULL, NULL, &plan));
    float value = 0;
    struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_FLOAT, &shape, &value);
    double best, ns = time_plan(plan, &feed, 1, ROUNDS, &best) / plan_steps_count(plan);
    plan_destroy(plan);
    resources_destroy(resources);
    graph_finish(graph);
    arena_destroy(arena);
    return ns;
}

static int64_t weights_bytes(const struct savedmodel *model)
{
    int64_t weights = 0;
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        const struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        int64_t size = 0;
        if (shape_fits(&variable.shape, &size))
            weights += size * (int64_t)dtype_size(variable.dtype);
    }
    return weights;
}

static void print_usage(const char *what)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double user = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    double system = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    printf("executor_%s_cpu %.3f s\nexecutor_%s_peak %.1f MB\n", what, user + system, what,
           (double)usage.ru_maxrss * 1024 / 1e6);
}

static void measure_load(const char *directory, const char *name)
{
    struct loaded_model loaded;
    loaded_model_open(directory, name, 1, &loaded);
    printf("executor_weights %.1f MB\n", (double)weights_bytes(loaded.model) / 1e6);
    print_usage("load");
    loaded_model_run(&loaded);
    print_usage("first");
    loaded_model_close(&loaded);
}

static void time_model(const char *directory, const char *name, int64_t rows, int repeat,
                       int threads)
{
    struct loaded_model loaded;
    loaded_model_open(directory, name, rows, &loaded);
    int outputs = loaded.signature->outputs_count;
    if (threads > 1)
        compare_threads(loaded.plan, loaded.feeds, outputs, repeat, threads);
    else
        time_one_thread(loaded.plan, loaded.feeds, outputs, repeat);
    printf("executor_steps %d steps\n", plan_steps_count(loaded.plan));
    loaded_model_close(&loaded);
}

int main(int argc, char **argv)
{
    if (argc == 5 || argc == 6) {
        time_model(argv[1], argv[2], atoll(argv[3]), atoi(argv[4]), argc == 6 ? atoi(argv[5]) : 1);
        return 0;
    }
    if (argc == 3) {
        measure_load(argv[1], argv[2]);
        return 0;
    }
    if (argc != 1) {
        fprintf(stderr, "usage: executor_bench [DIR SIGNATURE [ROWS REPEAT [THREADS]]]\n");
        return 2;
    }
    printf("executor_step_in_place %.1f ns\n", time_chain("Neg", true));
    printf("executor_step_new_buffer %.1f ns\n", time_chain("Maximum", false));
    return 0;
}
