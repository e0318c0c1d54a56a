/*
 * A 1x1 convolution with a stride reads one pixel of several. ResNet's blocks begin with one. The
 * pixels of its input that no user reads need not be computed: the stride moves backwards through
 * the element-wise ops and the pointwise convolutions, up to a convolution of windows, which takes
 * it over. If a value also has users that read all pixels, a StridedSlice makes the image that the
 * other users read.
 *
 * A stride of 2 saves three quarters of the work before it. And a pointwise convolution without a
 * stride is a product of matrices, which oneDNN computes up to three times as fast on AVX2.
 */
#include "runtime/plan/fuse.h"

#define STRIDE_MAX (1 << 16) /* a file may multiply any number of them */

struct stride {
    int64_t rows, columns;
};

/* The pixels of a node's result that its users read, and how the node is rewritten. */
struct pixels {
    struct stride wanted; /* rows 0: nothing yet */
    int users;            /* that want it */
    bool is_shrunk;       /* it computes only the pixels that are wanted */
    struct stride reads;  /* of its images; rows 0: all pixels */
    struct node *slice;   /* a result in the stride `sliced`; NULL: none */
    struct stride sliced;
};

static bool is_equal(struct stride a, struct stride b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

static bool read_ints(const struct node *node, const char *name, int64_t out[4])
{
    const struct attr_value *list;
    if (!status_is_ok(node_attr_list(node, name, &list)) || list->count != 4 ||
        list->element_kind != ATTR_INT)
        return false;
    for (int i = 0; i < 4; i++)
        out[i] = list->elements[i].i;
    return true;
}

/* Others are left to the kernel, which refuses some. */
static bool are_steps(const int64_t list[4])
{
    return list[0] == 1 && list[1] >= 1 && list[1] <= STRIDE_MAX && list[2] >= 1 &&
           list[2] <= STRIDE_MAX && list[3] == 1;
}

/* The dimensions of the filter of a convolution of images, and its stride; NULL: not one, or one of
 * a file that adds an image, of which all pixels are there. */
static const int64_t *read_convolution(const struct fuse *fuse, const struct node *node,
                                       struct stride *out)
{
    int64_t strides[4], dilations[4] = { 1, 1, 1, 1 }; /* the default */
    if (!(op_is(node, "Conv2D") || op_is(node, "_FusedConv2D")) || node_has_addend(node) ||
        !is_float(node) || !node_is_nhwc(node) || node->inputs_count < 2 ||
        !read_ints(node, "strides", strides))
        return NULL;
    read_ints(node, "dilations", dilations);
    if (!are_steps(strides) || !are_steps(dilations))
        return NULL;
    const struct tensor *filter = constant_of(fuse, node->inputs[1]);
    bool suits = filter != NULL && filter->shape.rank == 4 && filter->size > 0;
    *out = (struct stride){ strides[1], strides[2] };
    return suits ? filter->shape.dims : NULL;
}

static bool has_padding(const struct node *node, const char *name)
{
    struct bytes padding;
    return status_is_ok(node_attr_string(node, "padding", &padding)) &&
           bytes_equal(padding, bytes_of(name));
}

static bool is_pointwise(const struct node *node, const int64_t *filter)
{
    return filter[0] == 1 && filter[1] == 1 && !has_padding(node, "EXPLICIT");
}

/* ---- what each node has to compute, from the last one to the first ---- */

static bool is_image_of(struct endpoint x, const struct shape *result)
{
    const struct shape *shape = &x.node->outputs[x.index].shape;
    return x.index == 0 && shape->rank == 4 && result->rank == 4 && shape->dims[1] > 0 &&
           shape->dims[2] > 0 && shape->dims[1] == result->dims[1] &&
           shape->dims[2] == result->dims[2];
}

/* Does each operand have all pixels of the result, or none? */
static bool is_elementwise(const struct fuse *fuse, const struct node *node)
{
    if (!op_has(node->op, OP_POINTWISE) || !is_float(node) || !node_is_nhwc(node))
        return false;
    for (int i = 0; i < node->inputs_count; i++) {
        struct endpoint x = node->inputs[i];
        int rank = x.node->outputs[x.index].shape.rank;
        bool is_vector = rank == 0 || rank == 1;
        if (!is_vector &&
            (!is_image_of(x, &node->outputs[0].shape) || constant_of(fuse, x) != NULL))
            return false;
    }
    return true;
}

/* The padding SAME follows from the stride and the size of the image, unless the stride is 1. With
 * another one, an image may be too small for the window, which a longer stride would hide. */
static bool can_take_stride(const struct node *node, struct stride own)
{
    const struct shape *shape = &node->outputs[0].shape;
    if (has_padding(node, "SAME"))
        return own.rows == 1 && own.columns == 1;
    return shape->rank == 4 && shape->dims[1] > 0 && shape->dims[2] > 0;
}

static bool is_free(const struct fuse *fuse, const struct node *node, const struct pixels *pixels)
{
    return pixels->users > 0 && node->outputs_count == 1 && node->controls_count == 0 &&
           !fuse->waited[node->id] && pixels->users == fuse->uses[node->id][0] &&
           constant_of(fuse, (struct endpoint){ (struct node *)node, 0 }) == NULL;
}

static void find_pixels(const struct fuse *fuse, const struct node *node, struct pixels *out)
{
    struct stride own = { 1, 1 }, all = { 1, 1 };
    const int64_t *filter = read_convolution(fuse, node, &own);
    bool moves = filter != NULL ? is_pointwise(node, filter) : is_elementwise(fuse, node);
    out->is_shrunk = is_free(fuse, node, out) && own.rows * out->wanted.rows <= STRIDE_MAX &&
                     own.columns * out->wanted.columns <= STRIDE_MAX &&
                     (moves || (filter != NULL && can_take_stride(node, own)));
    struct stride wanted = out->is_shrunk ? out->wanted : all;
    struct stride reads = { own.rows * wanted.rows, own.columns * wanted.columns };
    if (moves && !is_equal(reads, all))
        out->reads = reads;
}

static bool reads_pixels_of(const struct node *node, int input)
{
    return op_has(node->op, OP_POINTWISE)
               ? is_image_of(node->inputs[input], &node->outputs[0].shape)
               : input == 0;
}

static void want_pixels(const struct node *node, struct stride reads, struct pixels *list)
{
    for (int i = 0; i < node->inputs_count; i++) {
        struct pixels *x = &list[node->inputs[i].node->id];
        if (!reads_pixels_of(node, i))
            continue;
        if (x->users == 0)
            x->wanted = reads;
        x->users += is_equal(x->wanted, reads);
    }
}

/* ---- rewriting, from the first node to the last ---- */

static void shrink(struct node *node, struct stride stride)
{
    struct shape *shape = &node->outputs[0].shape;
    if (shape->rank != 4)
        return;
    if (shape->dims[1] > 0)
        shape->dims[1] = (shape->dims[1] - 1) / stride.rows + 1;
    if (shape->dims[2] > 0)
        shape->dims[2] = (shape->dims[2] - 1) / stride.columns + 1;
}

static struct endpoint make_ints(struct fuse *fuse, const char *name, int64_t rows, int64_t columns,
                                 int32_t others)
{
    struct shape shape = shape_of(4);
    int32_t *values = ARENA_ARRAY(fuse->maker->arena, int32_t, 4);
    values[0] = values[3] = others;
    values[1] = (int32_t)rows;
    values[2] = (int32_t)columns;
    return fuse_constant(fuse, name, tensor_borrow(DT_INT32, &shape, values));
}

/* x[:, ::rows, ::columns, :] */
static struct node *make_slice(struct fuse *fuse, struct endpoint x, struct stride stride)
{
    struct arena *arena = fuse->maker->arena;
    const char *name = arena_printf(arena, "%s/pixels", x.node->name);
    struct node *slice = region_add(fuse->maker, fuse->region, "StridedSlice", name, 4);
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, 4);
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = DT_FLOAT } };
    attrs[1] = (struct attr){ "Index", { .kind = ATTR_TYPE, .type = DT_INT32 } };
    attrs[2] = (struct attr){ "begin_mask", { .kind = ATTR_INT, .i = 15 } };
    attrs[3] = (struct attr){ "end_mask", { .kind = ATTR_INT, .i = 15 } };
    slice->attrs = attrs;
    slice->attrs_count = slice->attrs_capacity = 4;
    slice->outputs[0] = x.node->outputs[x.index];
    slice->outputs[0].is_ref = false;
    shrink(slice, stride);
    slice->inputs[0] = x;
    slice->inputs[1] = slice->inputs[2] = make_ints(fuse, name, 0, 0, 0);
    slice->inputs[3] = make_ints(fuse, name, stride.rows, stride.columns, 1);
    return slice;
}

