/* trainable_keys: finds the variables of a signature, and the checkpoint keys of their values. A
 * loader may restore a variable by the restore sub-graph or by the object graphs, and Keras
 * writes each weight twice: as the object that the signatures capture, and as one of the model's
 * lists. All keys of one weight must get the same new value. */
#include <fnmatch.h>

#include "savedmodel/restore_graph.h"
#include "savedmodel/restore_objects.h"
#include "savedmodel/trainable/trainable_internal.h"

/* The file's keys of handles, by the handles' names. */
struct key_lists {
    struct map restored; /* handle -> key that the restore sub-graph assigns */
    struct map objects;  /* handle -> struct object_key */
    struct map frozen;   /* keys of the variables that the model lists as not trainable */
};

/* ---- the restore sub-graph ---- */

static struct status list_restored(const struct trainable *trainable, struct arena *scratch,
                                   struct map *out)
{
    const struct meta *meta = &trainable->meta;
    struct flatten_result flat;

    if (meta->restore_op == NULL)
        return status_ok();
    struct node *target = graph_find(meta->graph, meta->restore_op);
    if (target == NULL)
        return status_error(STATUS_NOT_FOUND, "the restore op '%s' is not in the graph",
                            meta->restore_op);
    const struct flatten_request request = { .targets = &target, .targets_count = 1 };
    TRY(graph_flatten(meta->graph, &request, scratch, &flat));
    for (int i = 0; i < flat.graph->count; i++) {
        const struct node *node = flat.graph->nodes[i];
        int index;
        if (!node_is_assign(node) || node->inputs_count != 2)
            continue;
        const struct node *handle = skip_identity(node->inputs[0], &index);
        const char *key = restored_key(node, trainable->arena);
        if (key != NULL && node_is_handle(handle)) {
            struct bytes name = handle_name(handle);
            map_put(out, bytes_of(arena_memdup(scratch, name.data, name.size)), (void *)key);
        }
    }
    graph_finish(flat.graph);
    return status_ok();
}

/* ---- the variables ---- */

