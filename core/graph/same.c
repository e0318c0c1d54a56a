#include "graph/same.h"

#include <string.h>

#include "graph/library.h"

/* Both graphs are numbered in their order, so equal numbers are equal places. */
static bool same_endpoints(const struct endpoint *a, const struct endpoint *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].node->id != b[i].node->id || a[i].index != b[i].index)
            return false;
    }
    return true;
}

static bool same_nodes(struct node *const *a, struct node *const *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i]->id != b[i]->id)
            return false;
    }
    return true;
}

/* A variable or table without a shared name goes by the name of its node. */
static bool name_matters(const struct op *op)
{
    return op == NULL || (op_has(op, OP_STATEFUL) && !op_has(op, OP_READS)) ||
           op_has(op, OP_VARIABLE);
}

static bool same_node(const struct node *a, const struct node *b)
{
    return a->op == b->op && strcmp(a->op_name, b->op_name) == 0 &&
           a->inputs_count == b->inputs_count && a->controls_count == b->controls_count &&
           (!name_matters(a->op) || strcmp(a->name, b->name) == 0) &&
           same_endpoints(a->inputs, b->inputs, a->inputs_count) &&
           same_nodes(a->controls, b->controls, a->controls_count) &&
           attrs_equal(a->attrs, a->attrs_count, b->attrs, b->attrs_count);
}

bool graph_is_same(const struct flatten_result *a, const struct flatten_request *a_request,
                   const struct flatten_result *b, const struct flatten_request *b_request)
{
    if (a->graph->count != b->graph->count || a->graph->library != b->graph->library ||
        a_request->feeds_count != b_request->feeds_count ||
        a_request->fetches_count != b_request->fetches_count ||
        a_request->targets_count != b_request->targets_count ||
        !same_endpoints(a->feeds, b->feeds, a_request->feeds_count) ||
        !same_endpoints(a->fetches, b->fetches, a_request->fetches_count) ||
        !same_nodes(a->targets, b->targets, a_request->targets_count))
        return false;
    for (int i = 0; i < a->graph->count; i++) {
        if (!same_node(a->graph->nodes[i], b->graph->nodes[i]))
            return false;
    }
    return true;
}

/* ---- before they are flattened ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_args(const struct op_arg *a, const struct op_arg *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!same_text(a[i].name, b[i].name) || a[i].type != b[i].type ||
            a[i].is_ref != b[i].is_ref || !same_text(a[i].type_attr, b[i].type_attr) ||
            !same_text(a[i].number_attr, b[i].number_attr) ||
            !same_text(a[i].type_list_attr, b[i].type_list_attr))
            return false;
    }
    return true;
}

static bool same_body_node(const struct body_node *a, const struct body_node *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->op_name, b->op_name) != 0 ||
        a->inputs_count != b->inputs_count ||
        !attrs_equal(a->attrs, a->attrs_count, b->attrs, b->attrs_count))
        return false;
    for (int i = 0; i < a->inputs_count; i++) {
        if (strcmp(a->inputs[i], b->inputs[i]) != 0)
            return false;
    }
    return true;
}

static bool same_values(const struct body_result *a, const struct body_result *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (!same_text(a[i].value, b[i].value))
            return false;
    }
    return true;
}

/* Functions of attributes count as different. */
static bool same_function(const struct function *a, const struct function *b)
{
    const struct op *x = &a->signature, *y = &b->signature;
    if (x->inputs_count != y->inputs_count || x->outputs_count != y->outputs_count ||
        x->attrs_count > 0 || y->attrs_count > 0 || a->nodes_count != b->nodes_count ||
        a->controls_count != b->controls_count ||
        !same_args(x->inputs, y->inputs, x->inputs_count) ||
        !same_args(x->outputs, y->outputs, x->outputs_count) ||
        !same_values(a->results, b->results, x->outputs_count) ||
        !same_values(a->controls, b->controls, a->controls_count))
        return false;
    for (int i = 0; i < a->nodes_count; i++) {
        if (!same_body_node(&a->nodes[i], &b->nodes[i]))
            return false;
    }
    return true;
}

/* The functions that are reached from one. */
struct reached {
    const struct function_library *library;
    struct map seen; /* name -> struct function */
    bool is_known;   /* all of them are in the library */
};

static void reach(struct reached *reached, const char *name)
{
    const struct function *function = function_find_called(reached->library, name);
    if (function == NULL)
        reached->is_known = false;
    else
        map_put_text(&reached->seen, function_name(function), (void *)function);
}

static void reach_value(struct reached *reached, const struct attr_value *value)
{
    if (value->kind == ATTR_FUNC)
        reach(reached, value->func->name);
    for (int i = 0; value->kind == ATTR_LIST && i < value->count; i++) {
        if (value->elements[i].kind == ATTR_FUNC)
            reach(reached, value->elements[i].func->name);
    }
}