static struct endpoint slice_of(struct fuse *fuse, struct endpoint x, struct stride stride,
                                struct pixels *pixels)
{
    if (pixels->slice == NULL || !is_same(pixels->slice->inputs[0], x) ||
        !is_equal(pixels->sliced, stride)) {
        pixels->slice = make_slice(fuse, x, stride);
        pixels->sliced = stride;
        region_append(fuse->maker, fuse->region, pixels->slice);
    }
    return (struct endpoint){ pixels->slice, 0 };
}

static void read_fewer_pixels(struct fuse *fuse, struct node *node, struct stride reads,
                              struct pixels *list)
{
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, node->inputs_count);
    memcpy(inputs, node->inputs, (size_t)node->inputs_count * sizeof *inputs);
    for (int i = 0; i < node->inputs_count; i++) {
        struct pixels *x = &list[inputs[i].node->id];
        if (reads_pixels_of(node, i) && !x->is_shrunk)
            inputs[i] = slice_of(fuse, inputs[i], reads, x);
    }
    node->inputs = inputs;
    node->inputs_capacity = node->inputs_count;
}

/* TensorFlow's padding for a stride of 1, half of it before the image. */
static void keep_padding(struct fuse *fuse, struct node *node, const int64_t *filter)
{
    int64_t dilations[4] = { 1, 1, 1, 1 }, paddings[8] = { 0 };
    if (!has_padding(node, "SAME"))
        return;
    read_ints(node, "dilations", dilations); /* 1 by default */
    for (int i = 0; i < 2; i++) {
        int64_t all = (filter[i] - 1) * dilations[1 + i];
        paddings[2 + 2 * i] = all / 2;
        paddings[3 + 2 * i] = all - all / 2;
    }
    fuse_set_paddings(fuse, node, paddings);
}

