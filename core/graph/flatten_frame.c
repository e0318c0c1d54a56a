#include "graph/flatten_frame.h"

#include "graph/arguments.h"
#include "graph/control_flow.h"
#include "graph/order.h"

#define CALLS_MAX       64 /* nested; deeper calls are taken for infinite recursion */
/* nodes of all bodies: functions that call others twice grow exponentially */
#define NODES_MAX       (1 << 20)
/* A gradient inside a gradient counts that many times: its nodes stay in memory as the function, as
 * its copy and as the gradient, and each level has several times those of the one inside it. */
#define NESTED_GRADIENT 8

static bool is_outermost(const struct frame *frame)
{
    return frame->graph == frame->flatten->graph;
}

bool flatten_find_feed(const struct flatten *flatten, struct endpoint endpoint,
                       struct endpoint *out)
{
    if (!flatten->is_fed[endpoint.node->id])
        return false;
    for (int i = 0; i < flatten->request->feeds_count; i++) {
        struct endpoint feed = flatten->request->feeds[i];
        if (feed.node == endpoint.node && feed.index == endpoint.index) {
            *out = flatten->feeds[i];
            return true;
        }
    }
    return false;
}

bool node_is_placeholder(const struct node *node)
{
    return strcmp(node->op_name, "Placeholder") == 0 ||
           strcmp(node->op_name, "PlaceholderV2") == 0 ||
           strcmp(node->op_name, "PlaceholderWithDefault") == 0;
}

/* A fed tensor cuts the graph. Control edges from a fed placeholder are dropped. */
static bool is_cut(const void *context, struct endpoint input)
{
    const struct flatten *flatten = context;
    struct endpoint feed;
    if (input.index < 0)
        return flatten->is_fed[input.node->id] && node_is_placeholder(input.node);
    return flatten_find_feed(flatten, input, &feed);
}

/* ---- nodes of the result ---- */

/* Avoids arena_printf, which would take a fifth of the time of flattening a large network. */
static const char *join(struct arena *arena, const char *prefix, const char *name)
{
    size_t prefix_size = strlen(prefix), name_size = strlen(name);
    char *full = arena_alloc(arena, prefix_size + name_size + 1);
    memcpy(full, prefix, prefix_size);
    memcpy(full + prefix_size, name, name_size);
    return full;
}

struct status frame_add_node(struct frame *frame, const char *op_name, const char *name,
                             struct node **out)
{
    struct graph *graph = frame->flatten->out;
    const char *full = join(graph->arena, frame->prefix, name);

    for (unsigned i = 1; graph_find(graph, full) != NULL; i++) /* "a" + "b/c" may be "a/b" + "c" */
        full = arena_printf(graph->arena, "%s%s_%u", frame->prefix, name, i);
    return graph_add(graph, op_name, full, out);
}

/* Attribute values stay in the source graph or its library, except for those bound for one
 * instance of a body. */
static void copy_attrs(struct arena *arena, const struct node *from, struct node *to)
{
    to->attrs = ARENA_ARRAY(arena, struct attr, from->attrs_count + 1);
    to->attrs_count = to->attrs_capacity = from->attrs_count;
    for (int i = 0; i < from->attrs_count; i++) {
        const struct attr_value *value = &from->attrs[i].value;
        bool is_function = value->kind == ATTR_FUNC ||
                           (value->kind == ATTR_LIST && value->element_kind == ATTR_FUNC);
        to->attrs[i] = from->attrs[i];
        if (is_function)
            to->attrs[i].value = attr_value_share(arena, value);
    }
}

static void copy_outputs(struct arena *arena, const struct node *from, struct node *to)
{
    to->outputs = ARENA_ARRAY(arena, struct output, from->outputs_count + 1);
    to->outputs_count = from->outputs_count;
    if (from->outputs_count > 0)
        memcpy(to->outputs, from->outputs, (size_t)from->outputs_count * sizeof(struct output));
}

/* ---- finding the counterpart of an endpoint ---- */

struct status frame_endpoint(const struct frame *frame, struct endpoint from, struct endpoint *out)
{
    const struct image *image = &frame->images[from.node->id];

    if (is_outermost(frame) && flatten_find_feed(frame->flatten, from, out))
        return status_ok();
    if (!image->is_call) {
        *out = (struct endpoint){ image->node, from.index };
        return status_ok();
    }
    if (from.index >= image->results_count)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s) has %d outputs, not %d",
                            from.node->name, from.node->op_name, image->results_count,
                            from.index + 1);
    *out = image->results[from.index];
    return status_ok();
}

