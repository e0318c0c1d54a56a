/*
 * Frames as While nodes, in the form that control_flow_ops.py gives a loop:
 *
 *     Enter ─▶ Merge ─▶ Switch(·, LoopCond) ─0─▶ Exit
 *                ▲         └1─▶ the body ─▶ NextIteration
 *                └───────────────────────────────┘
 *
 * Each Merge is a value that the loop carries. An Enter with is_constant is an argument that it
 * does not change. The condition is all that LoopCond needs of the Merges.
 */
#include "graph/lower/lowering.h"
#include "graph/while_loop.h"

/* A value that the loop carries. */
struct carried {
    struct node *merge, *enter, *next;
};

struct frame_nodes {
    struct bytes name;
    struct node **nodes; /* in the order of the graph; includes Enter and Exit */
    int nodes_count;
    struct node *condition; /* LoopCond */
    struct carried *carried;
    int carried_count;
    struct node *loop; /* the While */
};

/* The frame of a node's outputs. */
struct place {
    int frame; /* 1 + the outermost frame; 0: in none */
    int depth; /* frames around it */
};

struct frames {
    struct lowering *lowering;
    struct place *places; /* [id] */
    struct frame_nodes *frames;
    struct map by_name; /* frame_name -> struct frame_nodes */
    int count;
    unsigned char *needed; /* [id] by the condition, by the body */
    struct node **stack;
};

enum { BY_CONDITION = 1, BY_BODY = 2 };

/* ---- finding frames ---- */

static struct status enter_frame(struct frames *frames, const struct node *enter, int *out)
{
    struct bytes name;
    TRY(node_attr_string(enter, "frame_name", &name));
    struct frame_nodes *frame = map_get(&frames->by_name, name);

    if (frame == NULL) {
        frame = &frames->frames[frames->count++];
        frame->name = name;
        map_put(&frames->by_name, name, frame);
    }
    *out = (int)(frame - frames->frames) + 1;
    return status_ok();
}

static struct status join_place(const struct frames *frames, const struct node *node,
                                const struct node *from, struct place *out)
{
    struct place place = frames->places[from->id];

    if (place.depth == 0)
        return status_ok();
    if (out->depth > 0 && out->frame != place.frame)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The node '%s' has inputs from different frames.", node->name);
    if (place.depth > out->depth)
        *out = place;
    return status_ok();
}

static struct status find_place(struct frames *frames, const struct node *node)
{
    struct place *place = &frames->places[node->id];

    for (int i = 0; i < node->inputs_count; i++)
        if (!is_merge(node) || !is_next_iteration(node->inputs[i].node))
            TRY(join_place(frames, node, node->inputs[i].node, place));
    for (int i = 0; i < node->controls_count; i++)
        TRY(join_place(frames, node, node->controls[i], place));
    if (is_enter(node)) {
        if (place->depth++ == 0)
            TRY(enter_frame(frames, node, &place->frame));
    } else if (is_exit(node)) {
        if (place->depth == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s) is in no frame",
                                node->name, node->op_name);
        place->depth--;
    }
    return status_ok();
}

/* Exit gives its value to the frame around, but belongs to the loop. */
static int frame_of(const struct frames *frames, const struct node *node)
{
    return frames->places[node->id].frame;
}

static bool is_outermost(const struct frames *frames, const struct node *node)
{
    return frames->places[node->id].depth == 1;
}

static void collect_nodes(struct frames *frames)
{
    const struct graph *graph = frames->lowering->graph;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < frames->count && pass == 1; i++) {
            struct frame_nodes *frame = &frames->frames[i];
            frame->nodes =
                ARENA_ARRAY(frames->lowering->scratch, struct node *, frame->nodes_count + 1);
            frame->nodes_count = 0;
        }
        for (int i = 0; i < frames->lowering->count; i++) {
            int index = frame_of(frames, graph->nodes[i]);
            if (index == 0)
                continue;
            struct frame_nodes *frame = &frames->frames[index - 1];
            if (pass == 1)
                frame->nodes[frame->nodes_count] = graph->nodes[i];
            frame->nodes_count++;
        }
    }
}

/* ---- the parts of one loop ---- */

