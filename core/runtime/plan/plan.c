#include "runtime/plan.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/maker.h"
#include "runtime/plan/rows.h"

const struct tensor *plan_own(struct plan *plan, struct tensor tensor)
{
    if (plan->owned_count == plan->owned_capacity) {
        plan->owned_capacity = plan->owned_capacity * 2 + 16;
        plan->owned = xrealloc(plan->owned, (size_t)plan->owned_capacity * sizeof *plan->owned);
    }
    struct tensor *owned = ARENA_NEW(plan->arena, struct tensor);
    *owned = tensor;
    plan->owned[plan->owned_count++] = owned;
    return owned;
}

struct bytes variable_name(const struct node *handle)
{
    const struct attr_value *name = node_attr(handle, "shared_name");
    if (name != NULL && name->kind == ATTR_STRING && name->s.size > 0)
        return name->s;
    /* All VarHandleOps without a name are one variable; a VariableV2 goes by its node's name. */
    return bytes_of(strcmp(handle->op_name, "VarHandleOp") == 0 ? "" : handle->name);
}

static void maker_init(struct plan_maker *maker, struct plan *plan)
{
    *maker = (struct plan_maker){ .plan = plan, .arena = plan->arena };
}

static void maker_finish(struct plan_maker *maker)
{
    for (int i = 0; i < maker->graphs_count; i++)
        graph_finish(maker->graphs[i]);
    free(maker->graphs);
    map_finish(&maker->taken);
    free(maker->uses);
    free(maker->claims);
    free(maker->owners);
    free(maker->stamps);
    free(maker->takers);
    run_destroy(maker->run);
}

/* `arena` becomes the plan's. */
static struct plan *plan_new(struct arena *arena, struct resources *resources,
                             const struct plan_options *options)
{
    static _Atomic uint64_t serials;
    struct plan *plan = zalloc(sizeof *plan);
    plan->arena = arena;
    plan->resources = resources;
    if (options != NULL)
        plan->options = *options;
    plan->serial = atomic_fetch_add(&serials, 1) + 1;
    return plan;
}

struct status plan_create_flat(struct flat_graph *flat, const struct flatten_request *request,
                               struct resources *resources, const struct map *mutable_variables,
                               const struct plan_options *options, struct plan **out)
{
    struct plan *plan = plan_new(flat->arena, resources, options);
    const struct flatten_result parts = flat->parts;
    struct status status;
    struct plan_maker maker;
    struct region *region;
    assert(mutable_variables != NULL);
    maker_init(&maker, plan);
    maker.run = run_create(MAKE_BYTES_MAX);
    run_set_limits(maker.run, plan->options.limits);
    maker.mutable_variables = mutable_variables;
    *flat = (struct flat_graph){ 0 };

    TRY_OR(fail, region_create(&maker, NULL, &parts, request, &region));
    /* Shapes help to fuse and to prove; if the graph contradicts itself, kernels say so. */
    status_ignore(graph_infer(region->graph));
    TRY_OR(fail, region_fold(&maker, region));
    if (!plan->options.no_fuse)
        region_fuse(&maker, region);
    TRY_OR(fail, region_emit(&maker, region, &plan->main));
    plan->rows_independent = region_rows_independent(region);
    plan->batch_pays = region_batch_pays(region);
    if (plan_cost_is_predictable(plan))
        plan->chunk_rows = region_chunk_rows(region);
    plan_settle_constants(&maker);
    plan->options.own_variables = NULL; /* the caller's, for making the plan only */
    maker_finish(&maker);
    *out = plan;
    return status_ok();

fail:
    maker_finish(&maker);
    plan_destroy(plan);
    return status;
}

struct status plan_create(const struct graph *graph, const struct flatten_request *request,
                          struct resources *resources, const struct map *mutable_variables,
                          const struct plan_options *options, struct plan **out)
{
    struct status status;
    struct flat_graph flat;
    struct arena *scratch = arena_create(0);
    struct map written = { .arena = scratch };

    if (mutable_variables == NULL) {
        TRY_OR(done, plan_written_variables(graph, request, scratch, &written));
        mutable_variables = &written;
    }
    TRY_OR(done, flat_graph_create(graph, request, &flat));
    status = plan_create_flat(&flat, request, resources, mutable_variables, options, out);
done:
    arena_destroy(scratch);
    return status;
}

void plan_destroy(struct plan *plan)
{
    if (plan == NULL)
        return;
    for (int i = plan->cleanups_count - 1; i >= 0; i--)
        plan->cleanups[i].destroy(plan->cleanups[i].state);
    for (int i = 0; i < plan->owned_count; i++)
        tensor_release(plan->owned[i]);
    free(plan->cleanups);
    free(plan->owned);
    free((void *)plan->constants);
    arena_destroy(plan->arena);
    free(plan);
}

int plan_steps_count(const struct plan *plan)
{
    return plan->steps_count;
}

/* ---- analysis: nothing is computed ---- */

