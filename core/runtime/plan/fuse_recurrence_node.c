/* The node that the loop of a recurrent layer becomes (runtime/recurrence.h). */
#include "runtime/plan/fuse_recurrence.h"

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

#define ATTRS_COUNT 9

static struct attr *make_attrs(const struct loop_match *loop, const struct recurrence_match *found,
                               const enum recurrence_role *roles, const struct loop_limits *limits,
                               int carried)
{
    const struct node *node = loop->node;
    struct arena *arena = loop->fuse->maker->arena;
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, ATTRS_COUNT);
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
    return attrs;
}

bool become_recurrence(const struct loop_match *loop, const struct recurrence_match *found,
                       const enum recurrence_role *roles, const struct loop_limits *limits)
{
    struct node *node = loop->node;
    const struct tensor *u = found->inner.u != NULL ? found->inner.u : found->input.u;
    struct endpoint bias = make_bias(loop, found);
    if (bias.node == NULL)
        return false;
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
    struct attr *attrs = make_attrs(loop, found, roles, limits, count - first);
    fuse_rewrite(node, "_Recurrence", inputs, count, attrs, ATTRS_COUNT);
    loop->fuse->region->branches[node->id] = NULL;
    return true;
}
