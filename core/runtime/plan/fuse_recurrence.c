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
#include "runtime/plan/fuse.h"
#include "runtime/recurrence.h"

#define ADDENDS_DEPTH 4
#define GATES_MAX     4

struct loop_match {
    struct fuse *fuse;
    struct node *node;
    struct region *cond, *body;
    const bool *invariant;
};

/* The addends of a sum: x · w + h · u + biases. */
struct addends {
    struct endpoint x, h;
    const struct tensor *w, *u, *biases[2];
    int biases_count;
};

struct recurrence_match {
    const char *cell;
    struct endpoint h, c; /* c.node NULL: the cell has none; as the body reads them */
    struct endpoint new_h, new_c;
    struct addends input, inner; /* inner: of a GRU, the sum of h · u */
    int list, time;              /* arguments that x is read from */
    int mask_list;               /* the argument that the mask is read from; -1: there is no mask */
    const char *masked;          /* what the output of a masked step is */
    struct endpoint mask;        /* [time, batch, 1], outside the loop */
    struct endpoint output;      /* with a mask: what a step gives to the list */
    int64_t cells;
    int64_t at;        /* where results are written; -1: at the time */
    struct endpoint x; /* [time, batch, inputs], outside the loop */
};

/* ---- values of the body ---- */

static bool is_op_of(struct endpoint value, const char *op, int inputs)
{
    return op_is(value.node, op) && value.node->inputs_count == inputs;
}

static bool is_sum(struct endpoint value)
{
    return is_op_of(value, "AddV2", 2) || is_op_of(value, "Add", 2);
}

static bool is_float_of(struct endpoint value, const char *op, struct endpoint *argument)
{
    if (!is_op_of(value, op, 1) || !is_float(value.node))
        return false;
    *argument = value.node->inputs[0];
    return true;
}

static int find_argument(const struct region *region, struct endpoint value)
{
    for (int i = 0; i < region->args_count; i++)
        if (is_same(region->args[i], value))
            return i;
    return -1;
}

static const struct tensor *body_constant(const struct loop_match *loop, struct endpoint value)
{
    return region_value(loop->body, value)->constant;
}

static bool is_int(const struct tensor *constant, int64_t wanted)
{
    return constant != NULL && constant->dtype == DT_INT32 && constant->size == 1 &&
           tensor_int32s(constant)[0] == wanted;
}

/* ---- sums ---- */

static bool add_product(const struct loop_match *loop, struct endpoint value, struct addends *sum)
{
    const struct node *node = value.node;
    const struct tensor *matrix = body_constant(loop, node->inputs[1]);
    bool transpose_a = true, transpose_b = true;
    status_ignore(node_attr_bool(node, "transpose_a", &transpose_a));
    status_ignore(node_attr_bool(node, "transpose_b", &transpose_b));
    if (matrix == NULL || matrix->dtype != DT_FLOAT || matrix->shape.rank != 2 || transpose_a ||
        transpose_b)
        return false;
    bool of_input = op_is(node->inputs[0].node, "TensorListGetItem");
    if ((of_input ? sum->w : sum->u) != NULL)
        return false;
    *(of_input ? &sum->w : &sum->u) = matrix;
    *(of_input ? &sum->x : &sum->h) = node->inputs[0];
    return true;
}

static bool add_addends(const struct loop_match *loop, struct endpoint value, int depth,
                        struct addends *sum)
{
    const struct tensor *bias = body_constant(loop, value);
    if (bias != NULL) {
        if (bias->dtype != DT_FLOAT || bias->shape.rank != 1 ||
            sum->biases_count == (int)COUNT(sum->biases))
            return false;
        sum->biases[sum->biases_count++] = bias;
        return true;
    }
    if (is_op_of(value, "MatMul", 2) && is_float(value.node))
        return add_product(loop, value, sum);
    bool is_bias = is_op_of(value, "BiasAdd", 2) && node_is_nhwc(value.node);
    if (depth == ADDENDS_DEPTH || (!is_bias && !is_sum(value)))
        return false;
    return add_addends(loop, value.node->inputs[0], depth + 1, sum) &&
           add_addends(loop, value.node->inputs[1], depth + 1, sum);
}