/* The node that runs after the call, made on demand. */
static struct status map_call(struct frame *frame, const struct node *call, struct node **out)
{
    struct image *image = &frame->images[call->id];
    struct graph *graph = frame->flatten->out;

    if (image->node == NULL && image->effects_count + image->results_count == 1)
        image->node = image->effects_count > 0 ? image->effects[0] : image->results[0].node;
    if (image->node == NULL) {
        TRY(frame_add_node(frame, "NoOp", arena_printf(graph->arena, "%s/done", call->name),
                           &image->node));
        for (int i = 0; i < image->effects_count; i++)
            node_add_control(graph, image->node, image->effects[i]);
        for (int i = 0; i < image->results_count; i++)
            node_add_control(graph, image->node, image->results[i].node);
    }
    *out = image->node;
    return status_ok();
}

struct status frame_control(struct frame *frame, const struct node *from, struct node **out)
{
    if (frame->images[from->id].is_call)
        return map_call(frame, from, out);
    *out = frame->images[from->id].node;
    return status_ok();
}

/* Makes the nodes for controls that are calls, which must come before the node. */
static struct status map_controls(struct frame *frame, const struct node *node)
{
    struct node *ignored;
    for (int i = 0; i < node->controls_count; i++)
        if (frame->images[node->controls[i]->id].is_call)
            TRY(map_call(frame, node->controls[i], &ignored));
    return status_ok();
}

/* ---- copying a node ---- */

/* Does the order in which the node runs matter? */
static bool has_effect(const struct node *node)
{
    if (node->op == NULL || op_has(node->op, OP_STATEFUL))
        return true;
    for (int i = 0; i < node->inputs_count; i++) { /* reads or writes a reference */
        struct endpoint input = node->inputs[i];
        if (input.index < input.node->outputs_count && input.node->outputs[input.index].is_ref)
            return true;
    }
    return false;
}

static struct status copy_edges(struct frame *frame, const struct node *from, struct node *to)
{
    struct graph *out = frame->flatten->out;

    for (int i = 0; i < from->inputs_count; i++) {
        struct endpoint input;
        TRY(frame_endpoint(frame, from->inputs[i], &input));
        /* the back edge of a loop has no node yet: close_loops sets it */
        node_add_input(out, to, input);
    }
    for (int i = 0; i < from->controls_count; i++) {
        struct node *control;
        if (is_outermost(frame) &&
            is_cut(frame->flatten, (struct endpoint){ from->controls[i], -1 }))
            continue;
        TRY(frame_control(frame, from->controls[i], &control));
        node_add_control(out, to, control);
    }
    if (frame->before != NULL && has_effect(from))
        node_add_control(out, to, frame->before);
    return status_ok();
}

static struct status copy_node(struct frame *frame, const struct node *from)
{
    struct arena *arena = frame->flatten->out->arena;
    struct node *to;

    if (frame->args != NULL && strcmp(from->op_name, "_Arg") == 0) {
        int64_t index;
        TRY(node_attr_int(from, "index", &index));
        struct endpoint *arg = ARENA_NEW(frame->flatten->scratch, struct endpoint);
        *arg = frame->args[index];
        frame->images[from->id] = (struct image){
            .node = arg->node, .results = arg, .results_count = 1, .is_call = true
        };
        return status_ok();
    }
    TRY(map_controls(frame, from));
    TRY(frame_add_node(frame, from->op_name, from->name, &to));
    to->device = from->device;
    copy_attrs(arena, from, to);
    copy_outputs(arena, from, to);
    frame->images[from->id].node = to;
    return copy_edges(frame, from, to);
}

/* Sets those inputs of TensorFlow 1's loops that had not been copied yet when their Merge was. */
static struct status close_loops(struct frame *frame, struct node *const *order, int count)
{
    for (int i = 0; i < count; i++) {
        if (!is_merge(order[i]))
            continue;
        struct node *to = frame->images[order[i]->id].node;
        for (int k = 0; k < order[i]->inputs_count; k++)
            if (to->inputs[k].node == NULL)
                TRY(frame_endpoint(frame, order[i]->inputs[k], &to->inputs[k]));
    }
    return status_ok();
}

