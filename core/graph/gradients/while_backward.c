/* while_backward: the loop that runs the iterations of another one backwards (while.c). */
#include "graph/gradients/while.h"
#include "graph/while_loop.h"

/* The copies of the nodes of the gradient in the backward body. */
struct copies {
    struct loop_gradient *g;
    struct builder *b;
    struct node **images;         /* by node id; NULL: not yet */
    const struct endpoint *given; /* in the backward body [count] */
};

static struct status copy_endpoint(struct copies *copies, struct endpoint from,
                                   struct endpoint *out);

static struct status copy_node(struct copies *copies, const struct node *from, struct node **out)
{
    struct graph *graph = copies->b->graph;
    struct node *node;

    if (copies->images[from->id] != NULL) {
        *out = copies->images[from->id];
        return status_ok();
    }
    TRY(graph_add(graph, from->op_name, from->name, &node));
    copies->images[from->id] = node;
    node->attrs = from->attrs;
    node->attrs_count = node->attrs_capacity = from->attrs_count;
    for (int i = 0; i < from->inputs_count; i++) {
        struct endpoint input;
        TRY(copy_endpoint(copies, from->inputs[i], &input));
        node_add_input(graph, node, input);
    }
    node->outputs = from->outputs;
    node->outputs_count = from->outputs_count;
    *out = node;
    return status_ok();
}

static struct status copy_endpoint(struct copies *copies, struct endpoint from,
                                   struct endpoint *out)
{
    const struct loop_gradient *g = copies->g;
    const struct taken *taken = while_find_taken(g, from);

    for (int i = 0; i < g->count; i++)
        if (g->flows[i] && g->given[i].node == from.node) {
            *out = copies->given[i];
            return status_ok();
        }
    if (taken != NULL) {
        *out = taken->image;
        return status_ok();
    }
    out->index = from.index;
    return copy_node(copies, from.node, &out->node);
}

static struct endpoint zeros_like(struct builder *b, struct endpoint x)
{
    return build_unary(b, "ZerosLike", NULL, x);
}

/* The gradient of a last value to which none flows: zeros. For a list, whose element type only the
 * op that made it knows: as many unset elements. */
static struct endpoint no_gradient(const struct loop_gradient *g, int i)
{
    struct builder *b = g->c->builder;
    struct endpoint value = { g->loop, i };
    enum dtype dtype;

    if (endpoint_dtype(value) != DT_VARIANT ||
        !status_is_ok(node_attr_type(g->loop->inputs[i].node, "element_dtype", &dtype)))
        return zeros_like(b, value);
    struct endpoint shape =
        build(b, "TensorListElementShape", NULL, 1, &value,
              (const struct attr[]){ attr_type("shape_type", DT_INT32), ATTR_END });
    return build(
        b, "TensorListReserve", NULL, 2,
        (const struct endpoint[]){ shape, build_unary(b, "TensorListLength", NULL, value) },
        (const struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

/* The first carried values of the backward loop: the number of iterations, the gradients of the
 * last values, and the forward values. */
static int list_carried(struct loop_gradient *g, struct endpoint *carried)
{
    int count = 0, list = g->count + 1;

    carried[count++] = (struct endpoint){ g->loop, g->count };
    for (int i = 0; i < g->count; i++)
        if (g->flows[i])
            carried[count++] = g->c->outputs[i].node != NULL ? g->c->outputs[i] : no_gradient(g, i);
    for (int i = 0; i < g->taken_count; i++)
        carried[count++] = g->taken[i].carried >= 0 ? g->loop->inputs[g->taken[i].carried]
                                                    : (struct endpoint){ g->loop, list++ };
    return count;
}

/* Takes the forward values from the carried ones; results: the lists after popping. */
static void pop_taken(struct loop_gradient *g, struct builder *b, const struct endpoint *values,
                      struct endpoint *results)
{
    b->scope = "pop/"; /* copies of nodes keep their names, which must not be taken */
    for (int i = 0; i < g->taken_count; i++) {
        struct taken *taken = &g->taken[i];
        taken->image = results[i] = values[i];
        if (taken->carried >= 0)
            continue;
        const struct endpoint inputs[] = { values[i], build_const_int(b, -1) };
        struct node *pop =
            build_node(b, "TensorListPopBack", NULL, 2, inputs, 0, NULL,
                       (const struct attr[]){
                           attr_type("element_dtype", endpoint_dtype(taken->value)), ATTR_END });
        if (pop == NULL)
            return;
        pop->outputs[1].shape = *endpoint_shape(taken->value);
        results[i] = (struct endpoint){ pop, 0 };
        taken->image = (struct endpoint){ pop, 1 };
    }
    b->scope = "";
}

static struct status build_backward(struct loop_gradient *g, struct while_loop *loop,
                                    struct endpoint *results)
{
    struct builder *b = &loop->builder;
    struct endpoint *given = ARENA_ARRAY(g->arena, struct endpoint, g->count);
    struct copies copies = { .g = g, .b = b, .given = given };
    struct node *copy;
    int at = 1, flows = 0;

    copies.images = ARENA_ARRAY(g->arena, struct node *, g->body.graph->count);
    for (int i = 0; i < g->count; i++)
        if (g->flows[i])
            given[i] = loop->values[at + flows++];
    results[0] = loop->values[0];
    pop_taken(g, b, loop->values + at + flows, results + at + flows);
    TRY(builder_status(b));
    for (int id = 0; id < g->gradient_end; id++) /* inputs first */
        if (g->is_copied[id])
            TRY(copy_node(&copies, g->body.graph->nodes[id], &copy));
    for (int i = 0; i < g->count; i++) {
        if (!g->flows[i])
            continue;
        if (g->found[i].node != NULL)
            TRY(copy_endpoint(&copies, g->found[i], &results[at]));
        else
            results[at] = zeros_like(b, given[i]);
        at++;
    }
    return builder_status(b);
}

struct status while_add_backward(struct loop_gradient *g)
{
    struct builder *b = g->c->builder;
    int room = 1 + g->count + g->taken_count, at = 1;
    struct endpoint *carried = ARENA_ARRAY(g->arena, struct endpoint, room);
    struct endpoint *results = ARENA_ARRAY(g->arena, struct endpoint, room);
    struct endpoint *outputs = ARENA_ARRAY(g->arena, struct endpoint, room);
    int count = list_carried(g, carried);
    struct while_loop loop;

    TRY(builder_status(b));
    TRY(while_loop_begin(&loop, b, "backward", count, carried));
    loop.limit = 0;
    TRY(build_backward(g, &loop, results));
    TRY(while_loop_end(&loop, 0, results, outputs));
    for (int i = 0; i < g->count; i++)
        if (g->flows[i])
            send(g->c, i, outputs[at++]);
    return status_ok();
}