static bool biases_fit(const struct addends *sum, int64_t columns)
{
    for (int i = 0; i < sum->biases_count; i++)
        if (sum->biases[i]->size != columns)
            return false;
    return true;
}

/* ---- gates: equal parts of the columns of a sum ---- */

static bool int_at(const struct loop_match *loop, struct endpoint value, int index, int64_t *out)
{
    const struct tensor *constant = body_constant(loop, value);
    if (constant == NULL || (constant->dtype != DT_INT32 && constant->dtype != DT_INT64) ||
        constant->shape.rank != 1 || constant->size != 2)
        return false;
    *out = tensor_index(constant, index);
    return true;
}

static bool is_last_axis(const struct loop_match *loop, struct endpoint axis)
{
    const struct tensor *constant = body_constant(loop, axis);
    return is_int(constant, 1) || is_int(constant, -1);
}

/* x[:, from:end], as a part of `cells` columns. */
static bool is_slice(const struct loop_match *loop, const struct node *node, int64_t cells,
                     int part, int parts)
{
    int64_t from, end, row_step, step;
    int64_t begin_mask = node_attr_int_or_0(node, "begin_mask");
    int64_t end_mask = node_attr_int_or_0(node, "end_mask");
    if (node_attr_int_or_0(node, "ellipsis_mask") != 0 ||
        node_attr_int_or_0(node, "new_axis_mask") != 0 ||
        node_attr_int_or_0(node, "shrink_axis_mask") != 0 || !(begin_mask & 1) || !(end_mask & 1) ||
        !int_at(loop, node->inputs[1], 1, &from) || !int_at(loop, node->inputs[2], 1, &end) ||
        !int_at(loop, node->inputs[3], 0, &row_step) || !int_at(loop, node->inputs[3], 1, &step) ||
        row_step != 1 || step != 1)
        return false;
    from = begin_mask & 2 ? 0 : from;
    end = end_mask & 2 ? parts * cells : end;
    return from == part * cells && end == from + cells;
}

/* The sum that a gate is a part of. */
static bool find_whole(struct endpoint gate, struct endpoint *sum)
{
    bool is_split = is_op_of(gate, "Split", 2);
    if (!is_split && !is_op_of(gate, "StridedSlice", 4))
        return false;
    *sum = gate.node->inputs[is_split];
    return true;
}

/* Are the gates the parts of this sum, in order? */
static bool are_parts(const struct loop_match *loop, const struct endpoint *gates, int count,
                      int64_t cells, struct endpoint sum)
{
    for (int i = 0; i < count; i++) {
        const struct node *node = gates[i].node;
        struct endpoint whole;
        if (!find_whole(gates[i], &whole) || !is_same(whole, sum))
            return false;
        bool fits = op_is(node, "Split") ? node->outputs_count == count && gates[i].index == i &&
                                               is_last_axis(loop, node->inputs[0])
                                         : is_slice(loop, node, cells, i, count);
        if (!fits)
            return false;
    }
    return true;
}

/* Finds the sum that the gates are parts of, and its addends. */
static bool find_gates(const struct loop_match *loop, const struct endpoint *gates,
                       struct endpoint *sum, struct addends *addends)
{
    *addends = (struct addends){ .biases_count = 0 };
    return find_whole(gates[0], sum) && add_addends(loop, *sum, 0, addends);
}

/* ---- cells ---- */

/* Are the recurrent weights those of a cell with so many gates? */
static bool is_of_gates(const struct addends *sum, int gates)
{
    int64_t columns;
    return sum->u != NULL && sum->u->shape.dims[0] > 0 &&
           !__builtin_mul_overflow(sum->u->shape.dims[0], gates, &columns) &&
           sum->u->shape.dims[1] == columns && biases_fit(sum, columns);
}