/* The tree of regions as the file has it. The scratch plan owns everything. */
static struct status analyse(const struct graph *graph, const struct flatten_request *request,
                             struct map *written, struct plan **scratch, struct region **out)
{
    struct plan_options options = { .no_fuse = true };
    struct plan *plan = plan_new(arena_create(0), NULL, &options);
    struct plan_maker maker;
    struct flatten_result flat;
    maker_init(&maker, plan);
    maker.analyse = true;
    maker.written = written;
    struct status status = graph_flatten(graph, request, plan->arena, &flat);
    if (status_is_ok(status))
        status = region_create(&maker, NULL, &flat, request, out);
    if (status_is_ok(status))
        status = region_fold(&maker, *out);
    maker_finish(&maker);
    if (status_is_ok(status))
        *scratch = plan;
    else
        plan_destroy(plan);
    return status;
}

struct status plan_written_variables(const struct graph *graph,
                                     const struct flatten_request *request, struct arena *arena,
                                     struct map *names)
{
    struct plan *scratch;
    struct region *region;
    struct map written = { 0 };
    struct status status = analyse(graph, request, &written, &scratch, &region);
    if (status_is_ok(status)) {
        for (size_t i = 0; i < written.count; i++) {
            struct bytes name = written.entries[i].key;
            if (!map_has(names, name))
                map_put(names,
                        (struct bytes){ arena_memdup(arena, name.data, name.size), name.size },
                        names);
        }
        plan_destroy(scratch);
    }
    map_finish(&written);
    return status;
}

struct node_callback {
    void (*call)(void *context, const struct node *node);
    void *context;
};

static void report_missing(struct region *region, const struct node_callback *report)
{
    region_prune(region);
    for (int i = 0; i < region->nodes_count; i++) {
        const struct node *node = region->nodes[i];
        const struct branches *branches = region->branches[node->id];
        for (int j = 0; branches != NULL && j < branches->count; j++)
            report_missing(branches->regions[j], report);
        if (kernel_find(node) == NULL)
            report->call(report->context, node);
    }
}

struct status plan_missing_kernels(const struct graph *graph, const struct flatten_request *request,
                                   void (*report)(void *context, const struct node *node),
                                   void *context)
{
    struct plan *scratch;
    struct region *region;
    TRY(analyse(graph, request, NULL, &scratch, &region));
    report_missing(region, &(struct node_callback){ report, context });
    plan_destroy(scratch);
    return status_ok();
}

/* ---- showing ---- */

static void print_slots(const struct plan *plan, const uint32_t *slots, int count,
                        struct buffer *out)
{
    for (int i = 0; i < count; i++) {
        uint32_t slot = slots[i] & SLOT_INDEX;
        const char *mark = plan->constants[slot] != NULL ? "#" : "%";
        buffer_printf(out, "%s%s%u%s", i == 0 ? "" : ", ", mark, slot,
                      slots[i] & SLOT_LAST ? "!" : "");
    }
}

static void print_body(const struct plan *plan, const struct plan_block *block, int depth,
                       struct buffer *out);

static void print_block(const struct plan *plan, const struct plan_block *block, int depth,
                        struct buffer *out)
{
    for (int i = 0; i < block->steps_count; i++) {
        const struct step *step = &block->steps[i];
        buffer_printf(out, "%*s", 2 * depth, "");
        for (int j = 0; j < step->outputs_count; j++)
            buffer_printf(out, "%s%%%u", j == 0 ? "" : ", ", step->first_output + (uint32_t)j);
        buffer_printf(out, "%s%s(", step->outputs_count > 0 ? " = " : "", step->node->op_name);
        print_slots(plan, step->inputs, step->inputs_count, out);
        buffer_printf(out, ")  %s\n", step->node->name);
        const struct control *control = step->control;
        for (int j = 0; control != NULL && j < control->blocks_count; j++)
            print_body(plan, control->blocks[j], depth, out);
        for (int j = 0; j < step->functions_count; j++)
            print_body(plan, step->functions[j].block, depth, out);
    }
}

static void print_body(const struct plan *plan, const struct plan_block *block, int depth,
                       struct buffer *out)
{
    buffer_printf(out, "%*s-> ", 2 * depth + 2, "");
    print_slots(plan, block->results, block->results_count, out);
    buffer_append_char(out, '\n');
    print_block(plan, block, depth + 2, out);
}

void plan_print(const struct plan *plan, struct buffer *out)
{
    buffer_append_text(out, "feeds ");
    print_slots(plan, plan->feeds, plan->feeds_count, out);
    buffer_append_char(out, '\n');
    print_block(plan, plan->main, 0, out);
    buffer_append_text(out, "fetches ");
    print_slots(plan, plan->main->results, plan->main->results_count, out);
    buffer_append_char(out, '\n');
}

bool plan_rows_independent(const struct plan *plan)
{
    return plan->rows_independent;
}

/* The proof assumed the ranks; kernels check the dimensions after the first. */
bool plan_rows_fit(const struct plan *plan, const struct tensor *feeds)
{
    for (int i = 0; i < plan->feeds_count; i++) {
        if (feeds[i].shape.rank < 1 || !shape_compatible(&feeds[i].shape, &plan->feed_shapes[i]) ||
            feeds[i].shape.dims[0] != feeds[0].shape.dims[0])
            return false;
    }
    return true;
}

bool plan_batch_pays(const struct plan *plan)
{
    return plan->batch_pays;
}

bool plan_cost_is_predictable(const struct plan *plan)
{
    return plan->rows_independent && !plan->has_loop;
}
