#include "savedmodel/restore.h"

#include "base/file.h"
#include "runtime/resources.h"
#include "storage/bundle.h"

#define OBJECT_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

struct status run_once(const struct graph *graph, struct resources *resources,
                       const struct run_feed *feeds, int feeds_count, struct node *const *targets,
                       int targets_count)
{
    struct status status;
    struct arena *arena = arena_create(0);
    struct run *run = run_create(0);
    struct plan *plan = NULL;
    struct endpoint *endpoints = ARENA_ARRAY(arena, struct endpoint, feeds_count + 1);
    struct tensor *values = ARENA_ARRAY(arena, struct tensor, feeds_count + 1);
    const struct shape scalar = shape_scalar();
    const struct plan_options options = { .no_fold = true,
                                          .no_fuse = true,
                                          .writes_variables = true };

    for (int i = 0; i < feeds_count; i++) {
        endpoints[i] = feeds[i].endpoint;
        values[i] = tensor_borrow(DT_STRING, &scalar, &feeds[i].text);
    }
    struct flatten_request request = { .feeds = endpoints,
                                       .feeds_count = feeds_count,
                                       .targets = targets,
                                       .targets_count = targets_count };
    TRY_OR(done, plan_create(graph, &request, resources, NULL, &options, &plan));
    TRY_OR(done, plan_run(plan, run, values, NULL));
done:
    plan_destroy(plan);
    run_destroy(run);
    arena_destroy(arena);
    return status;
}

/* ---- which variables are needed ---- */

static bool is_handle(const struct node *node)
{
    return strcmp(node->op_name, "VarHandleOp") == 0 || strcmp(node->op_name, "VariableV2") == 0 ||
           strcmp(node->op_name, "Variable") == 0;
}

static bool is_assign(const struct node *node)
{
    return strcmp(node->op_name, "AssignVariableOp") == 0 || strcmp(node->op_name, "Assign") == 0;
}

/* What the variable is known by: its shared name; a reference variable without one goes by its
 * node's. */
static struct bytes variable_name(const struct node *handle)
{
    struct bytes name = { "", 0 };
    status_ignore(
        node_attr_string(handle, "shared_name", &name)); /* absent is the default, empty */
    return name.size > 0 || strcmp(handle->op_name, "VarHandleOp") == 0 ? name
                                                                        : bytes_of(handle->name);
}

static void collect_handles(const struct graph *graph, struct map *needed)
{
    for (int i = 0; i < graph->count; i++) {
        if (is_handle(graph->nodes[i]))
            map_put(needed, variable_name(graph->nodes[i]), graph->nodes[i]);
    }
}

static void find_needed(const struct restore *restore, struct arena *scratch, struct map *needed)
{
    for (int i = 0; i < restore->needed_count; i++) {
        struct flatten_result flat;
        /* A signature that does not flatten needs nothing: calling it says why. */
        if (!status_is_ok(graph_flatten(restore->meta->graph, &restore->needed[i], scratch, &flat)))
            continue;
        collect_handles(flat.graph, needed);
        graph_finish(flat.graph);
    }
}

/* ---- the restore sub-graph ---- */

static const struct node *skip_identity(struct endpoint endpoint, int *index)
{
    while (strcmp(endpoint.node->op_name, "Identity") == 0 && endpoint.node->inputs_count == 1)
        endpoint = endpoint.node->inputs[0];
    *index = endpoint.index;
    return endpoint.node;
}

/* The key that an assignment restores from: element k of the names that RestoreV2 gets, where its
 * output k is assigned. */
static const char *restored_key(const struct node *assign, struct arena *arena)
{
    int index;
    const struct tensor *names;
    const struct node *restore = skip_identity(assign->inputs[1], &index);
    if (strcmp(restore->op_name, "RestoreV2") != 0 || restore->inputs_count < 2)
        return NULL;
    const struct node *constant = restore->inputs[1].node;
    if (strcmp(constant->op_name, "Const") != 0 ||
        !status_is_ok(node_attr_tensor(constant, "value", &names)) || names->dtype != DT_STRING ||
        index >= names->size)
        return NULL;
    struct bytes key = tensor_strings(names)[index];
    return arena_memdup(arena, key.data, key.size);
}

static void note_variable(struct restore *restore, const struct node *handle, const char *key)
{
    struct bytes name = variable_name(handle);
    struct savedmodel_variable *variable = &restore->variables[restore->variables_count++];
    const struct shape *shape = NULL;
    variable->name = arena_memdup(restore->arena, name.data, name.size);
    variable->key = key;
    status_ignore(node_attr_type(handle, "dtype", &variable->dtype)); /* for show only */
    variable->shape = shape_unknown();
    if (status_is_ok(node_attr_shape(handle, "shape", &shape)))
        variable->shape = *shape;
}