/* a · b, where one is the logistic function of *gate; *other is the other. */
static bool is_gated(struct endpoint value, struct endpoint *gate, struct endpoint *other)
{
    if (!is_op_of(value, "Mul", 2))
        return false;
    for (int i = 0; i < 2; i++) {
        *other = value.node->inputs[1 - i];
        if (is_float_of(value.node->inputs[i], "Sigmoid", gate))
            return true;
    }
    return false;
}

/* sigmoid(z1) · c + sigmoid(z0) · tanh(z2), in this order. */
static bool is_lstm_state(struct endpoint kept, struct endpoint added, struct recurrence_match *out,
                          struct endpoint *z)
{
    struct endpoint candidate;
    return is_gated(kept, &z[1], &out->c) && is_gated(added, &z[0], &candidate) &&
           is_float_of(candidate, "Tanh", &z[2]);
}

static bool match_lstm(const struct loop_match *loop, struct endpoint h,
                       struct recurrence_match *out)
{
    struct endpoint z[GATES_MAX], squashed, sum;
    if (!is_gated(h, &z[3], &squashed) || !is_float_of(squashed, "Tanh", &out->new_c) ||
        !is_sum(out->new_c))
        return false;
    const struct endpoint *terms = out->new_c.node->inputs;
    if (!is_lstm_state(terms[0], terms[1], out, z) && !is_lstm_state(terms[1], terms[0], out, z))
        return false;
    out->cell = "lstm";
    if (!find_gates(loop, z, &sum, &out->input) || !is_of_gates(&out->input, 4) ||
        !are_parts(loop, z, 4, out->input.u->shape.dims[0], sum))
        return false;
    out->h = out->input.h;
    return true;
}

/* a + b with the terms in either order. */
static bool is_sum_of(struct endpoint value, int first, struct endpoint *a, struct endpoint *b)
{
    if (!is_sum(value))
        return false;
    *a = value.node->inputs[first];
    *b = value.node->inputs[1 - first];
    return true;
}

/* (1 - gate) · other */
static bool is_gated_by_rest(const struct loop_match *loop, struct endpoint value,
                             struct endpoint gate, struct endpoint *other)
{
    if (!is_op_of(value, "Mul", 2))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct node *rest = value.node->inputs[i].node;
        *other = value.node->inputs[1 - i];
        if (!op_is(rest, "Sub") || rest->inputs_count != 2 || !is_same(rest->inputs[1], gate))
            continue;
        const struct tensor *one = body_constant(loop, rest->inputs[0]);
        if (one != NULL && one->dtype == DT_FLOAT && one->shape.rank == 0 &&
            tensor_floats(one)[0] == 1)
            return true;
    }
    return false;
}

/* z · h + (1 - z) · candidate */
static bool is_gru_state(const struct loop_match *loop, struct endpoint state, int first,
                         struct endpoint *z, struct endpoint *h, struct endpoint *candidate)
{
    struct endpoint kept, added;
    if (!is_sum_of(state, first, &kept, &added) || !is_op_of(kept, "Mul", 2))
        return false;
    for (int i = 0; i < 2; i++) {
        struct endpoint gate = kept.node->inputs[i], squashed;
        *h = kept.node->inputs[1 - i];
        if (is_float_of(gate, "Sigmoid", z) && is_gated_by_rest(loop, added, gate, &squashed) &&
            is_float_of(squashed, "Tanh", candidate))
            return true;
    }
    return false;
}

/* The parts of the two sums in z = x + inner, r and candidate = x + sigmoid(r) · inner. */
static bool find_gru_parts(const struct loop_match *loop, struct endpoint z,
                           struct endpoint candidate, int order, struct recurrence_match *out)
{
    struct endpoint x[3], inner[3], r, gated, sum;
    if (!is_sum_of(z, order & 1, &x[0], &inner[0]) ||
        !is_sum_of(candidate, order >> 1 & 1, &x[2], &gated) || !is_gated(gated, &r, &inner[2]) ||
        !is_sum_of(r, order >> 2 & 1, &x[1], &inner[1]) ||
        !find_gates(loop, inner, &sum, &out->inner) || !is_of_gates(&out->inner, 3) ||
        out->inner.w != NULL)
        return false;
    const int64_t *dims = out->inner.u->shape.dims;
    return are_parts(loop, inner, 3, dims[0], sum) && find_gates(loop, x, &sum, &out->input) &&
           are_parts(loop, x, 3, dims[0], sum) && out->input.u == NULL &&
           biases_fit(&out->input, dims[1]);
}

