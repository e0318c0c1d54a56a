#include "savedmodel/legacy_ops_proto.h"

#include <string.h>

#include "base/map.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"

typedef Tensorflow__NodeDef node_def;
typedef Tensorflow__GraphDef graph_def;

/* A graph that gets new constants. */
struct graph_edit {
    graph_def *graph;
    struct arena *arena;
    struct map names; /* name -> node_def */
    size_t capacity;  /* of graph->node; 0: the array of the message, which cannot grow */
};

static void add_node(struct graph_edit *edit, node_def *node)
{
    graph_def *graph = edit->graph;
    if (graph->n_node >= edit->capacity) {
        size_t capacity = 2 * graph->n_node + 8;
        node_def **nodes = ARENA_ARRAY(edit->arena, node_def *, capacity);
        for (size_t i = 0; i < graph->n_node; i++)
            nodes[i] = graph->node[i];
        graph->node = nodes;
        edit->capacity = capacity;
    }
    graph->node[graph->n_node++] = node;
    map_put_text(&edit->names, node->name, node);
}

/* ---- attributes ---- */

static Tensorflow__AttrValue *attr_of(const node_def *node, const char *name)
{
    for (size_t i = node->n_attr; i-- > 0;) {
        if (strcmp(node->attr[i]->key, name) == 0)
            return node->attr[i]->value;
    }
    return NULL;
}

static void remove_attr(node_def *node, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < node->n_attr; i++) {
        if (strcmp(node->attr[i]->key, name) != 0)
            node->attr[kept++] = node->attr[i];
    }
    node->n_attr = kept;
}

static void put_attr(node_def *node, const char *name, Tensorflow__AttrValue *value,
                     struct arena *arena)
{
    remove_attr(node, name);
    Tensorflow__NodeDef__AttrEntry **entries =
        ARENA_ARRAY(arena, Tensorflow__NodeDef__AttrEntry *, node->n_attr + 1);
    for (size_t i = 0; i < node->n_attr; i++)
        entries[i] = node->attr[i];
    Tensorflow__NodeDef__AttrEntry *entry =
        PROTO_NEW(arena, Tensorflow__NodeDef__AttrEntry, tensorflow__node_def__attr_entry);
    entry->key = (char *)name;
    entry->value = value;
    entries[node->n_attr++] = entry;
    node->attr = entries;
}

static Tensorflow__AttrValue *attr_new(Tensorflow__AttrValue__ValueCase kind, struct arena *arena)
{
    Tensorflow__AttrValue *value = PROTO_NEW(arena, Tensorflow__AttrValue, tensorflow__attr_value);
    value->value_case = kind;
    return value;
}

static void put_int(node_def *node, const char *name, int64_t number, struct arena *arena)
{
    Tensorflow__AttrValue *value = attr_new(TENSORFLOW__ATTR_VALUE__VALUE_I, arena);
    value->i = number;
    put_attr(node, name, value, arena);
}

static size_t list_length(const node_def *node, const char *name)
{
    const Tensorflow__AttrValue *value = attr_of(node, name);
    return value != NULL && value->value_case == TENSORFLOW__ATTR_VALUE__VALUE_LIST
               ? value->list->n_type
               : 0;
}

/* ---- constants of strings ---- */

/* The tensor that an input names, if it is a constant of strings. */
static const Tensorflow__TensorProto *string_constant(const struct graph_edit *edit,
                                                      const char *input)
{
    const char *colon = strchr(input, ':');
    if (colon != NULL && strcmp(colon, ":0") != 0)
        return NULL;
    size_t size = colon != NULL ? (size_t)(colon - input) : strlen(input);
    const node_def *node = map_get(&edit->names, (struct bytes){ input, size });
    if (node == NULL || strcmp(node->op, "Const") != 0)
        return NULL;
    const Tensorflow__AttrValue *value = attr_of(node, "value");
    return value != NULL && value->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR &&
                   value->tensor->dtype == TENSORFLOW__DATA_TYPE__DT_STRING
               ? value->tensor
               : NULL;
}