static bool is_constant_enter(const struct node *node)
{
    bool is_constant;
    return status_is_ok(node_attr_bool(node, "is_constant", &is_constant)) && is_constant;
}

static struct status add_carried(struct frame_nodes *frame, struct node *merge)
{
    struct carried carried = { .merge = merge };

    for (int i = 0; i < merge->inputs_count; i++) {
        struct node *from = merge->inputs[i].node;
        if (is_next_iteration(from))
            carried.next = from;
        else if (is_enter(from) && !is_constant_enter(from))
            carried.enter = from;
    }
    if (carried.next == NULL)
        return status_ok(); /* of a branch inside the loop */
    if (carried.enter == NULL || merge->inputs_count != 2)
        return not_structured(merge, "a loop's Merge must have an Enter and a NextIteration");
    frame->carried[frame->carried_count++] = carried;
    return status_ok();
}

static struct status find_parts(const struct frames *frames, struct frame_nodes *frame)
{
    frame->carried = ARENA_ARRAY(frames->lowering->scratch, struct carried, frame->nodes_count + 1);
    for (int i = 0; i < frame->nodes_count; i++) {
        struct node *node = frame->nodes[i];
        if (!is_outermost(frames, node))
            continue;
        if (is_merge(node))
            TRY(add_carried(frame, node));
        if (strcmp(node->op_name, "LoopCond") != 0)
            continue;
        if (frame->condition != NULL)
            return not_structured(node, "its frame has another LoopCond");
        frame->condition = node;
    }
    if (frame->condition != NULL && frame->condition->inputs_count == 1)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "frame '%.*s': a loop without a LoopCond",
                        (int)frame->name.size, frame->name.data);
}

static bool is_loop_switch(const struct frame_nodes *frame, const struct node *node)
{
    return is_switch(node) && node->inputs_count == 2 && node->inputs[1].node == frame->condition;
}

/* Carried values come first among the arguments: the results of the body replace them. */
static struct status add_arguments(const struct frame_nodes *frame, struct cut *cut)
{
    for (int i = 0; i < frame->carried_count; i++) {
        const struct carried *carried = &frame->carried[i];
        TRY(cut_argument(cut, (struct endpoint){ carried->merge, 0 }, carried->enter->inputs[0]));
        if (cut->sources_count != i + 1)
            return not_structured(carried->merge, "a loop that carries a reference");
    }
    return status_ok();
}

/* A Switch on LoopCond gives its argument to the body. */
static struct status add_switch(const struct frame_nodes *frame, struct node *node, struct cut *cut,
                                struct lowering *lowering)
{
    struct endpoint data = node->inputs[0];
    int at = 0;

    while (at < frame->carried_count && (frame->carried[at].merge != data.node || data.index != 0))
        at++;
    if (at == frame->carried_count)
        return not_structured(node, "it switches on LoopCond, but no value that the loop carries");
    lowering->lowered_nodes[node->id].first_output = at; /* for the Exit after it */
    return cut_alias(cut, (struct endpoint){ node, 1 }, data);
}

static struct status add_others(const struct frames *frames, struct frame_nodes *frame,
                                struct cut *cut)
{
    for (int i = 0; i < frame->nodes_count; i++) {
        struct node *node = frame->nodes[i];
        if (is_enter(node) && is_outermost(frames, node)) {
            for (int k = 0; k < node->controls_count; k++)
                cut_wait(cut, node->controls[k]);
            if (is_constant_enter(node))
                TRY(cut_argument(cut, (struct endpoint){ node, 0 }, node->inputs[0]));
        }
        if (is_outermost(frames, node) && is_loop_switch(frame, node))
            TRY(add_switch(frame, node, cut, frames->lowering));
    }
    return status_ok();
}

/* ---- condition and body ---- */

/* Is the node one of those that make the loop, which its functions do not hold? */
static bool is_frame_part(const struct frames *frames, const struct frame_nodes *frame,
                          const struct node *node)
{
    if (frame_of(frames, node) != (int)(frame - frames->frames) + 1)
        return true;
    if (is_exit(node))
        return frames->places[node->id].depth == 0;
    if (!is_outermost(frames, node))
        return false;
    if (is_enter(node) || is_next_iteration(node) || is_loop_switch(frame, node) ||
        node == frame->condition)
        return true;
    for (int i = 0; is_merge(node) && i < node->inputs_count; i++)
        if (is_next_iteration(node->inputs[i].node))
            return true;
    return false;
}