static void set_stride(struct fuse *fuse, struct node *node, struct stride stride)
{
    fuse_set_attr(
        fuse, node,
        fuse_ints(fuse, "strides", 4, (const int64_t[]){ 1, stride.rows, stride.columns, 1 }));
}

static void rewrite(struct fuse *fuse, struct node *node, struct pixels *list)
{
    const struct pixels pixels = list[node->id];
    struct stride own, one = { 1, 1 };
    const int64_t *filter = read_convolution(fuse, node, &own);
    if (pixels.reads.rows != 0) {
        read_fewer_pixels(fuse, node, pixels.reads, list);
        if (filter != NULL)
            set_stride(fuse, node, one);
    } else if (pixels.is_shrunk) {
        keep_padding(fuse, node, filter);
        set_stride(
            fuse, node,
            (struct stride){ own.rows * pixels.wanted.rows, own.columns * pixels.wanted.columns });
    }
    if (pixels.is_shrunk)
        shrink(node, pixels.wanted);
}

bool fuse_strides(struct fuse *fuse)
{
    struct region *region = fuse->region;
    struct pixels *list = ARENA_ARRAY(fuse->maker->arena, struct pixels, region->ids_count);
    bool found = false;
    for (int i = region->nodes_count - 1; i >= 0; i--) {
        struct pixels *pixels = &list[region->nodes[i]->id];
        find_pixels(fuse, region->nodes[i], pixels);
        if (pixels->reads.rows != 0) {
            want_pixels(region->nodes[i], pixels->reads, list);
            found = true;
        }
    }
    if (!found)
        return false;
    struct node **nodes = region->nodes;
    int count = region->nodes_count;
    region->nodes = NULL;
    region->nodes_count = region->nodes_capacity = 0;
    for (int i = 0; i < count; i++) {
        rewrite(fuse, nodes[i], list);
        region_append(fuse->maker, region, nodes[i]);
    }
    return true;
}
