/* Reads the node _Recurrence, and packs its weights, when a plan is made. */
#include "runtime/kernels/nn/fused_recurrence.h"

#include <string.h>

#include "runtime/kernels/plain/recurrent.h"

static const struct {
    const char *name;
    int gates; /* columns of the weights, in cells */
    bool has_c;
} cell_kinds[CELLS] = { { "lstm", 4, true }, { "gru", 3, false }, { "simple", 1, false } };

static void recurrence_destroy(void *state)
{
    struct fused_recurrence *r = state;
    tensor_release(&r->weights);
    tensor_release(&r->recurrent);
    tensor_release(&r->bias);
}

static struct status not_of_a_plan(const struct node *node)
{
    return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s) was not made by a plan", node->name,
                        node->op_name);
}

static bool has_type(const struct node *node, int output, enum recurrence_role role)
{
    static const enum dtype types[RECURRENCE_ROLES] = {
        [RECURRENCE_TIME] = DT_INT32,   [RECURRENCE_COUNTER] = DT_INT32,
        [RECURRENCE_LIST] = DT_VARIANT, [RECURRENCE_H] = DT_FLOAT,
        [RECURRENCE_C] = DT_FLOAT,      [RECURRENCE_OUTPUT] = DT_FLOAT,
    };
    return role == RECURRENCE_NONE || node->outputs[output].dtype == types[role];
}

int recurrence_first_carried(const struct fused_recurrence *r)
{
    return INPUT_LIMITS + r->limits_count + r->masked;
}

/* Limits are int32, and a carried value has the type of its result. The attributes of a node that
 * was not made by a plan may say otherwise. */
static bool have_types(const struct node *node, const struct fused_recurrence *r)
{
    int input = recurrence_first_carried(r);
    for (int i = 0; i < r->limits_count; i++)
        if (endpoint_dtype(node->inputs[INPUT_LIMITS + i]) != DT_INT32)
            return false;
    for (int i = 0; i < node->outputs_count; i++)
        if (r->roles[i] != RECURRENCE_NONE &&
            endpoint_dtype(node->inputs[input++]) != node->outputs[i].dtype)
            return false;
    return true;
}

static struct status read_roles(const struct node *node, struct fused_recurrence *r)
{
    const struct attr_value *roles, *limited;
    int input_of[RECURRENCE_VALUES_MAX] = { 0 };
    TRY(node_attr_list_of(node, "roles", ATTR_INT, &roles));
    TRY(node_attr_list_of(node, "limited", ATTR_INT, &limited));
    r->limits_count = limited->count;
    if (roles->count != node->outputs_count || roles->count > RECURRENCE_VALUES_MAX ||
        limited->count < 1 || limited->count > RECURRENCE_LIMITS_MAX)
        return not_of_a_plan(node);
    int at = recurrence_first_carried(r);
    for (int i = 0; i < RECURRENCE_ROLES; i++)
        r->input_of[i] = -1;
    for (int i = 0; i < roles->count; i++) {
        int64_t role = roles->elements[i].i;
        if (role < 0 || role >= RECURRENCE_ROLES || !has_type(node, i, (enum recurrence_role)role))
            return not_of_a_plan(node);
        r->roles[i] = (enum recurrence_role)role;
        if (role == RECURRENCE_NONE)
            continue;
        r->input_of[role] = input_of[i] = at++;
    }
    for (int i = 0; i < limited->count; i++) {
        int64_t output = limited->elements[i].i;
        if (output < 0 || output >= roles->count ||
            (r->roles[output] != RECURRENCE_TIME && r->roles[output] != RECURRENCE_COUNTER))
            return not_of_a_plan(node);
        r->limited[i] = input_of[output];
    }
    bool is_complete = r->input_of[RECURRENCE_TIME] >= 0 && r->input_of[RECURRENCE_H] >= 0 &&
                       (r->input_of[RECURRENCE_C] >= 0) == cell_kinds[r->cell].has_c &&
                       (r->input_of[RECURRENCE_OUTPUT] >= 0) == r->masked;
    return is_complete && node->inputs_count == at && have_types(node, r) ? status_ok()
                                                                          : not_of_a_plan(node);
}