/* ---- calls ---- */

/* The function that a node calls; false: it is not a call. */
static bool find_call(const struct frame *frame, const struct node *node, struct function_name *out)
{
    const struct function_name *function;
    if (op_has(node->op, OP_CALL)) {
        if (!status_is_ok(node_attr_func(node, "f", &function)))
            return false;
        *out = *function;
        return true;
    }
    if (node->op != NULL || function_find(frame->graph->library, node->op_name) == NULL)
        return false;
    *out = (struct function_name){ node->op_name, node->attrs, node->attrs_count };
    return true;
}

static void add_effect(struct flatten *flatten, struct node *node)
{
    if (flatten->effects_count == flatten->effects_capacity) {
        flatten->effects_capacity =
            flatten->effects_capacity > 0 ? 2 * flatten->effects_capacity : 16;
        flatten->effects =
            xrealloc(flatten->effects, (size_t)flatten->effects_capacity * sizeof(struct node *));
    }
    flatten->effects[flatten->effects_count++] = node;
}

/* Makes one node that runs before the effects of a call, and after the control inputs of the call
 * and of its frame. */
static struct status before_call(struct frame *frame, const struct node *call, struct node **out)
{
    struct graph *graph = frame->flatten->out;
    struct node *only = frame->before, *control;
    int count = frame->before != NULL;

    for (int i = 0; i < call->controls_count; i++) {
        if (is_outermost(frame) &&
            is_cut(frame->flatten, (struct endpoint){ call->controls[i], -1 }))
            continue;
        TRY(frame_control(frame, call->controls[i], &only));
        count++;
    }
    *out = only;
    if (count < 2)
        return status_ok();
    struct node *before;
    TRY(frame_add_node(frame, "NoOp", arena_printf(graph->arena, "%s/start", call->name), &before));
    if (frame->before != NULL)
        node_add_control(graph, before, frame->before);
    for (int i = 0; i < call->controls_count; i++) {
        if (is_outermost(frame) &&
            is_cut(frame->flatten, (struct endpoint){ call->controls[i], -1 }))
            continue;
        TRY(frame_control(frame, call->controls[i], &control));
        node_add_control(graph, before, control);
    }
    *out = before;
    return status_ok();
}

/* Starts from results and effects, which decide which nodes of the body are needed. */
static struct status run_body(struct frame *frame, const struct function_body *body,
                              struct image *image)
{
    struct flatten *flatten = frame->flatten;
    int count = body->results_count + body->controls_count;
    struct node **seeds = ARENA_ARRAY(flatten->scratch, struct node *, count + 1);

    for (int i = 0; i < body->controls_count; i++)
        seeds[i] = body->controls[i];
    for (int i = 0; i < body->results_count; i++)
        seeds[body->controls_count + i] = body->results[i].node;
    TRY(frame_run(frame, seeds, count));

    image->results = ARENA_ARRAY(flatten->scratch, struct endpoint, body->results_count + 1);
    for (int i = 0; i < body->results_count; i++)
        TRY(frame_endpoint(frame, body->results[i], &image->results[image->results_count++]));
    image->effects = ARENA_ARRAY(flatten->scratch, struct node *, body->controls_count + 1);
    for (int i = 0; i < body->controls_count; i++) {
        struct node *effect;
        TRY(frame_control(frame, body->controls[i], &effect));
        image->effects[image->effects_count++] = effect;
        if (effect->op == NULL || op_has(effect->op, OP_STATEFUL) || effect->controls_count > 0)
            add_effect(flatten, effect);
    }
    return status_ok();
}

static bool is_typed(struct endpoint endpoint)
{
    return endpoint.index < endpoint.node->outputs_count;
}

static enum dtype type_of(struct endpoint endpoint)
{
    return endpoint.node->outputs[endpoint.index].dtype;
}

/* Users of the call's outputs were checked against the types that the call declares; the body
 * must keep to them. */
static struct status check_results(const struct node *call, const struct function_body *body)
{
    for (int i = 0; i < body->results_count; i++) {
        struct endpoint result = body->results[i];
        if (is_typed(result) && type_of(result) != call->outputs[i].dtype)
            return status_error(STATUS_INVALID_ARGUMENT, "output %d is %s, the function returns %s",
                                i, dtype_name(call->outputs[i].dtype), dtype_name(type_of(result)));
    }
    return status_ok();
}

