#include "graph/arguments.h"

#include "graph/function.h"

const struct op *node_signature(const struct graph *graph, const struct node *node)
{
    if (node->op != NULL)
        return node->op;
    const struct function *function = function_find(graph->library, node->op_name);
    return function != NULL ? function_signature(function) : NULL;
}

const struct attr_value *argument_attr(const struct node *node, const struct op *op,
                                       const char *name)
{
    const struct attr_value *given = attrs_find(node->attrs, node->attrs_count, name);
    if (given != NULL || op == NULL)
        return given;
    const struct op_attr *attr = op_attr_find(op, name);
    return attr != NULL ? attr->default_value : NULL;
}

struct status argument_attr_of(const struct node *node, const struct op *op, const char *name,
                               enum attr_kind kind, const struct attr_value **out)
{
    *out = argument_attr(node, op, name);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): attribute '%s' is missing",
                            node->name, node->op_name, name);
    if ((*out)->kind != kind)
        return status_error(
            STATUS_INVALID_ARGUMENT, "node '%s' (%s): attribute '%s' is of kind %s, should be %s",
            node->name, node->op_name, name, attr_kind_name((*out)->kind), attr_kind_name(kind));
    return status_ok();
}

struct status argument_count(const struct node *node, const struct op *op, const struct op_arg *arg,
                             int *out)
{
    const struct attr_value *value;

    *out = 1;
    if (arg->type_list_attr != NULL) {
        TRY(argument_attr_of(node, op, arg->type_list_attr, ATTR_LIST, &value));
        *out = value->count;
    } else if (arg->number_attr != NULL) {
        TRY(argument_attr_of(node, op, arg->number_attr, ATTR_INT, &value));
        if (value->i < 0 || value->i > ARGUMENT_TENSORS_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "node '%s' (%s): attribute '%s' is %lld, out of [0, %d]",
                                node->name, node->op_name, arg->number_attr, (long long)value->i,
                                ARGUMENT_TENSORS_MAX);
        *out = (int)value->i;
    }
    return status_ok();
}

struct status argument_type(const struct node *node, const struct op *op, const struct op_arg *arg,
                            int index, enum dtype *dtype, bool *is_ref)
{
    const char *name = arg->type_list_attr != NULL ? arg->type_list_attr : arg->type_attr;
    const struct attr_value *value;
    int type = arg->type;

    if (arg->type_list_attr != NULL) {
        TRY(argument_attr_of(node, op, name, ATTR_LIST, &value));
        if (index >= value->count || value->element_kind != ATTR_TYPE)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "node '%s' (%s): attribute '%s' is not a list of types", node->name,
                                node->op_name, name);
        type = value->elements[index].type;
    } else if (arg->type_attr != NULL) {
        TRY(argument_attr_of(node, op, name, ATTR_TYPE, &value));
        type = value->type;
    }
    *dtype = dtype_base(type);
    *is_ref = arg->is_ref || type > DT_REF;
    if (*dtype == DT_INVALID)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): argument '%s' has type %d, which is no type",
                            node->name, node->op_name, arg->name, type);
    return status_ok();
}

struct status node_fill_outputs(struct graph *graph, struct node *node)
{
    const struct op *op = node_signature(graph, node);
    if (op == NULL)
        return status_ok();
    TRY(node_check_attrs(node));

    int total = 0, count;
    for (int i = 0; i < op->outputs_count; i++) {
        TRY(argument_count(node, op, &op->outputs[i], &count));
        total += count;
        if (total > GRAPH_OUTPUTS_MAX)
            break;
    }
    graph->outputs_total += total;
    if (graph->outputs_total > GRAPH_OUTPUTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "the graph has over %d outputs",
                            GRAPH_OUTPUTS_MAX);
    void *memory;
    TRY(arena_reserve(graph->arena, (size_t)(total > 0 ? total : 1) * sizeof(struct output),
                      &memory));
    struct output *outputs = memory;
    int at = 0;
    for (int i = 0; i < op->outputs_count; i++) {
        TRY(argument_count(node, op, &op->outputs[i], &count));
        for (int k = 0; k < count; k++, at++) {
            outputs[at].shape = shape_unknown();
            TRY(argument_type(node, op, &op->outputs[i], k, &outputs[at].dtype,
                              &outputs[at].is_ref));
        }
    }
    node->outputs = outputs;
    node->outputs_count = total;
    return status_ok();
}

static struct status check_input(const struct node *node, const struct op *op,
                                 const struct op_arg *arg, int index, int at)
{
    struct endpoint input = node->inputs[at];
    enum dtype wanted;
    bool is_ref;

    TRY(argument_type(node, op, arg, index, &wanted, &is_ref));
    if (input.index >= input.node->outputs_count)
        return status_ok(); /* the op is unknown */
    const struct output *given = &input.node->outputs[input.index];
    if (given->dtype != wanted)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): input %d ('%s') is %s from '%s', should be %s",
                            node->name, node->op_name, at, arg->name, dtype_name(given->dtype),
                            input.node->name, dtype_name(wanted));
    if (is_ref && !given->is_ref)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): input %d ('%s') from '%s' is not a reference",
                            node->name, node->op_name, at, arg->name, input.node->name);
    return status_ok();
}

struct status node_check_inputs(const struct graph *graph, const struct node *node)
{
    const struct op *op = node_signature(graph, node);
    if (op == NULL)
        return status_ok();

    int wanted = 0, count;
    for (int i = 0; i < op->inputs_count; i++) {
        TRY(argument_count(node, op, &op->inputs[i], &count));
        wanted += count;
    }
    if (wanted != node->inputs_count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): has %d inputs, should have %d", node->name,
                            node->op_name, node->inputs_count, wanted);
    int at = 0;
    for (int i = 0; i < op->inputs_count; i++) {
        TRY(argument_count(node, op, &op->inputs[i], &count));
        for (int k = 0; k < count; k++, at++)
            TRY(check_input(node, op, &op->inputs[i], k, at));
    }
    return status_ok();
}

/* 0: an attribute is missing, which node_check_inputs reports. */
static int tensors_of(const struct node *node, const struct op_arg *arg)
{
    int count;
    return status_is_ok(argument_count(node, node->op, arg, &count)) ? count : 0;
}

bool node_input_is_ref(const struct node *node, int index)
{
    if (node->op == NULL)
        return true;
    int end = 0;
    for (int i = 0; i < node->op->inputs_count; i++) {
        end += tensors_of(node, &node->op->inputs[i]);
        if (index < end)
            return node->op->inputs[i].is_ref;
    }
    return false;
}

bool node_takes_reference(const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (node_input_is_ref(node, i))
            return true;
    }
    return false;
}

/* Graphs of producers up to this version write a scalar shape and a missing shape alike. */
#define PRODUCER_WITHOUT_UNKNOWN_SHAPE 21

struct status node_declared_shape(const struct graph *graph, const struct node *node,
                                  struct shape *out)
{
    const struct shape *shape;
    TRY(node_attr_shape(node, "shape", &shape));
    bool may_be_unknown = graph->producer > 0 && graph->producer <= PRODUCER_WITHOUT_UNKNOWN_SHAPE;
    bool is_unknown =
        shape->rank == 0 && may_be_unknown && strcmp(node->op_name, "Placeholder") == 0;
    *out = is_unknown ? shape_unknown() : *shape;
    return status_ok();
}
