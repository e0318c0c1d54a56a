/*
 * From regions to blocks: gives each value a slot and each needed node a step, and finds and
 * prepares its kernel. Also computes single nodes while the plan is made.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/denormals.h"
#include "graph/arguments.h"
#include "graph/control_flow.h"
#include "runtime/plan/maker.h"

static uint32_t slots_take(struct plan_maker *maker, int count, int owner)
{
    struct plan *plan = maker->plan;
    uint32_t first = plan->slots_count;
    uint32_t wanted = first + (uint32_t)count;
    if (wanted > maker->slots_capacity) {
        uint32_t capacity = wanted * 2 + 64;
        plan->constants = xrealloc(plan->constants, capacity * sizeof *plan->constants);
        maker->owners = xrealloc(maker->owners, capacity * sizeof *maker->owners);
        maker->stamps = xrealloc(maker->stamps, capacity * sizeof *maker->stamps);
        maker->takers = xrealloc(maker->takers, capacity * sizeof *maker->takers);
        maker->slots_capacity = capacity;
    }
    for (uint32_t slot = first; slot < wanted; slot++) {
        plan->constants[slot] = NULL;
        maker->owners[slot] = owner;
        maker->stamps[slot] = 0;
        maker->takers[slot] = 0;
    }
    plan->slots_count = wanted;
    return first;
}

/* The slot of a value; a constant gets one at its first use. */
static struct status slot_of(struct plan_maker *maker, struct region *region,
                             struct endpoint endpoint, uint32_t *out)
{
    struct plan_value *value = region_value(region, region_resolve(region, endpoint));
    if (value->slot == SLOT_NONE && value->constant != NULL) {
        value->slot = slots_take(maker, 1, -1);
        maker->plan->constants[value->slot] = value->constant;
    }
    if (value->slot == SLOT_NONE)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is used before it is computed",
                            endpoint_text(endpoint));
    if (value->constant != NULL)
        note_constant_use(maker, value->constant);
    *out = value->slot;
    return status_ok();
}

static struct plan_block *block_create(struct plan_maker *maker)
{
    struct plan_block *block = ARENA_NEW(maker->arena, struct plan_block);
    block->id = maker->plan->blocks_count++;
    return block;
}

/* The step moves when the block grows: use it before the next block_add. */
static struct step *block_add(struct plan_maker *maker, struct plan_block *block)
{
    if (block->steps_count == block->steps_capacity) {
        int capacity = block->steps_capacity * 2 + 16;
        struct step *steps = ARENA_ARRAY(maker->arena, struct step, capacity);
        if (block->steps_count > 0)
            memcpy(steps, block->steps, sizeof *steps * (size_t)block->steps_count);
        block->steps = steps;
        block->steps_capacity = capacity;
    }
    maker->plan->steps_count++;
    return &block->steps[block->steps_count++];
}

static void give_outputs(struct plan_maker *maker, struct region *region,
                         const struct plan_block *block, const struct node *node, struct step *step)
{
    step->outputs_count = node->outputs_count;
    step->first_output = slots_take(maker, node->outputs_count, block->id);
    for (int i = 0; i < node->outputs_count; i++) {
        struct plan_value *value = &region->values[node->id][i];
        assert(value->slot == SLOT_NONE); /* a node is emitted once, and writes its own slots */
        value->slot = step->first_output + (uint32_t)i;
    }
}

static struct status prepare(struct plan_maker *maker, struct region *region,
                             const struct node *node, const struct kernel *kernel,
                             struct step *step)
{
    TRY(check_fused(node));
    step->node = node;
    step->compute = kernel->compute;
    step->costly = kernel->costly;
    step->any_rank = kernel->any_rank;
    if (kernel->prepare == NULL)
        return status_ok();
    struct prepare_context context = { maker, region, node, step, false };
    return kernel->prepare(&context);
}

static struct status emit_nodes(struct plan_maker *maker, struct region *region,
                                struct plan_block *block);
static struct status block_results(struct plan_maker *maker, struct region *region,
                                   struct plan_block *block, int count, const int *which);

/* A kernel that runs a function sets all its arguments, but for those that the plan knows. */
static struct status emit_function(struct plan_maker *maker, struct region *body,
                                   struct plan_function *out)
{
    int count = body->args_count;
    *out = (struct plan_function){ .plan = maker->plan,
                                   .name = body->function,
                                   .block = block_create(maker),
                                   .args_count = count };
    out->args = ARENA_ARRAY(maker->arena, uint32_t, count + 1);
    out->arg_types = ARENA_ARRAY(maker->arena, enum dtype, count + 1);
    for (int i = 0; i < count; i++) {
        struct plan_value *value = region_value(body, body->args[i]);
        if (value->constant == NULL)
            value->slot = slots_take(maker, 1, out->block->id);
        out->args[i] = value->slot;
        out->arg_types[i] = body->args[i].node->outputs[body->args[i].index].dtype;
    }
    TRY(emit_nodes(maker, body, out->block));
    return block_results(maker, body, out->block, body->results_count, NULL);
}

