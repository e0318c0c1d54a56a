/*
 * Finds the constants before anything runs: Const nodes, variables that no reachable node writes,
 * and all that follows from these alone. Removes identities, and adds reads of references whose
 * user needs a value. Walks into the bodies of branches and loops with the facts about their
 * arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/arguments.h"
#include "graph/control_flow.h"
#include "runtime/plan/maker.h"
#include "runtime/resources.h"

/* A result that is larger than this, and larger than its inputs, is not folded but computed in each
 * run: folding must not turn a small file into a large servable. */
#define FOLD_BYTES_MAX ((size_t)4 << 20)

/* All folded constants of a plan together: this much, plus a multiple of the constants in the
 * files. Weights that are cast, then transposed, then reshaped count three times. */
#define FOLD_ALL_BYTES_MAX ((size_t)64 << 20)
#define FOLD_ALL_TIMES     4

static bool op_is(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

/* ---- control edges ---- */

/* Is a control edge from the node void? It is if the node's outputs are known or it gets no
 * step. */
static bool is_inert(const struct region *region, const struct node *node)
{
    if (node->op == NULL || node_is_control(node))
        return false;
    if (op_is(node, "Placeholder") || op_is(node, "PlaceholderV2"))
        return true;
    if (op_is(node, "NoOp"))
        return node->controls_count == 0;
    for (int i = 0; i < node->outputs_count; i++) {
        const struct plan_value *value = &region->values[node->id][i];
        if (value->constant == NULL && value->same.node == NULL)
            return false;
    }
    return node->outputs_count > 0;
}

/* Drops void control edges. An edge from an identity that was removed becomes one from the node
 * that made its input. */
static void simplify_controls(struct region *region, struct node *node)
{
    int count = 0;
    for (int i = 0; i < node->controls_count; i++) {
        struct node *before = node->controls[i];
        if (before->outputs_count > 0 && node_is_identity(before))
            before = region_resolve(region, (struct endpoint){ before, 0 }).node;
        if (!is_inert(region, before))
            node->controls[count++] = before;
    }
    node->controls_count = count;
}

/* ---- variables ---- */

static void note_written(struct plan_maker *maker, const struct node *handle)
{
    if (maker->written != NULL)
        map_put(maker->written, variable_name(handle), (void *)handle);
}

/* A variable counts as written if its handle reaches an op that does more than read. */
static void note_writes(struct plan_maker *maker, const struct region *region,
                        const struct node *node)
{
    if (op_has(node->op, OP_READS) || node_is_identity(node) || maker->written == NULL)
        return;
    const struct branches *branches = region->branches[node->id];
    for (int i = 0; i < node->inputs_count; i++) {
        const struct node *handle = region_value(region, node->inputs[i])->handle;
        if (handle == NULL)
            continue;
        bool followed = branches != NULL && (branches->invariant == NULL || branches->invariant[i]);
        if (!followed)
            note_written(maker, handle);
    }
}

static struct variable *constant_variable(const struct plan_maker *maker,
                                          const struct plan_value *handle)
{
    const struct plan_options *options = &maker->plan->options;
    if (handle->handle == NULL || handle->constant == NULL || options->no_fold ||
        options->writes_variables)
        return NULL;
    if (maker->mutable_variables != NULL &&
        map_has(maker->mutable_variables, variable_name(handle->handle)))
        return NULL;
    struct object *object = *(struct object *const *)handle->constant->data;
    return object->type == &variable_type ? (struct variable *)object : NULL;
}

/* The value of a variable. One that the plan has taken is read from the plan. */
static struct status read_value(const struct plan_maker *maker, struct bytes name,
                                struct variable *variable, struct tensor *out)
{
    const struct tensor *taken = map_get(&maker->taken, name);
    if (taken == NULL)
        return variable_read(variable, out);
    *out = tensor_acquire(taken);
    return status_ok();
}

static void take_variable(struct plan_maker *maker, struct bytes name, struct variable *variable,
                          const struct tensor *value)
{
    const struct map *own = maker->plan->options.own_variables;
    if (own == NULL || !map_has(own, name) || map_has(&maker->taken, name))
        return;
    variable_clear(variable);
    map_put(&maker->taken, name, (void *)value);
}

/* Makes a constant of a variable that nothing writes. If it is not initialised, or has another
 * type, the read stays and fails when it runs. */
static void fold_read(struct plan_maker *maker, struct region *region, struct node *node)
{
    const struct plan_value *handle = region_value(region, node->inputs[0]);
    struct variable *variable = constant_variable(maker, handle);
    struct tensor value;
    if (variable == NULL)
        return;
    struct bytes name = variable_name(handle->handle);
    if (!status_is_ok(read_value(maker, name, variable, &value)))
        return;
    maker->given_bytes += tensor_bytes(&value);
    if (value.dtype != node->outputs[0].dtype) {
        tensor_release(&value);
        return;
    }
    struct plan_value *read = region_value(region, (struct endpoint){ node, 0 });
    read->constant = plan_own(maker->plan, value);
    take_variable(maker, name, variable, read->constant);
}

/* Adds a read of a reference, just before the node that needs the value. */
static struct endpoint read_reference(struct plan_maker *maker, struct region *region,
                                      struct endpoint reference, const struct node *user)
{
    struct node *read = region_add(maker, region, "ReadVariableOp",
                                   arena_printf(maker->arena, "%s/read", reference.node->name), 1);
    read->inputs[0] = reference;
    read->outputs[0] = reference.node->outputs[reference.index];
    read->outputs[0].is_ref = false;
    read->controls = user->controls; /* it must see what those write */
    read->controls_count = user->controls_count;
    struct attr *attr = ARENA_NEW(maker->arena, struct attr);
    *attr = (struct attr){ "dtype", { .kind = ATTR_TYPE, .type = (int)read->outputs[0].dtype } };
    read->attrs = attr;
    read->attrs_count = 1;
    fold_read(maker, region, read);
    region_append(maker, region, read);
    return (struct endpoint){ read, 0 };
}

/* A constant gets no step, so what it waits for is waited for by its users. */
static void wait_like(struct region *region, const struct node *constant, struct node *node)
{
    for (int i = 0; i < constant->controls_count; i++)
        node_add_control(region->graph, node, constant->controls[i]);
}

static void resolve_inputs(struct plan_maker *maker, struct region *region, struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        struct endpoint input = region_resolve(region, node->inputs[i]);
        if (op_is(input.node, "Const"))
            wait_like(region, input.node, node);
        if (input.node->outputs[input.index].is_ref && !node_input_is_ref(node, i))
            input = read_reference(maker, region, input, node);
        node->inputs[i] = input;
    }
}

