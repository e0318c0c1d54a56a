#include "savedmodel/save_proto.h"

#include "graph/graph_proto.h"
#include "proto/message.h"
#include "proto/meta_graph.pb-c.h"
#include "proto/saved_model.pb-c.h"
#include "proto/variable.pb-c.h"
#include "savedmodel/collections_proto.h"
#include "savedmodel/session_bundle_proto.h"
#include "tensor/tensor_proto.h"

/* The version of a TF 1.15 builder: Python's loaders parse it. */
#define TENSORFLOW_VERSION "1.15.0"

static Tensorflow__TensorInfo *tensor_info(const struct signature_tensor *tensor,
                                           struct arena *arena)
{
    Tensorflow__TensorInfo *info =
        PROTO_NEW(arena, Tensorflow__TensorInfo, tensorflow__tensor_info);
    info->encoding_case = TENSORFLOW__TENSOR_INFO__ENCODING_NAME;
    info->name = (char *)tensor->tensor_name;
    info->dtype = (int)tensor->dtype;
    /* always: tf.saved_model.load reads a missing shape as a scalar */
    info->tensor_shape = shape_to_proto(&tensor->shape, arena);
    return info;
}

static Tensorflow__SignatureDef__InputsEntry **inputs_of(const struct signature *signature,
                                                         struct arena *arena)
{
    Tensorflow__SignatureDef__InputsEntry **entries =
        ARENA_ARRAY(arena, Tensorflow__SignatureDef__InputsEntry *, signature->inputs_count);
    for (int i = 0; i < signature->inputs_count; i++) {
        entries[i] = PROTO_NEW(arena, Tensorflow__SignatureDef__InputsEntry,
                               tensorflow__signature_def__inputs_entry);
        entries[i]->key = (char *)signature->inputs[i].key;
        entries[i]->value = tensor_info(&signature->inputs[i], arena);
    }
    return entries;
}

static Tensorflow__SignatureDef__OutputsEntry **outputs_of(const struct signature *signature,
                                                           struct arena *arena)
{
    Tensorflow__SignatureDef__OutputsEntry **entries =
        ARENA_ARRAY(arena, Tensorflow__SignatureDef__OutputsEntry *, signature->outputs_count);
    for (int i = 0; i < signature->outputs_count; i++) {
        entries[i] = PROTO_NEW(arena, Tensorflow__SignatureDef__OutputsEntry,
                               tensorflow__signature_def__outputs_entry);
        entries[i]->key = (char *)signature->outputs[i].key;
        entries[i]->value = tensor_info(&signature->outputs[i], arena);
    }
    return entries;
}

static void add_signatures(const struct saved_model *model, Tensorflow__MetaGraphDef *meta,
                           struct arena *arena)
{
    meta->n_signature_def = (size_t)model->signatures_count;
    meta->signature_def =
        ARENA_ARRAY(arena, Tensorflow__MetaGraphDef__SignatureDefEntry *, model->signatures_count);
    for (int i = 0; i < model->signatures_count; i++) {
        const struct signature *signature = &model->signatures[i];
        Tensorflow__MetaGraphDef__SignatureDefEntry *entry =
            PROTO_NEW(arena, Tensorflow__MetaGraphDef__SignatureDefEntry,
                      tensorflow__meta_graph_def__signature_def_entry);
        Tensorflow__SignatureDef *def =
            PROTO_NEW(arena, Tensorflow__SignatureDef, tensorflow__signature_def);
        def->method_name = (char *)signature->method;
        def->n_inputs = (size_t)signature->inputs_count;
        def->inputs = inputs_of(signature, arena);
        def->n_outputs = (size_t)signature->outputs_count;
        def->outputs = outputs_of(signature, arena);
        entry->key = (char *)signature->name;
        entry->value = def;
        meta->signature_def[i] = entry;
    }
}

/* ---- collections ---- */

static void pack(const ProtobufCMessage *message, ProtobufCBinaryData *out, struct arena *arena)
{
    out->len = protobuf_c_message_get_packed_size(message);
    out->data = arena_alloc(arena, out->len + 1);
    protobuf_c_message_pack(message, out->data);
}

static void variable_def(const struct saved_variable *variable, ProtobufCBinaryData *out,
                         struct arena *arena)
{
    Tensorflow__VariableDef def = TENSORFLOW__VARIABLE_DEF__INIT;
    def.variable_name = arena_printf(arena, "%s:0", variable->name);
    def.initializer_name = arena_printf(arena, "%s/Assign", variable->name);
    def.initial_value_name = arena_printf(arena, "%s/Initializer/zeros:0", variable->name);
    def.snapshot_name = arena_printf(arena, "%s/Read/ReadVariableOp:0", variable->name);
    def.is_resource = true;
    def.trainable = variable->trainable;
    pack(&def.base, out, arena);
}

