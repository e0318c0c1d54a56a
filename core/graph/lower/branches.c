/*
 * Turns nodes after a Switch into branches of an If. Each node has a guard: the predicate and the
 * value of it with which the node runs. A Merge of the two sides of one predicate ends the guard.
 * Nodes that depend on each other within a guard, and the Merges after them, are one If: one
 * tf.cond may become several, and several that share a predicate never become one.
 */
#include "graph/lower/lowering.h"
#include "graph/while_loop.h"

struct guarded_group {
    struct node **nodes[2]; /* by side, in the order of the graph */
    struct node **merges;
    int nodes_count[2], merges_count;
    struct node *branch; /* the If */
};

struct guarding {
    struct lowering *lowering;
    int *guards;                 /* [id] 0: it always runs; 1 + 2 · predicate + side: it runs if
                                    the predicate has that value */
    int *joined;                 /* [id] a node of the same group, or the node itself */
    struct endpoint *predicates; /* in the order of their first Switch */
    int **predicate_of;          /* [id][output] 1 + its index */
    int predicates_count;
    struct guarded_group **groups; /* [id] of the node that `joined` leads to */
};

/* ---- guards ---- */

static bool is_identity(const struct node *node)
{
    return strcmp(node->op_name, "Identity") == 0;
}

/* The predicate without identities around it, because each tf.cond makes its own. */
static struct endpoint find_predicate(struct endpoint at)
{
    while (is_identity(at.node))
        at = at.node->inputs[0];
    return at;
}

static struct status number_predicate(struct guarding *guarding, struct endpoint predicate,
                                      int *out)
{
    int **row = &guarding->predicate_of[predicate.node->id];

    if (endpoint_dtype(predicate) == DT_INVALID)
        return status_error(STATUS_UNIMPLEMENTED, "op '%s' of node '%s' is not implemented",
                            predicate.node->op_name, predicate.node->name);
    if (*row == NULL)
        *row = ARENA_ARRAY(guarding->lowering->scratch, int, predicate.node->outputs_count + 1);
    if ((*row)[predicate.index] == 0) {
        guarding->predicates[guarding->predicates_count++] = predicate;
        (*row)[predicate.index] = guarding->predicates_count;
    }
    *out = (*row)[predicate.index] - 1;
    return status_ok();
}

/* A Switch that always runs begins a guard for the users of its outputs. */
static bool is_outer_switch(const struct guarding *guarding, const struct node *node)
{
    return is_switch(node) && guarding->guards[node->id] == 0;
}

static struct status guard_of(struct guarding *guarding, struct endpoint endpoint, int *out)
{
    int predicate;

    *out = guarding->guards[endpoint.node->id];
    if (!is_outer_switch(guarding, endpoint.node))
        return status_ok();
    TRY(number_predicate(guarding, find_predicate(endpoint.node->inputs[1]), &predicate));
    *out = 1 + 2 * predicate + endpoint.index;
    return status_ok();
}

static struct status join_guard(const struct node *node, int from, int *out)
{
    if (from != 0 && *out != 0 && from != *out)
        return not_structured(node, "it needs values of two branches, of which neither is inside "
                                    "the other");
    if (from != 0)
        *out = from;
    return status_ok();
}

static bool are_two_sides(int a, int b)
{
    return a != 0 && b != 0 && a != b && (a - 1) / 2 == (b - 1) / 2;
}

static struct status guard_merge(struct guarding *guarding, struct node *node)
{
    int first = 0, other;

    TRY(guard_of(guarding, node->inputs[0], &first));
    if (node->inputs_count == 1 && first == 0)
        return not_structured(node, "its only input always runs");
    for (int i = 1; i < node->inputs_count; i++) {
        TRY(guard_of(guarding, node->inputs[i], &other));
        if (node->inputs_count == 2 && are_two_sides(first, other))
            return status_ok(); /* it always runs: one of the two is alive */
        if (other != first || first == 0)
            return not_structured(node, "its inputs are not the two sides of one predicate");
    }
    guarding->guards[node->id] = first;
    return status_ok();
}

static struct status find_guard(struct guarding *guarding, struct node *node)
{
    int found = 0, from;

    if (is_merge(node))
        return guard_merge(guarding, node);
    if (strcmp(node->op_name, "ControlTrigger") == 0)
        return status_ok(); /* it runs even if a control input is dead */
    for (int i = 0; i < node->inputs_count; i++) {
        TRY(guard_of(guarding, node->inputs[i], &from));
        TRY(join_guard(node, from, &found));
    }
    for (int i = 0; i < node->controls_count; i++)
        TRY(join_guard(node, guarding->guards[node->controls[i]->id], &found));
    guarding->guards[node->id] = found;
    return status_ok();
}

/* ---- groups ---- */

/* Does the Merge end a guard? */
static bool ends_guard(const struct guarding *guarding, const struct node *node)
{
    return is_merge(node) && guarding->guards[node->id] == 0;
}

static int find_group(struct guarding *guarding, int id)
{
    while (guarding->joined[id] != id) {
        guarding->joined[id] = guarding->joined[guarding->joined[id]];
        id = guarding->joined[id];
    }
    return id;
}