/* Of the restore sub-graph: the assignments of needed variables, and whatever else works by its
 * effect (tables). */
static struct node **pick_targets(struct restore *restore, const struct graph *flat,
                                  const struct map *needed, struct arena *scratch, int *count)
{
    struct node **targets = ARENA_ARRAY(scratch, struct node *, flat->count + 1);
    *count = 0;
    restore->variables =
        ARENA_ARRAY(restore->arena, struct savedmodel_variable, flat->count + needed->count);
    for (int i = 0; i < flat->count; i++) {
        struct node *node = flat->nodes[i];
        if (is_assign(node) && node->inputs_count == 2) {
            int index;
            const struct node *handle = skip_identity(node->inputs[0], &index);
            if (!is_handle(handle) || !map_has(needed, variable_name(handle)))
                continue;
            note_variable(restore, handle, restored_key(node, restore->arena));
            targets[(*count)++] = node;
        } else if (node->op != NULL && (node->op->flags & OP_STATEFUL) != 0 &&
                   node->outputs_count == 0) {
            targets[(*count)++] = node;
        }
    }
    return targets;
}

static struct status run_restore_op(struct restore *restore, const struct map *needed,
                                    struct arena *scratch)
{
    const struct meta *meta = restore->meta;
    int feeds_count = meta->assets_count + 1;
    struct run_feed *feeds = ARENA_ARRAY(scratch, struct run_feed, feeds_count);
    struct endpoint *endpoints = ARENA_ARRAY(scratch, struct endpoint, feeds_count);
    struct node *target = graph_find(meta->graph, meta->restore_op);
    if (target == NULL)
        return status_error(STATUS_NOT_FOUND, "the restore op '%s' is not in the graph",
                            meta->restore_op);

    TRY(graph_endpoint(meta->graph, meta->filename_tensor, &endpoints[0]));
    feeds[0].text = bytes_of(restore->prefix);
    for (int i = 1; i < feeds_count; i++) {
        feeds[i] = restore->assets[i - 1];
        endpoints[i] = feeds[i].endpoint;
    }
    struct flatten_request request = {
        .feeds = endpoints, .feeds_count = feeds_count, .targets = &target, .targets_count = 1
    };
    struct flatten_result flat;
    TRY(graph_flatten(meta->graph, &request, scratch, &flat));
    for (int i = 0; i < feeds_count; i++)
        feeds[i].endpoint = flat.feeds[i];
    int targets_count;
    struct node **targets = pick_targets(restore, flat.graph, needed, scratch, &targets_count);
    struct status status =
        run_once(flat.graph, restore->resources, feeds, feeds_count, targets, targets_count);
    graph_finish(flat.graph);
    return status;
}

/* ---- by the object graphs ---- */

struct walk {
    struct restore *restore;
    const struct object_graph *checkpoint;
    const struct map *needed;
    struct bundle *bundle;
    struct arena *scratch;
    int *partner; /* [objects.count] node of the checkpoint's graph + 1; 0: not seen */
};

static struct status read_value(struct bundle *bundle, const char *key, enum dtype wanted,
                                struct tensor *out)
{
    TRY(bundle_read(bundle, key, out));
    enum dtype dtype = out->dtype;
    if (dtype == wanted)
        return status_ok();
    tensor_release(out);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "tensor '%s' of the checkpoint is %s, its variable %s", key,
                        dtype_name(dtype), dtype_name(wanted));
}

static struct status restore_object(struct walk *walk, const struct object_node *object,
                                    const char *key)
{
    struct restore *restore = walk->restore;
    struct bytes name = bytes_of(object->variable_name);
    const struct node *handle = map_get(walk->needed, name);
    if (handle == NULL)
        return status_ok();
    enum dtype dtype;
    const struct shape *shape;
    struct variable *variable;
    struct tensor value = { 0 };
    struct bytes container = { "", 0 };
    TRY(node_attr_type(handle, "dtype", &dtype));
    TRY(node_attr_shape(handle, "shape", &shape));
    TRY(variable_find_or_create(restore->resources, container, name, dtype, shape, &variable));
    struct status status = variable_read(variable, &value);
    if (status_is_ok(status)) { /* the graph itself has filled it */
        tensor_release(&value);
    } else {
        status = read_value(walk->bundle, key, dtype, &value);
        if (status_is_ok(status)) {
            note_variable(restore, handle, arena_strdup(restore->arena, key));
            status = variable_assign(variable, &value);
        }
    }
    object_release(&variable->object);
    return status;
}

/* Visits the pair (saved object, checkpoint object) and the children that have a name in common,
 * each saved object once. */
