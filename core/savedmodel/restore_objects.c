#include "savedmodel/restore_objects.h"

#include "graph/attr.h"

#define OBJECT_GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

/* ---- pairing the two object graphs ---- */

struct pairing {
    const struct object_graph *saved;
    const struct object_graph *checkpoint;
    int *partner;            /* [saved->count] node of the checkpoint's graph + 1; 0: not seen */
    struct object_key *keys; /* [saved->count], for paired variables */
    int *queue;              /* [saved->count] */
    int queue_size;
};

/* Two paths may lead to one object. If they lead to two values in the checkpoint, the file is
 * ambiguous. */
static void pair_objects(struct pairing *pairing, int object, int partner)
{
    const char *key = pairing->checkpoint->nodes[partner].checkpoint_key;
    struct object_key *known = &pairing->keys[object];
    if (pairing->saved->nodes[object].is_variable && key != NULL) {
        known->is_trainable = pairing->saved->nodes[object].is_trainable;
        if (known->key == NULL)
            known->key = key;
        else if (strcmp(known->key, key) != 0)
            known->rival = key;
    }
    if (pairing->partner[object] == 0) {
        pairing->partner[object] = partner + 1;
        pairing->queue[pairing->queue_size++] = object;
    }
}

static bool is_object(const struct object_graph *graph, int id)
{
    return id >= 0 && id < graph->count;
}

static void pair_children(struct pairing *pairing, int object)
{
    const struct object_node *a = &pairing->saved->nodes[object];
    const struct object_node *b = &pairing->checkpoint->nodes[pairing->partner[object] - 1];
    struct map names = { 0 };
    for (int i = 0; i < b->children_count; i++)
        map_put_text(&names, b->children[i].name, (void *)&b->children[i]);
    for (int i = 0; i < a->children_count; i++) {
        const struct object_child *other = map_get_text(&names, a->children[i].name);
        if (other != NULL && is_object(pairing->saved, a->children[i].node) &&
            is_object(pairing->checkpoint, other->node))
            pair_objects(pairing, a->children[i].node, other->node);
    }
    map_finish(&names);
}

/* The key of each variable object, by equal paths from the roots: ids differ between the graphs. */
static struct object_key *pair_graphs(const struct object_graph *saved,
                                      const struct object_graph *checkpoint, struct arena *arena)
{
    struct pairing pairing = {
        .saved = saved,
        .checkpoint = checkpoint,
        .partner = ARENA_ARRAY(arena, int, saved->count),
        .keys = ARENA_ARRAY(arena, struct object_key, saved->count),
        .queue = ARENA_ARRAY(arena, int, saved->count),
    };
    pair_objects(&pairing, 0, 0);
    for (int i = 0; i < pairing.queue_size; i++)
        pair_children(&pairing, pairing.queue[i]);
    return pairing.keys;
}

/* ---- from handles to objects ---- */

static const struct node *passed_handle(struct endpoint endpoint)
{
    while (strcmp(endpoint.node->op_name, "Identity") == 0 && endpoint.node->inputs_count == 1)
        endpoint = endpoint.node->inputs[0];
    return strcmp(endpoint.node->op_name, "VarHandleOp") == 0 ? endpoint.node : NULL;
}

static void note_key(const struct node *handle, const struct object_key *found, struct arena *arena,
                     struct map *keys)
{
    struct bytes name = { "", 0 };
    status_ignore(node_attr_string(handle, "shared_name", &name)); /* absent: empty */
    struct object_key *known = map_get(keys, name);
    if (known == NULL) {
        known = ARENA_NEW(arena, struct object_key);
        *known = *found;
        map_put(keys, name, known);
    } else if (strcmp(known->key, found->key) != 0) {
        known->rival = found->key;
    } else if (found->rival != NULL) {
        known->rival = found->rival;
    }
}

/* The bound inputs of a call follow the function's own arguments. */
static struct status note_call(const struct meta *meta, const struct node *call,
                               const struct object_key *objects, struct arena *arena,
                               struct map *keys)
{
    const struct function_name *function;
    TRY(node_attr_func(call, "f", &function));
    const struct bound_inputs *bound = map_get_text(&meta->bound_inputs, function->name);
    if (bound == NULL)
        return status_ok();
    if (bound->count > call->inputs_count)
        return status_error(STATUS_DATA_LOSS,
                            "node '%s' has %d inputs, the object graph binds %d of its function "
                            "'%s'",
                            call->name, call->inputs_count, bound->count, function->name);
    for (int i = 0; i < bound->count; i++) {
        const struct node *handle =
            passed_handle(call->inputs[call->inputs_count - bound->count + i]);
        int object = bound->objects[i];
        if (handle != NULL && is_object(&meta->objects, object) && objects[object].key != NULL)
            note_key(handle, &objects[object], arena, keys);
    }
    return status_ok();
}

static struct status read_checkpoint_graph(const struct bundle *bundle, struct arena *arena,
                                           struct object_graph *out)
{
    struct tensor serialized = { 0 };
    *out = (struct object_graph){ 0 };
    if (bundle_find(bundle, OBJECT_GRAPH_KEY) == NULL)
        return status_ok();
    TRY(bundle_read(bundle, OBJECT_GRAPH_KEY, &serialized));
    struct status status = status_ok();
    if (serialized.dtype == DT_STRING && serialized.size == 1)
        status = meta_read_checkpoint_objects(tensor_strings(&serialized)[0], arena, out);
    tensor_release(&serialized);
    return status;
}

/* Keras lists the variables of the layers that were frozen when it exported the model. */
static void list_frozen(const struct object_graph *saved, const struct object_key *objects,
                        struct map *out)
{
    const struct object_node *root = &saved->nodes[0], *list = NULL;

    for (int i = 0; i < root->children_count; i++)
        if (strcmp(root->children[i].name, "non_trainable_variables") == 0 &&
            is_object(saved, root->children[i].node))
            list = &saved->nodes[root->children[i].node];
    for (int i = 0; list != NULL && i < list->children_count; i++) {
        int node = list->children[i].node;
        if (is_object(saved, node) && objects[node].key != NULL)
            map_put_text(out, objects[node].key, (void *)objects[node].key);
    }
}

struct status restore_object_keys(const struct meta *meta, const struct bundle *bundle,
                                  struct arena *arena, struct map *keys, struct map *frozen)
{
    struct object_graph checkpoint;
    if (meta->objects.count == 0)
        return status_ok();
    TRY(read_checkpoint_graph(bundle, arena, &checkpoint));
    if (checkpoint.count == 0)
        return status_ok();
    const struct object_key *objects = pair_graphs(&meta->objects, &checkpoint, arena);
    if (frozen != NULL)
        list_frozen(&meta->objects, objects, frozen);
    for (int i = 0; i < meta->graph->count; i++)
        if (op_has(meta->graph->nodes[i]->op, OP_CALL))
            TRY(note_call(meta, meta->graph->nodes[i], objects, arena, keys));
    return status_ok();
}