static void join_group(struct guarding *guarding, const struct node *node, const struct node *from)
{
    if (guarding->guards[from->id] != 0)
        guarding->joined[find_group(guarding, from->id)] = find_group(guarding, node->id);
}

static void join_groups(struct guarding *guarding)
{
    const struct graph *graph = guarding->lowering->graph;

    for (int i = 0; i < guarding->lowering->count; i++)
        guarding->joined[i] = i;
    for (int i = 0; i < guarding->lowering->count; i++) {
        const struct node *node = graph->nodes[i];
        bool ends = ends_guard(guarding, node);
        if (guarding->guards[i] == 0 && !ends)
            continue;
        for (int k = 0; k < node->inputs_count; k++)
            join_group(guarding, node, node->inputs[k].node);
        for (int k = 0; k < node->controls_count && !ends; k++)
            join_group(guarding, node, node->controls[k]);
    }
}

static struct guarded_group *group_of(struct guarding *guarding, const struct node *node)
{
    struct guarded_group **group = &guarding->groups[find_group(guarding, node->id)];

    if (*group == NULL)
        *group = ARENA_NEW(guarding->lowering->scratch, struct guarded_group);
    return *group;
}

static void give_room(struct arena *scratch, struct guarded_group *group)
{
    for (int side = 0; side < 2; side++)
        group->nodes[side] = ARENA_ARRAY(scratch, struct node *, group->nodes_count[side] + 1);
    group->merges = ARENA_ARRAY(scratch, struct node *, group->merges_count + 1);
    group->nodes_count[0] = group->nodes_count[1] = group->merges_count = 0;
}

/* Counts in the first pass, and collects in the second. */
static void collect_groups(struct guarding *guarding)
{
    const struct graph *graph = guarding->lowering->graph;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < guarding->lowering->count && pass == 1; i++)
            if (guarding->groups[i] != NULL)
                give_room(guarding->lowering->scratch, guarding->groups[i]);
        for (int i = 0; i < guarding->lowering->count; i++) {
            struct node *node = graph->nodes[i];
            bool ends = ends_guard(guarding, node);
            if (guarding->guards[i] == 0 && !ends)
                continue;
            struct guarded_group *group = group_of(guarding, node);
            int side = ends ? 0 : (guarding->guards[i] - 1) % 2;
            struct node **list = ends ? group->merges : group->nodes[side];
            int *count = ends ? &group->merges_count : &group->nodes_count[side];
            if (pass == 1)
                list[*count] = node;
            ++*count;
        }
    }
}

/* ---- the If of one group ---- */

/* The input of a Merge that is alive on that side. */
static struct status live_input(struct guarding *guarding, const struct node *merge, int side,
                                int *out)
{
    for (int i = 0; i < merge->inputs_count; i++) {
        int from;
        TRY(guard_of(guarding, merge->inputs[i], &from));
        if ((from - 1) % 2 == side)
            *out = i;
    }
    return status_ok();
}

/* Each Merge has two results on a side: its value, and the number of its input. */
static struct status describe_side(struct guarding *guarding, const struct guarded_group *group,
                                   int side, struct cut_body *out)
{
    struct endpoint *results =
        ARENA_ARRAY(guarding->lowering->scratch, struct endpoint, 2 * group->merges_count + 1);

    *out = (struct cut_body){ .nodes = group->nodes[side],
                              .nodes_count = group->nodes_count[side],
                              .results = results,
                              .results_count = 2 * group->merges_count,
                              .runs_sinks = true };
    for (int i = 0; i < group->merges_count; i++) {
        int live = 0;
        TRY(live_input(guarding, group->merges[i], side, &live));
        results[2 * i] = group->merges[i]->inputs[live];
        results[2 * i + 1] = (struct endpoint){ NULL, live };
    }
    return status_ok();
}

static void wait_like(struct cut *cut, const struct node *node)
{
    for (int i = 0; i < node->controls_count; i++)
        cut_wait(cut, node->controls[i]);
}

/* The data of a Switch outside the group becomes an argument of the group. */
static struct status add_argument(struct guarding *guarding, struct cut *cut, struct endpoint used)
{
    struct node *node = used.node;
    struct endpoint sides[] = { { node, 0 }, { node, 1 } };

    if (!is_outer_switch(guarding, node))
        return status_ok();
    const int *row = cut->tables->arguments[node->id];
    if (row != NULL && row[0] != 0)
        return status_ok();
    wait_like(cut, node);
    for (const struct node *at = node->inputs[1].node; is_identity(at); at = at->inputs[0].node)
        wait_like(cut, at);
    TRY(cut_argument(cut, sides[0], node->inputs[0]));
    return cut_alias(cut, sides[1], sides[0]);
}

static struct status add_arguments(struct guarding *guarding, const struct guarded_group *group,
                                   const struct cut_body *sides, struct cut *cut)
{
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < group->nodes_count[side]; i++)
            for (int k = 0; k < group->nodes[side][i]->inputs_count; k++)
                TRY(add_argument(guarding, cut, group->nodes[side][i]->inputs[k]));
        for (int i = 0; i < group->merges_count; i++)
            TRY(add_argument(guarding, cut, sides[side].results[2 * i]));
    }
    for (int i = 0; i < group->merges_count; i++)
        wait_like(cut, group->merges[i]);
    TRY(cut_capture(cut, &sides[0]));
    return cut_capture(cut, &sides[1]);
}