static void add_variables(const struct saved_model *model, bool only_trainable, const char *key,
                          Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    Tensorflow__CollectionDef__BytesList *list = PROTO_NEW(
        arena, Tensorflow__CollectionDef__BytesList, tensorflow__collection_def__bytes_list);
    list->value = ARENA_ARRAY(arena, ProtobufCBinaryData, model->variables_count);
    for (int i = 0; i < model->variables_count; i++) {
        if (!only_trainable || model->variables[i].trainable)
            variable_def(&model->variables[i], &list->value[list->n_value++], arena);
    }
    Tensorflow__CollectionDef *def = collection_add(meta, key, arena);
    def->kind_case = TENSORFLOW__COLLECTION_DEF__KIND_BYTES_LIST;
    def->bytes_list = list;
}

static void add_assets(const struct saved_model *model, Tensorflow__MetaGraphDef *meta,
                       struct arena *arena)
{
    size_t count = (size_t)model->assets_count;
    const ProtobufCMessage **messages = ARENA_ARRAY(arena, const ProtobufCMessage *, count);
    meta->asset_file_def = ARENA_ARRAY(arena, Tensorflow__AssetFileDef *, count);
    for (size_t i = 0; i < count; i++) {
        Tensorflow__AssetFileDef *asset =
            PROTO_NEW(arena, Tensorflow__AssetFileDef, tensorflow__asset_file_def);
        asset->filename = (char *)model->assets[i].filename;
        asset->tensor_info = PROTO_NEW(arena, Tensorflow__TensorInfo, tensorflow__tensor_info);
        asset->tensor_info->encoding_case = TENSORFLOW__TENSOR_INFO__ENCODING_NAME;
        asset->tensor_info->name = (char *)model->assets[i].tensor_name;
        meta->asset_file_def[meta->n_asset_file_def++] = asset;
        messages[i] = &asset->base;
    }
    collection_add_messages(meta, "saved_model_assets", count, messages, arena);
}

/* In key order, so that the same model gives the same bytes. */
static void add_collections(const struct saved_model *model, Tensorflow__MetaGraphDef *meta,
                            struct arena *arena)
{
    if (model->assets_count > 0)
        add_assets(model, meta, arena);
    if (model->init_op != NULL)
        collection_add_node(meta, "saved_model_main_op", model->init_op, arena);
    if (model->variables_count > 0) {
        add_variables(model, true, "trainable_variables", meta, arena);
        add_variables(model, false, "variables", meta, arena);
    }
}

/* ---- the whole ---- */

static Tensorflow__SaverDef *saver_def(const struct save_names *names, struct arena *arena)
{
    Tensorflow__SaverDef *saver = PROTO_NEW(arena, Tensorflow__SaverDef, tensorflow__saver_def);
    saver->filename_tensor_name = (char *)names->filename_tensor;
    saver->save_tensor_name = (char *)names->save_tensor;
    saver->restore_op_name = (char *)names->restore_op;
    saver->max_to_keep = 5;
    saver->keep_checkpoint_every_n_hours = 10000;
    saver->sharded = names->v1;
    saver->version = names->v1 ? TENSORFLOW__SAVER_DEF__CHECKPOINT_FORMAT_VERSION__V1
                               : TENSORFLOW__SAVER_DEF__CHECKPOINT_FORMAT_VERSION__V2;
    return saver;
}

struct status save_meta_bytes(Tensorflow__MetaGraphDef *meta, enum savedmodel_format format,
                              struct arena *arena, struct bytes *out)
{
    Tensorflow__SavedModel saved = TENSORFLOW__SAVED_MODEL__INIT;
    ProtobufCBinaryData packed;
    if (format == FORMAT_SESSION_BUNDLE) {
        TRY(session_bundle_downgrade(meta, arena));
        pack(&meta->base, &packed, arena);
    } else {
        saved.saved_model_schema_version = 1;
        saved.n_meta_graphs = 1;
        saved.meta_graphs = &meta;
        pack(&saved.base, &packed, arena);
    }
    *out = (struct bytes){ (const char *)packed.data, packed.len };
    return status_ok();
}

struct status save_model_bytes(const struct saved_model *model, const struct save_names *names,
                               struct arena *arena, struct bytes *out)
{
    static char serve[] = "serve";
    static char *tags[] = { serve };
    Tensorflow__MetaGraphDef__MetaInfoDef info = TENSORFLOW__META_GRAPH_DEF__META_INFO_DEF__INIT;
    Tensorflow__MetaGraphDef meta = TENSORFLOW__META_GRAPH_DEF__INIT;

    info.n_tags = 1;
    info.tags = tags;
    info.tensorflow_version = (char *)TENSORFLOW_VERSION;
    info.tensorflow_git_version = (char *)SAVEDMODEL_GIT_PREFIX SLIPWAY_VERSION;
    meta.meta_info_def = &info;
    meta.graph_def = graph_to_proto(model->graph, arena);
    if (names != NULL)
        /* only with variables: Python fails on an empty one */
        meta.saver_def = saver_def(names, arena);
    add_signatures(model, &meta, arena);
    add_collections(model, &meta, arena);
    return save_meta_bytes(&meta, model->format, arena, out);
}
