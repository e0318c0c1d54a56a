#include "savedmodel/restore.h"

#include "base/file.h"
#include "runtime/resources.h"
#include "savedmodel/restore_graph.h"
#include "savedmodel/restore_objects.h"
#include "storage/bundle.h"

/* ---- finding the needed variables ---- */

static void collect_handles(const struct graph *graph, struct map *needed)
{
    for (int i = 0; i < graph->count; i++) {
        if (node_is_handle(graph->nodes[i]))
            map_put(needed, handle_name(graph->nodes[i]), graph->nodes[i]);
    }
}

static void find_needed(const struct restore *restore, struct map *needed)
{
    for (int i = 0; i < restore->needed_count; i++)
        if (restore->needed[i].graph != NULL)
            collect_handles(restore->needed[i].graph, needed);
}

/* ---- the restore sub-graph ---- */

/* TensorFlow restores every variable, so it refuses a checkpoint that lacks one. Here only needed
 * variables are read, but the other keys must also exist. */
static struct status check_keys(const struct graph *flat, const struct bundle *bundle,
                                struct arena *scratch)
{
    for (int i = 0; i < flat->count; i++) {
        const struct tensor *names = restored_names(flat->nodes[i]);
        for (int64_t k = 0; names != NULL && k < names->size; k++) {
            struct bytes key = tensor_strings(names)[k];
            if (bundle_find(bundle, arena_memdup(scratch, key.data, key.size)) == NULL)
                return status_error(STATUS_NOT_FOUND, "Key %.*s not found in checkpoint",
                                    (int)key.size, key.data);
        }
    }
    return status_ok();
}

static void note_variable(struct restore *restore, const struct node *handle, const char *key)
{
    struct bytes name = handle_name(handle);
    struct savedmodel_variable *variable = &restore->variables[restore->variables_count++];
    const struct shape *shape = NULL;
    variable->name = arena_memdup(restore->arena, name.data, name.size);
    variable->key = key;
    status_ignore(node_attr_type(handle, "dtype", &variable->dtype)); /* only displayed */
    variable->shape = shape_unknown();
    if (status_is_ok(node_attr_shape(handle, "shape", &shape)))
        variable->shape = *shape;
}

/* Collects from the restore sub-graph the assignments of needed variables and other ops with side
 * effects (tables). */
static struct node **pick_targets(struct restore *restore, const struct graph *flat,
                                  const struct map *needed, struct arena *scratch, int *count)
{
    struct node **targets = ARENA_ARRAY(scratch, struct node *, flat->count + 1);
    *count = 0;
    restore->variables =
        ARENA_ARRAY(restore->arena, struct savedmodel_variable, flat->count + needed->count);
    for (int i = 0; i < flat->count; i++) {
        struct node *node = flat->nodes[i];
        if (node_is_assign(node) && node->inputs_count == 2) {
            int index;
            const struct node *handle = skip_identity(node->inputs[0], &index);
            if (!node_is_handle(handle) || !map_has(needed, handle_name(handle)))
                continue;
            note_variable(restore, handle, restored_key(node, restore->arena));
            targets[(*count)++] = node;
        } else if (op_has(node->op, OP_STATEFUL) && node->outputs_count == 0) {
            targets[(*count)++] = node;
        }
    }
    return targets;
}

/* Reads the value that an assignment restores. */
static struct status read_value(const struct bundle *bundle, const struct node *assign,
                                struct arena *scratch, struct tensor *out)
{
    const char *key = restored_key(assign, scratch);
    enum dtype dtype = bundle_find(bundle, key)->dtype; /* check_keys has found the key */

    return bundle_restore(bundle, key, restored_slice(assign, scratch), dtype, out);
}

/* Do two assignments, both of which have a key, restore the same value? */
static bool is_same_value(const struct bundle *bundle, const struct node *first,
                          const struct node *second, struct arena *scratch)
{
    const char *slice = restored_slice(first, scratch), *other = restored_slice(second, scratch);
    bool same_key = strcmp(restored_key(first, scratch), restored_key(second, scratch)) == 0;
    struct tensor a = { 0 }, b = { 0 };

    if (slice == NULL || other == NULL)
        return same_key;
    if (same_key)
        return strcmp(slice, other) == 0;
    bool same = status_is_ok(read_value(bundle, first, scratch, &a)) &&
                status_is_ok(read_value(bundle, second, scratch, &b)) && tensor_equal(&a, &b);
    tensor_release(&a);
    tensor_release(&b);
    return same;
}

