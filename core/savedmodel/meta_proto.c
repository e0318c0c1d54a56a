#include "savedmodel/meta_proto.h"

#include <stdlib.h>

#include "graph/graph_proto.h"
#include "proto/message.h"
#include "proto/meta_graph.pb-c.h"
#include "proto/saved_model.pb-c.h"
#include "proto/saved_object_graph.pb-c.h"
#include "proto/text.h"
#include "proto/trackable.pb-c.h"
#include "proto/variable.pb-c.h"
#include "savedmodel/collections_proto.h"
#include "savedmodel/session_bundle_proto.h"
#include "tensor/tensor_proto.h"

typedef Tensorflow__MetaGraphDef meta_graph;

/* ---- choosing the meta graph ---- */

static bool has_tag(char *const *tags, size_t count, const char *tag)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(tags[i], tag) == 0)
            return true;
    }
    return false;
}

static bool tags_equal(const meta_graph *graph, const char *const *tags, int count)
{
    const Tensorflow__MetaGraphDef__MetaInfoDef *info = graph->meta_info_def;
    size_t have = info != NULL ? info->n_tags : 0;
    for (int i = 0; i < count; i++) {
        if (have == 0 || !has_tag(info->tags, have, tags[i]))
            return false;
    }
    for (size_t i = 0; i < have; i++) {
        if (!has_tag((char *const *)tags, (size_t)count, info->tags[i]))
            return false;
    }
    return true;
}

static const char *tags_text(struct arena *arena, char *const *tags, size_t count)
{
    const char *text = "{";
    for (size_t i = 0; i < count; i++)
        text = arena_printf(arena, "%s%s %s", text, i > 0 ? "," : "", tags[i]);
    return arena_printf(arena, "%s }", text);
}

static struct status choose(const Tensorflow__SavedModel *saved, const char *const *tags, int count,
                            struct arena *arena, meta_graph **out)
{
    const char *there = "";
    for (size_t i = 0; i < saved->n_meta_graphs; i++) {
        meta_graph *graph = saved->meta_graphs[i];
        if (tags_equal(graph, tags, count)) {
            *out = graph;
            return status_ok();
        }
        const Tensorflow__MetaGraphDef__MetaInfoDef *info = graph->meta_info_def;
        there = arena_printf(arena, "%s %s", there,
                             tags_text(arena, info ? info->tags : NULL, info ? info->n_tags : 0));
    }
    return status_error(
        STATUS_NOT_FOUND,
        "Could not find meta graph def matching supplied tags: %s. To inspect available "
        "tag-sets in the SavedModel, please use `savedmodel show`. It holds:%s",
        tags_text(arena, (char *const *)tags, (size_t)count), there[0] ? there : " none");
}

/* ---- signatures ---- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct signature_tensor *)a)->key,
                  ((const struct signature_tensor *)b)->key);
}

static int compare_outputs(const void *a, const void *b)
{
    const struct signature_tensor *x = a, *y = b;
    int order = (x->tensor_name[0] == '\0') - (y->tensor_name[0] == '\0');
    return order != 0 ? order : compare_keys(a, b);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct signature *)a)->name, ((const struct signature *)b)->name);
}

static const char *const *read_dim_names(const Tensorflow__TensorShapeProto *shape,
                                         struct arena *arena)
{
    bool found = false;
    if (shape == NULL || shape->n_dim > SHAPE_RANK_TENSORFLOW)
        return NULL;
    const char **names = ARENA_ARRAY(arena, const char *, shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) {
        names[i] = arena_strdup(arena, shape->dim[i]->name);
        found = found || names[i][0] != '\0';
    }
    return found ? names : NULL;
}

static const struct signature_coo *read_coo(const Tensorflow__TensorInfo *info, struct arena *arena)
{
    if (info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_COO_SPARSE)
        return NULL;
    struct signature_coo *coo = ARENA_NEW(arena, struct signature_coo);
    coo->values = arena_strdup(arena, info->coo_sparse->values_tensor_name);
    coo->indices = arena_strdup(arena, info->coo_sparse->indices_tensor_name);
    coo->dense_shape = arena_strdup(arena, info->coo_sparse->dense_shape_tensor_name);
    return coo;
}

/* A copy that lives as long as the model. */
static struct status read_composite(const Tensorflow__TensorInfo *info, struct arena *arena,
                                    const void **out)
{
    struct buffer packed = { 0 };
    ProtobufCMessage *message;
    if (info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_COMPOSITE_TENSOR)
        return status_ok();
    proto_pack(info->composite_tensor, &packed);
    struct status status =
        proto_unpack(&tensorflow__tensor_info__composite_tensor__descriptor,
                     (struct bytes){ packed.data, packed.size }, arena, &message);
    buffer_finish(&packed);
    if (status_is_ok(status))
        *out = message;
    return status;
}

