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

const struct tensor *restored_names(const struct node *restore)
{
    const struct tensor *names;
    if (strcmp(restore->op_name, "RestoreV2") != 0 || restore->inputs_count < 2)
        return NULL;
    const struct node *constant = restore->inputs[1].node;
    bool known = strcmp(constant->op_name, "Const") == 0 &&
                 status_is_ok(node_attr_tensor(constant, "value", &names)) &&
                 names->dtype == DT_STRING;
    return known ? names : NULL;
}

const char *restored_key(const struct node *assign, struct arena *arena)
{
    int index;
    const struct tensor *names = restored_names(skip_identity(assign->inputs[1], &index));
    if (names == NULL || index >= names->size)
        return NULL;
    struct bytes key = tensor_strings(names)[index];
    return arena_memdup(arena, key.data, key.size);
}