static struct status walk_pairs(struct walk *walk)
{
    const struct object_graph *saved = &walk->restore->meta->objects;
    int *queue = ARENA_ARRAY(walk->scratch, int, saved->count);
    int head = 0, tail = 0;
    queue[tail++] = 0;
    walk->partner[0] = 1;
    while (head < tail) {
        int id = queue[head++];
        const struct object_node *object = &saved->nodes[id];
        const struct object_node *partner = &walk->checkpoint->nodes[walk->partner[id] - 1];
        if (object->variable_name != NULL && partner->checkpoint_key != NULL)
            TRY(restore_object(walk, object, partner->checkpoint_key));
        for (int i = 0; i < object->children_count; i++) {
            int child = object->children[i].node;
            if (child < 0 || child >= saved->count || walk->partner[child] != 0)
                continue;
            for (int k = 0; k < partner->children_count; k++) {
                int other = partner->children[k].node;
                if (other < 0 || other >= walk->checkpoint->count ||
                    strcmp(object->children[i].name, partner->children[k].name) != 0)
                    continue;
                walk->partner[child] = other + 1;
                queue[tail++] = child;
                break;
            }
        }
    }
    return status_ok();
}

static bool is_initialised(const struct restore *restore, struct bytes name)
{
    struct object *object;
    const struct bytes container = { "", 0 };
    if (!status_is_ok(resources_find(restore->resources, &variable_type, container, name, &object)))
        return false;
    bool empty =
        ((struct variable *)object)->value.dtype == DT_INVALID; /* one thread loads: no lock */
    object_release(object);
    return !empty;
}

static bool all_initialised(const struct restore *restore, const struct map *needed)
{
    for (size_t i = 0; i < needed->count; i++)
        if (!is_initialised(restore, needed->entries[i].key))
            return false;
    return true;
}

static struct status restore_by_objects(struct restore *restore, const struct map *needed,
                                        struct arena *scratch)
{
    struct status status;
    struct walk walk = { .restore = restore, .needed = needed, .scratch = scratch };
    struct object_graph checkpoint;
    struct tensor serialized = { 0 };

    TRY_OR(done, bundle_open(restore->prefix, &walk.bundle));
    /* Without an object graph the variables are the init op's business. */
    if (bundle_find(walk.bundle, OBJECT_GRAPH_KEY) == NULL)
        goto done;
    TRY_OR(done, bundle_read(walk.bundle, OBJECT_GRAPH_KEY, &serialized));
    if (serialized.dtype != DT_STRING || serialized.size != 1)
        goto done;
    TRY_OR(done,
           meta_read_checkpoint_objects(tensor_strings(&serialized)[0], scratch, &checkpoint));
    if (checkpoint.count == 0)
        goto done;
    walk.checkpoint = &checkpoint;
    walk.partner = ARENA_ARRAY(scratch, int, restore->meta->objects.count);
    TRY_OR(done, walk_pairs(&walk));
done:
    tensor_release(&serialized);
    bundle_close(walk.bundle);
    return status;
}

static void add_weight(void *context, struct bytes container, struct bytes name,
                       struct object *object)
{
    (void)container, (void)name;
    if (object->type == &variable_type)
        *(size_t *)context += tensor_bytes(&((struct variable *)object)->value);
}

static bool has_index(const struct restore *restore, struct arena *scratch)
{
    return file_exists(arena_printf(scratch, "%s.index", restore->prefix));
}

struct status restore_variables(struct restore *restore)
{
    const struct meta *meta = restore->meta;
    struct status status = status_ok();
    struct map needed = { 0 };
    struct arena *scratch = arena_create(0);

    if (meta->restore_op == NULL)
        goto done;
    if (!has_index(restore, scratch))
        goto done;
    find_needed(restore, scratch, &needed);
    TRY_OR(done, run_restore_op(restore, &needed, scratch));
    if (meta->objects.count > 0 && !all_initialised(restore, &needed))
        TRY_OR(done, restore_by_objects(restore, &needed, scratch));
    resources_visit(restore->resources, add_weight, &restore->weights_bytes);
done:
    map_finish(&needed);
    arena_destroy(scratch);
    return status;
}

struct status restore_check_whole(const struct restore *restore, const struct map *written)
{
    struct status status = status_ok();
    struct map needed = { 0 };
    struct arena *scratch = arena_create(0);

    if (restore->meta->restore_op == NULL || has_index(restore, scratch))
        goto done;
    find_needed(restore, scratch, &needed);
    for (size_t i = 0; i < needed.count; i++) {
        struct bytes name = needed.entries[i].key;
        if (map_has(written, name) || is_initialised(restore, name))
            continue;
        status = status_error(STATUS_DATA_LOSS,
                              "there is no %s.index, and nothing else fills the variable '%.*s': "
                              "the export is not complete",
                              restore->prefix, (int)name.size, name.data);
        break;
    }
done:
    map_finish(&needed);
    arena_destroy(scratch);
    return status;
}
