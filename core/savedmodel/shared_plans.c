#include "savedmodel/shared_plans.h"

#include <string.h>

#include "graph/arguments.h"
#include "graph/same.h"
#include "savedmodel/restore_graph.h"

/* A request is compared with the last four before it. Signatures are sorted by name, so `serve` and
 * `serving_default` are neighbours; a limit, because a file may hold thousands. */
#define COMPARED_MAX 4

int shared_plans_alike(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int index)
{
    int compared = 0;
    for (int i = index - 1; i >= 0 && compared < COMPARED_MAX; i--) {
        if (flats[i]->arena == NULL)
            continue;
        if (graph_is_same(&flats[i]->parts, &requests[i], &flats[index]->parts, &requests[index]))
            return i;
        compared++;
    }
    return index;
}

int shared_plans_alike_unflattened(const struct graph *graph, struct flat_graph *const *flats,
                                   const struct flatten_request *requests, int index)
{
    int compared = 0;
    for (int i = index - 1; i >= 0 && compared < COMPARED_MAX; i--) {
        if (flats[i]->arena == NULL)
            continue;
        if (requests_are_same(graph, &requests[i], &requests[index]))
            return i;
        compared++;
    }
    return index;
}

struct plan_finder {
    const struct flatten_request *requests;
    struct map last;   /* name -> &number of the last request that reads it */
    struct map shared; /* names of variables that a plan needs for more than a single read */
    bool has_branches; /* whose bodies may use any variable */
    struct arena *arena;
    int *numbers; /* [count] numbers[i] = i */
};

/* Folding reads a variable at a ReadVariableOp, and a reference variable where an op takes its
 * value. Other ops, such as ResourceGather, read it in each run. A variable in a container is not
 * identified by its name alone. */
static bool only_reads(const struct node *user, int input, const struct node *handle)
{
    struct bytes container = { "", 0 };
    status_ignore(node_attr_string(handle, "container", &container)); /* absent: the default */
    if (container.size > 0 || user == NULL)
        return false;
    if (strcmp(user->op_name, "Identity") == 0)
        return true;
    return strcmp(handle->op_name, "VarHandleOp") == 0
               ? strcmp(user->op_name, "ReadVariableOp") == 0
               : !node_input_is_ref(user, input);
}

/* Input `input` of `user` uses the value. `user` NULL: the request fetches it. */
static void note_use(struct plan_finder *finder, struct endpoint used, const struct node *user,
                     int input, int request)
{
    int index;
    const struct node *handle = skip_identity(used, &index);
    if (!node_is_handle(handle))
        return;
    struct bytes name = handle_name(handle);
    name.data = arena_memdup(finder->arena, name.data, name.size);
    map_put(&finder->last, name, &finder->numbers[request]);
    if (!only_reads(user, input, handle))
        map_put(&finder->shared, name, finder);
}

static void note_uses(struct plan_finder *finder, const struct flatten_result *flat, int request)
{
    for (int i = 0; i < flat->graph->count; i++) {
        const struct node *node = flat->graph->nodes[i];
        for (int j = 0; j < node->inputs_count; j++)
            note_use(finder, node->inputs[j], node, j, request);
        if (node_may_run_functions(node))
            finder->has_branches = true;
    }
    for (int i = 0; i < finder->requests[request].fetches_count; i++)
        note_use(finder, flat->fetches[i], NULL, 0, request);
}

static int find_first(struct flat_graph *const *flats, int request)
{
    int first = 0;
    while (flats[first] != flats[request])
        first++;
    return first;
}

static void give_variables(const struct plan_finder *finder, struct shared_plans *out)
{
    for (size_t i = 0; i < finder->last.count && !finder->has_branches; i++) {
        const struct map_entry *entry = &finder->last.entries[i];
        struct map *own = &out->own[*(const int *)entry->value];
        own->arena = finder->arena;
        if (!map_has(&finder->shared, entry->key))
            map_put(own, entry->key, finder->numbers);
    }
}

void shared_plans_find(struct flat_graph *const *flats, const struct flatten_request *requests,
                       int count, struct arena *arena, struct shared_plans *out)
{
    struct plan_finder finder = { .requests = requests,
                                  .last = { .arena = arena },
                                  .shared = { .arena = arena },
                                  .arena = arena,
                                  .numbers = ARENA_ARRAY(arena, int, count + 1) };
    out->first = ARENA_ARRAY(arena, int, count + 1);
    out->own = ARENA_ARRAY(arena, struct map, count + 1);
    for (int i = 0; i < count; i++) {
        finder.numbers[i] = i;
        out->first[i] = find_first(flats, i);
        if (out->first[i] == i && flats[i]->arena != NULL)
            note_uses(&finder, &flats[i]->parts, i);
    }
    give_variables(&finder, out);
}
