/*
 * graph_flatten (graph.h), by frames: the requested graph is a frame, and so is the body of each
 * call. The nodes of a frame are copied to the result in topological order. A call is replaced by
 * the frame of its body, whose arguments are endpoints of the result. Nodes that turn out not to be
 * needed, such as those that compute an argument no body uses, are removed at the end.
 *
 * Control edges: a node that runs before a call runs before each node of its body that has an
 * effect, and a node that waits for a call waits for all that the call must run and return, as in
 * TensorFlow's InlineFunctionBody (inline_function_utils.cc).
 */
#include <stdlib.h>

#include "graph/arguments.h"
#include "graph/flatten_frame.h"
#include "graph/prune.h"

/* ---- feeds ---- */

/* The type of a fed tensor, and its shape if it is a placeholder. */
static struct output feed_output(const struct graph *graph, struct endpoint feed)
{
    bool known = feed.index < feed.node->outputs_count;
    struct output output =
        known ? feed.node->outputs[feed.index] : (struct output){ .shape = shape_unknown() };
    if (node_is_placeholder(feed.node) &&
        !status_is_ok(node_declared_shape(graph, feed.node, &output.shape)))
        output.shape = shape_unknown();
    output.is_ref = false;
    return output;
}

static struct status add_feed(struct frame *frame, struct endpoint feed,
                              const struct shape *declared, struct endpoint *out)
{
    struct graph *graph = frame->flatten->out;
    struct output *output = ARENA_NEW(graph->arena, struct output);
    struct node *node;
    const char *name = feed.node->name;

    if (feed.index > 0)
        name = arena_printf(frame->flatten->scratch, "%s_%d", name, feed.index);
    TRY(frame_add_node(frame, "Placeholder", name, &node));
    *output = feed_output(frame->graph, feed);
    if (output->shape.rank == SHAPE_UNKNOWN_RANK && declared != NULL)
        output->shape = *declared;
    struct attr attrs[] = { { "dtype", { .kind = ATTR_TYPE, .type = (int)output->dtype } },
                            { "shape", { .kind = ATTR_SHAPE, .shape = &output->shape } } };
    for (size_t i = 0; i < COUNT(attrs); i++) {
        attrs[i].value = attr_value_share(graph->arena, &attrs[i].value);
        node_set_attr(graph, node, &attrs[i]);
    }
    node->outputs = output;
    node->outputs_count = 1;
    *out = (struct endpoint){ node, 0 };
    return status_ok();
}

static struct status add_feeds(struct frame *frame)
{
    struct flatten *flatten = frame->flatten;
    const struct flatten_request *request = flatten->request;

    flatten->is_fed = ARENA_ARRAY(flatten->scratch, bool, flatten->graph->count + 1);
    flatten->feeds = ARENA_ARRAY(flatten->scratch, struct endpoint, request->feeds_count + 1);
    for (int i = 0; i < request->feeds_count; i++) {
        const struct shape *declared =
            request->feed_shapes != NULL ? &request->feed_shapes[i] : NULL;
        TRY(add_feed(frame, request->feeds[i], declared, &flatten->feeds[i]));
        flatten->is_fed[request->feeds[i].node->id] = true;
    }
    return status_ok();
}

/* ---- removing unneeded nodes ---- */

static void prune(struct flatten *flatten, const struct flatten_result *result)
{
    const struct flatten_request *request = flatten->request;
    int count = request->feeds_count + request->fetches_count + request->targets_count +
                flatten->effects_count;
    struct node **kept = ARENA_ARRAY(flatten->scratch, struct node *, count + 1);

    count = 0;
    for (int i = 0; i < request->feeds_count; i++)
        kept[count++] = flatten->feeds[i].node;
    for (int i = 0; i < request->fetches_count; i++)
        kept[count++] = result->fetches[i].node;
    for (int i = 0; i < request->targets_count; i++)
        kept[count++] = result->targets[i];
    for (int i = 0; i < flatten->effects_count; i++)
        kept[count++] = flatten->effects[i];
    graph_prune(flatten->out, kept, count, flatten->scratch);
}

