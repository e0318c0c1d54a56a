/*
 * The loop of a recurrent layer, as Keras exports it, becomes one _Recurrence node:
 *
 *     while time < limit:
 *         x = TensorListGetItem(list of the inputs, time)
 *         h, c = cell(x, h, c)
 *         results = TensorListSetItem(results, time or a constant, h)
 *         time = time + 1
 *
 * The cells are LSTM, GRU (reset_after) and SimpleRNN, with the usual activations and constant
 * weights; which sums, products and splits compute them does not matter. With a mask, SelectV2
 * chooses between the new h, c and output and those of the step before. A loop that does anything
 * else (another activation) stays a loop.
 */
#include "runtime/plan/fuse_recurrence.h"

/* ---- the input ---- */

/* Finds the tensor [time, batch, columns] of a list that the loop reads: a TensorListFromTensor
 * whose element_shape adds no constraint. */
static bool find_sequence(const struct loop_match *loop, int list_argument, int64_t columns,
                          struct endpoint *out)
{
    struct endpoint list = region_resolve(loop->fuse->region, loop->node->inputs[list_argument]);
    if (!is_op_of(list, "TensorListFromTensor", 2))
        return false;
    const struct tensor *given = constant_of(loop->fuse, list.node->inputs[1]);
    if (given == NULL || given->shape.rank != 1 || given->size != 2 ||
        tensor_index(given, 0) != -1 ||
        (tensor_index(given, 1) != -1 && tensor_index(given, 1) != columns))
        return false;
    *out = list.node->inputs[0];
    return true;
}

/* Is the value an element of an invariant list, at a counter? */
static bool is_item(const struct loop_match *loop, struct endpoint value, int *list, int *time)
{
    if (!is_op_of(value, "TensorListGetItem", 3))
        return false;
    *list = find_argument(loop->body, value.node->inputs[0]);
    *time = find_argument(loop->body, value.node->inputs[1]);
    return *list >= 0 && loop->invariant[*list] && *time >= 0 && !loop->invariant[*time];
}

static bool find_input(const struct loop_match *loop, struct recurrence_match *found)
{
    return is_item(loop, found->input.x, &found->list, &found->time) &&
           find_sequence(loop, found->list, found->input.w->shape.dims[0], &found->x) &&
           found->x.node->outputs[found->x.index].dtype == DT_FLOAT;
}

/* ---- the mask ---- */

/* A choice by the mask: SelectV2(mask, taken, kept). Keras tiles the mask [batch, 1], which may
 * add the broadcasting that SelectV2 does anyway. */
static bool is_choice(const struct loop_match *loop, const struct recurrence_match *found,
                      struct endpoint value, struct endpoint taken, struct endpoint *kept)
{
    int list, time;
    if (!is_op_of(value, "SelectV2", 3) || !is_same(value.node->inputs[1], taken))
        return false;
    struct endpoint mask = value.node->inputs[0];
    if (is_op_of(mask, "Tile", 2)) {
        const struct tensor *times = body_constant(loop, mask.node->inputs[1]);
        if (times == NULL || times->shape.rank != 1 || times->size != 2 ||
            tensor_index(times, 0) != 1 ||
            (tensor_index(times, 1) != 1 && tensor_index(times, 1) != found->cells))
            return false;
        mask = mask.node->inputs[0];
    }
    *kept = value.node->inputs[2];
    return is_item(loop, mask, &list, &time) && list == found->mask_list && time == found->time;
}

/* The list of masks, from the choice that gives the new h or the output. */
static bool find_mask(const struct loop_match *loop, struct recurrence_match *found)
{
    int time;
    if (found->mask_list < 0)
        return true;
    struct endpoint mask = found->output.node->inputs[0];
    if (is_op_of(mask, "Tile", 2))
        mask = mask.node->inputs[0];
    return is_item(loop, mask, &found->mask_list, &time) &&
           find_sequence(loop, found->mask_list, 1, &found->mask) &&
           found->mask.node->outputs[found->mask.index].dtype == DT_BOOL;
}