/* Adds a constant of one string, of rank 0 or 1, and returns its name. */
static char *add_string(struct graph_edit *edit, const char *name, ProtobufCBinaryData text,
                        int rank)
{
    struct arena *arena = edit->arena;
    node_def *node = PROTO_NEW(arena, Tensorflow__NodeDef, tensorflow__node_def);
    Tensorflow__AttrValue *type = attr_new(TENSORFLOW__ATTR_VALUE__VALUE_TYPE, arena);
    Tensorflow__AttrValue *value = attr_new(TENSORFLOW__ATTR_VALUE__VALUE_TENSOR, arena);
    Tensorflow__TensorProto *tensor =
        PROTO_NEW(arena, Tensorflow__TensorProto, tensorflow__tensor_proto);
    Tensorflow__TensorShapeProto *shape =
        PROTO_NEW(arena, Tensorflow__TensorShapeProto, tensorflow__tensor_shape_proto);

    shape->n_dim = (size_t)rank;
    shape->dim = ARENA_ARRAY(arena, Tensorflow__TensorShapeProto__Dim *, 1);
    shape->dim[0] =
        PROTO_NEW(arena, Tensorflow__TensorShapeProto__Dim, tensorflow__tensor_shape_proto__dim);
    shape->dim[0]->size = 1;
    tensor->dtype = TENSORFLOW__DATA_TYPE__DT_STRING;
    tensor->tensor_shape = shape;
    tensor->n_string_val = 1;
    tensor->string_val = ARENA_ARRAY(arena, ProtobufCBinaryData, 1);
    tensor->string_val[0] = text;
    type->type = TENSORFLOW__DATA_TYPE__DT_STRING;
    value->tensor = tensor;
    node->name = arena_strdup(arena, name);
    for (int i = 1; map_get_text(&edit->names, node->name) != NULL; i++)
        node->name = arena_printf(arena, "%s_%d", name, i);
    node->op = (char *)"Const";
    put_attr(node, "dtype", type, arena);
    put_attr(node, "value", value, arena);
    add_node(edit, node);
    return node->name;
}

/* Replaces the inputs [from, to) by `count` others. */
static void replace_inputs(struct graph_edit *edit, node_def *node, size_t from, size_t to,
                           size_t count, char *const *others)
{
    size_t total = node->n_input - (to - from) + count;
    char **inputs = ARENA_ARRAY(edit->arena, char *, total);
    for (size_t i = 0; i < from; i++)
        inputs[i] = node->input[i];
    for (size_t i = 0; i < count; i++)
        inputs[from + i] = others[i];
    for (size_t i = to; i < node->n_input; i++)
        inputs[from + count + i - to] = node->input[i];
    node->input = inputs;
    node->n_input = total;
}

/* ---- Restore(file_pattern, tensor_name[, shape_and_slice]) ---- */

static struct status replace_restore(struct graph_edit *edit, node_def *node)
{
    bool sliced = strcmp(node->op, "RestoreSlice") == 0;
    size_t inputs = sliced ? 3 : 2;
    struct arena *arena = edit->arena;
    const Tensorflow__TensorProto *name =
        node->n_input >= inputs ? string_constant(edit, node->input[1]) : NULL;
    const Tensorflow__TensorProto *spec =
        node->n_input >= inputs && sliced ? string_constant(edit, node->input[2]) : NULL;
    const Tensorflow__AttrValue *type = attr_of(node, "dt");
    if (name == NULL || name->n_string_val != 1 || type == NULL ||
        type->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TYPE ||
        (sliced && (spec == NULL || spec->n_string_val > 1)))
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (%s): the name of its tensor is not a constant, or it has "
                            "no type",
                            node->name, node->op);

    ProtobufCBinaryData no_text = { 0, NULL };
    ProtobufCBinaryData spec_text =
        spec != NULL && spec->n_string_val == 1 ? spec->string_val[0] : no_text;
    char *others[] = {
        add_string(edit, arena_printf(arena, "%s/tensor_names", node->name), name->string_val[0],
                   1),
        add_string(edit, arena_printf(arena, "%s/shape_and_slices", node->name), spec_text, 1),
    };
    replace_inputs(edit, node, 1, inputs, COUNT(others), others);
    Tensorflow__AttrValue *types = attr_new(TENSORFLOW__ATTR_VALUE__VALUE_LIST, arena);
    types->list =
        PROTO_NEW(arena, Tensorflow__AttrValue__ListValue, tensorflow__attr_value__list_value);
    types->list->n_type = 1;
    types->list->type = ARENA_ARRAY(arena, Tensorflow__DataType, 1);
    types->list->type[0] = type->type;
    put_attr(node, "dtypes", types, arena);
    remove_attr(node, "dt");
    remove_attr(node, "preferred_shard");
    node->op = (char *)"RestoreV2";
    return status_ok();
}

