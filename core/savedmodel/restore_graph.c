#include "savedmodel/restore_graph.h"

#include <string.h>

bool node_is_handle(const struct node *node)
{
    return op_has(node->op, OP_VARIABLE);
}

bool node_is_assign(const struct node *node)
{
    return op_has(node->op, OP_ASSIGN);
}

struct bytes handle_name(const struct node *handle)
{
    struct bytes name = { "", 0 };
    /* absent is the default, empty */
    status_ignore(node_attr_string(handle, "shared_name", &name));
    return name.size > 0 || strcmp(handle->op_name, "VarHandleOp") == 0 ? name
                                                                        : bytes_of(handle->name);
}

static bool is_plain_identity(const struct node *node)
{
    return strcmp(node->op_name, "Identity") == 0 && node->inputs_count == 1;
}

const struct node *skip_identity(struct endpoint endpoint, int *index)
{
    while (is_plain_identity(endpoint.node))
        endpoint = endpoint.node->inputs[0];
    *index = endpoint.index;
    return endpoint.node;
}

static bool is_variable(struct endpoint endpoint)
{
    int index;
    return node_is_handle(skip_identity(endpoint, &index));
}

bool node_may_run_functions(const struct node *node)
{
    return node->op == NULL || op_has(node->op, OP_CONTROL | OP_FUNCTIONS | OP_LOWERED);
}

bool may_write_variables(const struct flatten_result *flat, int fetches_count)
{
    for (int i = 0; i < fetches_count; i++)
        if (is_variable(flat->fetches[i]))
            return true;
    for (int i = 0; i < flat->graph->count; i++) {
        const struct node *node = flat->graph->nodes[i];
        if (node_may_run_functions(node))
            return true;
        bool reads = op_has(node->op, OP_READS) || is_plain_identity(node);
        for (int j = 0; j < node->inputs_count && !reads; j++)
            if (is_variable(node->inputs[j]))
                return true;
    }
    return false;
}

/* An input of RestoreV2 that is a constant of strings, or NULL. */
static const struct tensor *restored_strings(const struct node *restore, int input)
{
    const struct tensor *strings;
    if (strcmp(restore->op_name, "RestoreV2") != 0 || restore->inputs_count <= input)
        return NULL;
    const struct node *constant = restore->inputs[input].node;
    bool known = strcmp(constant->op_name, "Const") == 0 &&
                 status_is_ok(node_attr_tensor(constant, "value", &strings)) &&
                 strings->dtype == DT_STRING;
    return known ? strings : NULL;
}

#define INPUT_NAMES  1
#define INPUT_SLICES 2

const struct tensor *restored_names(const struct node *restore)
{
    return restored_strings(restore, INPUT_NAMES);
}

/* The element of an input of RestoreV2 for the output that is assigned, or NULL. */
static const char *restored_string(const struct node *assign, int input, struct arena *arena)
{
    int index;
    const struct node *restore = skip_identity(assign->inputs[1], &index);
    const struct tensor *strings = restored_strings(restore, input);
    if (strings == NULL || index >= strings->size)
        return NULL;
    struct bytes text = tensor_strings(strings)[index];
    return arena_memdup(arena, text.data, text.size);
}

const char *restored_key(const struct node *assign, struct arena *arena)
{
    return restored_string(assign, INPUT_NAMES, arena);
}

const char *restored_slice(const struct node *assign, struct arena *arena)
{
    return restored_string(assign, INPUT_SLICES, arena);
}