static struct status emit_functions(struct plan_maker *maker, const struct region *region,
                                    const struct node *node, struct step *step)
{
    const struct branches *bodies = region->branches[node->id];
    if (!op_has(node->op, OP_FUNCTIONS))
        return status_ok();
    struct plan_function *functions =
        ARENA_ARRAY(maker->arena, struct plan_function, bodies->count + 1);
    maker->plan->has_loop = true;
    for (int i = 0; i < bodies->count; i++) {
        TRY(emit_function(maker, bodies->regions[i], &functions[i]));
        functions[i].first_capture = bodies->captures[i];
        functions[i].captures_count = bodies->captures_count[i];
    }
    step->functions = functions;
    step->functions_count = bodies->count;
    return status_ok();
}

static struct status emit_kernel(struct plan_maker *maker, struct region *region,
                                 struct plan_block *block, const struct node *node)
{
    const struct kernel *kernel = kernel_find(node);
    if (kernel == NULL || kernel->compute == NULL)
        return kernel_missing(node);

    struct step step = { .inputs_count = node->inputs_count };
    step.inputs = ARENA_ARRAY(maker->arena, uint32_t, node->inputs_count + 1);
    TRY(emit_functions(maker, region, node, &step));
    maker->plan->has_effects |= !op_is_pure(node->op) || node_takes_reference(node);
    maker->emitting = node;
    for (int i = 0; i < node->inputs_count; i++)
        TRY(slot_of(maker, region, node->inputs[i], &step.inputs[i]));
    TRY(prepare(maker, region, node, kernel, &step));
    maker->emitting = NULL;
    give_outputs(maker, region, block, node, &step);
    *block_add(maker, block) = step;
    return status_ok();
}

/* ---- bodies ---- */

/* Lets the body read argument `arg` from the slot of the caller's input `input`. */
static struct status pass_argument(struct plan_maker *maker, struct region *region,
                                   const struct node *node, int input, struct region *body, int arg)
{
    struct plan_value *value = region_value(body, body->args[arg]);
    if (value->constant != NULL)
        return status_ok();
    return slot_of(maker, region, node->inputs[input], &value->slot);
}

static struct status block_results(struct plan_maker *maker, struct region *region,
                                   struct plan_block *block, int count, const int *which)
{
    block->results = ARENA_ARRAY(maker->arena, uint32_t, count + 1);
    block->results_count = count;
    for (int i = 0; i < count; i++)
        TRY(slot_of(maker, region, region->results[which != NULL ? which[i] : i],
                    &block->results[i]));
    block_liveness(maker, block);
    return status_ok();
}

static struct control *control_create(struct plan_maker *maker, const struct node *node,
                                      int blocks_count)
{
    struct control *control = ARENA_NEW(maker->arena, struct control);
    control->blocks = ARENA_ARRAY(maker->arena, struct plan_block *, blocks_count);
    control->blocks_count = blocks_count;
    control->by_index = op_has(node->op, OP_CASE);
    control->is_lowered = node_is_lowered(node);
    return control;
}

static struct status emit_branch(struct plan_maker *maker, struct region *region,
                                 struct plan_block *block, const struct node *node,
                                 const struct branches *branches)
{
    struct control *control = control_create(maker, node, branches->count);
    struct step step = { .compute = branch_compute, .node = node, .control = control };
    step.inputs = ARENA_ARRAY(maker->arena, uint32_t, 1);
    step.inputs_count = 1;
    TRY(slot_of(maker, region, node->inputs[0], &step.inputs[0]));

    for (int i = 0; i < branches->count; i++) {
        struct region *body = branches->regions[i];
        struct plan_block *inner = control->blocks[i] = block_create(maker);
        for (int j = 1; j < node->inputs_count; j++)
            TRY(pass_argument(maker, region, node, j, body, j - 1));
        TRY(emit_nodes(maker, body, inner));
        TRY(block_results(maker, body, inner, body->results_count, NULL));
    }
    give_outputs(maker, region, block, node, &step);
    *block_add(maker, block) = step;
    return status_ok();
}

/* The steps of a branch that is always chosen go into the block around it. */
static struct status emit_chosen(struct plan_maker *maker, struct region *region,
                                 struct plan_block *block, const struct node *node,
                                 struct region *body)
{
    for (int j = 1; j < node->inputs_count; j++)
        TRY(pass_argument(maker, region, node, j, body, j - 1));
    TRY(emit_nodes(maker, body, block));
    for (int i = 0; i < node->outputs_count; i++)
        TRY(slot_of(maker, body, body->results[i], &region->values[node->id][i].slot));
    return status_ok();
}