/* ---- ParseExampleV2(serialized, names, sparse_keys, dense_keys, ragged_keys, defaults…) ---- */

static size_t add_keys(struct graph_edit *edit, const node_def *node, const char *what,
                       const Tensorflow__TensorProto *keys, char **out)
{
    for (size_t i = 0; i < keys->n_string_val; i++)
        out[i] = add_string(edit, arena_printf(edit->arena, "%s/%s_%zu", node->name, what, i),
                            keys->string_val[i], 0);
    return keys->n_string_val;
}

/* ParseExample takes each key as an input of its own. */
static struct status replace_parse_example(struct graph_edit *edit, node_def *node)
{
    if (node->n_input < 5 || list_length(node, "ragged_value_types") > 0)
        return status_ok();
    const Tensorflow__TensorProto *sparse = string_constant(edit, node->input[2]);
    const Tensorflow__TensorProto *dense = string_constant(edit, node->input[3]);
    if (sparse == NULL || dense == NULL ||
        sparse->n_string_val != list_length(node, "sparse_types") ||
        dense->n_string_val != list_length(node, "Tdense"))
        return status_ok();
    char **keys = ARENA_ARRAY(edit->arena, char *, sparse->n_string_val + dense->n_string_val);
    size_t count = add_keys(edit, node, "sparse_keys", sparse, keys);
    count += add_keys(edit, node, "dense_keys", dense, keys + count);
    replace_inputs(edit, node, 2, 5, count, keys);
    put_int(node, "Nsparse", (int64_t)sparse->n_string_val, edit->arena);
    put_int(node, "Ndense", (int64_t)dense->n_string_val, edit->arena);
    remove_attr(node, "num_sparse");
    remove_attr(node, "ragged_value_types");
    remove_attr(node, "ragged_split_types");
    node->op = (char *)"ParseExample";
    return status_ok();
}

/* ---- AddV2 ---- */

/* Add has no uint16, uint32 and uint64. */
static struct status replace_add(struct graph_edit *edit, node_def *node)
{
    (void)edit;
    const Tensorflow__AttrValue *type = attr_of(node, "T");
    if (type == NULL || type->value_case != TENSORFLOW__ATTR_VALUE__VALUE_TYPE ||
        type->type == TENSORFLOW__DATA_TYPE__DT_UINT16 ||
        type->type == TENSORFLOW__DATA_TYPE__DT_UINT32 ||
        type->type == TENSORFLOW__DATA_TYPE__DT_UINT64)
        return status_ok();
    node->op = (char *)"Add";
    return status_ok();
}

/* ---- the tables ---- */

struct op_replacement {
    const char *op;
    struct status (*replace)(struct graph_edit *edit, node_def *node); /* or leaves it as it is */
};

static const struct op_replacement upgrades[] = {
    { "Restore", replace_restore },
    { "RestoreSlice", replace_restore },
};

static const struct op_replacement downgrades[] = {
    { "ParseExampleV2", replace_parse_example },
    { "AddV2", replace_add },
};

static struct status replace_ops(graph_def *graph, const struct op_replacement *rows,
                                 size_t rows_count, struct arena *arena)
{
    struct graph_edit edit = { .graph = graph, .arena = arena, .names = { .arena = arena } };
    size_t count = graph->n_node; /* not the new constants */
    for (size_t i = 0; i < count; i++)
        map_put_text(&edit.names, graph->node[i]->name, graph->node[i]);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < rows_count; k++) {
            if (strcmp(graph->node[i]->op, rows[k].op) == 0) {
                TRY(rows[k].replace(&edit, graph->node[i]));
                break;
            }
        }
    }
    return status_ok();
}

struct status legacy_ops_upgrade(graph_def *graph, struct arena *arena)
{
    return replace_ops(graph, upgrades, COUNT(upgrades), arena);
}

struct status legacy_ops_downgrade(graph_def *graph, struct arena *arena)
{
    return replace_ops(graph, downgrades, COUNT(downgrades), arena);
}
