/* session_bundle_upgrade. */
#include "graph/graph_proto.h"
#include "graph/signature.h"
#include "proto/message.h"
#include "savedmodel/legacy_ops_proto.h"
#include "savedmodel/session_bundle_internal_proto.h"
#include "savedmodel/session_bundle_proto.h"
#include "tensor/tensor_proto.h"

#define PREDICT "predict" /* the signature of `inputs` and `outputs` beside a default one */

/* Removes a collection of at most one message. *out NULL: there is none. */
static struct status take_message(Tensorflow__MetaGraphDef *meta, const char *name,
                                  const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                                  void *out)
{
    const Tensorflow__CollectionDef *collection = collection_find(meta, name);
    size_t count = collection_messages_count(collection);
    void *none = NULL;

    memcpy(out, &none, sizeof none);
    if (collection == NULL)
        return status_ok();
    if (count != 1)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Expected exactly one message in collection '%s', there are %zu", name,
                            count);
    TRY(status_in(collection_message(collection, 0, descriptor, arena, out), "collection '%s'",
                  name));
    collection_remove(meta, name);
    return status_ok();
}

/* ---- signatures ---- */

static Tensorflow__TensorInfo *info_of(const tensor_binding *binding, struct arena *arena)
{
    Tensorflow__TensorInfo *info =
        PROTO_NEW(arena, Tensorflow__TensorInfo, tensorflow__tensor_info);
    info->encoding_case = TENSORFLOW__TENSOR_INFO__ENCODING_NAME;
    info->name = binding->tensor_name;
    return info;
}

/* An unbound tensor, such as the classes of a classification without them, is omitted. */
static void add_input(Tensorflow__SignatureDef *def, const char *key, const tensor_binding *binding,
                      struct arena *arena)
{
    if (!is_bound(binding))
        return;
    Tensorflow__SignatureDef__InputsEntry *entry = PROTO_NEW(
        arena, Tensorflow__SignatureDef__InputsEntry, tensorflow__signature_def__inputs_entry);
    entry->key = (char *)key;
    entry->value = info_of(binding, arena);
    def->inputs[def->n_inputs++] = entry;
}

static void add_output(Tensorflow__SignatureDef *def, const char *key,
                       const tensor_binding *binding, struct arena *arena)
{
    if (!is_bound(binding))
        return;
    Tensorflow__SignatureDef__OutputsEntry *entry = PROTO_NEW(
        arena, Tensorflow__SignatureDef__OutputsEntry, tensorflow__signature_def__outputs_entry);
    entry->key = (char *)key;
    entry->value = info_of(binding, arena);
    def->outputs[def->n_outputs++] = entry;
}

static Tensorflow__SignatureDef *new_signature(const char *method, size_t inputs, size_t outputs,
                                               struct arena *arena)
{
    Tensorflow__SignatureDef *def =
        PROTO_NEW(arena, Tensorflow__SignatureDef, tensorflow__signature_def);
    def->method_name = (char *)method;
    def->inputs = ARENA_ARRAY(arena, Tensorflow__SignatureDef__InputsEntry *, inputs);
    def->outputs = ARENA_ARRAY(arena, Tensorflow__SignatureDef__OutputsEntry *, outputs);
    return def;
}

static const char *input_name(const Tensorflow__SignatureDef *def, const char *key)
{
    const Tensorflow__TensorInfo *info = NULL;
    for (size_t i = 0; i < def->n_inputs; i++)
        info = strcmp(def->inputs[i]->key, key) == 0 ? def->inputs[i]->value : info;
    return name_of(info);
}

static const char *output_name(const Tensorflow__SignatureDef *def, const char *key)
{
    const Tensorflow__TensorInfo *info = NULL;
    for (size_t i = 0; i < def->n_outputs; i++)
        info = strcmp(def->outputs[i]->key, key) == 0 ? def->outputs[i]->value : info;
    return name_of(info);
}

/* Do both name the same tensors? */
static bool is_same_signature(const Tensorflow__SignatureDef *a, const Tensorflow__SignatureDef *b)
{
    if (a == NULL || strcmp(a->method_name, b->method_name) != 0 || a->n_inputs != b->n_inputs ||
        a->n_outputs != b->n_outputs)
        return false;
    for (size_t i = 0; i < b->n_inputs; i++) {
        if (strcmp(input_name(a, b->inputs[i]->key), name_of(b->inputs[i]->value)) != 0)
            return false;
    }
    for (size_t i = 0; i < b->n_outputs; i++) {
        if (strcmp(output_name(a, b->outputs[i]->key), name_of(b->outputs[i]->value)) != 0)
            return false;
    }
    return true;
}

