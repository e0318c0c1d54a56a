/*
 * The cells of recurrent layers: LSTM, GRU (reset_after) and SimpleRNN. A cell is found from its
 * new state backwards; operands may be in any order, and gates may come of Split or of slices.
 */
#include "runtime/plan/fuse_recurrence.h"

#define ADDENDS_DEPTH 4
#define GATES_MAX     4

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

/* Are the recurrent weights those of a cell with this number of gates? */
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

bool match_cell(const struct loop_match *loop, struct endpoint h, struct recurrence_match *out)
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