static struct status flatten_all(struct flatten *flatten, struct frame *frame,
                                 struct flatten_result *result)
{
    const struct flatten_request *request = flatten->request;
    struct arena *arena = flatten->out->arena;
    struct node **seeds = ARENA_ARRAY(flatten->scratch, struct node *,
                                      request->fetches_count + request->targets_count + 1);
    struct endpoint feed;
    int count = 0;

    TRY(add_feeds(frame));
    for (int i = 0; i < request->targets_count; i++)
        seeds[count++] = request->targets[i];
    for (int i = 0; i < request->fetches_count; i++)
        if (!flatten_find_feed(flatten, request->fetches[i], &feed))
            seeds[count++] = request->fetches[i].node;
    TRY(frame_run(frame, seeds, count));

    result->feeds = ARENA_ARRAY(arena, struct endpoint, request->feeds_count + 1);
    result->fetches = ARENA_ARRAY(arena, struct endpoint, request->fetches_count + 1);
    result->targets = ARENA_ARRAY(arena, struct node *, request->targets_count + 1);
    for (int i = 0; i < request->feeds_count; i++)
        result->feeds[i] = flatten->feeds[i];
    for (int i = 0; i < request->fetches_count; i++)
        TRY(frame_endpoint(frame, request->fetches[i], &result->fetches[i]));
    for (int i = 0; i < request->targets_count; i++)
        TRY(frame_control(frame, request->targets[i], &result->targets[i]));
    prune(flatten, result);
    result->graph = flatten->out;
    return status_ok();
}

struct status flatten_function(struct flatten *outer, const struct function_body *body,
                               struct flatten_result *out)
{
    int count = body->args_count + body->results_count;
    struct endpoint *fetches = ARENA_ARRAY(outer->scratch, struct endpoint, count + 1);
    const struct flatten_request request = { .fetches = fetches, .fetches_count = count };
    struct flatten flatten = { .graph = body->graph,
                               .request = &request,
                               .out = graph_create(outer->out->arena),
                               .scratch = outer->scratch,
                               .depth = outer->depth + 1,
                               .gradients = outer->gradients + 1,
                               .unfolded = outer->unfolded,
                               .unfolded_tensors = outer->unfolded_tensors };
    struct frame frame = { .flatten = &flatten, .graph = body->graph, .prefix = "" };

    for (int i = 0; i < count; i++)
        fetches[i] = i < body->args_count ? body->args[i] : body->results[i - body->args_count];
    flatten.out->library = body->graph->library;
    struct status status = flatten_all(&flatten, &frame, out);
    outer->unfolded = flatten.unfolded;
    outer->unfolded_tensors = flatten.unfolded_tensors;
    free(flatten.effects);
    return status;
}

struct status graph_flatten(const struct graph *graph, const struct flatten_request *request,
                            struct arena *arena, struct flatten_result *out)
{
    struct flatten flatten = {
        .graph = graph, .request = request, .out = graph_create(arena), .scratch = arena_create(0)
    };
    struct frame frame = { .flatten = &flatten, .graph = graph, .prefix = "" };
    struct flatten_result result = { 0 };

    flatten.out->library = graph->library;
    flatten.out->producer = graph->producer;
    flatten.out->min_consumer = graph->min_consumer;
    struct status status = flatten_all(&flatten, &frame, &result);
    arena_destroy(flatten.scratch);
    free(flatten.effects);
    if (status_is_ok(status))
        *out = result;
    return status;
}

struct status flat_graph_create(const struct graph *graph, const struct flatten_request *request,
                                struct flat_graph *out)
{
    struct flat_graph flat = { .arena = arena_create(0) };
    struct status status = graph_flatten(graph, request, flat.arena, &flat.parts);
    if (status_is_ok(status))
        *out = flat;
    else
        flat_graph_drop(&flat);
    return status;
}

void flat_graph_drop(struct flat_graph *flat)
{
    graph_finish(flat->parts.graph);
    arena_destroy(flat->arena);
    *flat = (struct flat_graph){ 0 };
}