static struct status check_variable(const struct trainable *trainable,
                                    const struct trainable_variable *variable)
{
    const struct bundle_entry *entry =
        variable->key != NULL ? bundle_find(trainable->bundle, variable->key) : NULL;

    if (entry == NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "the checkpoint holds no value for it, so that it cannot be trained");
    if (entry->dtype != variable->dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "it is %s, its value in the checkpoint %s",
                            dtype_name(variable->dtype), dtype_name(entry->dtype));
    if (!shape_compatible(&entry->shape, &variable->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "it has shape %s, its value in the checkpoint %s",
                            shape_text(&variable->shape), shape_text(&entry->shape));
    if (dtype_size(entry->dtype) == 0 || entry->dtype == DT_STRING)
        return status_error(STATUS_UNIMPLEMENTED, "it holds %s, and only numbers are trained",
                            dtype_name(entry->dtype));
    return status_ok();
}

/* Does the file mark the variable as trainable? That is the default. */
static bool is_trainable(const struct trainable *trainable,
                         const struct trainable_variable *variable, const struct object_key *object)
{
    const struct meta *meta = &trainable->meta;
    struct buffer tensor = { 0 };

    if (!dtype_is_floating(variable->dtype))
        return false;
    if (object != NULL)
        return object->is_trainable;
    if (!meta->lists_trainable)
        return true;
    buffer_printf(&tensor, "%s:0", variable->name);
    bool listed = map_has(&meta->trainable, (struct bytes){ tensor.data, tensor.size });
    buffer_finish(&tensor);
    return listed;
}

static struct status add_variable(struct trainable *trainable, const struct node *handle,
                                  const struct key_lists *lists)
{
    struct trainable_variable *variable = &trainable->variables[trainable->variables_count];
    struct bytes name = handle_name(handle);
    const struct object_key *object = map_get(&lists->objects, name);
    const struct shape *shape;

    *variable = (struct trainable_variable){
        .name = arena_memdup(trainable->arena, name.data, name.size),
        .key = map_get(&lists->restored, name),
        .shape = shape_unknown(),
    };
    if (variable->key == NULL && object != NULL)
        variable->key = arena_strdup(trainable->arena, object->key);
    TRY(node_attr_type(handle, "dtype", &variable->dtype));
    if (status_is_ok(node_attr_shape(handle, "shape", &shape)))
        variable->shape = *shape;
    TRY(status_in(check_variable(trainable, variable), "variable '%s'", variable->name));
    variable->shape = bundle_find(trainable->bundle, variable->key)->shape;
    variable->is_trained = is_trainable(trainable, variable, object);
    map_put_text(&trainable->by_name, variable->name, variable);
    trainable->variables_count++;
    return status_ok();
}

static void note_key(struct trainable *trainable, struct trainable_variable *variable,
                     const char *key)
{
    if (key != NULL && bundle_is_same_value(trainable->bundle, variable->key, key))
        map_put_text(&trainable->by_key, arena_strdup(trainable->arena, key), variable);
}

/* The variable that a handle is initialised from: Keras makes the second copy of a weight by
 * AssignVariableOp(copy, ReadVariableOp(handle)). */
static struct trainable_variable *find_original(const struct trainable *trainable,
                                                const struct node *assign)
{
    int index;
    const struct node *read = skip_identity(assign->inputs[1], &index);

    if (strcmp(read->op_name, "ReadVariableOp") != 0 || read->inputs_count != 1)
        return NULL;
    const struct node *handle = skip_identity(read->inputs[0], &index);
    return node_is_handle(handle) ? map_get(&trainable->by_name, handle_name(handle)) : NULL;
}

/* Records all keys that hold a variable's value. A key with another value belongs to another
 * variable. */
static void note_keys(struct trainable *trainable, const struct key_lists *lists)
{
    const struct graph *graph = trainable->meta.graph;
    int index;

    for (int i = 0; i < trainable->variables_count; i++) {
        struct trainable_variable *variable = &trainable->variables[i];
        const struct object_key *object = map_get_text(&lists->objects, variable->name);
        map_put_text(&trainable->by_key, variable->key, variable);
        note_key(trainable, variable, object != NULL ? object->key : NULL);
        note_key(trainable, variable, object != NULL ? object->rival : NULL);
    }
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (!node_is_assign(node) || node->inputs_count != 2)
            continue;
        const struct node *copy = skip_identity(node->inputs[0], &index);
        struct trainable_variable *original = find_original(trainable, node);
        if (original == NULL || !node_is_handle(copy))
            continue;
        const struct object_key *object = map_get(&lists->objects, handle_name(copy));
        note_key(trainable, original, map_get(&lists->restored, handle_name(copy)));
        note_key(trainable, original, object != NULL ? object->key : NULL);
    }
}

static void note_frozen(struct trainable *trainable, const struct map *frozen)
{
    for (size_t i = 0; i < frozen->count; i++) {
        struct trainable_variable *variable = map_get(&trainable->by_key, frozen->entries[i].key);
        if (variable != NULL)
            variable->is_frozen = true;
    }
}

/* Finds the inputs that the graph parses as serialized tf.Examples. */
static void find_examples(struct trainable *trainable, const struct flatten_result *flat)
{
    int inputs = trainable->signature->inputs_count, index;

    trainable->is_example = ARENA_ARRAY(trainable->arena, bool, inputs + 1);
    trainable->input_rows = ARENA_ARRAY(trainable->arena, enum input_rows, inputs + 1);
    for (int i = 0; i < flat->graph->count; i++) {
        const struct node *node = flat->graph->nodes[i];
        if (strncmp(node->op_name, "ParseExample", strlen("ParseExample")) != 0 ||
            node->inputs_count == 0)
            continue;
        const struct node *from = skip_identity(node->inputs[0], &index);
        for (int k = 0; k < inputs; k++)
            if (flat->feeds[k].node == from)
                trainable->is_example[k] = true;
    }
}

static struct status list_handles(struct trainable *trainable, const struct key_lists *lists,
                                  struct arena *scratch)
{
    struct flatten_request request;
    struct flatten_result flat;
    struct status status = status_ok();

    TRY(trainable_request(trainable, scratch, &request));
    TRY(graph_flatten(trainable->meta.graph, &request, scratch, &flat));
    trainable->variables =
        ARENA_ARRAY(trainable->arena, struct trainable_variable, flat.graph->count);
    find_examples(trainable, &flat);
    for (int i = 0; i < flat.graph->count && status_is_ok(status); i++) {
        const struct node *node = flat.graph->nodes[i];
        if (node_is_handle(node) && !map_has(&trainable->by_name, handle_name(node)))
            status = add_variable(trainable, node, lists);
    }
    graph_finish(flat.graph);
    return status;
}