static void need(struct frames *frames, const struct frame_nodes *frame, struct node *node, int who,
                 int *depth)
{
    if ((frames->needed[node->id] & who) != 0 || is_frame_part(frames, frame, node))
        return;
    frames->needed[node->id] |= (unsigned char)who;
    frames->stack[(*depth)++] = node;
}

static void need_all(struct frames *frames, const struct frame_nodes *frame, struct node *seed,
                     int who)
{
    int depth = 0;

    need(frames, frame, seed, who, &depth);
    while (depth > 0) {
        const struct node *node = frames->stack[--depth];
        for (int i = 0; i < node->inputs_count; i++)
            need(frames, frame, node->inputs[i].node, who, &depth);
        for (int i = 0; i < node->controls_count; i++)
            need(frames, frame, node->controls[i], who, &depth);
    }
}

/* Marks the nodes that an iteration must run before the next one begins: tf.gradients lets it push
 * values on stacks. */
static void need_effects(struct frames *frames, const struct frame_nodes *frame)
{
    for (int i = 0; i < frame->carried_count; i++) {
        const struct node *next = frame->carried[i].next;
        for (int k = 0; k < next->controls_count; k++)
            need_all(frames, frame, next->controls[k], BY_BODY);
    }
}

/* Completes the results, and collects the nodes that they need. */
static void describe_body(struct frames *frames, const struct frame_nodes *frame, int who,
                          const struct endpoint *results, int count, struct cut_body *out)
{
    struct node **nodes =
        ARENA_ARRAY(frames->lowering->scratch, struct node *, frame->nodes_count + 1);

    *out = (struct cut_body){
        .nodes = nodes, .results = results, .results_count = count, .runs_sinks = true
    };
    for (int i = 0; i < count; i++)
        need_all(frames, frame, results[i].node, who);
    if (who == BY_BODY)
        need_effects(frames, frame);
    for (int i = 0; i < frame->nodes_count; i++)
        if ((frames->needed[frame->nodes[i]->id] & who) != 0)
            nodes[out->nodes_count++] = frame->nodes[i];
}

/* Checks an input of a loop's node that is not an argument. */
static struct status check_input(const struct frames *frames, const struct frame_nodes *frame,
                                 const struct node *node, const struct cut *cut,
                                 struct endpoint input)
{
    const int *row = cut->tables->arguments[input.node->id];

    if (frame_of(frames, input.node) == (int)(frame - frames->frames) + 1 &&
        is_frame_part(frames, frame, input.node) &&
        !(is_exit(input.node) && frames->places[input.node->id].depth == 0) &&
        (row == NULL || input.index >= input.node->outputs_count || row[input.index] == 0))
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (%s): it uses '%s' (%s), which only makes the loop",
                            node->name, node->op_name, input.node->name, input.node->op_name);
    return status_ok();
}

static struct status check_nodes(const struct frames *frames, const struct frame_nodes *frame,
                                 const struct cut *cut, const struct cut_body *body)
{
    for (int i = 0; i < body->nodes_count; i++) {
        const struct node *node = body->nodes[i];
        if (frames->needed[node->id] == (BY_CONDITION | BY_BODY) &&
            (node->op == NULL || op_has(node->op, OP_STATEFUL | OP_RANDOM)))
            return not_structured(node, "both the condition and the body of a loop need it");
        for (int k = 0; k < node->inputs_count; k++)
            TRY(check_input(frames, frame, node, cut, node->inputs[k]));
    }
    for (int i = 0; i < body->results_count; i++)
        TRY(check_input(frames, frame, frame->condition, cut, body->results[i]));
    return status_ok();
}

static struct status add_loop(struct frames *frames, struct frame_nodes *frame, struct cut *cut,
                              const char *condition, const char *body)
{
    struct builder b = builder_init(frames->lowering->graph);
    const struct attr attrs[] = { attr_function(&b, "cond", condition),
                                  attr_function(&b, "body", body), attr_bool(ATTR_LOWERED, true),
                                  ATTR_END };

    frame->loop =
        build_node(&b, cut->stateful ? "While" : "StatelessWhile",
                   arena_printf(frames->lowering->graph->arena, "%s/While", frame->condition->name),
                   cut->sources_count, cut->sources, cut->controls_count, cut->controls, attrs);
    return builder_status(&b);
}

