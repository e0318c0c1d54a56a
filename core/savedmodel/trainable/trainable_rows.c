/*
 * trainable_rows: finds variables that a graph reads only by rows, as an Embedding does, and
 * replaces these reads by lookups (training_graph.h): a step of a table of a gigabyte then
 * transfers only the rows of its batch.
 */
#include "savedmodel/restore_graph.h"
#include "savedmodel/trainable/trainable_reads.h"

static bool is_op(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

/* The variable whose whole value an endpoint is, with Identity nodes skipped; -1: none. */
static int find_value(const struct variable_reads *reads, struct endpoint endpoint)
{
    int index;
    const struct node *node = skip_identity(endpoint, &index);

    if (is_op(node, "ReadVariableOp") && node->inputs_count > 0)
        return variable_reads_find(reads, node->inputs[0]);
    bool is_reference = node->outputs_count > 0 && node->outputs[0].is_ref;
    return is_reference ? variable_reads_find(reads, endpoint) : -1;
}

static bool is_constant_zero(struct endpoint endpoint)
{
    const struct tensor *value;

    if (!is_op(endpoint.node, "Const") ||
        !status_is_ok(node_attr_tensor(endpoint.node, "value", &value)) || value->size != 1)
        return false;
    if (value->dtype == DT_INT64)
        return *(const int64_t *)value->data == 0;
    return value->dtype == DT_INT32 && *(const int32_t *)value->data == 0;
}

/* The variable from which a node gathers the rows in its input 1; -1: none. */
static int find_table(const struct variable_reads *reads, const struct node *node)
{
    if (node->inputs_count < 2 || node_attr_int_or_0(node, "batch_dims") != 0)
        return -1;
    if (is_op(node, "ResourceGather"))
        return variable_reads_find(reads, node->inputs[0]);
    if (is_op(node, "Gather") ||
        (is_op(node, "GatherV2") && node->inputs_count == 3 && is_constant_zero(node->inputs[2])))
        return find_value(reads, node->inputs[0]);
    return -1;
}

/* The variable whose shape a node computes; -1: none. */
static int find_shape(const struct variable_reads *reads, const struct node *node)
{
    if (node->inputs_count != 1)
        return -1;
    if (is_op(node, "VariableShape"))
        return variable_reads_find(reads, node->inputs[0]);
    return is_op(node, "Shape") ? find_value(reads, node->inputs[0]) : -1;
}

/* ---- choosing the variables ---- */

struct row_search {
    const struct variable_reads *reads;
    bool *is_table; /* by variable: a node takes rows of it */
    bool *is_whole; /* by variable: a node needs more than rows */
    bool *depends;  /* by node id: on the value of a variable */
};

static void note_inputs(const struct row_search *search, const struct node *node)
{
    int table = find_table(search->reads, node), shape = find_shape(search->reads, node);
    bool passes = is_op(node, "Identity") || is_op(node, "ReadVariableOp");

    search->depends[node->id] = node->outputs_count > 0 && node->outputs[0].is_ref;
    for (int k = 0; k < node->inputs_count; k++) {
        int handle = variable_reads_find(search->reads, node->inputs[k]);
        int read = handle >= 0 ? handle : find_value(search->reads, node->inputs[k]);
        bool allowed = passes || (k == 0 && read >= 0 && (read == table || read == shape));
        if (read >= 0 && !allowed)
            search->is_whole[read] = true;
        /* A node that needs only the shape of a variable does not depend on its value. */
        if (shape < 0 && (handle >= 0 || search->depends[node->inputs[k].node->id]))
            search->depends[node->id] = true;
    }
    if (table < 0)
        return;
    search->is_table[table] = true;
    if (search->depends[node->inputs[1].node->id])
        search->is_whole[table] = true; /* the ids depend on a variable's value */
}

/* The nodes of a flattened graph are in topological order. */
bool *variable_rows_choose(const struct variable_reads *reads, const struct endpoint *outputs)
{
    const struct graph *graph = reads->builder.graph;
    const struct trainable *trainable = reads->trainable;
    const struct row_search search = {
        .reads = reads,
        .is_table = ARENA_ARRAY(graph->arena, bool, trainable->variables_count + 1),
        .is_whole = ARENA_ARRAY(graph->arena, bool, trainable->variables_count + 1),
        .depends = ARENA_ARRAY(graph->arena, bool, graph->count + 1),
    };

    for (int i = 0; i < graph->count; i++)
        note_inputs(&search, graph->nodes[i]);
    for (int i = 0; i < trainable->outputs_count; i++)
        if (find_value(reads, outputs[i]) >= 0)
            search.is_whole[find_value(reads, outputs[i])] = true;
    for (int v = 0; v < trainable->variables_count; v++) {
        const struct trainable_variable *variable = &trainable->variables[v];
        search.is_table[v] = search.is_table[v] && !search.is_whole[v] &&
                             variable->dtype == DT_FLOAT && variable->shape.rank > 0;
    }
    return search.is_table;
}

/* ---- their reads ---- */

static struct endpoint constant_shape(struct builder *b, const struct node *node,
                                      const struct shape *shape)
{
    enum dtype dtype = DT_INT32;
    int32_t ints[SHAPE_RANK_MAX];
    const struct shape rank = shape_of(shape->rank);

    status_ignore(node_attr_type(node, "out_type", &dtype)); /* absent: the default */
    for (int i = 0; i < shape->rank; i++)
        ints[i] = (int32_t)shape->dims[i];
    const struct tensor value = dtype == DT_INT64 ? tensor_borrow(DT_INT64, &rank, shape->dims)
                                                  : tensor_borrow(DT_INT32, &rank, ints);
    return build_const(b, node->name, &value);
}

static struct endpoint look_up(struct variable_reads *reads, const struct node *node, int variable,
                               struct row_lookup *out)
{
    struct builder *b = &reads->builder;
    struct endpoint ids = node->inputs[1];

    if (endpoint_dtype(ids) != DT_INT64)
        ids = build_cast(b, NULL, ids, DT_INT64);
    *out = (struct row_lookup){
        .variable = variable,
        .ids = ids,
        .positions = build_placeholder(b, arena_printf(b->graph->arena, "positions/%s", node->name),
                                       DT_INT64, shape_unknown()),
    };
    const struct endpoint inputs[] = { reads->values[variable], out->positions,
                                       build_const_int(b, 0) };
    return build(b, "GatherV2", node->name, 3, inputs, NULL);
}

void variable_rows_replace(struct variable_reads *reads, struct trainable_graph *out)
{
    struct graph *graph = reads->builder.graph;

    out->lookups = ARENA_ARRAY(graph->arena, struct row_lookup, reads->count + 1);
    for (int i = 0; i < reads->count; i++) {
        const struct node *node = graph->nodes[i];
        int table = find_table(reads, node), shape = find_shape(reads, node);
        if (table >= 0 && out->by_rows[table])
            reads->images[i] = look_up(reads, node, table, &out->lookups[out->lookups_count++]);
        else if (shape >= 0 && out->by_rows[shape])
            reads->images[i] =
                constant_shape(&reads->builder, node, &reads->trainable->variables[shape].shape);
    }
}
