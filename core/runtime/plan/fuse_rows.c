/* Keras' Flatten and Reshape: Reshape(x, Pack(Shape(x)[0], constants)) is a reshape of each row. */
#include "runtime/plan/fuse.h"

static bool is_index(const struct fuse *fuse, struct endpoint endpoint, int64_t wanted)
{
    const struct tensor *constant = constant_of(fuse, endpoint);
    return constant != NULL && constant->size == 1 &&
           (constant->dtype == DT_INT32 || constant->dtype == DT_INT64) &&
           tensor_index(constant, 0) == wanted;
}

/* Shape(x)[0] */
static bool is_rows_of(const struct fuse *fuse, struct endpoint count, struct endpoint x)
{
    const struct node *slice = count.node;
    if (!op_is(slice, "StridedSlice") || slice->inputs_count != 4)
        return false;
    const struct node *shape = slice->inputs[0].node;
    return op_is(shape, "Shape") && shape->inputs[0].node == x.node &&
           shape->inputs[0].index == x.index && is_index(fuse, slice->inputs[1], 0) &&
           is_index(fuse, slice->inputs[2], 1) && is_index(fuse, slice->inputs[3], 1) &&
           node_attr_int_or_0(slice, "shrink_axis_mask") == 1 &&
           node_attr_int_or_0(slice, "begin_mask") == 0 &&
           node_attr_int_or_0(slice, "end_mask") == 0 &&
           node_attr_int_or_0(slice, "new_axis_mask") == 0 &&
           node_attr_int_or_0(slice, "ellipsis_mask") == 0;
}

bool fuse_flatten(struct fuse *fuse, struct node *node)
{
    const struct node *pack = node->inputs[1].node;
    if (!op_is(pack, "Pack") || pack->inputs_count < 1 || pack->inputs_count > SHAPE_RANK_MAX ||
        !is_rows_of(fuse, pack->inputs[0], node->inputs[0]))
        return false;
    struct attr_value *dims =
        ARENA_ARRAY(fuse->maker->arena, struct attr_value, pack->inputs_count);
    for (int i = 1; i < pack->inputs_count; i++) {
        const struct tensor *dim = constant_of(fuse, pack->inputs[i]);
        if (dim == NULL || dim->size != 1 || (dim->dtype != DT_INT32 && dim->dtype != DT_INT64))
            return false;
        dims[i - 1] = (struct attr_value){ .kind = ATTR_INT, .i = tensor_index(dim, 0) };
    }
    struct attr *attrs = ARENA_ARRAY(fuse->maker->arena, struct attr, 2);
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = (int)node->outputs[0].dtype } };
    attrs[1] = (struct attr){ "dims",
                              { .kind = ATTR_LIST,
                                .element_kind = ATTR_INT,
                                .count = pack->inputs_count - 1,
                                .elements = dims } };
    fuse_rewrite(node, "_ReshapeRows", node->inputs, 1, attrs, 2);
    return true;
}
