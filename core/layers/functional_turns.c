/*
 * functional_turns: the order in which Keras runs the calls of a Functional model. It decides the
 * values of moving averages that several calls of a layer move in one step. Keras' Function walks
 * from the outputs back to the inputs, depth first, and goes through the calls that it has left in
 * the reverse order:
 *
 *   - the depth of a call is one more than the largest depth of the calls that take its outputs,
 *     and at least the depth of the calls of the same layer that came before;
 *   - calls run by decreasing depth, and those of one depth in the order in which they came up,
 *     as themselves or as the inputs of another call.
 */
#include <stdlib.h>

#include "layers/functional.h"

/* Calls and outputs are sorted by these keys, in this order. */
struct ranked_call {
    int depth;        /* the largest first */
    const char *name; /* NULL comes first */
    int place;        /* in the list */
    int call;
};

static int compare_ranks(const void *left, const void *right)
{
    const struct ranked_call *a = left, *b = right;

    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    if (a->name != NULL && b->name != NULL && strcmp(a->name, b->name) != 0)
        return strcmp(a->name, b->name);
    if ((a->name == NULL) != (b->name == NULL))
        return a->name == NULL ? -1 : 1;
    return a->place - b->place;
}

struct turns_walk {
    const struct layers_model *model;
    struct ranked_call *inputs; /* of all calls, as Keras lists them: keywords sorted, and last */
    int *first_input;           /* [calls + 1]: of each call */
    int *next_input;            /* [calls]: that the walk has not followed */
    int *stack;
    int *left; /* the calls, each after its inputs */
    int left_count;
    bool *seen;
    struct ranked_call *ranks; /* in the order in which they came up */
    int ranks_count;
    int *rank_of;      /* [calls]: -1: it did not come up yet */
    int *layer_depths; /* of the calls of each layer so far */
};

static void list_inputs(struct turns_walk *walk, struct arena *arena)
{
    const struct layers_model *model = walk->model;
    int total = 0;

    for (int i = 0; i < model->calls_count; i++)
        total += model->calls[i].inputs_count;
    walk->inputs = ARENA_ARRAY(arena, struct ranked_call, total);
    walk->first_input = ARENA_ARRAY(arena, int, model->calls_count + 1);
    walk->next_input = ARENA_ARRAY(arena, int, model->calls_count);
    for (int i = 0, end = 0; i < model->calls_count; i++) {
        const struct layer_call *call = &model->calls[i];
        int first = walk->next_input[i] = walk->first_input[i];
        for (int k = 0; k < call->inputs_count; k++)
            if (call->inputs[k].call != NO_CALL)
                walk->inputs[end++] = (struct ranked_call){ .name = call->inputs[k].keyword,
                                                            .place = k,
                                                            .call = call->inputs[k].call };
        qsort(&walk->inputs[first], (size_t)(end - first), sizeof *walk->inputs, compare_ranks);
        walk->first_input[i + 1] = end;
    }
}

/* Walks back from a call to all that it needs. */
static void walk_back(struct turns_walk *walk, int from)
{
    int depth = 0;

    if (walk->seen[from])
        return;
    walk->seen[from] = true;
    walk->stack[depth++] = from;
    while (depth > 0) {
        int call = walk->stack[depth - 1];
        if (walk->next_input[call] == walk->first_input[call + 1]) {
            walk->left[walk->left_count++] = call;
            depth--;
            continue;
        }
        int input = walk->inputs[walk->next_input[call]++].call;
        if (!walk->seen[input])
            walk->stack[depth++] = input;
        walk->seen[input] = true;
    }
}

static void walk_outputs(struct turns_walk *walk, bool by_name, struct arena *arena)
{
    const struct layers_model *model = walk->model;
    struct ranked_call *outputs = ARENA_ARRAY(arena, struct ranked_call, model->outputs_count);

    for (int i = 0; i < model->outputs_count; i++)
        outputs[i] = (struct ranked_call){ .name = by_name ? model->outputs[i].name : NULL,
                                           .place = i,
                                           .call = model->outputs[i].call };
    qsort(outputs, (size_t)model->outputs_count, sizeof *outputs, compare_ranks);
    for (int i = 0; i < model->outputs_count; i++)
        walk_back(walk, outputs[i].call);
}

/* The call came up, at this depth or a larger one. Returns its depth. */
static int raise_depth(struct turns_walk *walk, int call, int depth)
{
    if (walk->rank_of[call] < 0) {
        walk->rank_of[call] = walk->ranks_count;
        walk->ranks[walk->ranks_count] =
            (struct ranked_call){ .place = walk->ranks_count, .call = call };
        walk->ranks_count++;
    }
    struct ranked_call *rank = &walk->ranks[walk->rank_of[call]];
    if (rank->depth < depth)
        rank->depth = depth;
    return rank->depth;
}

static void find_depths(struct turns_walk *walk)
{
    const struct layers_model *model = walk->model;

    for (int i = walk->left_count - 1; i >= 0; i--) {
        int call = walk->left[i], layer = (int)(model->calls[call].layer - model->layers);
        int depth = raise_depth(walk, call, walk->layer_depths[layer]);
        walk->layer_depths[layer] = depth;
        for (int k = walk->first_input[call]; k < walk->first_input[call + 1]; k++)
            raise_depth(walk, walk->inputs[k].call, depth + 1);
    }
}

void functional_find_turns(struct layers_model *model, bool by_name, struct arena *arena)
{
    int calls = model->calls_count, count = 0;
    struct turns_walk walk = { .model = model,
                               .stack = ARENA_ARRAY(arena, int, calls),
                               .left = ARENA_ARRAY(arena, int, calls),
                               .seen = ARENA_ARRAY(arena, bool, calls),
                               .ranks = ARENA_ARRAY(arena, struct ranked_call, calls),
                               .rank_of = ARENA_ARRAY(arena, int, calls),
                               .layer_depths = ARENA_ARRAY(arena, int, model->layers_count) };

    for (int i = 0; i < calls; i++)
        walk.rank_of[i] = -1;
    list_inputs(&walk, arena);
    walk_outputs(&walk, by_name, arena);
    find_depths(&walk);
    qsort(walk.ranks, (size_t)walk.ranks_count, sizeof *walk.ranks, compare_ranks);
    model->turns = ARENA_ARRAY(arena, int, calls);
    for (int i = 0; i < walk.ranks_count; i++)
        model->turns[count++] = walk.ranks[i].call;
    for (int i = 0; i < calls; i++) /* that no output needs */
        if (!walk.seen[i])
            model->turns[count++] = i;
}