static bool match_gru(const struct loop_match *loop, struct endpoint h,
                      struct recurrence_match *out)
{
    struct endpoint z, candidate;
    out->cell = "gru";
    if (!is_gru_state(loop, h, 0, &z, &out->h, &candidate) &&
        !is_gru_state(loop, h, 1, &z, &out->h, &candidate))
        return false;
    for (int order = 0; order < 8; order++)
        if (find_gru_parts(loop, z, candidate, order, out))
            return is_same(out->h, out->inner.h);
    return false;
}

static bool match_simple(const struct loop_match *loop, struct endpoint h,
                         struct recurrence_match *out)
{
    struct endpoint sum;
    out->cell = "simple";
    if (!is_float_of(h, "Tanh", &sum) || !add_addends(loop, sum, 0, &out->input) ||
        !is_of_gates(&out->input, 1))
        return false;
    out->h = out->input.h;
    return true;
}

static bool match_cell(const struct loop_match *loop, struct endpoint h,
                       struct recurrence_match *out)
{
    static bool (*const cells[])(const struct loop_match *, struct endpoint,
                                 struct recurrence_match *) = { match_lstm, match_gru,
                                                                match_simple };
    for (size_t i = 0; i < COUNT(cells); i++) {
        *out = (struct recurrence_match){ .new_h = h };
        if (cells[i](loop, h, out) && out->input.w != NULL) {
            const struct tensor *u = out->inner.u != NULL ? out->inner.u : out->input.u;
            out->cells = u->shape.dims[0];
            return out->input.w->shape.dims[1] == u->shape.dims[1];
        }
    }
    return false;
}

/* ---- the input ---- */

/* Finds the tensor [time, batch, columns] behind a list that the loop reads: a TensorListFromTensor
 * whose element_shape says nothing else. */
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

/* A choice by the mask: SelectV2(mask, taken, kept). Keras tiles the mask
 * [batch, 1], by 1. */
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
    found->at = at == NULL ? -1 : tensor_index(at, 0);
    return at != NULL ? at->dtype == DT_INT32 && at->size == 1 && found->at >= 0
                      : is_same(inputs[1], loop->body->args[found->time]);
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
 * What the list receives is known when the others are. */
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

struct loop_limits {
    struct endpoint values[RECURRENCE_LIMITS_MAX]; /* outside the loop */
    int counters[RECURRENCE_LIMITS_MAX];           /* arguments */
    int count;
};

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

/* ---- the node ---- */

static void add_biases(const struct addends *sum, int64_t from, int64_t count, float *out)
{
    for (int i = 0; i < sum->biases_count; i++)
        for (int64_t j = 0; j < count; j++)
            out[j] += tensor_floats(sum->biases[i])[from + j];
}

/* The biases of all sums. A GRU has four: of z, of r, of x's and of h's part of the candidate. */
static struct endpoint make_bias(const struct loop_match *loop,
                                 const struct recurrence_match *found)
{
    bool is_gru = found->inner.u != NULL;
    int64_t columns = found->input.w->shape.dims[1], cells = columns / 3;
    struct shape shape = shape_of(is_gru ? columns + cells : columns);
    struct tensor bias;
    if (!status_is_ok(tensor_create(DT_FLOAT, &shape, &bias)))
        return (struct endpoint){ 0 };
    float *out = tensor_floats_mut(&bias);
    memset(out, 0, tensor_bytes(&bias));
    add_biases(&found->input, 0, columns, out);
    if (is_gru) {
        add_biases(&found->inner, 0, 2 * cells, out);
        add_biases(&found->inner, 2 * cells, cells, out + columns);
    }
    return fuse_constant(loop->fuse, "bias", bias);
}

