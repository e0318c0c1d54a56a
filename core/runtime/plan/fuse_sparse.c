/*
 * Products of a sparse matrix whose pairs of row and column are only made for them:
 *
 *     SparseTensorDenseMatMul(Pack(rows, columns), …)   ->  _SparseListsMatMul(rows, columns, …)
 *     RaggedTensorToSparse(splits, values)[:, 0]        ->  _RaggedRows(splits, values)
 *
 * The layers of a sparse input are built so (core/layers/lists.h). Pairs take 16 bytes an entry,
 * which each step would write and read several times.
 */
#include "runtime/plan/fuse.h"

bool fuse_sparse_product(struct fuse *fuse, struct node *node)
{
    const struct node *pack = node->inputs[0].node;
    bool adjoint_a = false, adjoint_b = false;

    if (!op_is(pack, "Pack") || pack->inputs_count != 2 || pack->controls_count > 0 ||
        pack->outputs[0].dtype != DT_INT64 || node_attr_int_or_0(pack, "axis") != 1)
        return false;
    status_ignore(node_attr_bool(node, "adjoint_a", &adjoint_a)); /* false by default, as both */
    status_ignore(node_attr_bool(node, "adjoint_b", &adjoint_b));
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, 5);
    memcpy(inputs, pack->inputs, 2 * sizeof *inputs);
    memcpy(inputs + 2, node->inputs + 1, 3 * sizeof *inputs);
    struct attr *attrs = ARENA_ARRAY(fuse->maker->arena, struct attr, 3);
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = (int)node->outputs[0].dtype } };
    attrs[1] = (struct attr){ "adjoint_a", { .kind = ATTR_BOOL, .b = adjoint_a } };
    attrs[2] = (struct attr){ "adjoint_b", { .kind = ATTR_BOOL, .b = adjoint_b } };
    fuse_rewrite(node, "_SparseListsMatMul", inputs, 5, attrs, 3);
    return true;
}

static bool is_pair(const struct fuse *fuse, struct endpoint endpoint, int place, int64_t wanted)
{
    const struct tensor *constant = constant_of(fuse, endpoint);

    return constant != NULL && constant->size == 2 &&
           (constant->dtype == DT_INT32 || constant->dtype == DT_INT64) &&
           tensor_index(constant, place) == wanted;
}

/* x[:, 0] of a matrix */
static bool is_first_column(const struct fuse *fuse, const struct node *slice)
{
    return node_attr_int_or_0(slice, "shrink_axis_mask") == 2 &&
           (node_attr_int_or_0(slice, "begin_mask") & 1) == 1 &&
           (node_attr_int_or_0(slice, "end_mask") & 1) == 1 &&
           node_attr_int_or_0(slice, "new_axis_mask") == 0 &&
           node_attr_int_or_0(slice, "ellipsis_mask") == 0 &&
           is_pair(fuse, slice->inputs[1], 1, 0) && is_pair(fuse, slice->inputs[3], 0, 1) &&
           is_pair(fuse, slice->inputs[3], 1, 1);
}

bool fuse_ragged_rows(struct fuse *fuse, struct node *node)
{
    const struct node *pairs = node->inputs[0].node;

    if (!op_is(pairs, "RaggedTensorToSparse") || node->inputs[0].index != 0 ||
        pairs->inputs_count != 2 || pairs->controls_count > 0 || !is_first_column(fuse, node))
        return false;
    struct attr *attrs = ARENA_ARRAY(fuse->maker->arena, struct attr, 2);
    const struct endpoint splits = pairs->inputs[0], values = pairs->inputs[1];
    attrs[0] = (struct attr){
        "T", { .kind = ATTR_TYPE, .type = (int)values.node->outputs[values.index].dtype }
    };
    attrs[1] = (struct attr){
        "Tsplits", { .kind = ATTR_TYPE, .type = (int)splits.node->outputs[splits.index].dtype }
    };
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, 2);
    memcpy(inputs, pairs->inputs, 2 * sizeof *inputs);
    fuse_rewrite(node, "_RaggedRows", inputs, 2, attrs, 2);
    return true;
}