static struct status read_cell(const struct node *node, struct fused_recurrence *r)
{
    struct bytes name, masked;
    int64_t masks;
    TRY(node_attr_string(node, "cell", &name));
    TRY(node_attr_string(node, "masked", &masked));
    TRY(node_attr_int32(node, "N", &masks));
    r->masked = masked.size > 0;
    r->zeroed = bytes_equal(masked, bytes_of("zero"));
    if (masks != r->masked)
        return not_of_a_plan(node);
    TRY(node_attr_int32(node, "at", &r->at));
    for (int i = 0; i < CELLS; i++)
        if (bytes_equal(name, bytes_of(cell_kinds[i].name))) {
            r->cell = (enum fused_cell)i;
            return status_ok();
        }
    return not_of_a_plan(node);
}

static bool is_matrix(const struct tensor *matrix)
{
    return matrix != NULL && matrix->dtype == DT_FLOAT && matrix->shape.rank == 2;
}

static struct status read_sizes(struct prepare_context *p, struct fused_recurrence *r)
{
    const struct tensor *weights = prepare_constant(p, INPUT_WEIGHTS);
    const struct tensor *recurrent = prepare_constant(p, INPUT_RECURRENT);
    const struct tensor *bias = prepare_constant(p, INPUT_BIAS);
    if (!is_matrix(weights) || !is_matrix(recurrent) || bias == NULL)
        return not_of_a_plan(prepare_node(p));
    int64_t cells = recurrent->shape.dims[0], columns = recurrent->shape.dims[1];
    r->inputs = weights->shape.dims[0];
    r->cells = cells;
    int gates = cell_kinds[r->cell].gates;
    if (cells < 1 || columns % gates != 0 || columns / gates != cells ||
        weights->shape.dims[1] != columns || bias->dtype != DT_FLOAT ||
        bias->size != columns + (r->cell == GRU ? cells : 0))
        return not_of_a_plan(prepare_node(p));
    r->gates_columns = panels_columns(r->cell == GRU ? 2 * cells : columns);
    r->columns = r->gates_columns + (r->cell == GRU ? panels_columns(cells) : 0);
    return status_ok();
}

static struct status create(int64_t a, int64_t b, struct tensor *out)
{
    struct shape shape = shape_of(a, b);
    TRY(shape_check(2, shape.dims, &shape));
    TRY(tensor_create(DT_FLOAT, &shape, out));
    memset(out->data, 0, tensor_bytes(out));
    return status_ok();
}

static void pack(const struct fused_recurrence *r, const struct tensor *matrix,
                 struct tensor *packed)
{
    int64_t depth = matrix->shape.dims[0], columns = matrix->shape.dims[1];
    int64_t gates = r->cell == GRU ? 2 * r->cells : columns;
    float *out = tensor_floats_mut(packed);
    panels_pack(depth, gates, tensor_floats(matrix), columns, out);
    panels_pack(depth, columns - gates, tensor_floats(matrix) + gates, columns,
                out + r->gates_columns * depth);
}

/* Copies the bias in the order of the columns of the sums, followed by a GRU's inner bias. */
static void place_bias(const struct fused_recurrence *r, const float *bias, float *out)
{
    int64_t gates = r->cell == GRU ? 2 * r->cells : r->cells * cell_kinds[r->cell].gates;
    memcpy(out, bias, (size_t)gates * sizeof *out);
    if (r->cell != GRU)
        return;
    memcpy(out + r->gates_columns, bias + gates, (size_t)r->cells * sizeof *out);
    memcpy(out + r->columns, bias + gates + r->cells, (size_t)r->cells * sizeof *out);
}

struct status recurrence_prepare(struct prepare_context *p)
{
    struct fused_recurrence *r = prepare_state(p, sizeof *r, recurrence_destroy);
    TRY(read_cell(prepare_node(p), r));
    TRY(read_roles(prepare_node(p), r));
    TRY(read_sizes(p, r));
    TRY(create(r->inputs, r->columns, &r->weights));
    TRY(create(r->cells, r->columns, &r->recurrent));
    TRY(create(1, 2 * r->columns, &r->bias));
    pack(r, prepare_constant(p, INPUT_WEIGHTS), &r->weights);
    pack(r, prepare_constant(p, INPUT_RECURRENT), &r->recurrent);
    place_bias(r, tensor_floats(prepare_constant(p, INPUT_BIAS)), tensor_floats_mut(&r->bias));
    return status_ok();
}