static struct status read_tensor_info(const char *key, const Tensorflow__TensorInfo *info,
                                      struct arena *arena, struct signature_tensor *out)
{
    *out = (struct signature_tensor){ .key = arena_strdup(arena, key),
                                      .tensor_name = "",
                                      .shape = shape_unknown() };
    if (info == NULL)
        return status_ok();
    if (info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_NAME)
        out->tensor_name = arena_strdup(arena, info->name);
    out->dtype = dtype_base((int)info->dtype);
    out->is_ref = (int)info->dtype >= DT_REF;
    out->has_shape = info->tensor_shape != NULL;
    out->dim_names = read_dim_names(info->tensor_shape, arena);
    out->coo = read_coo(info, arena);
    TRY(status_in(read_composite(info, arena, &out->composite), "'%s'", key));
    return status_in(shape_from_proto(info->tensor_shape, &out->shape), "'%s'", key);
}

static struct status read_defaults(const Tensorflow__SignatureDef *proto, struct arena *arena,
                                   struct signature *out)
{
    for (size_t i = 0; i < proto->n_defaults; i++) {
        int at = signature_input(out, bytes_of(proto->defaults[i]->key));
        if (at < 0 || proto->defaults[i]->value == NULL)
            continue;
        tensor_release(&out->inputs[at].default_value); /* the last of two defaults counts */
        TRY(tensor_from_proto(proto->defaults[i]->value, arena, &out->inputs[at].default_value));
    }
    return status_ok();
}

static struct status read_signature(const char *name, const Tensorflow__SignatureDef *proto,
                                    struct arena *arena, struct signature *out)
{
    *out = (struct signature){ .name = arena_strdup(arena, name), .method = "" };
    if (proto == NULL)
        return status_ok();
    out->method = arena_strdup(arena, proto->method_name);
    out->inputs_count = (int)proto->n_inputs;
    out->outputs_count = (int)proto->n_outputs;
    out->inputs = ARENA_ARRAY(arena, struct signature_tensor, proto->n_inputs);
    out->outputs = ARENA_ARRAY(arena, struct signature_tensor, proto->n_outputs);
    for (size_t i = 0; i < proto->n_inputs; i++)
        TRY(read_tensor_info(proto->inputs[i]->key, proto->inputs[i]->value, arena,
                             &out->inputs[i]));
    for (size_t i = 0; i < proto->n_outputs; i++)
        TRY(read_tensor_info(proto->outputs[i]->key, proto->outputs[i]->value, arena,
                             &out->outputs[i]));
    qsort(out->inputs, proto->n_inputs, sizeof *out->inputs, compare_keys);
    qsort(out->outputs, proto->n_outputs, sizeof *out->outputs, compare_outputs);
    return read_defaults(proto, arena, out);
}

static struct status read_signatures(const meta_graph *proto, struct arena *arena, struct meta *out)
{
    out->signatures_count = (int)proto->n_signature_def;
    out->signatures = ARENA_ARRAY(arena, struct signature, proto->n_signature_def);
    for (size_t i = 0; i < proto->n_signature_def; i++)
        TRY(status_in(read_signature(proto->signature_def[i]->key, proto->signature_def[i]->value,
                                     arena, &out->signatures[i]),
                      "signature '%s'", proto->signature_def[i]->key));
    qsort(out->signatures, proto->n_signature_def, sizeof *out->signatures, compare_names);
    return status_ok();
}

/* ---- saver, init op, assets ---- */

/* "op:0" -> "op": some files name a tensor where an op belongs. */
static const char *op_of(struct arena *arena, const char *name)
{
    const char *colon = strchr(name, ':');
    return colon != NULL ? arena_memdup(arena, name, (size_t)(colon - name))
                         : arena_strdup(arena, name);
}

