/*
 * Generated graphs of one to three ops and their inputs, with any types, shapes and attributes
 * (op_graph.h). The target reads each graph as it would read a file, plans it and runs it, with
 * constant folding and fusion on and off. A run either fails or returns tensors of the declared
 * types whose elements can be read. Eight bytes are a seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/op_graph.h"
#include "graph/graph_proto.h"
#include "proto/graph.pb-c.h"
#include "runtime/plan.h"
#include "runtime/resources.h"

#define FETCHES_MAX 16
#define RUN_BYTES   ((size_t)16 << 20)
#define RUN_NS      UINT64_C(2000000000)
#define SECONDS_MAX 120 /* a graph takes milliseconds, but far longer with sanitizers */
#define GROWTH_MAX  ((long)512 << 10) /* KiB; the tensors of a graph are few and small */

static uint64_t graphs, plans, runs, answers;
static uint64_t *answers_of; /* by op->index */

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- one request to one plan ---- */

struct question {
    const struct op_graph *made;
    const struct graph *graph; /* after the round trip through GraphDef */
    struct endpoint feeds[OP_GRAPH_FEEDS_MAX], fetches[FETCHES_MAX];
    struct flatten_request request;
    struct node *target;
};

static void ask(struct question *question)
{
    const struct op_graph *made = question->made;
    struct node *last = question->target = graph_find(question->graph, made->last);
    for (int i = 0; i < made->feeds_count; i++)
        question->feeds[i] = (struct endpoint){ graph_find(question->graph, made->feeds[i]), 0 };
    int fetches = last->outputs_count < FETCHES_MAX ? last->outputs_count : FETCHES_MAX;
    for (int i = 0; i < fetches; i++)
        question->fetches[i] = (struct endpoint){ last, i };
    question->request = (struct flatten_request){ .feeds = question->feeds,
                                                  .feeds_count = made->feeds_count,
                                                  .fetches = question->fetches,
                                                  .fetches_count = fetches,
                                                  .targets = &question->target,
                                                  .targets_count = 1 };
}

/* Touches every byte, so that a sanitizer sees an element outside its buffer. */
static void read_answer(const struct tensor *tensor, const struct output *declared)
{
    const volatile unsigned char *bytes = tensor->data;
    check(tensor->dtype == declared->dtype || declared->is_ref, "an answer of another type");
    check(shape_size(&tensor->shape) == tensor->size, "an answer of another size");
    for (size_t i = 0; i < tensor_bytes(tensor); i++)
        (void)bytes[i];
    for (int64_t i = 0; tensor->dtype == DT_STRING && i < tensor->size; i++) {
        const volatile char *characters = tensor_strings(tensor)[i].data;
        for (size_t k = 0; k < tensor_strings(tensor)[i].size; k++)
            (void)characters[k];
    }
}

static void count_answer(const struct op *op)
{
    if (answers_of == NULL)
        answers_of = zalloc((size_t)op_count() * sizeof *answers_of);
    for (int i = 0; i < op_count(); i++)
        answers_of[i] += op_at(i) == op;
}

static void run_once(const struct plan *plan, struct run *run, const struct question *question)
{
    struct tensor fetches[FETCHES_MAX];
    runs++;
    if (!status_is_ok(plan_run(plan, run, question->made->values, fetches))) {
        run_reset(run);
        return;
    }
    answers++;
    count_answer(question->target->op);
    if (strcmp(question->target->op_name, "ReduceDataset") == 0) /* which read the dataset */
        count_answer(question->target->inputs[0].node->op);
    for (int i = 0; i < question->request.fetches_count; i++)
        read_answer(&fetches[i], &question->target->outputs[i]);
    tensors_release(question->request.fetches_count, fetches);
    run_reset(run);
}

static void run_plan(const struct plan *plan, const struct question *question)
{
    struct run *run = run_create(RUN_BYTES);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    run_set_deadline(run, (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec + RUN_NS);
    run_once(plan, run, question);
    run_once(plan, run, question); /* reuses the buffers of the first */
    check(tensor_pool_used(run_pool(run)) == 0, "a run keeps buffers");
    run_destroy(run);
}

static void set_variables(const struct op_graph *made, struct resources *resources)
{
    for (int i = 0; i < made->variables_count; i++) {
        struct shape unknown = shape_unknown();
        struct variable *variable;
        struct tensor copy;
        if (!status_is_ok(variable_find_or_create(resources, bytes_of(""),
                                                  bytes_of(made->variables[i]),
                                                  made->initial[i].dtype, &unknown, &variable)))
            continue;
        if (status_is_ok(tensor_copy_deep(&made->initial[i], &copy)))
            status_ignore(variable_assign(variable, &copy));
        object_release(&variable->object);
    }
}

static void plan_and_run(const struct question *question, bool fold)
{
    struct resources *resources = resources_create();
    struct plan_options options = { .no_fold = !fold, .no_fuse = !fold };
    struct plan *plan;
    set_variables(question->made, resources);
    if (status_is_ok(
            plan_create(question->graph, &question->request, resources, NULL, &options, &plan))) {
        plans++;
        run_plan(plan, question);
        plan_destroy(plan);
    }
    resources_destroy(resources);
}

/* ---- one graph ---- */

static void read_and_run(const struct op_graph *made)
{
    struct arena *arena = arena_create((size_t)64 << 20);
    struct question question = { .made = made };
    struct graph *graph;
    graphs++;
    if (status_is_ok(
            graph_from_proto(graph_to_proto(made->graph, made->arena), arena, false, &graph))) {
        question.graph = graph;
        ask(&question);
        plan_and_run(&question, true);
        plan_and_run(&question, false);
        graph_finish(graph);
    }
    arena_destroy(arena);
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices choices = choices_of(data, size);
    struct op_graph made;
    op_graph_create(&choices, &made);
    long before = peak_kib();
    if (getenv("FUZZ_PRINT") != NULL)
        op_graph_print(&made);
    alarm(SECONDS_MAX);
    read_and_run(&made);
    alarm(0);
    check(peak_kib() - before < GROWTH_MAX, "a graph of small tensors takes over 512 MiB");
    op_graph_destroy(&made);
    return 0;
}

void fuzz_print(const uint8_t *data, size_t size)
{
    struct choices choices = choices_of(data, size);
    struct op_graph made;
    op_graph_create(&choices, &made);
    op_graph_print(&made);
    op_graph_destroy(&made);
}

void fuzz_report(void)
{
    printf("%llu graphs, %llu plans, %llu runs, %llu answers\n", (unsigned long long)graphs,
           (unsigned long long)plans, (unsigned long long)runs, (unsigned long long)answers);
    printf("never answered:");
    for (int i = 0; answers_of != NULL && i < op_count(); i++)
        if (answers_of[i] == 0)
            printf(" %s", op_at(i)->name);
    printf("\n");
}
