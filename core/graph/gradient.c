#include "graph/gradient.h"

#include "graph/gradients/gradients.h"
#include "graph/library.h"
#include "graph/order.h"

/* Branches and loops in each other, as many as a plan has: a function may also call itself. */
#define NESTING_MAX 64

/* Gradients of an output, from those of its uses that were visited so far. */
struct arrival {
    struct endpoint gradient;
    struct arrival *next;
};

/* The walk visits the first `count` nodes; those that it adds are after them. */
struct gradient_walk {
    struct builder *builder;
    struct arena *arena; /* of the walk alone */
    struct node **order;
    int count;
    bool *reached;             /* by node id: does it depend on one of xs? */
    const struct endpoint *xs; /* the endpoints whose gradients are requested */
    int xs_count;
    struct arrival ***arrivals; /* by node id and output */
};

static bool same_endpoint(struct endpoint a, struct endpoint b)
{
    return a.node == b.node && a.index == b.index;
}

static bool depends(const struct gradient_walk *walk, struct endpoint endpoint)
{
    if (walk->reached[endpoint.node->id])
        return true;
    for (int i = 0; i < walk->xs_count; i++)
        if (same_endpoint(endpoint, walk->xs[i]))
            return true;
    return false;
}

static void mark_reached(struct gradient_walk *walk)
{
    for (int i = 0; i < walk->count; i++) {
        const struct node *node = walk->order[i];
        for (int k = 0; k < node->inputs_count && !walk->reached[node->id]; k++)
            walk->reached[node->id] = depends(walk, node->inputs[k]);
    }
}

static struct status no_gradient(const struct node *node)
{
    return status_error(STATUS_UNIMPLEMENTED, "node '%s': the op '%s' has no gradient", node->name,
                        node->op_name);
}

static void arrive(struct gradient_walk *walk, struct endpoint at, struct endpoint gradient)
{
    struct arrival **list = &walk->arrivals[at.node->id][at.index];
    struct arrival *arrival = ARENA_NEW(walk->arena, struct arrival);

    *arrival = (struct arrival){ gradient, *list };
    *list = arrival;
}

/* The same for an endpoint that may be of an unknown op, whose outputs are not counted. */
static struct status pass_on(struct gradient_walk *walk, struct endpoint at,
                             struct endpoint gradient)
{
    if (at.index >= at.node->outputs_count)
        return no_gradient(at.node);
    arrive(walk, at, gradient);
    return status_ok();
}

/* The sum of the gradients that arrived, made once, on demand. */
static struct endpoint collect(struct gradient_walk *walk, struct endpoint at)
{
    struct arrival *list = walk->arrivals[at.node->id][at.index];
    int count = 0;

    for (const struct arrival *a = list; a != NULL; a = a->next)
        count++;
    if (count == 0)
        return (struct endpoint){ 0 };
    if (count == 1)
        return list->gradient;

    struct endpoint *terms = ARENA_ARRAY(walk->arena, struct endpoint, count);
    for (int i = count - 1; i >= 0; i--, list = list->next) /* in order of arrival */
        terms[i] = list->gradient;
    struct endpoint sum = build(walk->builder, "AddN", NULL, count, terms, NULL);
    walk->arrivals[at.node->id][at.index] = NULL;
    arrive(walk, at, sum);
    return sum;
}

/* Runs the op's gradient function, and passes the gradients on to the node's inputs. */
static struct status emit(struct gradient_walk *walk, struct node *node,
                          const struct endpoint *outputs)
{
    struct builder *b = walk->builder;
    int count = node->inputs_count; /* the gradient of a loop makes it carry more */
    bool *wanted = ARENA_ARRAY(walk->arena, bool, count);
    struct endpoint *inputs = ARENA_ARRAY(walk->arena, struct endpoint, count);
    struct gradient_context context = { b, node, outputs, wanted, inputs };

    if (node->op == NULL)
        return no_gradient(node);
    for (int i = 0; i < count; i++)
        wanted[i] = depends(walk, node->inputs[i]);

    const char *scope = b->scope;
    b->scope = arena_printf(b->graph->arena, "%s%s_grad/", scope != NULL ? scope : "", node->name);
    struct status status = node->op->gradient(&context);
    b->scope = scope;
    TRY(status);
    TRY(builder_status(b));
    for (int i = 0; i < count; i++)
        if (wanted[i] && inputs[i].node != NULL)
            TRY(pass_on(walk, node->inputs[i], inputs[i]));
    return status_ok();
}

static struct status visit(struct gradient_walk *walk, struct node *node)
{
    struct endpoint *outputs = ARENA_ARRAY(walk->arena, struct endpoint, node->outputs_count);
    bool any = false;

    if (!walk->reached[node->id])
        return status_ok();
    for (int i = 0; i < node->outputs_count; i++) {
        outputs[i] = collect(walk, (struct endpoint){ node, i });
        any = any || outputs[i].node != NULL;
    }
    return any ? emit(walk, node, outputs) : status_ok();
}

/* d(sum of y)/dy: 1 everywhere. */
static struct endpoint ones_like(struct builder *b, struct endpoint y)
{
    struct endpoint one = build_const_float(b, 1);

    if (endpoint_dtype(y) != DT_FLOAT)
        one = build_cast(b, NULL, one, endpoint_dtype(y));
    if (endpoint_shape(y)->rank == 0)
        return one;
    return build_binary(b, "Fill", NULL, build_unary(b, "Shape", NULL, y), one);
}

