/*
 * SymbolicGradient calls the gradient of a function f: of (x…, dy…), where y… = f(x…), it gives
 * dx…. That is the function which the library declares as the gradient of f, or one made here.
 */
#include "graph/flatten_frame.h"
#include "graph/function.h"
#include "graph/gradient.h"
#include "graph/library.h"
#include "graph/ops/infer.h"

/* Infers the shapes of the nodes that the result has got since the last gradient. A loop whose end
 * is not there yet stays unknown. */
static struct status infer_so_far(struct flatten *flatten)
{
    struct graph *graph = flatten->out;
    for (; flatten->inferred < graph->count; flatten->inferred++) {
        struct node *node = graph->nodes[flatten->inferred];
        bool is_whole = true;
        for (int k = 0; k < node->inputs_count; k++)
            is_whole = is_whole && node->inputs[k].node != NULL;
        if (is_whole)
            TRY(node_infer(graph, node));
    }
    return status_ok();
}

/* Takes over what is known about the shapes of the arguments of the call. */
static struct status set_shapes(struct frame *frame, const struct node *call,
                                const struct function_body *forward)
{
    TRY(infer_so_far(frame->flatten));
    for (int i = 0; i < forward->args_count; i++) {
        struct endpoint from;
        TRY(frame_endpoint(frame, call->inputs[i], &from));
        if (from.index < from.node->outputs_count)
            forward->args[i].node->outputs[0].shape = *endpoint_shape(from);
    }
    return status_ok();
}

static struct status check_counts(const struct node *call, const struct function_body *forward)
{
    if (call->inputs_count == forward->args_count + forward->results_count &&
        call->outputs_count == forward->args_count)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "has %d inputs and %d outputs; the gradient of a function that takes %d "
                        "and returns %d has %d and %d",
                        call->inputs_count, call->outputs_count, forward->args_count,
                        forward->results_count, forward->args_count + forward->results_count,
                        forward->args_count);
}

static bool is_differentiable(enum dtype dtype)
{
    return dtype_is_floating(dtype) || dtype_is_complex(dtype);
}

/* Adds arguments dy, and as results the gradients; zeros where there is none. */
static struct status differentiate(struct builder *b, const struct flatten_result *forward,
                                   int args_count, int results_count, struct function_body *out)
{
    struct arena *arena = b->graph->arena;
    const struct endpoint *results = forward->fetches + args_count;
    struct endpoint *ys = ARENA_ARRAY(arena, struct endpoint, 2 * results_count + 1);
    struct endpoint *dys = ys + results_count;
    int ys_count = 0;
    *out = (struct function_body){ .graph = b->graph, .args_count = args_count };
    out->args = ARENA_ARRAY(arena, struct endpoint, args_count + results_count + 1);
    out->results = ARENA_ARRAY(arena, struct endpoint, args_count + 1);
    for (int i = 0; i < args_count; i++)
        out->args[i] = forward->fetches[i];
    for (int i = 0; i < results_count; i++) {
        enum dtype dtype = endpoint_dtype(results[i]);
        struct endpoint dy = function_add_arg(b, out, dtype, endpoint_shape(results[i]));
        if (!is_differentiable(dtype))
            continue;
        ys[ys_count] = results[i];
        dys[ys_count++] = dy;
    }
    TRY(graph_gradients_from(b, ys_count, ys, dys, args_count, out->args, out->results));
    for (int i = 0; i < args_count; i++)
        if (out->results[i].node == NULL)
            out->results[i] = build_unary(b, "ZerosLike", NULL, out->args[i]);
    out->results_count = args_count;
    return builder_status(b);
}

/* Everything lives as long as the result of flattening, whose nodes share attributes with it. */
static struct status make(struct frame *frame, const struct node *call,
                          struct function_body *forward, struct function_body *out)
{
    struct flatten *flatten = frame->flatten;
    struct flatten_result flat;
    TRY(check_counts(call, forward));
    TRY(set_shapes(frame, call, forward));
    /* which also holds the bodies that earlier gradients of branches and loops have added */
    forward->graph->library = flatten->out->library;
    TRY(flatten_function(flatten, forward, &flat));
    function_nest_library(flat.graph);
    TRY(graph_infer(flat.graph));
    struct builder b = builder_init(flat.graph);
    TRY(differentiate(&b, &flat, forward->args_count, forward->results_count, out));
    flatten->out->library = flat.graph->library;
    return status_ok();
}

struct status symbolic_gradient_instantiate(struct frame *frame, const struct node *call,
                                            const struct function_name *function,
                                            struct function_body *out)
{
    struct flatten *flatten = frame->flatten;
    struct arena *arena = flatten->out->arena;
    const char *given = function_gradient_name(frame->graph->library, function->name);
    struct function_body forward;
    if (given != NULL) {
        struct function_name gradient = { given, function->attrs, function->attrs_count };
        return function_instantiate(frame->graph, &gradient, flatten->scratch, out);
    }
    TRY(function_instantiate(frame->graph, function, arena, &forward));
    return make(frame, call, &forward, out);
}