/* Is a value of the body a tensor of zeros, computed outside? */
static bool is_zeros(const struct loop_match *loop, struct endpoint value)
{
    int argument = find_argument(loop->body, value);
    if (argument < 0 || !loop->invariant[argument])
        return false;
    struct endpoint outside = region_resolve(loop->fuse->region, loop->node->inputs[argument]);
    return is_op_of(outside, "ZerosLike", 1) && is_float(outside.node);
}

/* The argument that holds the output of the step before. */
static bool is_output(const struct loop_match *loop, struct recurrence_match *found, int index)
{
    struct endpoint result = loop->body->results[index], kept;
    if (!is_choice(loop, found, result, found->new_h, &kept))
        return false;
    found->masked = is_same(kept, loop->body->args[index]) ? "keep" : "zero";
    found->output = result;
    return is_same(kept, loop->body->args[index]) || is_zeros(loop, kept);
}

/* Is the result the new state, or with a mask the choice between it and the state? */
static bool is_next(const struct loop_match *loop, const struct recurrence_match *found, int index,
                    struct endpoint state)
{
    struct endpoint result = loop->body->results[index], kept;
    if (found->mask_list < 0)
        return is_same(result, state);
    return is_choice(loop, found, result, state, &kept) && is_same(kept, loop->body->args[index]);
}

/* ---- what the loop carries ---- */

/* Is result `index` its argument plus 1? */
static bool is_counter(const struct loop_match *loop, int index)
{
    struct endpoint argument = loop->body->args[index], result = loop->body->results[index];
    if (!is_sum(result) || result.node->outputs[0].dtype != DT_INT32)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct tensor *one = body_constant(loop, result.node->inputs[1 - i]);
        if (is_same(result.node->inputs[i], argument) && is_int(one, 1) && one->shape.rank == 0)
            return true;
    }
    return false;
}

static bool is_results_list(const struct loop_match *loop, struct recurrence_match *found,
                            int index)
{
    struct endpoint result = loop->body->results[index];
    bool resize = true;
    if (!is_op_of(result, "TensorListSetItem", 3))
        return false;
    const struct endpoint *inputs = result.node->inputs;
    status_ignore(node_attr_bool(result.node, "resize_if_index_out_of_bounds", &resize));
    if (resize || !is_same(inputs[0], loop->body->args[index]) ||
        !is_same(inputs[2], found->output))
        return false;
    const struct tensor *at = body_constant(loop, inputs[1]);
    bool is_known = at != NULL && at->dtype == DT_INT32 && at->size == 1;
    found->at = is_known ? tensor_index(at, 0) : -1;
    return at != NULL ? found->at >= 0 : is_same(inputs[1], loop->body->args[found->time]);
}

static enum recurrence_role find_role(const struct loop_match *loop, struct recurrence_match *found,
                                      int index)
{
    struct endpoint argument = loop->body->args[index];
    if (is_same(argument, found->h))
        return is_next(loop, found, index, found->new_h) ? RECURRENCE_H : RECURRENCE_NONE;
    if (found->c.node != NULL && is_same(argument, found->c))
        return is_next(loop, found, index, found->new_c) ? RECURRENCE_C : RECURRENCE_NONE;
    if (found->mask_list >= 0 && is_output(loop, found, index))
        return RECURRENCE_OUTPUT;
    if (is_counter(loop, index))
        return index == found->time ? RECURRENCE_TIME : RECURRENCE_COUNTER;
    return RECURRENCE_NONE;
}

/* Each value that changes must have a role, and the time, h, c and the output exactly one value.
 * The values that the list receives are known when the others are. */