/* False: its name matters. */
static bool reach_from(struct reached *reached, const struct body_node *node)
{
    const struct op *op = op_find(node->op_name);
    for (int i = 0; i < node->attrs_count; i++)
        reach_value(reached, &node->attrs[i].value);
    if (op == NULL)
        reach(reached, node->op_name);
    return op == NULL || op_has(op, OP_CALL) || !name_matters(op);
}

/* Is there a node in the function, or in those that it calls, whose name matters? The names begin
 * with that of the call. */
static bool has_names(const struct function_library *library, const struct function *function)
{
    struct reached reached = { .library = library, .is_known = true };
    bool found = false;
    reach(&reached, function_name(function));
    for (size_t i = 0; i < reached.seen.count && !found; i++) {
        const struct function *at = reached.seen.entries[i].value;
        for (int k = 0; k < at->nodes_count && !found; k++)
            found = !reach_from(&reached, &at->nodes[k]);
    }
    map_finish(&reached.seen);
    return found || !reached.is_known;
}

static bool same_callee(const struct graph *graph, const struct function_name *a,
                        const struct function_name *b)
{
    const struct function *x = function_find_called(graph->library, a->name);
    const struct function *y = function_find_called(graph->library, b->name);
    return x != NULL && y != NULL && a->attrs_count == 0 && b->attrs_count == 0 &&
           same_function(x, y) && !has_names(graph->library, x);
}

static bool same_call_attr(const struct graph *graph, const struct attr *a, const struct attr *b)
{
    if (strcmp(a->name, b->name) != 0)
        return false;
    bool is_callee =
        strcmp(a->name, "f") == 0 && a->value.kind == ATTR_FUNC && b->value.kind == ATTR_FUNC;
    return is_callee ? same_callee(graph, a->value.func, b->value.func)
                     : attr_value_equal(&a->value, &b->value);
}

static int find_feed(const struct flatten_request *request, struct endpoint endpoint)
{
    for (int i = 0; i < request->feeds_count; i++) {
        if (request->feeds[i].node == endpoint.node && request->feeds[i].index == endpoint.index)
            return i;
    }
    return -1;
}

/* The same feed, or the same node that depends on nothing, such as the handle of a variable. */
static bool same_input(const struct flatten_request *a, struct endpoint a_input,
                       const struct flatten_request *b, struct endpoint b_input)
{
    int feed = find_feed(a, a_input);
    if (feed != find_feed(b, b_input))
        return false;
    return feed >= 0 || (a_input.node == b_input.node && a_input.index == b_input.index &&
                         a_input.node->inputs_count == 0 && a_input.node->controls_count == 0);
}

static bool same_feeds(const struct flatten_request *a, const struct flatten_request *b)
{
    if (a->feeds_count != b->feeds_count || (a->feed_shapes == NULL) != (b->feed_shapes == NULL))
        return false;
    for (int i = 0; i < a->feeds_count; i++) {
        const struct node *x = a->feeds[i].node, *y = b->feeds[i].node;
        if (x->op != y->op || x->op == NULL || a->feeds[i].index != b->feeds[i].index ||
            x->inputs_count != 0 || y->inputs_count != 0 ||
            !attrs_equal(x->attrs, x->attrs_count, y->attrs, y->attrs_count) ||
            (a->feed_shapes != NULL && !shape_equal(&a->feed_shapes[i], &b->feed_shapes[i])))
            return false;
    }
    return true;
}

/* The call whose outputs are all that the request fetches. NULL: it is not so simple. */
static const struct node *only_call(const struct flatten_request *request)
{
    const struct node *call = request->fetches_count > 0 ? request->fetches[0].node : NULL;
    for (int i = 1; i < request->fetches_count; i++) {
        if (request->fetches[i].node != call)
            return NULL;
    }
    bool is_simple = call != NULL && op_has(call->op, OP_CALL) && call->controls_count == 0 &&
                     request->targets_count == 0 &&
                     strcmp(call->op_name, "SymbolicGradient") != 0; /* not determined by f alone */
    for (int i = 0; is_simple && i < request->fetches_count; i++)
        is_simple = find_feed(request, request->fetches[i]) < 0;
    return is_simple ? call : NULL;
}

bool requests_are_same(const struct graph *graph, const struct flatten_request *a,
                       const struct flatten_request *b)
{
    const struct node *x = only_call(a), *y = only_call(b);
    if (x == NULL || y == NULL || x->op != y->op || x->inputs_count != y->inputs_count ||
        x->attrs_count != y->attrs_count || a->fetches_count != b->fetches_count ||
        !same_feeds(a, b))
        return false;
    for (int i = 0; i < a->fetches_count; i++) {
        if (a->fetches[i].index != b->fetches[i].index)
            return false;
    }
    for (int i = 0; i < x->inputs_count; i++) {
        if (!same_input(a, x->inputs[i], b, y->inputs[i]))
            return false;
    }
    for (int i = 0; i < x->attrs_count; i++) {
        if (!same_call_attr(graph, &x->attrs[i], &y->attrs[i]))
            return false;
    }
    return true;
}