static struct endpoint outer_constant(const struct loop_match *loop, const struct tensor *value)
{
    return fuse_constant(loop->fuse, "weights", tensor_acquire(value));
}

static struct attr list_attr(struct arena *arena, const char *name, enum attr_kind kind, int count,
                             struct attr_value **elements)
{
    *elements = ARENA_ARRAY(arena, struct attr_value, count + 1);
    return (struct attr){ name,
                          { .kind = ATTR_LIST,
                            .element_kind = count > 0 ? kind : ATTR_NONE,
                            .count = count,
                            .elements = *elements } };
}

static void set_attrs(const struct loop_match *loop, const struct recurrence_match *found,
                      const enum recurrence_role *roles, const struct loop_limits *limits,
                      int carried)
{
    struct node *node = loop->node;
    struct arena *arena = loop->fuse->maker->arena;
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, 9);
    struct attr_value *role, *limited, *given, *made;
    attrs[0] = (struct attr){ "cell", { .kind = ATTR_STRING, .s = bytes_of(found->cell) } };
    attrs[1] = (struct attr){ "at", { .kind = ATTR_INT, .i = found->at } };
    attrs[2] = (struct attr){ "M", { .kind = ATTR_INT, .i = limits->count } };
    attrs[3] = list_attr(arena, "limited", ATTR_INT, limits->count, &limited);
    attrs[4] = list_attr(arena, "roles", ATTR_INT, node->outputs_count, &role);
    attrs[5] = list_attr(arena, "Tcarried", ATTR_TYPE, carried, &given);
    attrs[6] = list_attr(arena, "Tresults", ATTR_TYPE, node->outputs_count, &made);
    attrs[7] = (struct attr){ "masked", { .kind = ATTR_STRING, .s = bytes_of(found->masked) } };
    attrs[8] = (struct attr){ "N", { .kind = ATTR_INT, .i = found->mask_list >= 0 } };
    for (int i = 0; i < limits->count; i++)
        limited[i] = (struct attr_value){ .kind = ATTR_INT, .i = limits->counters[i] };
    for (int i = 0, at = 0; i < node->outputs_count; i++) {
        int type = (int)node->outputs[i].dtype;
        role[i] = (struct attr_value){ .kind = ATTR_INT, .i = (int64_t)roles[i] };
        made[i] = (struct attr_value){ .kind = ATTR_TYPE, .type = type };
        if (roles[i] != RECURRENCE_NONE)
            given[at++] = made[i];
    }
    node->attrs = attrs;
    node->attrs_count = node->attrs_capacity = 9;
}

static void become_recurrence(const struct loop_match *loop, const struct recurrence_match *found,
                              const enum recurrence_role *roles, const struct loop_limits *limits)
{
    struct node *node = loop->node;
    const struct tensor *u = found->inner.u != NULL ? found->inner.u : found->input.u;
    struct endpoint bias = make_bias(loop, found);
    if (bias.node == NULL)
        return;
    struct endpoint *inputs =
        ARENA_ARRAY(loop->fuse->maker->arena, struct endpoint, node->inputs_count + 7);
    int count = 0;
    inputs[count++] = found->x;
    inputs[count++] = outer_constant(loop, found->input.w);
    inputs[count++] = outer_constant(loop, u);
    inputs[count++] = bias;
    for (int i = 0; i < limits->count; i++)
        inputs[count++] = limits->values[i];
    if (found->mask_list >= 0)
        inputs[count++] = found->mask;
    int first = count;
    for (int i = 0; i < node->inputs_count; i++)
        if (roles[i] != RECURRENCE_NONE)
            inputs[count++] = node->inputs[i];
    set_attrs(loop, found, roles, limits, count - first);
    node->op_name = "_Recurrence";
    node->op = op_find(node->op_name);
    node->inputs = inputs;
    node->inputs_count = node->inputs_capacity = count;
    loop->fuse->region->branches[node->id] = NULL;
}

/* Finds the cell whose new h the body returns, as it is or chosen by a mask. */
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
    become_recurrence(&loop, &found, roles, &limits);
    return fuse->region->branches[node->id] == NULL;
}