/* Two assignments to one variable would race. A Saver may store a variable under two names, such as
 * its own and one of an older model: then both have its value. */
static struct status check_unique(struct node *const *targets, int count,
                                  const struct bundle *bundle, struct arena *scratch)
{
    struct map assigns = { .arena = scratch };

    for (int i = 0; i < count; i++) {
        int index;
        if (!node_is_assign(targets[i]))
            continue;
        const struct node *assign = targets[i];
        const char *key = restored_key(assign, scratch);
        struct bytes name = handle_name(skip_identity(assign->inputs[0], &index));
        const struct node *before = map_get(&assigns, name);
        const char *known = before != NULL ? restored_key(before, scratch) : NULL;
        if (known != NULL && key != NULL && !is_same_value(bundle, before, assign, scratch))
            return status_error(
                STATUS_DATA_LOSS,
                "variable '%.*s' is restored from two values of the checkpoint, '%s' and '%s'",
                (int)name.size, name.data, known, key);
        map_put(&assigns, name, (void *)assign);
    }
    return status_ok();
}

static struct status run_restore_op(struct restore *restore, const struct map *needed,
                                    const struct bundle *bundle, struct arena *scratch)
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
    /* Reading takes as long as the disk needs, and memory of the checkpoint's size. */
    struct work_limits reading = { 0 };
    if (restore->limits != NULL)
        reading = (struct work_limits){ .check = restore->limits->check,
                                        .context = restore->limits->context };
    struct status status = check_keys(flat.graph, bundle, scratch);
    if (status_is_ok(status))
        status = check_unique(targets, targets_count, bundle, scratch);
    if (status_is_ok(status))
        status = run_once(flat.graph, restore->resources, &reading, feeds, feeds_count, targets,
                          targets_count);
    graph_finish(flat.graph);
    return status;
}

/* ---- checking the values ---- */

static struct status find_variable(const struct restore *restore, const struct node *handle,
                                   struct variable **out)
{
    struct bytes container = { "", 0 };
    struct object *object;
    status_ignore(node_attr_string(handle, "container", &container)); /* absent: the default */
    TRY(resources_find(restore->resources, &variable_type, container, handle_name(handle),
                       &object));
    *out = (struct variable *)object;
    return status_ok();
}

static bool is_initialised(const struct restore *restore, const struct node *handle)
{
    struct variable *variable;
    if (!status_is_ok(find_variable(restore, handle, &variable)))
        return false;
    bool empty = variable->value.dtype == DT_INVALID; /* one thread loads: no lock */
    object_release(&variable->object);
    return !empty;
}

/* The op `Variable`, the predecessor of VariableV2, declares "scalar" if it does not know its
 * shape. */
static bool declares_shape(const struct node *handle, const struct shape **out)
{
    return status_is_ok(node_attr_shape(handle, "shape", out)) &&
           !(strcmp(handle->op_name, "Variable") == 0 && (*out)->rank == 0);
}

/* AssignVariableOp accepts any shape. A value that contradicts the graph belongs to another
 * variable. */
static struct status check_value(const struct node *handle, const struct tensor *value)
{
    struct bytes name = handle_name(handle);
    enum dtype dtype;
    const struct shape *shape;
    TRY(node_attr_type(handle, "dtype", &dtype));
    if (value->dtype != dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "variable '%.*s' is %s, its value in the checkpoint %s", (int)name.size,
                            name.data, dtype_name(dtype), dtype_name(value->dtype));
    if (declares_shape(handle, &shape) && !shape_compatible(&value->shape, shape))
        return status_error(
            STATUS_INVALID_ARGUMENT, "variable '%.*s' has shape %s, its value in the checkpoint %s",
            (int)name.size, name.data, shape_text(shape), shape_text(&value->shape));
    return status_ok();
}

