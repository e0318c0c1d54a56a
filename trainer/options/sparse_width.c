#include "trainer/options/sparse_width.h"

#include <string.h>

static bool is_adjoint(const struct node *node)
{
    bool a = false, b = false;

    return !status_is_ok(node_attr_bool(node, "adjoint_a", &a)) ||
           !status_is_ok(node_attr_bool(node, "adjoint_b", &b)) || a || b;
}

/* Limit of the nodes between a variable and its use: in a wrong file they may form a cycle. */
#define READS_MAX 8

/* Finds the variable whose value this is. Its shape is an attribute: no shapes of the whole graph
 * have been inferred. NULL: it is no variable's. */
static const struct shape *variable_shape(struct endpoint value)
{
    const struct node *node = value.node;
    const struct shape *shape = NULL;

    for (int i = 0;
         i < READS_MAX && node->inputs_count > 0 &&
         (strcmp(node->op_name, "Identity") == 0 || strcmp(node->op_name, "ReadVariableOp") == 0);
         i++)
        node = node->inputs[0].node;
    return strcmp(node->op_name, "VarHandleOp") == 0 &&
                   status_is_ok(node_attr_shape(node, "shape", &shape))
               ? shape
               : NULL;
}

/* The rows of the matrix that the node multiplies the values by; -1: it does not, or they are not
 * known. */
static int64_t rows_of(const struct node *node, struct endpoint values)
{
    if (strcmp(node->op_name, "SparseTensorDenseMatMul") != 0 || node->inputs_count != 4 ||
        node->inputs[1].node != values.node || node->inputs[1].index != values.index ||
        is_adjoint(node))
        return -1;
    const struct shape *matrix = variable_shape(node->inputs[3]);
    return matrix != NULL && matrix->rank == 2 ? matrix->dims[0] : -1;
}

int64_t sparse_width_find(const struct graph *graph, const char *values)
{
    struct endpoint fed;
    int64_t width = 0;

    if (!status_is_ok(graph_endpoint(graph, values, &fed)))
        return 0;
    for (int i = 0; i < graph->count; i++) {
        int64_t rows = rows_of(graph->nodes[i], fed);
        if (rows > 0 && width > 0 && rows != width)
            return 0;
        width = rows > 0 ? rows : width;
    }
    return width;
}
