/*
 * GraphDefs that are planned and run, with constant folding and fusion on and off. The target feeds
 * each placeholder with zeros and ones; an unknown dimension becomes 2. It fetches the last nodes.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "graph/graph_proto.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"
#include "runtime/plan.h"
#include "runtime/resources.h"

#define FEEDS_MAX   16
#define FETCHES_MAX 8
#define RUN_BYTES   ((size_t)16 << 20)
#define RUN_NS      UINT64_C(50000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct question {
    struct endpoint feeds[FEEDS_MAX], fetches[FETCHES_MAX];
    struct tensor values[FEEDS_MAX];
    struct flatten_request request;
};

/* The fuzzer must not read or write files. */
static bool touches_files(const struct graph *graph)
{
    static const char *const ops[] = { "File", "Save", "Restore", "MergeV2" };
    for (int i = 0; i < graph->count; i++) {
        for (size_t j = 0; j < COUNT(ops); j++) {
            if (strstr(graph->nodes[i]->op_name, ops[j]) != NULL)
                return true;
        }
    }
    return false;
}

static bool make_feed(const struct node *node, struct tensor *out)
{
    struct shape shape = node->outputs[0].shape;
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0)
            shape.dims[i] = 2;
        if (__builtin_mul_overflow(elements, shape.dims[i], &elements) || elements > 10000)
            return false;
    }
    if (shape.rank < 0)
        shape = shape_of(2);
    enum dtype dtype = node->outputs[0].dtype;
    if (dtype_size(dtype) == 0 || dtype == DT_RESOURCE || dtype == DT_VARIANT ||
        !status_is_ok(tensor_create(dtype, &shape, out)))
        return false;
    if (tensor_bytes(out) > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; dtype == DT_FLOAT && i < out->size; i++)
        tensor_floats_mut(out)[i] = (float)(i % 2);
    return true;
}

static void ask(const struct graph *graph, struct question *question)
{
    struct flatten_request *request = &question->request;
    *request = (struct flatten_request){ .feeds = question->feeds, .fetches = question->fetches };
    for (int i = graph->count - 1; i >= 0; i--) {
        struct node *node = graph->nodes[i];
        bool is_feed = strcmp(node->op_name, "Placeholder") == 0 && node->outputs_count == 1;
        if (is_feed && request->feeds_count < FEEDS_MAX &&
            make_feed(node, &question->values[request->feeds_count]))
            question->feeds[request->feeds_count++] = (struct endpoint){ node, 0 };
        else if (node->outputs_count > 0 && request->fetches_count < FETCHES_MAX)
            question->fetches[request->fetches_count++] = (struct endpoint){ node, 0 };
    }
}

static void run_plan(const struct plan *plan, const struct question *question)
{
    struct run *run = run_create(RUN_BYTES);
    struct tensor fetches[FETCHES_MAX];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    run_set_deadline(run, (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec + RUN_NS);
    for (int i = 0; i < 2; i++) { /* the second run reuses the buffers of the first */
        if (!status_is_ok(plan_run(plan, run, question->values, fetches)))
            continue;
        tensors_release(question->request.fetches_count, fetches);
        run_reset(run);
    }
    if (tensor_pool_used(run_pool(run)) != 0)
        __builtin_trap();
    run_destroy(run);
}

static void plan_and_run(const struct graph *graph, bool fold)
{
    struct question question;
    struct resources *resources = resources_create();
    struct plan_options options = { .no_fold = !fold, .no_fuse = !fold };
    struct plan *plan;
    ask(graph, &question);
    if (status_is_ok(plan_create(graph, &question.request, resources, NULL, &options, &plan))) {
        run_plan(plan, &question);
        plan_destroy(plan);
    }
    tensors_release(question.request.feeds_count, question.values);
    resources_destroy(resources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create((size_t)64 << 20);
    Tensorflow__GraphDef *proto;
    struct graph *graph;
    if (status_is_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                                  (struct bytes){ (const char *)data, size }, arena, &proto)) &&
        status_is_ok(graph_from_proto(proto, arena, false, &graph))) {
        if (!touches_files(graph)) {
            plan_and_run(graph, true);
            plan_and_run(graph, false);
        }
        graph_finish(graph);
    }
    arena_destroy(arena);
    return 0;
}