static struct status check_restored(const struct restore *restore, const struct map *needed)
{
    for (size_t i = 0; i < needed->count; i++) {
        const struct node *handle = needed->entries[i].value;
        struct variable *variable;
        if (!status_is_ok(find_variable(restore, handle, &variable)))
            continue;
        struct status status = status_ok();
        if (variable->value.dtype != DT_INVALID)
            status = check_value(handle, &variable->value);
        object_release(&variable->object);
        TRY(status);
    }
    return status_ok();
}

/* ---- restoring by the object graphs ---- */

static struct status restore_from_key(struct restore *restore, const struct bundle *bundle,
                                      const struct node *handle, const char *key)
{
    enum dtype dtype;
    const struct shape *shape;
    struct variable *variable;
    struct tensor value = { 0 };
    struct bytes container = { "", 0 };
    status_ignore(node_attr_string(handle, "container", &container)); /* absent: the default */
    TRY(node_attr_type(handle, "dtype", &dtype));
    TRY(node_attr_shape(handle, "shape", &shape));
    TRY(variable_find_or_create(restore->resources, container, handle_name(handle), dtype, shape,
                                &variable));
    struct status status = bundle_read(bundle, key, &value);
    if (status_is_ok(status)) {
        note_variable(restore, handle, arena_strdup(restore->arena, key));
        status = variable_assign(variable, &value);
    }
    object_release(&variable->object);
    return status;
}

/* Fills the variables that the restore sub-graph left empty. A variable without a key in the object
 * graphs stays empty: reading it gives TensorFlow's error, never the value of another variable. */
static struct status restore_by_objects(struct restore *restore, const struct map *needed,
                                        const struct bundle *bundle, struct arena *scratch)
{
    struct map keys = { .arena = scratch };
    TRY(restore_object_keys(restore->meta, bundle, scratch, &keys, NULL));
    for (size_t i = 0; i < needed->count; i++) {
        struct bytes name = needed->entries[i].key;
        const struct node *handle = needed->entries[i].value;
        const struct object_key *found = map_get(&keys, name);
        if (found == NULL || is_initialised(restore, handle))
            continue;
        if (found->rival != NULL)
            return status_error(STATUS_DATA_LOSS,
                                "variable '%.*s': the object graphs give it two values of the "
                                "checkpoint, '%s' and '%s'",
                                (int)name.size, name.data, found->key, found->rival);
        if (restore->limits != NULL && restore->limits->check != NULL)
            TRY(restore->limits->check(restore->limits->context));
        TRY(restore_from_key(restore, bundle, handle, found->key));
    }
    return status_ok();
}

static bool has_checkpoint(const struct restore *restore, struct arena *scratch)
{
    return restore->prefix_required ||
           file_exists(arena_printf(scratch, "%s.index", restore->prefix));
}

struct status restore_variables(struct restore *restore)
{
    const struct meta *meta = restore->meta;
    struct status status = status_ok();
    struct map needed = { 0 };
    struct bundle *bundle = NULL;
    struct arena *scratch = arena_create(0);

    if (meta->restore_op == NULL)
        goto done;
    if (!has_checkpoint(restore, scratch))
        goto done;
    TRY_OR(done, bundle_open(restore->prefix, &bundle));
    find_needed(restore, &needed);
    TRY_OR(done, run_restore_op(restore, &needed, bundle, scratch));
    TRY_OR(done, restore_by_objects(restore, &needed, bundle, scratch));
    TRY_OR(done, check_restored(restore, &needed));
done:
    bundle_close(bundle);
    map_finish(&needed);
    arena_destroy(scratch);
    return status;
}

struct status restore_check_whole(const struct restore *restore, const struct map *written)
{
    struct status status = status_ok();
    struct map needed = { 0 };
    struct arena *scratch = arena_create(0);

    if (restore->meta->restore_op == NULL || has_checkpoint(restore, scratch))
        goto done;
    find_needed(restore, &needed);
    for (size_t i = 0; i < needed.count; i++) {
        struct bytes name = needed.entries[i].key;
        if (map_has(written, name) || is_initialised(restore, needed.entries[i].value))
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
