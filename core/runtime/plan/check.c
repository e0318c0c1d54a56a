/*
 * Checks what kernels take for granted and a file may contradict. Reading a graph checks inputs and
 * attributes against the row of the op (graph/arguments.h). This file checks the rest: fused ops,
 * the bodies of branches and loops, and feeds of outputs whose type no op declares.
 */
#include <string.h>

#include "graph/arguments.h"
#include "runtime/plan/maker.h"

bool node_has_addend(const struct node *node)
{
    const struct attr_value *names = node_attr(node, "fused_ops");
    for (int i = 0; names != NULL && i < names->count; i++)
        if (bytes_equal(names->elements[i].s, bytes_of("Add")))
            return strcmp(node->op_name, "_FusedConv2D") == 0;
    return false;
}

/* A file may hold fused ops that TensorFlow made; its fused_ops are more than ours. */
struct status check_fused(const struct node *node)
{
    const struct attr_value *names = node_attr(node, "fused_ops");
    if (!op_has(node->op, OP_FUSED))
        return status_ok();
    int at = 0, count = names != NULL ? names->count : 0;
    bool has_bias = at < count && bytes_equal(names->elements[at].s, bytes_of("BiasAdd"));
    at += has_bias;
    bool has_addend =
        at < count && bytes_equal(names->elements[at].s, bytes_of("Add")) && node_has_addend(node);
    at += has_addend;
    at += at < count && op_has(op_find_bytes(names->elements[at].s), OP_ACTIVATION);
    int product_inputs = node->op->inputs_count - 1;
    if (at == count && node->inputs_count == product_inputs + has_bias + has_addend)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for its fused_ops", node->op_name,
                        node->name);
}

static enum dtype dtype_of(struct endpoint endpoint)
{
    return endpoint.index < endpoint.node->outputs_count
               ? endpoint.node->outputs[endpoint.index].dtype
               : DT_INVALID;
}

static struct status check_same(const struct node *node, const char *function, const char *what,
                                int index, enum dtype given, enum dtype wanted)
{
    if (given == wanted)
        return status_ok();
    return status_error(
        STATUS_INVALID_ARGUMENT, "node '%s' (%s): %s %d of function '%s' is %s, should be %s",
        node->name, node->op_name, what, index, function, dtype_name(given), dtype_name(wanted));
}

/* The output of an unknown op has no type. region_emit reports that the op has no kernel. */
static struct status check_argument(const struct node *node, const struct region *body, int i,
                                    struct endpoint input)
{
    if (dtype_of(input) == DT_INVALID)
        return status_ok();
    return check_same(node, body->function, "argument", i, dtype_of(body->args[i]),
                      dtype_of(input));
}

struct status check_body(const struct node *node, const struct region *body, int first_input,
                         bool is_condition)
{
    for (int i = 0; i < body->args_count; i++)
        TRY(check_argument(node, body, i, node->inputs[first_input + i]));
    for (int i = 0; i < body->results_count && !is_condition; i++) {
        if (body->results[i].node->op == NULL)
            continue; /* its type is unknown; region_emit reports that it has no kernel */
        TRY(check_same(node, body->function, "result", i, dtype_of(body->results[i]),
                       node->outputs[i].dtype));
    }
    return status_ok();
}

struct status check_captures(const struct node *node, const struct region *body, int first_input,
                             int count)
{
    int first = body->args_count - count;
    if (first < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): function '%s' takes %d values, is given %d more",
                            node->name, node->op_name, body->function, body->args_count, -first);
    for (int i = 0; i < count; i++)
        TRY(check_argument(node, body, first + i, node->inputs[first_input + i]));
    return status_ok();
}

/* The type that the node's op requires of input `at`. */
static bool find_input_type(const struct node *node, int at, enum dtype *out)
{
    bool is_ref;
    int count;
    for (int i = 0; node->op != NULL && i < node->op->inputs_count; i++) {
        const struct op_arg *arg = &node->op->inputs[i];
        if (!status_is_ok(argument_count(node, node->op, arg, &count)))
            return false;
        if (at < count)
            return status_is_ok(argument_type(node, node->op, arg, at, out, &is_ref));
        at -= count;
    }
    return false;
}

/* Gives a feed of an unknown op the type that its users require; all must agree. */
static struct status type_feed(const struct region *region, struct endpoint feed, int index)
{
    struct output *output = &feed.node->outputs[feed.index];
    for (int i = 0; i < region->graph->count; i++) {
        const struct node *user = region->graph->nodes[i];
        for (int j = 0; j < user->inputs_count; j++) {
            enum dtype dtype;
            if (user->inputs[j].node != feed.node || user->inputs[j].index != feed.index ||
                !find_input_type(user, j, &dtype))
                continue;
            if (output->dtype == DT_INVALID)
                output->dtype = dtype;
            TRY(check_same(user, "of the graph", "feed", index, output->dtype, dtype));
        }
    }
    return status_ok();
}

struct status check_feeds(struct region *region)
{
    for (int i = 0; i < region->args_count; i++) {
        struct endpoint feed = region->args[i];
        if (feed.node->outputs[feed.index].dtype == DT_INVALID)
            TRY(type_feed(region, feed, i));
    }
    return status_ok();
}