/* Replaces a signature of that name, unless it names the same tensors: it may know their shapes. */
static void put_signature(Tensorflow__MetaGraphDef *meta, const char *name,
                          Tensorflow__SignatureDef *def, struct arena *arena)
{
    Tensorflow__MetaGraphDef__SignatureDefEntry **entries = ARENA_ARRAY(
        arena, Tensorflow__MetaGraphDef__SignatureDefEntry *, meta->n_signature_def + 1);
    size_t kept = 0;
    if (is_same_signature(signature_named(meta, name), def))
        return;
    for (size_t i = 0; i < meta->n_signature_def; i++) {
        if (strcmp(meta->signature_def[i]->key, name) != 0)
            entries[kept++] = meta->signature_def[i];
    }
    entries[kept] = PROTO_NEW(arena, Tensorflow__MetaGraphDef__SignatureDefEntry,
                              tensorflow__meta_graph_def__signature_def_entry);
    entries[kept]->key = (char *)name;
    entries[kept]->value = def;
    meta->signature_def = entries;
    meta->n_signature_def = kept + 1;
}

static struct status upgrade_default(Tensorflow__MetaGraphDef *meta,
                                     const legacy_signature *signature, struct arena *arena)
{
    Tensorflow__SignatureDef *def;
    if (signature->type_case == TENSORFLOW__SERVING__SIGNATURE__TYPE_REGRESSION_SIGNATURE) {
        const Tensorflow__Serving__RegressionSignature *regression =
            signature->regression_signature;
        def = new_signature(SIGNATURE_REGRESS, 1, 1, arena);
        add_input(def, "inputs", regression->input, arena);
        add_output(def, "outputs", regression->output, arena);
    } else if (signature->type_case ==
               TENSORFLOW__SERVING__SIGNATURE__TYPE_CLASSIFICATION_SIGNATURE) {
        const Tensorflow__Serving__ClassificationSignature *classification =
            signature->classification_signature;
        def = new_signature(SIGNATURE_CLASSIFY, 1, 2, arena);
        add_input(def, "inputs", classification->input, arena);
        add_output(def, "classes", classification->classes, arena);
        add_output(def, "scores", classification->scores, arena);
    } else {
        return status_error(STATUS_UNIMPLEMENTED,
                            "Only classification and regression default signatures are supported "
                            "for up conversion.");
    }
    put_signature(meta, SIGNATURE_DEFAULT, def, arena);
    return status_ok();
}

static const legacy_signature *named(const legacy_signatures *signatures, const char *name)
{
    for (size_t i = signatures->n_named_signatures; i-- > 0;) {
        if (strcmp(signatures->named_signatures[i]->key, name) == 0)
            return signatures->named_signatures[i]->value;
    }
    return NULL;
}

static bool is_generic(const legacy_signature *signature)
{
    return signature->type_case == TENSORFLOW__SERVING__SIGNATURE__TYPE_GENERIC_SIGNATURE;
}

static struct status upgrade_named(Tensorflow__MetaGraphDef *meta, const char *name,
                                   const legacy_signatures *signatures, struct arena *arena)
{
    const legacy_signature *inputs = named(signatures, "inputs");
    const legacy_signature *outputs = named(signatures, "outputs");
    if (inputs == NULL || outputs == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Named signatures can only be up-converted if entries corresponding to "
                            "both `inputs` and `outputs` exist.");
    if (!is_generic(inputs) || !is_generic(outputs))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Named signatures corresponding to `inputs` and `outputs` can only be "
                            "up-converted if they are GenericSignatures.");
    const generic_signature *in = inputs->generic_signature, *to = outputs->generic_signature;
    Tensorflow__SignatureDef *def = new_signature(SIGNATURE_PREDICT, in->n_map, to->n_map, arena);
    for (size_t i = 0; i < in->n_map; i++)
        add_input(def, in->map[i]->key, in->map[i]->value, arena);
    for (size_t i = 0; i < to->n_map; i++)
        add_output(def, to->map[i]->key, to->map[i]->value, arena);
    put_signature(meta, name, def, arena);
    return status_ok();
}

static struct status upgrade_signatures(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    legacy_signatures *signatures;
    bool has_others = meta->n_signature_def > 0;
    TRY(take_message(meta, SIGNATURES, &tensorflow__serving__signatures__descriptor, arena,
                     &signatures));
    if (signatures == NULL)
        return status_ok();
    if (signatures->default_signature == NULL)
        return signatures->n_named_signatures > 0
                   ? upgrade_named(meta, SIGNATURE_DEFAULT, signatures, arena)
                   : status_ok();
    TRY(upgrade_default(meta, signatures->default_signature, arena));
    if (!has_others) /* as in TensorFlow, named signatures without a usable one are not an error */
        status_ignore(upgrade_named(meta, PREDICT, signatures, arena));
    return status_ok();
}

/* ---- dtypes and shapes ---- */

