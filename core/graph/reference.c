#include <stdlib.h>

#include "graph/arguments.h"
#include "graph/instance.h"

/* "node:out:3", split at its colons. */
struct reference {
    struct bytes name, out;
    int index;
    bool has_index;
};

static bool parse_reference(const char *text, struct reference *out)
{
    const char *colon = strchr(text, ':');
    *out = (struct reference){ .name = { text,
                                         colon != NULL ? (size_t)(colon - text) : strlen(text) } };
    if (colon == NULL)
        return true;
    const char *second = strchr(colon + 1, ':');
    const char *number = second != NULL ? second : colon;
    char *end;
    long index = strtol(number + 1, &end, 10);
    bool is_number = number[1] >= '0' && number[1] <= '9' && *end == '\0' && index <= INT32_MAX;
    if (second != NULL || !is_number) {
        size_t size = second != NULL ? (size_t)(second - colon) - 1 : strlen(colon + 1);
        out->out = (struct bytes){ colon + 1, size };
    }
    out->has_index = is_number;
    out->index = is_number ? (int)index : 0;
    return is_number || second == NULL;
}

/* Finds the output `out:index` of a node of the body: its number, and the tensors of the
 * argument. */
static struct status find_output(const struct instance *instance, const struct node *node,
                                 const struct reference *reference, int *first, int *count)
{
    const struct op *op = node_signature(instance->graph, node);

    if (op == NULL) { /* an unknown op: it is enough to tell its outputs apart */
        *first = 0;
        *count = INT32_MAX;
        return status_ok();
    }
    *first = 0;
    for (int i = 0; i < op->outputs_count; i++) {
        TRY(argument_count(node, op, &op->outputs[i], count));
        if (bytes_equal(reference->out, bytes_of(op->outputs[i].name)))
            return status_ok();
        *first += *count;
    }
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s) has no output '%.*s'", node->name,
                        node->op_name, (int)reference->out.size, reference->out.data);
}

struct status reference_resolve(const struct instance *instance, const char *text,
                                struct resolved *out)
{
    struct reference reference;
    if (!parse_reference(text, &reference))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not a reference", text);

    const struct arg_range *arg = map_get(&instance->args, reference.name);
    *out = (struct resolved){ 0 };
    if (arg != NULL) {
        out->first = arg->first;
        out->count = arg->count;
    } else {
        out->node = map_get(&instance->graph->names, reference.name);
        if (out->node == NULL || reference.out.size == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "input %s is not found", text);
        TRY(find_output(instance, out->node, &reference, &out->first, &out->count));
    }
    if (!reference.has_index)
        return status_ok();
    if (reference.index >= out->count)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s': there are %d tensors", text,
                            out->count);
    out->first += reference.index;
    out->count = 1;
    return status_ok();
}

struct endpoint reference_endpoint(const struct instance *instance, const struct resolved *resolved,
                                   int index)
{
    if (resolved->node == NULL)
        return instance->body.args[resolved->first + index];
    return (struct endpoint){ resolved->node, resolved->first + index };
}

struct status reference_control(const struct instance *instance, const char *name,
                                struct node **out)
{
    const struct arg_range *arg = map_get_text(&instance->args, name);
    *out = graph_find(instance->graph, name);
    if (arg != NULL && arg->count > 0)
        *out = instance->body.args[arg->first].node;
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "input ^%s is not found", name);
    return status_ok();
}
