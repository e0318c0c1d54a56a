/* Zeros around an image before a convolution without padding become the convolution's padding.
 * Keras pads so before convolutions with a stride of 2, and the padded copy of a large image costs
 * time. */
#include "runtime/plan/fuse.h"

/* Zeros that are added and zeros that are left out differ for weights that are not finite. */
static bool is_finite_filter(const struct tensor *filter)
{
    if (filter == NULL || filter->dtype != DT_FLOAT)
        return false;
    for (int64_t i = 0; i < filter->size; i++)
        if (!__builtin_isfinite(tensor_floats(filter)[i]))
            return false;
    return true;
}

static bool pads_with_zero(const struct fuse *fuse, const struct node *pad)
{
    if (op_is(pad, "Pad"))
        return true;
    const struct tensor *value =
        op_is(pad, "PadV2") && pad->inputs_count == 3 ? constant_of(fuse, pad->inputs[2]) : NULL;
    return value != NULL && value->dtype == DT_FLOAT && value->size == 1 &&
           tensor_floats(value)[0] == 0;
}

/* The paddings of an NHWC image, none of its batch and channels: eight numbers, as in the attribute
 * explicit_paddings. */
static bool read_paddings(const struct tensor *paddings, int64_t out[8])
{
    if (paddings == NULL || paddings->shape.rank != 2 || paddings->shape.dims[0] != 4 ||
        paddings->shape.dims[1] != 2)
        return false;
    for (int i = 0; i < 8; i++) {
        bool spatial = i >= 2 && i < 6;
        out[i] = tensor_index(paddings, i);
        if (out[i] < 0 || out[i] > INT32_MAX || (!spatial && out[i] != 0))
            return false;
    }
    return true;
}

void fuse_set_paddings(struct fuse *fuse, struct node *node, const int64_t paddings[8])
{
    fuse_set_attr(fuse, node,
                  (struct attr){ "padding", { .kind = ATTR_STRING, .s = bytes_of("EXPLICIT") } });
    fuse_set_attr(fuse, node, fuse_ints(fuse, "explicit_paddings", 8, paddings));
}

bool fuse_pad(struct fuse *fuse, struct node *node)
{
    const struct node *pad = node->inputs[0].node;
    struct bytes padding;
    int64_t paddings[8];
    if (!node_is_nhwc(node) || !status_is_ok(node_attr_string(node, "padding", &padding)) ||
        !bytes_equal(padding, bytes_of("VALID")) || pad->inputs_count < 2 ||
        !pads_with_zero(fuse, pad) || !has_one_user(fuse, node->inputs[0]) ||
        !read_paddings(constant_of(fuse, pad->inputs[1]), paddings) ||
        !is_finite_filter(constant_of(fuse, node->inputs[1])))
        return false;
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, 2);
    inputs[0] = pad->inputs[0];
    inputs[1] = node->inputs[1];
    node->inputs = inputs;
    node->inputs_count = node->inputs_capacity = 2;
    fuse_set_paddings(fuse, node, paddings);
    return true;
}