/* The ys and their gradients; dys NULL: ones. */
struct seeds {
    int count;
    const struct endpoint *ys, *dys;
};

#define LISTED_MAX 20 /* nodes that an error names */

static bool has_gradient(const struct node *node)
{
    return node->op != NULL && node->op->gradient != gradient_none;
}

/* Does a gradient flow back from the node, which has an op with a gradient? */
static bool passes(const struct node *node)
{
    enum dtype dtype = node->outputs[0].dtype;

    return node->op->gradient != gradient_stop && (dtype_is_floating(dtype) || dtype == DT_VARIANT);
}

/* The error for a graph whose gradients need ops that have none: names all of them. */
static struct status explain_missing(struct gradient_walk *walk, const struct seeds *seeds)
{
    bool *needed = ARENA_ARRAY(walk->arena, bool, walk->builder->graph->count);
    struct buffer text = { 0 };
    int found = 0;

    for (int i = 0; i < seeds->count; i++)
        needed[seeds->ys[i].node->id] = true;
    for (int i = walk->count - 1; i >= 0; i--) {
        const struct node *node = walk->order[i];
        if (!needed[node->id] || !walk->reached[node->id])
            continue;
        if (!has_gradient(node) && found++ < LISTED_MAX)
            buffer_printf(&text, "%snode '%s': the op '%s' has no gradient", found > 1 ? "; " : "",
                          node->name, node->op_name);
        if (has_gradient(node) && node->outputs_count > 0 && !passes(node))
            continue;
        for (int k = 0; k < node->inputs_count; k++)
            needed[node->inputs[k].node->id] = true;
    }
    if (found == 0)
        return status_ok();
    if (found > LISTED_MAX)
        buffer_printf(&text, "; and %d more", found - LISTED_MAX);
    struct status status = status_error(STATUS_UNIMPLEMENTED, "%.*s", (int)text.size, text.data);
    buffer_finish(&text);
    return status;
}

static struct status visit_all(struct gradient_walk *walk)
{
    for (int i = walk->count - 1; i >= 0; i--)
        TRY(visit(walk, walk->order[i]));
    return status_ok();
}

static struct status accumulate(struct gradient_walk *walk, const struct seeds *seeds,
                                struct endpoint *gradients)
{
    struct builder *b = walk->builder;

    TRY(graph_order(b->graph, walk->arena, &walk->order));
    walk->count = b->graph->count;
    walk->reached = ARENA_ARRAY(walk->arena, bool, walk->count);
    walk->arrivals = ARENA_ARRAY(walk->arena, struct arrival **, walk->count);
    for (int i = 0; i < walk->count; i++)
        walk->arrivals[walk->order[i]->id] =
            ARENA_ARRAY(walk->arena, struct arrival *, walk->order[i]->outputs_count);
    mark_reached(walk);
    for (int i = 0; i < seeds->count; i++)
        if (depends(walk, seeds->ys[i]))
            TRY(pass_on(walk, seeds->ys[i],
                        seeds->dys != NULL ? seeds->dys[i] : ones_like(b, seeds->ys[i])));
    struct status status = visit_all(walk);
    if (!status_is_ok(status)) /* an unknown op also leaves its output without a type */
        TRY(explain_missing(walk, seeds));
    TRY(status);
    for (int i = 0; i < walk->xs_count; i++)
        gradients[i] = collect(walk, walk->xs[i]);
    return builder_status(b);
}

static struct status walk_back(struct builder *builder, const struct seeds *seeds, int xs_count,
                               const struct endpoint *xs, struct endpoint *gradients)
{
    TRY(builder_status(builder));
    struct gradient_walk walk = {
        .builder = builder, .arena = arena_create(0), .xs = xs, .xs_count = xs_count
    };
    struct status status = status_keep(builder->graph->arena, accumulate(&walk, seeds, gradients));

    arena_destroy(walk.arena);
    return status;
}

/* Bodies share the library of the graph around them, and so the count of walks in progress. */
static struct status walk_into(struct builder *builder, const struct seeds *seeds, int xs_count,
                               const struct endpoint *xs, struct endpoint *gradients)
{
    struct function_library *library = builder->graph->library;

    if (library == NULL)
        return walk_back(builder, seeds, xs_count, xs, gradients);
    if (library->walks > NESTING_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the gradient of branches and loops that are nested deeper than %d "
                            "levels",
                            NESTING_MAX);
    library->walks++;
    struct status status = walk_back(builder, seeds, xs_count, xs, gradients);
    library->walks--;
    return status;
}

struct status graph_gradients(struct builder *builder, struct endpoint y, int xs_count,
                              const struct endpoint *xs, struct endpoint *gradients)
{
    const struct seeds seeds = { .count = 1, .ys = &y };

    return walk_into(builder, &seeds, xs_count, xs, gradients);
}

struct status graph_gradients_from(struct builder *builder, int ys_count, const struct endpoint *ys,
                                   const struct endpoint *dys, int xs_count,
                                   const struct endpoint *xs, struct endpoint *gradients)
{
    const struct seeds seeds = { .count = ys_count, .ys = ys, .dys = dys };

    return walk_into(builder, &seeds, xs_count, xs, gradients);
}