static void complete_info(const struct graph *graph, Tensorflow__TensorInfo *info,
                          struct arena *arena)
{
    struct endpoint endpoint;
    if (info == NULL || info->encoding_case != TENSORFLOW__TENSOR_INFO__ENCODING_NAME ||
        info->dtype != TENSORFLOW__DATA_TYPE__DT_INVALID)
        return;
    /* A tensor that the graph does not have is an error of the calls of this signature. */
    if (!status_is_ok(graph_endpoint(graph, info->name, &endpoint)) ||
        endpoint.index >= endpoint.node->outputs_count)
        return;
    const struct output *output = &endpoint.node->outputs[endpoint.index];
    info->dtype = (Tensorflow__DataType)output->dtype;
    info->tensor_shape = shape_to_proto(&output->shape, arena);
}

static struct status complete_signatures(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    struct graph *graph;
    TRY(graph_from_proto(meta->graph_def, arena, true, &graph));
    status_ignore(graph_infer(graph)); /* the shapes that it does not find stay unknown */
    for (size_t i = 0; i < meta->n_signature_def; i++) {
        const Tensorflow__SignatureDef *def = meta->signature_def[i]->value;
        for (size_t k = 0; def != NULL && k < def->n_inputs; k++)
            complete_info(graph, def->inputs[k]->value, arena);
        for (size_t k = 0; def != NULL && k < def->n_outputs; k++)
            complete_info(graph, def->outputs[k]->value, arena);
    }
    graph_finish(graph);
    return status_ok();
}

/* ---- the rest ---- */

static struct status upgrade_graph(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    Tensorflow__GraphDef *serving;
    TRY(take_message(meta, GRAPH, &tensorflow__graph_def__descriptor, arena, &serving));
    if (serving != NULL)
        meta->graph_def = serving;
    if (meta->graph_def == NULL)
        return status_error(STATUS_DATA_LOSS, "it has no graph");
    for (size_t i = 0; i < meta->graph_def->n_node; i++)
        meta->graph_def->node[i]->device = (char *)protobuf_c_empty_string;
    return legacy_ops_upgrade(meta->graph_def, arena);
}

static struct status upgrade_init_op(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    const Tensorflow__CollectionDef *found = collection_find(meta, INIT_OP);
    if (found == NULL)
        return status_ok();
    if (found->kind_case != TENSORFLOW__COLLECTION_DEF__KIND_NODE_LIST ||
        found->node_list->n_value != 1)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Expected exactly one serving init op in collection '%s'", INIT_OP);
    collection_remove(meta, MAIN_OP);
    collection_add_node(meta, MAIN_OP, found->node_list->value[0], arena);
    collection_remove(meta, INIT_OP);
    return status_ok();
}

static Tensorflow__AssetFileDef *upgrade_asset(const Tensorflow__Serving__AssetFile *legacy,
                                               struct arena *arena)
{
    Tensorflow__AssetFileDef *asset =
        PROTO_NEW(arena, Tensorflow__AssetFileDef, tensorflow__asset_file_def);
    asset->filename = legacy->filename;
    if (is_bound(legacy->tensor_binding))
        asset->tensor_info = info_of(legacy->tensor_binding, arena);
    return asset;
}

static struct status upgrade_assets(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    const Tensorflow__CollectionDef *found = collection_find(meta, ASSETS);
    size_t count = collection_messages_count(found);
    if (count == 0)
        return status_ok();
    const ProtobufCMessage **messages = ARENA_ARRAY(arena, const ProtobufCMessage *, count);
    meta->asset_file_def = ARENA_ARRAY(arena, Tensorflow__AssetFileDef *, count);
    for (size_t i = 0; i < count; i++) {
        Tensorflow__Serving__AssetFile *legacy;
        TRY(status_in(collection_message(found, i, &tensorflow__serving__asset_file__descriptor,
                                         arena, &legacy),
                      "collection '%s'", ASSETS));
        meta->asset_file_def[i] = upgrade_asset(legacy, arena);
        messages[i] = &meta->asset_file_def[i]->base;
    }
    meta->n_asset_file_def = count;
    collection_remove(meta, ASSETS);
    collection_remove(meta, "saved_model_assets");
    collection_add_messages(meta, "saved_model_assets", count, messages, arena);
    return status_ok();
}

static void put_tags(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    static char serve[] = "serve";
    if (meta->meta_info_def == NULL)
        meta->meta_info_def = PROTO_NEW(arena, Tensorflow__MetaGraphDef__MetaInfoDef,
                                        tensorflow__meta_graph_def__meta_info_def);
    meta->meta_info_def->n_tags = 1;
    meta->meta_info_def->tags = ARENA_ARRAY(arena, char *, 1);
    meta->meta_info_def->tags[0] = serve;
}

struct status session_bundle_upgrade(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    TRY(upgrade_graph(meta, arena));
    TRY(upgrade_signatures(meta, arena));
    TRY(complete_signatures(meta, arena));
    TRY(upgrade_init_op(meta, arena));
    TRY(upgrade_assets(meta, arena));
    put_tags(meta, arena);
    return status_ok();
}