/* ---- values ---- */

static bool inputs_are_constant(const struct region *region, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (region_value(region, node->inputs[i])->constant == NULL)
            return false;
    }
    return true;
}

static bool inputs_are_written_out(const struct region *region, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (!region_value(region, node->inputs[i])->is_written_out)
            return false;
    }
    return true;
}

static size_t inputs_bytes(const struct region *region, const struct node *node)
{
    size_t bytes = 0;
    for (int i = 0; i < node->inputs_count; i++)
        bytes += tensor_content_bytes(region_value(region, node->inputs[i])->constant);
    return bytes;
}

static size_t outputs_bytes(const struct node *node, const struct tensor *outputs)
{
    size_t bytes = 0;
    for (int i = 0; i < node->outputs_count; i++)
        bytes += tensor_content_bytes(&outputs[i]);
    return bytes;
}

/* The most bytes that the node may give. */
static size_t room_of(const struct plan_maker *maker, const struct region *region,
                      const struct node *node)
{
    size_t all = FOLD_ALL_BYTES_MAX + FOLD_ALL_TIMES * maker->given_bytes;
    size_t left = all > maker->folded_bytes ? all - maker->folded_bytes : 1;
    size_t own = inputs_bytes(region, node);

    own = own > FOLD_BYTES_MAX ? own : FOLD_BYTES_MAX;
    return own < left ? own : left;
}

/* A constant object would be changed in place by the first op that holds the only reference. */
static bool gives_objects(const struct node *node)
{
    for (int i = 0; i < node->outputs_count; i++) {
        if (node->outputs[i].dtype == DT_VARIANT || node->outputs[i].dtype == DT_RESOURCE)
            return true;
    }
    return false;
}

/* An op that takes a reference may write to it in each run: Assign and AssignAdd of constants. */
static bool may_fold(const struct node *node, const struct kernel *kernel)
{
    return !gives_objects(node) && !node_takes_reference(node) && kernel != NULL &&
           op_is_pure(node->op) && node->controls_count == 0 && node->inputs_count > 0 &&
           node->outputs_count > 0;
}