static void read_saver(const meta_graph *proto, struct arena *arena, struct meta *out)
{
    const Tensorflow__SaverDef *saver = proto->saver_def;
    if (saver == NULL || saver->restore_op_name[0] == '\0')
        return;
    out->filename_tensor = arena_strdup(arena, saver->filename_tensor_name);
    out->restore_op = op_of(arena, saver->restore_op_name);
}

static struct status read_init_op(const meta_graph *proto, const char *directory,
                                  struct arena *arena, struct meta *out)
{
    static const char *const collections[] = { "saved_model_main_op", "legacy_init_op" };
    for (int i = 0; i < out->signatures_count; i++) {
        const struct signature *signature = &out->signatures[i];
        int at = signature_output(signature, bytes_of(SIGNATURE_INIT_OP));
        if (strcmp(signature->name, SIGNATURE_INIT_OP) == 0 && at >= 0) {
            out->init_op = op_of(arena, signature->outputs[at].tensor_name);
            return status_ok();
        }
    }
    for (size_t i = 0; i < COUNT(collections); i++) {
        const Tensorflow__CollectionDef *found = collection_find(proto, collections[i]);
        if (found == NULL)
            continue;
        if (found->kind_case != TENSORFLOW__COLLECTION_DEF__KIND_NODE_LIST ||
            found->node_list->n_value != 1)
            return status_error(STATUS_FAILED_PRECONDITION, "Expected exactly one main op in : %s",
                                directory);
        out->init_op = op_of(arena, found->node_list->value[0]);
        return status_ok();
    }
    return status_ok();
}

static void add_asset(const Tensorflow__AssetFileDef *asset, struct arena *arena, struct meta *out)
{
    if (asset->tensor_info == NULL ||
        asset->tensor_info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_NAME)
        return;
    out->assets[out->assets_count++] =
        (struct meta_asset){ arena_strdup(arena, asset->tensor_info->name),
                             arena_strdup(arena, asset->filename) };
}

static struct status read_assets(const meta_graph *proto, struct arena *arena, struct meta *out)
{
    const Tensorflow__CollectionDef *packed = collection_find(proto, "saved_model_assets");
    size_t count = collection_messages_count(packed);
    if (proto->n_asset_file_def > 0 || count == 0) {
        out->assets = ARENA_ARRAY(arena, struct meta_asset, proto->n_asset_file_def);
        for (size_t i = 0; i < proto->n_asset_file_def; i++)
            add_asset(proto->asset_file_def[i], arena, out);
        return status_ok();
    }
    out->assets = ARENA_ARRAY(arena, struct meta_asset, count);
    for (size_t i = 0; i < count; i++) {
        Tensorflow__AssetFileDef *asset;
        TRY(collection_message(packed, i, &tensorflow__asset_file_def__descriptor, arena, &asset));
        add_asset(asset, arena, out);
    }
    return status_ok();
}

/* ---- trainable variables ---- */

static struct status read_trainable(const meta_graph *proto, struct arena *arena, struct meta *out)
{
    const Tensorflow__CollectionDef *found = collection_find(proto, "trainable_variables");
    if (found == NULL || found->kind_case != TENSORFLOW__COLLECTION_DEF__KIND_BYTES_LIST)
        return status_ok();
    out->trainable = (struct map){ .arena = arena };
    out->lists_trainable = true;
    for (size_t i = 0; i < found->bytes_list->n_value; i++) {
        const ProtobufCBinaryData *packed = &found->bytes_list->value[i];
        Tensorflow__VariableDef *variable;
        TRY(status_in(proto_unpack(&tensorflow__variable_def__descriptor,
                                   (struct bytes){ (const char *)packed->data, packed->len }, arena,
                                   &variable),
                      "collection 'trainable_variables'"));
        map_put_text(&out->trainable, variable->variable_name, variable);
    }
    return status_ok();
}

/* ---- object graphs ---- */

static const struct object_child *
children_of(Tensorflow__TrackableObjectGraph__TrackableObject__ObjectReference *const *references,
            size_t count, struct arena *arena)
{
    struct object_child *children = ARENA_ARRAY(arena, struct object_child, count);
    for (size_t i = 0; i < count; i++)
        children[i] = (struct object_child){ references[i]->node_id,
                                             arena_strdup(arena, references[i]->local_name) };
    return children;
}