static struct status emit_loop(struct plan_maker *maker, struct region *region,
                               struct plan_block *block, const struct node *node,
                               const struct branches *branches)
{
    struct region *cond = branches->regions[0], *body = branches->regions[1];
    struct control *control = control_create(maker, node, 2);
    maker->plan->has_loop = true;
    assert(node->inputs_count == node->outputs_count); /* make_loop checks */
    control->blocks[0] = block_create(maker);
    control->blocks[1] = block_create(maker);
    int capacity = node->inputs_count + 1;
    control->carried = ARENA_ARRAY(maker->arena, uint32_t, capacity);
    control->next = ARENA_ARRAY(maker->arena, uint32_t, capacity);
    control->outputs = ARENA_ARRAY(maker->arena, int, capacity);
    struct step step = { .compute = loop_compute, .node = node, .control = control };
    step.inputs = ARENA_ARRAY(maker->arena, uint32_t, capacity);

    for (int i = 0; i < node->inputs_count; i++) {
        if (branches->invariant[i]) {
            TRY(pass_argument(maker, region, node, i, cond, i));
            TRY(pass_argument(maker, region, node, i, body, i));
            continue;
        }
        int at = control->carried_count++;
        TRY(slot_of(maker, region, node->inputs[i], &step.inputs[at]));
        control->outputs[at] = i;
        control->carried[at] = slots_take(maker, 1, control->blocks[1]->id);
        control->next[at] = slots_take(maker, 1, -1);
        region_value(cond, cond->args[i])->slot = control->carried[at];
        region_value(body, body->args[i])->slot = control->carried[at];
    }
    step.inputs_count = control->carried_count;

    TRY(emit_nodes(maker, cond, control->blocks[0]));
    TRY(block_results(maker, cond, control->blocks[0], 1, NULL));
    TRY(emit_nodes(maker, body, control->blocks[1]));
    TRY(block_results(maker, body, control->blocks[1], control->carried_count, control->outputs));
    give_outputs(maker, region, block, node, &step);
    *block_add(maker, block) = step;
    return status_ok();
}

static struct status emit_control(struct plan_maker *maker, struct region *region,
                                  struct plan_block *block, const struct node *node)
{
    const struct branches *branches = region->branches[node->id];
    if (branches->is_loop)
        return emit_loop(maker, region, block, node, branches);
    if (branches->chosen >= 0)
        return emit_chosen(maker, region, block, node, branches->regions[branches->chosen]);
    return emit_branch(maker, region, block, node, branches);
}

/* True for a node whose outputs have slots already (arguments, feeds) or are constant, and for one
 * that only orders others. */
static bool needs_no_step(const struct region *region, const struct node *node)
{
    if (strcmp(node->op_name, "NoOp") == 0)
        return true;
    for (int i = 0; i < node->outputs_count; i++) {
        const struct plan_value *value = &region->values[node->id][i];
        if (value->slot == SLOT_NONE && value->constant == NULL && value->same.node == NULL)
            return false;
    }
    return node->outputs_count > 0;
}

static bool is_argument(const struct region *region, const struct node *node)
{
    if (strcmp(node->op_name, "Placeholder") != 0)
        return false;
    for (int i = 0; i < region->args_count; i++) {
        if (region->args[i].node == node)
            return true;
    }
    return false;
}

static struct status emit_nodes(struct plan_maker *maker, struct region *region,
                                struct plan_block *block)
{
    region_prune(region);
    for (int i = 0; i < region->nodes_count; i++) {
        const struct node *node = region->nodes[i];
        if (node_is_control(node))
            TRY(emit_control(maker, region, block, node));
        else if (!is_argument(region, node) && !needs_no_step(region, node))
            TRY(emit_kernel(maker, region, block, node));
    }
    return status_ok();
}

struct status region_emit(struct plan_maker *maker, struct region *region, struct plan_block **out)
{
    struct plan *plan = maker->plan;
    struct plan_block *block = block_create(maker);
    plan->feeds = ARENA_ARRAY(maker->arena, uint32_t, region->args_count + 1);
    plan->feed_dtypes = ARENA_ARRAY(maker->arena, enum dtype, region->args_count + 1);
    plan->feed_shapes = ARENA_ARRAY(maker->arena, struct shape, region->args_count + 1);
    plan->feeds_count = region->args_count;
    for (int i = 0; i < region->args_count; i++) {
        struct plan_value *value = region_value(region, region->args[i]);
        if (value->slot == SLOT_NONE)
            value->slot = slots_take(maker, 1, -1);
        plan->feeds[i] = value->slot;
        const struct output *output = &region->args[i].node->outputs[region->args[i].index];
        plan->feed_dtypes[i] = output->dtype;
        plan->feed_shapes[i] = output->shape;
    }
    TRY(emit_nodes(maker, region, block));
    TRY(block_results(maker, region, block, region->results_count, NULL));
    *out = block;
    return status_ok();
}