/* Computes the node now. If it fails or gives too much, it stays, and computes it in each run. */
static void fold_node(struct plan_maker *maker, struct region *region, struct node *node,
                      const struct kernel *kernel)
{
    int count = node->outputs_count;
    struct tensor *outputs = ARENA_ARRAY(maker->arena, struct tensor, count);
    size_t room = room_of(maker, region, node);
    if (!status_is_ok(evaluate_node(maker, region, node, kernel, room, outputs)))
        return;
    maker->folded_bytes += outputs_bytes(node, outputs);
    for (int i = 0; i < count; i++) {
        struct plan_value *value = region_value(region, (struct endpoint){ node, i });
        value->constant = plan_own(maker->plan, outputs[i]);
        value->is_written_out = inputs_are_written_out(region, node);
    }
}

/*
 * x / c becomes x · (1 / c), as TensorFlow's optimizer has it for every c that is not a variable.
 * The last bit differs, and Floor shows it: 41 / 41.0f is 1, but 41 · (1 / 41.0f) is less.
 */
static void multiply_by_reciprocal(struct plan_maker *maker, struct region *region,
                                   struct node *node)
{
    struct endpoint divisor = node->inputs[1];
    dtype_set types = DTYPES_FLOATING | DTYPES_COMPLEX;
    if (!region_value(region, divisor)->is_written_out ||
        (types & DTYPES(node->outputs[0].dtype)) == 0)
        return;
    struct node *reciprocal = region_add(
        maker, region, "Reciprocal", arena_printf(maker->arena, "%s/reciprocal", node->name), 1);
    struct endpoint value = { reciprocal, 0 };
    reciprocal->inputs[0] = divisor;
    reciprocal->outputs[0] = divisor.node->outputs[divisor.index];
    reciprocal->attrs = node->attrs; /* T */
    reciprocal->attrs_count = node->attrs_count;
    fold_node(maker, region, reciprocal, kernel_find(reciprocal));
    if (region_value(region, value)->constant == NULL)
        return;
    struct endpoint x = node->inputs[0];
    bool is_plain = !op_is(node, "Xdivy"); /* which gives 0 where x is 0, as MulNoNan does */
    node->op_name = is_plain ? "Mul" : "MulNoNan";
    node->op = op_find(node->op_name);
    node->inputs[0] = is_plain ? x : value;
    node->inputs[1] = is_plain ? value : x;
}

static bool is_quotient(const struct node *node)
{
    return (op_is(node, "RealDiv") || op_is(node, "Div") || op_is(node, "Xdivy")) &&
           node->inputs_count == 2;
}

/* Computes a node whose kernel is marked `once`. */
static struct status fold_once(struct plan_maker *maker, struct region *region, struct node *node,
                               const struct kernel *kernel)
{
    struct tensor *outputs = ARENA_ARRAY(maker->arena, struct tensor, node->outputs_count + 1);
    TRY(evaluate_node(maker, region, node, kernel, 0, outputs));
    maker->given_bytes += outputs_bytes(node, outputs);
    for (int i = 0; i < node->outputs_count; i++) {
        struct plan_value *value = region_value(region, (struct endpoint){ node, i });
        value->constant = plan_own(maker->plan, outputs[i]);
        value->is_written_out = op_is(node, "Const");
    }
    return status_ok();
}

/* An identity that waits for nothing is the same value as its input. */
static void fold_identity(const struct plan_maker *maker, struct region *region, struct node *node)
{
    for (int i = 0; i < node->outputs_count; i++) {
        struct plan_value *value = region_value(region, (struct endpoint){ node, i });
        value->handle = region_value(region, node->inputs[i])->handle;
        bool take_out = node->controls_count == 0 && !maker->plan->options.no_fold;
        if (take_out || value->handle != NULL)
            value->same = node->inputs[i];
    }
}

static int chosen_branch(const struct node *node, const struct tensor *condition, int count)
{
    const struct control control = { .blocks_count = count,
                                     .by_index = op_has(node->op, OP_CASE),
                                     .is_lowered = node_is_lowered(node) };
    int chosen;
    return status_is_ok(branch_choose(&control, condition, &chosen)) ? chosen : -1;
}

static struct status fold_control(struct plan_maker *maker, struct region *region,
                                  struct node *node)
{
    TRY(region_branches(maker, region, node));
    struct branches *branches = region->branches[node->id];
    const struct tensor *condition =
        branches->is_loop ? NULL : region_value(region, node->inputs[0])->constant;
    if (condition != NULL && !maker->plan->options.no_fold)
        branches->chosen = chosen_branch(node, condition, branches->count);
    for (int i = 0; i < branches->count; i++) {
        if (branches->chosen < 0 || branches->chosen == i)
            TRY(region_fold(maker, branches->regions[i]));
    }
    return status_ok();
}