static void read_saved_objects(const Tensorflow__SavedObjectGraph *proto, struct arena *arena,
                               struct object_graph *out)
{
    struct object_node *nodes = ARENA_ARRAY(arena, struct object_node, proto->n_nodes);
    for (size_t i = 0; i < proto->n_nodes; i++) {
        const Tensorflow__SavedObject *object = proto->nodes[i];
        nodes[i].children = children_of(object->children, object->n_children, arena);
        nodes[i].children_count = (int)object->n_children;
        nodes[i].is_variable = object->kind_case == TENSORFLOW__SAVED_OBJECT__KIND_VARIABLE;
        nodes[i].is_trainable = nodes[i].is_variable && object->variable->trainable;
    }
    *out = (struct object_graph){ nodes, (int)proto->n_nodes };
}

static void read_bound_inputs(const Tensorflow__SavedObjectGraph *proto, struct arena *arena,
                              struct map *out)
{
    *out = (struct map){ .arena = arena };
    for (size_t i = 0; i < proto->n_concrete_functions; i++) {
        const Tensorflow__SavedConcreteFunction *function = proto->concrete_functions[i]->value;
        if (function == NULL)
            continue;
        struct bound_inputs *bound = ARENA_NEW(arena, struct bound_inputs);
        int *objects = ARENA_ARRAY(arena, int, function->n_bound_inputs);
        for (size_t k = 0; k < function->n_bound_inputs; k++)
            objects[k] = function->bound_inputs[k];
        *bound = (struct bound_inputs){ objects, (int)function->n_bound_inputs };
        map_put_text(out, arena_strdup(arena, proto->concrete_functions[i]->key), bound);
    }
}

struct status meta_read_checkpoint_objects(struct bytes serialized, struct arena *arena,
                                           struct object_graph *out)
{
    struct arena *scratch = arena_create(0);
    ProtobufCMessage *message;
    struct status status = proto_unpack(&tensorflow__trackable_object_graph__descriptor, serialized,
                                        scratch, &message);
    if (status_is_ok(status)) {
        const Tensorflow__TrackableObjectGraph *proto =
            (const Tensorflow__TrackableObjectGraph *)message;
        struct object_node *nodes = ARENA_ARRAY(arena, struct object_node, proto->n_nodes);
        for (size_t i = 0; i < proto->n_nodes; i++) {
            const Tensorflow__TrackableObjectGraph__TrackableObject *object = proto->nodes[i];
            nodes[i].children = children_of(object->children, object->n_children, arena);
            nodes[i].children_count = (int)object->n_children;
            for (size_t k = 0; k < object->n_attributes; k++) {
                if (strcmp(object->attributes[k]->name, "VARIABLE_VALUE") != 0)
                    continue;
                nodes[i].checkpoint_key =
                    arena_strdup(arena, object->attributes[k]->checkpoint_key);
                nodes[i].full_name = arena_strdup(arena, object->attributes[k]->full_name);
            }
        }
        *out = (struct object_graph){ nodes, (int)proto->n_nodes };
    }
    arena_destroy(scratch);
    return status;
}

/* ---- the whole ---- */

static const Tensorflow__AttrValue *find_value(const Tensorflow__NodeDef *node)
{
    for (size_t k = 0; k < node->n_attr; k++)
        if (strcmp(node->attr[k]->key, "value") == 0)
            return node->attr[k]->value;
    return NULL;
}

static bool has_known_size(const Tensorflow__TensorShapeProto *shape)
{
    for (size_t i = 0; shape != NULL && i < shape->n_dim; i++)
        if (shape->dim[i]->size < 0)
            return false;
    return shape == NULL || !shape->unknown_rank;
}

static struct status check_constant(const Tensorflow__NodeDef *node)
{
    const Tensorflow__AttrValue *value = find_value(node);
    if (value == NULL)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Saved model contains node \"%s\" (op \"Const\") which expects "
                            "attr value to be set",
                            node->name);
    if (value->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR &&
        !has_known_size(value->tensor->tensor_shape))
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Saved model contains node \"%s\" (op \"Const\") which initializes "
                            "from a tensor with -1 elements",
                            node->name);
    return status_ok();
}

static struct status check_constants(const Tensorflow__GraphDef *graph)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op, "Const") == 0)
            TRY(check_constant(graph->node[i]));
    return status_ok();
}