struct status trainable_list_variables(struct trainable *trainable)
{
    struct arena *scratch = arena_create(0);
    struct key_lists lists = { .restored = { .arena = scratch },
                               .objects = { .arena = scratch },
                               .frozen = { .arena = scratch } };
    struct status status;

    trainable->by_name.arena = trainable->by_key.arena = trainable->arena;
    TRY_OR(done, list_restored(trainable, scratch, &lists.restored));
    TRY_OR(done, restore_object_keys(&trainable->meta, trainable->bundle, scratch, &lists.objects,
                                     &lists.frozen));
    TRY_OR(done, list_handles(trainable, &lists, scratch));
    note_keys(trainable, &lists);
    note_frozen(trainable, &lists.frozen);
done:
    status = status_keep(trainable->arena, status);
    arena_destroy(scratch);
    return status;
}

/* ---- freezing ---- */

/* "dense/kernel" of "dense/kernel_1". */
static const char *without_number(const char *name, struct arena *arena)
{
    const char *number = strrchr(name, '_');

    if (number == NULL || number[1] == '\0' || number[1 + strspn(number + 1, "0123456789")] != '\0')
        return name;
    return arena_memdup(arena, name, (size_t)(number - name));
}

static bool fits(const struct trainable *trainable, const struct trainable_variable *variable,
                 const char *pattern, bool numbered)
{
    if (numbered)
        return fnmatch(pattern, without_number(variable->name, trainable->arena), 0) == 0;
    return fnmatch(pattern, variable->name, 0) == 0 || fnmatch(pattern, variable->key, 0) == 0;
}

static int freeze_matching(struct trainable *trainable, const char *pattern, bool numbered)
{
    int count = 0;

    for (int i = 0; i < trainable->variables_count; i++) {
        struct trainable_variable *variable = &trainable->variables[i];
        if (!fits(trainable, variable, pattern, numbered))
            continue;
        variable->is_trained = false;
        count++;
    }
    return count;
}

static const char *variable_names(const struct trainable *trainable, struct arena *arena)
{
    const char *names = "";

    for (int i = 0; i < trainable->variables_count && i < 50; i++)
        names =
            arena_printf(arena, "%s%s%s", names, i > 0 ? ", " : "", trainable->variables[i].name);
    return names;
}

/* Without patterns, variables that were frozen when the model was exported keep their values.
 * Returns false if they would keep them anyway. */
static bool freeze_as_exported(struct trainable *trainable)
{
    bool any = false;

    for (int i = 0; i < trainable->variables_count; i++) {
        struct trainable_variable *variable = &trainable->variables[i];
        any |= variable->is_frozen && variable->is_trained;
        variable->is_trained &= !variable->is_frozen;
    }
    return any;
}

struct status trainable_freeze(struct trainable *trainable, const char *patterns)
{
    struct arena *arena = trainable->arena;
    bool any = false, frozen = false;

    if (patterns == NULL || *patterns == '\0')
        frozen = freeze_as_exported(trainable);
    if (patterns == NULL || strcmp(patterns, "none") == 0)
        patterns = "";
    for (const char *at = patterns; *at != '\0';) {
        size_t size = strcspn(at, ",");
        const char *pattern = arena_memdup(arena, at, size);
        /* Keras' exports may have a weight's name only with a number after it. */
        if (size > 0 && freeze_matching(trainable, pattern, false) == 0 &&
            freeze_matching(trainable, pattern, true) == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the pattern '%s' freezes nothing; the variables are %s", pattern,
                                variable_names(trainable, arena));
        at += size + (at[size] == ',');
    }
    for (int i = 0; i < trainable->variables_count; i++) {
        const struct trainable_variable *variable = &trainable->variables[i];
        any = any || variable->is_trained;
        if (variable->is_trained && variable->dtype != DT_FLOAT)
            return status_error(STATUS_UNIMPLEMENTED,
                                "variable '%s' is %s, and only float is trained: freeze it",
                                variable->name, dtype_name(variable->dtype));
    }
    if (any)
        return status_ok();
    if (frozen)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "nothing is left to train, because the model was exported with its "
                            "layers frozen; freeze 'none' to train the variables %s",
                            variable_names(trainable, arena));
    return status_error(STATUS_INVALID_ARGUMENT, "nothing is left to train of the variables %s",
                        trainable->variables_count > 0 ? variable_names(trainable, arena)
                                                       : "(there are none)");
}