/* ---- computing a node when the plan is made ---- */

/* Copies what does not outlive the run that computed it: pooled buffers and strings. */
static struct status keep_output(const struct node *node, const struct output *declared,
                                 struct tensor *made, struct tensor *out)
{
    if (made->dtype == DT_INVALID)
        return status_error(STATUS_INTERNAL, "node '%s' (%s) gave no value", node->name,
                            node->op_name);
    if (made->dtype != declared->dtype && !declared->is_ref)
        return status_error(STATUS_INTERNAL, "node '%s' (%s) gave %s, should be %s", node->name,
                            node->op_name, dtype_name(made->dtype), dtype_name(declared->dtype));
    if (made->buffer == NULL || made->buffer->pool != NULL || made->dtype == DT_STRING)
        return tensor_copy_deep(made, out);
    *out = tensor_acquire(made);
    return status_ok();
}

static struct status keep_outputs(const struct node *node, struct tensor *made,
                                  struct tensor *outputs)
{
    for (int i = 0; i < node->outputs_count; i++) {
        struct status status = keep_output(node, &node->outputs[i], &made[i], &outputs[i]);
        if (status_is_ok(status))
            continue;
        tensors_release(i, outputs);
        return status;
    }
    return status_ok();
}

/* The run that computes a constant. A small file must not cause a large result: small constants
 * give results of at most MAKE_BYTES_MAX. A result of large constants may be several times as
 * large as they are, because their file was large already. */
static struct run *folding_run(const struct plan_maker *maker, const struct region *region,
                               const struct node *node)
{
    const struct work_limits *limits = maker->plan->options.limits;
    size_t bytes = 0;
    for (int i = 0; i < node->inputs_count; i++)
        bytes += tensor_bytes(region_value(region, node->inputs[i])->constant);
    if (bytes <= MAKE_BYTES_MAX / 4)
        return maker->run;
    size_t limit = 4 * bytes;
    struct run *run =
        run_create(limits != NULL && limits->memory_bytes > 0 && limits->memory_bytes < limit
                       ? limits->memory_bytes
                       : limit);
    run_set_deadline(run, maker->run->deadline_ns);
    run_set_check(run, maker->run->check, maker->run->check_context);
    return run;
}

static size_t contents_of(const struct tensor *tensors, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += tensor_content_bytes(&tensors[i]);
    return bytes;
}

struct status evaluate_node(struct plan_maker *maker, struct region *region, struct node *node,
                            const struct kernel *kernel, size_t bytes_max, struct tensor *outputs)
{
    int inputs = node->inputs_count, slots = inputs + node->outputs_count;
    struct tensor *storage = zalloc((size_t)(slots + 1) * sizeof *storage);
    const struct tensor **values = zalloc((size_t)(slots + 1) * sizeof *values);
    struct step *step = ARENA_NEW(maker->arena, struct step);
    step->inputs = ARENA_ARRAY(maker->arena, uint32_t, inputs + 1);
    step->inputs_count = inputs;
    step->first_output = (uint32_t)inputs;
    step->outputs_count = node->outputs_count;
    for (int i = 0; i < slots; i++)
        values[i] = i < inputs ? region_value(region, node->inputs[i])->constant : &storage[i];
    for (int i = 0; i < inputs; i++)
        step->inputs[i] = (uint32_t)i;

    struct run *run = folding_run(maker, region, node);
    struct kernel_context context = { step, values, storage, run, maker->plan };
    struct status status = prepare(maker, region, node, kernel, step);
    unsigned long mode = denormals_flush(); /* as plan_run does */
    if (status_is_ok(status))
        status = step->compute(&context);
    denormals_restore(mode);
    if (status_is_ok(status) && bytes_max > 0 &&
        contents_of(storage + inputs, node->outputs_count) > bytes_max)
        status = status_error(STATUS_RESOURCE_EXHAUSTED, "node '%s' gives over %zu bytes",
                              node->name, bytes_max);
    if (status_is_ok(status))
        status = keep_outputs(node, storage + inputs, outputs);
    tensors_release(slots - inputs, storage + inputs);
    run_reset(run);
    if (run != maker->run)
        run_destroy(run);
    free(values);
    free(storage);
    return status;
}