static struct status cut_loop(struct frames *frames, struct frame_nodes *frame, struct cut *cut)
{
    struct arena *scratch = frames->lowering->scratch, *arena = frames->lowering->graph->arena;
    struct endpoint *next = ARENA_ARRAY(scratch, struct endpoint, frame->nodes_count + 1);
    struct cut_body condition, body;
    const char *condition_name, *body_name, *name = frame->condition->name;

    TRY(add_arguments(frame, cut));
    TRY(add_others(frames, frame, cut));
    for (int i = 0; i < frame->carried_count; i++)
        next[i] = frame->carried[i].next->inputs[0];
    describe_body(frames, frame, BY_CONDITION, frame->condition->inputs, 1, &condition);
    describe_body(frames, frame, BY_BODY, next, frame->carried_count, &body);
    TRY(check_nodes(frames, frame, cut, &condition));
    TRY(check_nodes(frames, frame, cut, &body));
    TRY(cut_capture(cut, &condition));
    TRY(cut_capture(cut, &body));

    /* the arguments that the loop does not change */
    struct endpoint *results = ARENA_ARRAY(scratch, struct endpoint, cut->sources_count + 1);
    for (int i = 0; i < cut->marked_count; i++) {
        int argument = cut->tables->arguments[cut->marked[i].node->id][cut->marked[i].index];
        if (argument > frame->carried_count)
            results[argument - 1] = cut->marked[i];
    }
    for (int i = 0; i < frame->carried_count; i++)
        results[i] = next[i];
    body.results = results;
    body.results_count = cut->sources_count;
    TRY(cut_function(cut, &condition, while_loop_function_name(arena, name, "cond"),
                     &condition_name));
    TRY(cut_function(cut, &body, while_loop_function_name(arena, name, "body"), &body_name));
    return add_loop(frames, frame, cut, condition_name, body_name);
}

/* The Exits become outputs of the loop. */
static struct status leave_frame(struct frames *frames, struct frame_nodes *frame)
{
    struct lowered_node *lowered_nodes = frames->lowering->lowered_nodes;

    for (int i = 0; i < frame->nodes_count; i++) {
        struct node *node = frame->nodes[i];
        struct lowered_node *lowered = &lowered_nodes[node->id];
        lowered->is_gone = true;
        lowered->node = frame->loop;
        if (!is_exit(node) || frames->places[node->id].depth != 0)
            continue;
        struct endpoint from = node->inputs[0];
        if (!is_loop_switch(frame, from.node) || from.index != 0)
            return not_structured(node, "it is not behind a Switch on LoopCond");
        lowered->has_value[0] = true;
        lowered->first_output = lowered_nodes[from.node->id].first_output;
    }
    return status_ok();
}

static struct status lower_frame(struct frames *frames, struct frame_nodes *frame)
{
    struct cut cut;

    TRY(find_parts(frames, frame));
    cut_begin(&cut, &frames->lowering->tables);
    struct status status = cut_loop(frames, frame, &cut);
    cut_end(&cut);
    TRY(status);
    return leave_frame(frames, frame);
}

struct status lower_loops(struct lowering *lowering)
{
    int count = lowering->count + 1;
    struct arena *scratch = lowering->scratch;
    struct frames frames = { .lowering = lowering,
                             .places = ARENA_ARRAY(scratch, struct place, count),
                             .frames = ARENA_ARRAY(scratch, struct frame_nodes, count),
                             .by_name.arena = scratch,
                             .needed = ARENA_ARRAY(scratch, unsigned char, count),
                             .stack = ARENA_ARRAY(scratch, struct node *, count) };

    for (int i = 0; i < lowering->count; i++)
        TRY(find_place(&frames, lowering->graph->nodes[i]));
    collect_nodes(&frames);
    for (int i = 0; i < frames.count; i++)
        TRY(lower_frame(&frames, &frames.frames[i]));
    return status_ok();
}