static bool find_roles(const struct loop_match *loop, struct recurrence_match *found,
                       enum recurrence_role *roles)
{
    int counts[RECURRENCE_ROLES] = { 0 };
    for (int i = 0; i < loop->node->inputs_count; i++)
        roles[i] = loop->invariant[i] ? RECURRENCE_NONE : find_role(loop, found, i);
    for (int i = 0; i < loop->node->inputs_count; i++) {
        if (loop->invariant[i])
            continue;
        if (roles[i] == RECURRENCE_NONE && is_results_list(loop, found, i))
            roles[i] = RECURRENCE_LIST;
        if (roles[i] == RECURRENCE_NONE)
            return false;
        counts[roles[i]]++;
    }
    return counts[RECURRENCE_TIME] == 1 && counts[RECURRENCE_H] == 1 &&
           counts[RECURRENCE_C] == (found->c.node != NULL) && counts[RECURRENCE_LIST] <= 1 &&
           counts[RECURRENCE_OUTPUT] == (found->mask_list >= 0);
}

/* ---- the condition: counters below limits ---- */

static bool add_limit(const struct loop_match *loop, struct endpoint less,
                      struct loop_limits *limits)
{
    if (!is_op_of(less, "Less", 2) || limits->count == (int)COUNT(limits->values))
        return false;
    struct endpoint limit = less.node->inputs[1];
    const struct tensor *constant = region_value(loop->cond, limit)->constant;
    int counter = find_argument(loop->cond, less.node->inputs[0]), at = limits->count++;
    limits->counters[at] = counter;
    if (counter < 0 || loop->invariant[counter])
        return false;
    if (constant != NULL) {
        if (constant->dtype != DT_INT32 || constant->shape.rank != 0)
            return false;
        limits->values[at] = fuse_constant(loop->fuse, "limit", tensor_acquire(constant));
        return true;
    }
    int argument = find_argument(loop->cond, limit);
    if (argument < 0 || !loop->invariant[argument])
        return false;
    limits->values[at] = loop->node->inputs[argument];
    return true;
}

static bool find_limits(const struct loop_match *loop, const enum recurrence_role *roles,
                        struct loop_limits *limits)
{
    struct endpoint condition = loop->cond->results[0];
    if (is_op_of(condition, "LogicalAnd", 2)) {
        if (!add_limit(loop, condition.node->inputs[0], limits) ||
            !add_limit(loop, condition.node->inputs[1], limits))
            return false;
    } else if (!add_limit(loop, condition, limits)) {
        return false;
    }
    for (int i = 0; i < limits->count; i++) {
        enum recurrence_role role = roles[limits->counters[i]];
        if (role != RECURRENCE_TIME && role != RECURRENCE_COUNTER)
            return false;
    }
    return true;
}

/* Nothing but values: no effect, no state. */
static bool is_pure(struct region *region)
{
    region_prune(region);
    for (int i = 0; i < region->nodes_count; i++) {
        const struct node *node = region->nodes[i];
        if (!op_is_pure(node->op) || node_is_control(node))
            return false;
    }
    return true;
}

/* Finds the cell whose new h the body returns, directly or chosen by a mask. */
static bool find_cell(const struct loop_match *loop, struct recurrence_match *found)
{
    const struct region *body = loop->body;
    for (int i = 0; i < body->results_count; i++) {
        struct endpoint result = body->results[i];
        bool is_masked = is_op_of(result, "SelectV2", 3);
        if (loop->invariant[i] || result.node->outputs[result.index].dtype != DT_FLOAT ||
            !match_cell(loop, is_masked ? result.node->inputs[1] : result, found))
            continue;
        found->output = result;
        found->mask_list = is_masked ? 0 : -1;
        found->masked = "";
        return find_input(loop, found) && find_mask(loop, found);
    }
    return false;
}

bool fuse_recurrence(struct fuse *fuse, struct node *node)
{
    struct branches *branches = fuse->region->branches[node->id];
    struct loop_match loop = { fuse, node, branches->regions[0], branches->regions[1],
                               branches->invariant };
    struct recurrence_match found;
    struct loop_limits limits = { .count = 0 };
    if (node->inputs_count > RECURRENCE_VALUES_MAX || !find_cell(&loop, &found))
        return false;
    enum recurrence_role roles[RECURRENCE_VALUES_MAX];
    if (!find_roles(&loop, &found, roles) || !find_limits(&loop, roles, &limits) ||
        !is_pure(loop.cond) || !is_pure(loop.body))
        return false;
    return become_recurrence(&loop, &found, roles, &limits);
}
