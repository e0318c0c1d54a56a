/* Gradients of TensorList ops: the gradient of a list is a list. Source: TensorFlow's
 * list_ops.py. */
#include "graph/gradients/emit.h"

static enum dtype element_dtype(const struct gradient_context *c)
{
    enum dtype dtype = DT_FLOAT;

    status_ignore(node_attr_type(c->node, "element_dtype", &dtype));
    return dtype;
}

static struct endpoint get_item(struct gradient_context *c, struct endpoint list,
                                struct endpoint index, struct endpoint shape, enum dtype dtype)
{
    return build(c->builder, "TensorListGetItem", NULL, 3,
                 (const struct endpoint[]){ list, index, shape },
                 (const struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

static struct endpoint set_item(struct gradient_context *c, struct endpoint list,
                                struct endpoint index, struct endpoint item)
{
    return build(
        c->builder, "TensorListSetItem", NULL, 3, (const struct endpoint[]){ list, index, item },
        (const struct attr[]){ attr_type("element_dtype", endpoint_dtype(item)), ATTR_END });
}

/* A list like `list` whose elements are not set. */
static struct endpoint unset_like(struct gradient_context *c, struct endpoint list,
                                  enum dtype dtype)
{
    struct builder *b = c->builder;
    struct endpoint shape =
        build(b, "TensorListElementShape", NULL, 1, &list,
              (const struct attr[]){ attr_type("shape_type", DT_INT32), ATTR_END });

    return build(b, "TensorListReserve", NULL, 2,
                 (const struct endpoint[]){ shape, unary(c, "TensorListLength", list) },
                 (const struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

struct status gradient_list_get_item(struct gradient_context *c)
{
    struct endpoint empty = unset_like(c, input(c, 0), element_dtype(c));

    return flow(c, 0, set_item(c, empty, input(c, 1), dy(c)));
}

/* The element that was replaced gets no gradient. */
struct status gradient_list_set_item(struct gradient_context *c)
{
    struct endpoint item = get_item(c, dy(c), input(c, 1), unary(c, "Shape", input(c, 2)),
                                    endpoint_dtype(input(c, 2)));

    if (c->wanted[2])
        send(c, 2, item);
    if (c->wanted[0])
        send(c, 0, set_item(c, dy(c), input(c, 1), unary(c, "ZerosLike", item)));
    return status_ok();
}

struct status gradient_list_push_back(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), unary(c, "Shape", input(c, 1)) };
    struct node *pop = build_node(
        c->builder, "TensorListPopBack", NULL, 2, inputs, 0, NULL,
        (const struct attr[]){ attr_type("element_dtype", endpoint_dtype(input(c, 1))), ATTR_END });

    send(c, 0, (struct endpoint){ pop, 0 });
    send(c, 1, (struct endpoint){ pop, 1 });
    return status_ok();
}

struct status gradient_list_pop_back(struct gradient_context *c)
{
    struct endpoint list = dy_or_zeros(c, 0), item = dy_or_zeros(c, 1);

    return flow(c, 0,
                build(c->builder, "TensorListPushBack", NULL, 2,
                      (const struct endpoint[]){ list, item }, NULL));
}

struct status gradient_list_from_tensor(struct gradient_context *c)
{
    struct builder *b = c->builder;
    const struct shape *shape = endpoint_shape(input(c, 0));
    const int32_t one = 1, end = 0;
    const struct endpoint slice[] = { shape_tensor(c, input(c, 0)),
                                      build_const_ints(b, NULL, 1, &one),
                                      build_const_ints(b, NULL, 1, &end),
                                      build_const_ints(b, NULL, 1, &one) };
    struct endpoint element = build(b, "StridedSlice", NULL, 4, slice,
                                    (const struct attr[]){ attr_int("end_mask", 1), ATTR_END });
    struct endpoint stacked =
        build(b, "TensorListStack", NULL, 2, (const struct endpoint[]){ dy(c), element },
              (const struct attr[]){
                  attr_type("element_dtype", element_dtype(c)),
                  attr_int("num_elements", shape->rank > 0 ? shape->dims[0] : -1), ATTR_END });

    /* The list has dropped the shape, which is known here. */
    if (stacked.node != NULL)
        stacked.node->outputs[0].shape = *shape;
    return flow(c, 0, stacked);
}

struct status gradient_list_stack(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "TensorListFromTensor", dy(c), input(c, 1)));
}

/* ---- several elements at once ---- */

/* The shape of `x` without its first dimension. */
static struct endpoint shape_of_row(struct gradient_context *c, struct endpoint x)
{
    const int32_t one = 1, rest = -1;

    return build_slice(c->builder, NULL, shape_tensor(c, x), 1, &one, &rest);
}

static struct endpoint gather(struct gradient_context *c, struct endpoint list,
                              struct endpoint indices, struct endpoint like)
{
    const struct endpoint inputs[] = { list, indices, shape_of_row(c, like) };

    return reshape_like(
        c,
        build(c->builder, "TensorListGather", NULL, 3, inputs,
              (const struct attr[]){ attr_type("element_dtype", endpoint_dtype(like)), ATTR_END }),
        like);
}

static struct endpoint scatter(struct gradient_context *c, struct endpoint list,
                               struct endpoint rows, struct endpoint indices)
{
    const struct endpoint inputs[] = { list, rows, indices };

    return build(c->builder, "TensorListScatterIntoExistingList", NULL, 3, inputs, NULL);
}

/* An element that is gathered twice gets the gradient of the last time, as in TensorFlow. */
struct status gradient_list_gather(struct gradient_context *c)
{
    struct endpoint empty = unset_like(c, input(c, 0), element_dtype(c));

    return flow(c, 0, scatter(c, empty, dy(c), input(c, 1)));
}

/* TensorListScatter and TensorListScatterV2. */
struct status gradient_list_scatter(struct gradient_context *c)
{
    return flow(c, 0, gather(c, dy(c), input(c, 1), input(c, 0)));
}

/* The elements that were replaced get no gradient. */
struct status gradient_list_scatter_into(struct gradient_context *c)
{
    struct endpoint rows = gather(c, dy(c), input(c, 2), input(c, 1));

    if (c->wanted[1])
        send(c, 1, rows);
    if (c->wanted[0])
        send(c, 0, scatter(c, dy(c), unary(c, "ZerosLike", rows), input(c, 2)));
    return status_ok();
}

/* TensorListConcat and TensorListConcatV2: cuts the gradient where the elements met. */
struct status gradient_list_concat(struct gradient_context *c)
{
    struct builder *b = c->builder;
    struct endpoint list = input(c, 0);
    struct endpoint shape =
        build(b, "TensorListElementShape", NULL, 1, &list,
              (const struct attr[]){ attr_type("shape_type", DT_INT32), ATTR_END });
    const struct endpoint inputs[] = { dy(c), shape, { c->node, 1 } };

    if (dy(c).node == NULL)
        return status_ok();
    return flow(c, 0, build(b, "TensorListSplit", NULL, 3, inputs, NULL));
}

struct status gradient_list_split(struct gradient_context *c)
{
    const int32_t open = -1;
    struct builder *b = c->builder;
    const struct endpoint dims[] = { build_const_ints(b, NULL, 1, &open),
                                     shape_of_row(c, input(c, 0)), build_const_int(b, 0) };
    const struct endpoint inputs[] = { dy(c), build(b, "ConcatV2", NULL, 3, dims, NULL),
                                       input(c, 2) };
    struct endpoint joined =
        build(b, "TensorListConcatV2", NULL, 3, inputs,
              (const struct attr[]){ attr_type("element_dtype", element_dtype(c)), ATTR_END });

    return flow(c, 0, reshape_like(c, joined, input(c, 0)));
}

struct status gradient_list_resize(struct gradient_context *c)
{
    return flow(c, 0,
                binary(c, "TensorListResize", dy(c), unary(c, "TensorListLength", input(c, 0))));
}