static struct status check_call(const struct node *call, const struct function_body *body)
{
    if (call->inputs_count != body->args_count)
        return status_error(STATUS_INVALID_ARGUMENT, "has %d inputs, the function takes %d",
                            call->inputs_count, body->args_count);
    if (call->outputs_count != body->results_count)
        return status_error(STATUS_INVALID_ARGUMENT, "has %d outputs, the function returns %d",
                            call->outputs_count, body->results_count);
    for (int i = 0; i < body->args_count; i++) {
        struct endpoint input = call->inputs[i];
        enum dtype wanted = type_of(body->args[i]);
        if (is_typed(input) && type_of(input) != wanted)
            return status_error(STATUS_INVALID_ARGUMENT, "input %d is %s, the function takes %s", i,
                                dtype_name(type_of(input)), dtype_name(wanted));
    }
    return check_results(call, body);
}

static struct status inline_body(struct frame *frame, const struct node *call,
                                 const struct function_body *body)
{
    struct flatten *flatten = frame->flatten;
    struct endpoint *args = ARENA_ARRAY(flatten->scratch, struct endpoint, call->inputs_count + 1);
    struct frame inner = { .flatten = flatten, .graph = body->graph, .args = args };

    TRY(check_call(call, body));
    for (int i = 0; i < call->inputs_count; i++)
        TRY(frame_endpoint(frame, call->inputs[i], &args[i]));
    TRY(before_call(frame, call, &inner.before));
    inner.prefix = arena_printf(flatten->scratch, "%s%s/", frame->prefix, call->name);
    struct image *image = &frame->images[call->id];
    image->is_call = true;
    return run_body(&inner, body, image);
}

static bool is_gradient(const struct node *call)
{
    return strcmp(call->op_name, "SymbolicGradient") == 0;
}

static struct status inline_call(struct frame *frame, const struct node *call,
                                 const struct function_name *function)
{
    struct flatten *flatten = frame->flatten;
    struct function_body body;

    if (flatten->depth == CALLS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "function '%s': calls nest deeper than %d",
                            function->name, CALLS_MAX);
    struct status status =
        is_gradient(call) ? symbolic_gradient_instantiate(frame, call, function, &body)
                          : function_instantiate(frame->graph, function, flatten->scratch, &body);
    if (flatten->depth == 0 || !is_gradient(call)) /* gradients of gradients may be many */
        status = status_in(status, "node '%s' (%s)", call->name, call->op_name);
    TRY(status);
    bool is_nested = flatten->gradients > 0 && is_gradient(call);
    flatten->unfolded += (body.graph->count + 1) * (is_nested ? NESTED_GRADIENT : 1);
    flatten->unfolded_tensors += graph_tensors(body.graph);
    if (flatten->unfolded > NODES_MAX)
        status = status_error(STATUS_RESOURCE_EXHAUSTED, "the functions unfold to over %d nodes",
                              NODES_MAX);
    else if (flatten->unfolded_tensors > 2 * GRAPH_OUTPUTS_MAX)
        status = status_error(STATUS_RESOURCE_EXHAUSTED,
                              "the functions unfold to over %d inputs and outputs",
                              2 * GRAPH_OUTPUTS_MAX);
    flatten->depth++;
    if (status_is_ok(status))
        status = inline_body(frame, call, &body);
    flatten->depth--;
    if (flatten->depth > 0)
        return status; /* naming the outermost call is enough */
    return status_in(status, "node '%s' (%s)", call->name, call->op_name);
}

/* ---- frames ---- */

struct status frame_run(struct frame *frame, struct node *const *seeds, int seeds_count)
{
    struct flatten *flatten = frame->flatten;
    struct order_request request = { .seeds = seeds, .seeds_count = seeds_count };
    struct node **order;
    int count;

    if (is_outermost(frame)) {
        request.is_cut = is_cut;
        request.context = flatten;
    }
    frame->images = ARENA_ARRAY(flatten->scratch, struct image, frame->graph->count + 1);
    TRY(graph_order_some(frame->graph, &request, flatten->scratch, &order, &count));
    for (int i = 0; i < count; i++) {
        struct function_name function;
        if (find_call(frame, order[i], &function))
            TRY(inline_call(frame, order[i], &function));
        else
            TRY(copy_node(frame, order[i]));
    }
    return close_loops(frame, order, count);
}