static const struct node *any_node(const struct guarded_group *group)
{
    return group->merges_count > 0     ? group->merges[0]
           : group->nodes_count[0] > 0 ? group->nodes[0][0]
                                       : group->nodes[1][0];
}

static struct status find_group_predicate(struct guarding *guarding,
                                          const struct guarded_group *group, struct endpoint *out)
{
    const struct node *node = any_node(group);
    int found = guarding->guards[node->id];

    if (group->merges_count > 0)
        TRY(guard_of(guarding, node->inputs[0], &found));
    *out = guarding->predicates[(found - 1) / 2];
    return status_ok();
}

static struct status add_if(struct guarding *guarding, struct guarded_group *group,
                            const struct cut *cut, const char *const *functions)
{
    struct lowering *lowering = guarding->lowering;
    struct builder b = builder_init(lowering->graph);
    int inputs_count = cut->sources_count + 1, outputs_count = 2 * group->merges_count;
    struct endpoint *inputs = ARENA_ARRAY(lowering->scratch, struct endpoint, inputs_count);
    enum dtype *types = ARENA_ARRAY(lowering->scratch, enum dtype, outputs_count + 1);

    TRY(find_group_predicate(guarding, group, &inputs[0]));
    for (int i = 0; i < cut->sources_count; i++)
        inputs[i + 1] = cut->sources[i];
    for (int i = 0; i < group->merges_count; i++) {
        types[2 * i] = endpoint_dtype((struct endpoint){ group->merges[i], 0 });
        types[2 * i + 1] = DT_INT32;
    }
    const struct attr attrs[] = { attr_types(&b, "Tout", outputs_count, types),
                                  attr_function(&b, "then_branch", functions[1]),
                                  attr_function(&b, "else_branch", functions[0]),
                                  attr_bool(ATTR_LOWERED, true), ATTR_END };
    group->branch = build_node(&b, cut->stateful ? "If" : "StatelessIf",
                               arena_printf(lowering->graph->arena, "%s/If", any_node(group)->name),
                               inputs_count, inputs, cut->controls_count, cut->controls, attrs);
    return builder_status(&b);
}

static struct status cut_branches(struct guarding *guarding, struct guarded_group *group,
                                  struct cut *cut)
{
    static const char *const what[] = { "else", "then" };
    struct cut_body sides[2];
    const char *functions[2];

    for (int side = 0; side < 2; side++)
        TRY(describe_side(guarding, group, side, &sides[side]));
    TRY(add_arguments(guarding, group, sides, cut));
    for (int side = 0; side < 2; side++)
        TRY(cut_function(cut, &sides[side],
                         while_loop_function_name(guarding->lowering->graph->arena,
                                                  any_node(group)->name, what[side]),
                         &functions[side]));
    return add_if(guarding, group, cut, functions);
}

static void leave_group(struct guarding *guarding, const struct guarded_group *group)
{
    struct lowered_node *lowered_nodes = guarding->lowering->lowered_nodes;

    for (int i = 0; i < group->merges_count; i++)
        lowered_nodes[group->merges[i]->id] = (struct lowered_node){ .is_gone = true,
                                                                     .has_value = { true, true },
                                                                     .node = group->branch,
                                                                     .first_output = 2 * i };
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < group->nodes_count[side]; i++)
            lowered_nodes[group->nodes[side][i]->id] =
                (struct lowered_node){ .is_gone = true, .node = group->branch };
}

static struct status lower_group(struct guarding *guarding, struct guarded_group *group)
{
    struct cut cut;

    cut_begin(&cut, &guarding->lowering->tables);
    struct status status = cut_branches(guarding, group, &cut);
    cut_end(&cut);
    TRY(status);
    leave_group(guarding, group);
    return status_ok();
}

struct status lower_branches(struct lowering *lowering)
{
    int count = lowering->count + 1;
    struct arena *scratch = lowering->scratch;
    struct guarding guarding = { .lowering = lowering,
                                 .guards = ARENA_ARRAY(scratch, int, count),
                                 .joined = ARENA_ARRAY(scratch, int, count),
                                 .predicates = ARENA_ARRAY(scratch, struct endpoint, count),
                                 .predicate_of = ARENA_ARRAY(scratch, int *, count),
                                 .groups = ARENA_ARRAY(scratch, struct guarded_group *, count) };

    for (int i = 0; i < lowering->count; i++)
        TRY(find_guard(&guarding, lowering->graph->nodes[i]));
    join_groups(&guarding);
    collect_groups(&guarding);
    for (int i = 0; i < lowering->count; i++) {
        if (guarding.groups[i] != NULL)
            TRY(lower_group(&guarding, guarding.groups[i]));
        if (is_outer_switch(&guarding, lowering->graph->nodes[i]))
            lowering->lowered_nodes[i].is_gone = true;
    }
    return status_ok();
}