static struct status fold_functions(struct plan_maker *maker, struct region *region,
                                    struct node *node)
{
    TRY(region_functions(maker, region, node));
    const struct branches *functions = region->branches[node->id];
    for (int i = 0; i < functions->count; i++)
        TRY(region_fold(maker, functions->regions[i]));
    return status_ok();
}

static struct status fold_values(struct plan_maker *maker, struct region *region, struct node *node)
{
    struct plan_value *first = region->values[node->id];
    if (op_has(node->op, OP_VARIABLE))
        first->handle = node;
    if (node_is_control(node))
        return fold_control(maker, region, node);
    if (op_has(node->op, OP_FUNCTIONS))
        return fold_functions(maker, region, node);
    bool is_default = op_is(node, "PlaceholderWithDefault") && node->inputs_count == 1;
    if (node_is_identity(node) || is_default) {
        fold_identity(maker, region, node);
        return status_ok();
    }
    if (maker->analyse)
        return status_ok();

    const struct kernel *kernel = kernel_find(node);
    if (kernel != NULL && kernel->once)
        return fold_once(maker, region, node, kernel);
    if (maker->plan->options.no_fold)
        return status_ok();
    if (op_is(node, "ReadVariableOp") && node->inputs_count == 1)
        fold_read(maker, region, node);
    else if (may_fold(node, kernel) && inputs_are_constant(region, node))
        fold_node(maker, region, node, kernel);
    else if (is_quotient(node))
        multiply_by_reciprocal(maker, region, node);
    return status_ok();
}

/* A handle that leaves the region lets its receiver write to the variable, unless the body returns
 * an argument at its own index. */
static void note_handle_result(struct plan_maker *maker, const struct region *region, int index)
{
    struct endpoint result = region->results[index];
    bool comes_back = region->parent != NULL && index < region->args_count &&
                      region->args[index].node == result.node;
    if (!comes_back)
        note_written(maker, region_value(region, result)->handle);
}

static void fold_results(struct plan_maker *maker, struct region *region)
{
    for (int i = 0; i < region->results_count; i++) {
        struct endpoint result = region_resolve(region, region->results[i]);
        if (result.node->outputs[result.index].is_ref)
            result = read_reference(maker, region, result, result.node);
        region->results[i] = result;
        if (region_value(region, result)->handle != NULL)
            note_handle_result(maker, region, i);
    }
}

struct status region_fold(struct plan_maker *maker, struct region *region)
{
    region_remove_dead_code(region);
    for (int i = 0; i < region->graph->count; i++) {
        struct node *node = region->graph->nodes[i];
        if (maker->run != NULL)
            TRY(run_check(maker->run));
        simplify_controls(region, node);
        resolve_inputs(maker, region, node);
        TRY(fold_values(maker, region, node));
        note_writes(maker, region, node);
        region_append(maker, region, node);
    }
    fold_results(maker, region);
    return status_ok();
}

/* ---- pruning ---- */

static void reach(struct node *node, bool *needed, struct node **stack, int *depth)
{
    if (!needed[node->id]) {
        needed[node->id] = true;
        stack[(*depth)++] = node;
    }
}

static void reach_value(const struct region *region, struct endpoint endpoint, bool *needed,
                        struct node **stack, int *depth)
{
    if (region_value(region, endpoint)->constant == NULL)
        reach(endpoint.node, needed, stack, depth);
}

/* Drops nodes that neither results nor targets need, such as the condition of a branch that is
 * always chosen. Every input of a branch or loop counts as needed, as bodies read from them. */
void region_prune(struct region *region)
{
    bool *needed = zalloc((size_t)region->ids_count * sizeof *needed);
    struct node **stack = zalloc((size_t)region->ids_count * sizeof *stack);
    int depth = 0;
    for (int i = 0; i < region->results_count; i++)
        reach_value(region, region->results[i], needed, stack, &depth);
    for (int i = 0; i < region->targets_count; i++) {
        if (!is_inert(region, region->targets[i]))
            reach(region->targets[i], needed, stack, &depth);
    }
    while (depth > 0) {
        struct node *node = stack[--depth];
        for (int i = 0; i < node->inputs_count; i++)
            reach_value(region, node->inputs[i], needed, stack, &depth);
        for (int i = 0; i < node->controls_count; i++)
            reach(node->controls[i], needed, stack, &depth);
    }

    int count = 0;
    for (int i = 0; i < region->nodes_count; i++) {
        if (needed[region->nodes[i]->id])
            region->nodes[count++] = region->nodes[i];
    }
    region->nodes_count = count;
    free(stack);
    free(needed);
}