static const char *slipway_version(const char *git_version, struct arena *arena)
{
    size_t size = strlen(SAVEDMODEL_GIT_PREFIX);
    bool is_ours = strncmp(git_version, SAVEDMODEL_GIT_PREFIX, size) == 0;
    return is_ours ? arena_strdup(arena, git_version + size) : NULL;
}

static struct status read_meta_graph(const meta_graph *proto, const char *directory,
                                     struct arena *arena, struct meta *out)
{
    static const Tensorflow__GraphDef empty = TENSORFLOW__GRAPH_DEF__INIT;
    const Tensorflow__GraphDef *graph = proto->graph_def != NULL ? proto->graph_def : &empty;
    const Tensorflow__MetaGraphDef__MetaInfoDef *info = proto->meta_info_def;

    TRY(check_constants(graph));
    TRY(graph_from_proto(graph, arena, false, &out->graph));
    TRY(read_signatures(proto, arena, out));
    read_saver(proto, arena, out);
    TRY(read_init_op(proto, directory, arena, out));
    TRY(read_assets(proto, arena, out));
    TRY(read_trainable(proto, arena, out));
    if (proto->object_graph_def != NULL) {
        read_saved_objects(proto->object_graph_def, arena, &out->objects);
        read_bound_inputs(proto->object_graph_def, arena, &out->bound_inputs);
    }
    if (info != NULL) {
        out->tensorflow_version = arena_strdup(arena, info->tensorflow_version);
        out->slipway_version = slipway_version(info->tensorflow_git_version, arena);
    }
    return status_ok();
}

/* export.meta is a MetaGraphDef: it becomes the only one of a SavedModel. */
static struct status unpack_session_bundle(struct bytes file, struct arena *scratch,
                                           Tensorflow__SavedModel **out)
{
    Tensorflow__SavedModel *saved =
        PROTO_NEW(scratch, Tensorflow__SavedModel, tensorflow__saved_model);
    saved->n_meta_graphs = 1;
    saved->meta_graphs = ARENA_ARRAY(scratch, meta_graph *, 1);
    TRY(proto_unpack(&tensorflow__meta_graph_def__descriptor, file, scratch,
                     &saved->meta_graphs[0]));
    TRY(session_bundle_upgrade(saved->meta_graphs[0], scratch));
    *out = saved;
    return status_ok();
}

static struct status unpack(struct bytes file, const struct model_file *kind, struct arena *scratch,
                            Tensorflow__SavedModel **out)
{
    ProtobufCMessage *message;
    if (kind->format == FORMAT_SESSION_BUNDLE)
        return unpack_session_bundle(file, scratch, out);
    if (!kind->is_text)
        return proto_unpack(&tensorflow__saved_model__descriptor, file, scratch, out);
    TRY(proto_text_read(&tensorflow__saved_model__descriptor, file, PROTO_TEXT_SKIP_UNKNOWN,
                        scratch, &message));
    *out = (Tensorflow__SavedModel *)message;
    return status_ok();
}

struct status meta_choose(struct bytes file, const struct model_file *kind, const char *const *tags,
                          int tags_count, struct arena *arena, meta_graph **out)
{
    Tensorflow__SavedModel *saved;
    TRY(unpack(file, kind, arena, &saved));
    return choose(saved, tags, tags_count, arena, out);
}

struct status meta_read(struct bytes file, const struct model_file *kind, const char *directory,
                        const char *const *tags, int tags_count, struct arena *arena,
                        struct meta *out)
{
    struct arena *scratch = arena_create(0);
    meta_graph *chosen;
    struct status status;
    *out = (struct meta){ .tensorflow_version = "" };

    TRY_OR(done, meta_choose(file, kind, tags, tags_count, scratch, &chosen));
    TRY_OR(done, read_meta_graph(chosen, directory, arena, out));
done:
    status = status_keep(arena, status);
    arena_destroy(scratch);
    return status;
}

void meta_finish(struct meta *meta)
{
    for (int i = 0; i < meta->signatures_count; i++) {
        const struct signature *signature = &meta->signatures[i];
        for (int k = 0; k < signature->inputs_count; k++)
            tensor_release(&signature->inputs[k].default_value);
    }
    graph_finish(meta->graph);
}
