/* session_bundle_downgrade. */
#include "graph/signature.h"
#include "proto/message.h"
#include "savedmodel/legacy_ops_proto.h"
#include "savedmodel/session_bundle_internal_proto.h"
#include "savedmodel/session_bundle_proto.h"

static bool has_method(const Tensorflow__SignatureDef *def, const char *method)
{
    return def != NULL && strcmp(def->method_name, method) == 0;
}

/* serving_default if it predicts, or else the first signature by name that does. */
static const Tensorflow__SignatureDef *predicting(const Tensorflow__MetaGraphDef *meta)
{
    const Tensorflow__MetaGraphDef__SignatureDefEntry *first = NULL;
    if (has_method(signature_named(meta, SIGNATURE_DEFAULT), SIGNATURE_PREDICT))
        return signature_named(meta, SIGNATURE_DEFAULT);
    for (size_t i = 0; i < meta->n_signature_def; i++) {
        const Tensorflow__MetaGraphDef__SignatureDefEntry *entry = meta->signature_def[i];
        if (has_method(entry->value, SIGNATURE_PREDICT) &&
            (first == NULL || strcmp(entry->key, first->key) < 0))
            first = entry;
    }
    return first != NULL ? first->value : NULL;
}

static tensor_binding *bind(const Tensorflow__TensorInfo *info, struct arena *arena)
{
    tensor_binding *binding =
        PROTO_NEW(arena, Tensorflow__Serving__TensorBinding, tensorflow__serving__tensor_binding);
    binding->tensor_name = name_of(info);
    return binding;
}

static tensor_binding *bind_input(const Tensorflow__SignatureDef *def, const char *key,
                                  struct arena *arena)
{
    for (size_t i = 0; i < def->n_inputs; i++) {
        if (strcmp(def->inputs[i]->key, key) == 0)
            return bind(def->inputs[i]->value, arena);
    }
    return NULL;
}

static tensor_binding *bind_output(const Tensorflow__SignatureDef *def, const char *key,
                                   struct arena *arena)
{
    for (size_t i = 0; i < def->n_outputs; i++) {
        if (strcmp(def->outputs[i]->key, key) == 0)
            return bind(def->outputs[i]->value, arena);
    }
    return NULL;
}

/* NULL: the format has no such default signature. */
static legacy_signature *downgrade_default(const Tensorflow__SignatureDef *def, struct arena *arena)
{
    if (!has_method(def, SIGNATURE_CLASSIFY) && !has_method(def, SIGNATURE_REGRESS))
        return NULL;
    legacy_signature *out =
        PROTO_NEW(arena, Tensorflow__Serving__Signature, tensorflow__serving__signature);
    if (has_method(def, SIGNATURE_REGRESS)) {
        Tensorflow__Serving__RegressionSignature *regression =
            PROTO_NEW(arena, Tensorflow__Serving__RegressionSignature,
                      tensorflow__serving__regression_signature);
        regression->input = bind_input(def, "inputs", arena);
        regression->output = bind_output(def, "outputs", arena);
        out->type_case = TENSORFLOW__SERVING__SIGNATURE__TYPE_REGRESSION_SIGNATURE;
        out->regression_signature = regression;
        return out;
    }
    Tensorflow__Serving__ClassificationSignature *classification =
        PROTO_NEW(arena, Tensorflow__Serving__ClassificationSignature,
                  tensorflow__serving__classification_signature);
    classification->input = bind_input(def, "inputs", arena);
    classification->classes = bind_output(def, "classes", arena);
    classification->scores = bind_output(def, "scores", arena);
    out->type_case = TENSORFLOW__SERVING__SIGNATURE__TYPE_CLASSIFICATION_SIGNATURE;
    out->classification_signature = classification;
    return out;
}

static void add_binding(generic_signature *generic, char *key, const Tensorflow__TensorInfo *info,
                        struct arena *arena)
{
    binding_entry *entry = PROTO_NEW(arena, Tensorflow__Serving__GenericSignature__MapEntry,
                                     tensorflow__serving__generic_signature__map_entry);
    entry->key = key;
    entry->value = bind(info, arena);
    generic->map[generic->n_map++] = entry;
}

static generic_signature *add_named(legacy_signatures *signatures, const char *name, size_t entries,
                                    struct arena *arena)
{
    Tensorflow__Serving__Signatures__NamedSignaturesEntry *entry =
        PROTO_NEW(arena, Tensorflow__Serving__Signatures__NamedSignaturesEntry,
                  tensorflow__serving__signatures__named_signatures_entry);
    generic_signature *generic = PROTO_NEW(arena, Tensorflow__Serving__GenericSignature,
                                           tensorflow__serving__generic_signature);
    generic->map = ARENA_ARRAY(arena, binding_entry *, entries);
    entry->key = (char *)name;
    entry->value = PROTO_NEW(arena, Tensorflow__Serving__Signature, tensorflow__serving__signature);
    entry->value->type_case = TENSORFLOW__SERVING__SIGNATURE__TYPE_GENERIC_SIGNATURE;
    entry->value->generic_signature = generic;
    signatures->named_signatures[signatures->n_named_signatures++] = entry;
    return generic;
}

static void downgrade_signatures(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    legacy_signatures signatures = TENSORFLOW__SERVING__SIGNATURES__INIT;
    const ProtobufCMessage *message = &signatures.base;
    const Tensorflow__SignatureDef *predict = predicting(meta);
    Tensorflow__Serving__Signatures__NamedSignaturesEntry *entries[2];

    signatures.named_signatures = entries;
    signatures.default_signature =
        downgrade_default(signature_named(meta, SIGNATURE_DEFAULT), arena);
    if (predict != NULL) {
        generic_signature *inputs = add_named(&signatures, "inputs", predict->n_inputs, arena);
        for (size_t i = 0; i < predict->n_inputs; i++)
            add_binding(inputs, predict->inputs[i]->key, predict->inputs[i]->value, arena);
        generic_signature *outputs = add_named(&signatures, "outputs", predict->n_outputs, arena);
        for (size_t i = 0; i < predict->n_outputs; i++)
            add_binding(outputs, predict->outputs[i]->key, predict->outputs[i]->value, arena);
    }
    collection_remove(meta, SIGNATURES);
    collection_add_messages(meta, SIGNATURES, 1, &message, arena);
}

static const char *const main_ops[] = { MAIN_OP, "legacy_init_op" };

/* The op that runs after the restore, from whichever field of the SavedModel; NULL: none. */
static char *main_op(const Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    const Tensorflow__SignatureDef *def = signature_named(meta, SIGNATURE_INIT_OP);
    tensor_binding *binding = def != NULL ? bind_output(def, SIGNATURE_INIT_OP, arena) : NULL;
    if (is_bound(binding))
        return binding->tensor_name;
    for (size_t i = 0; i < COUNT(main_ops); i++) {
        const Tensorflow__CollectionDef *found = collection_find(meta, main_ops[i]);
        if (found != NULL && found->kind_case == TENSORFLOW__COLLECTION_DEF__KIND_NODE_LIST &&
            found->node_list->n_value == 1)
            return found->node_list->value[0];
    }
    return NULL;
}

static void remove_signature(Tensorflow__MetaGraphDef *meta, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < meta->n_signature_def; i++) {
        if (strcmp(meta->signature_def[i]->key, name) != 0)
            meta->signature_def[kept++] = meta->signature_def[i];
    }
    meta->n_signature_def = kept;
}

static void downgrade_init_op(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    char *name = main_op(meta, arena);
    if (name != NULL) {
        const char *colon = strchr(name, ':'); /* some files name a tensor where an op belongs */
        size_t size = colon != NULL ? (size_t)(colon - name) : strlen(name);
        collection_remove(meta, INIT_OP);
        collection_add_node(meta, INIT_OP, arena_memdup(arena, name, size), arena);
    }
    for (size_t i = 0; i < COUNT(main_ops); i++)
        collection_remove(meta, main_ops[i]);
    remove_signature(meta, SIGNATURE_INIT_OP);
}

static const ProtobufCMessage *downgrade_asset(const Tensorflow__AssetFileDef *asset,
                                               struct arena *arena)
{
    Tensorflow__Serving__AssetFile *legacy =
        PROTO_NEW(arena, Tensorflow__Serving__AssetFile, tensorflow__serving__asset_file);
    legacy->filename = asset->filename;
    legacy->tensor_binding = bind(asset->tensor_info, arena);
    return &legacy->base;
}

/* As when loading: the field counts, and the collection only if the field is empty. */
static struct status downgrade_assets(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    const Tensorflow__CollectionDef *found = collection_find(meta, "saved_model_assets");
    bool in_field = meta->n_asset_file_def > 0;
    size_t count = in_field ? meta->n_asset_file_def : collection_messages_count(found);
    const ProtobufCMessage **messages = ARENA_ARRAY(arena, const ProtobufCMessage *, count);
    for (size_t i = 0; i < count; i++) {
        Tensorflow__AssetFileDef *asset = in_field ? meta->asset_file_def[i] : NULL;
        if (!in_field)
            TRY(status_in(collection_message(found, i, &tensorflow__asset_file_def__descriptor,
                                             arena, &asset),
                          "collection 'saved_model_assets'"));
        messages[i] = downgrade_asset(asset, arena);
    }
    collection_remove(meta, "saved_model_assets");
    meta->n_asset_file_def = 0;
    collection_remove(meta, ASSETS);
    if (count > 0)
        collection_add_messages(meta, ASSETS, count, messages, arena);
    return status_ok();
}

struct status session_bundle_downgrade(Tensorflow__MetaGraphDef *meta, struct arena *arena)
{
    if (meta->graph_def != NULL)
        TRY(legacy_ops_downgrade(meta->graph_def, arena));
    downgrade_signatures(meta, arena);
    downgrade_init_op(meta, arena);
    TRY(downgrade_assets(meta, arena));
    collection_remove(meta, GRAPH); /* it would replace graph_def */
    if (meta->meta_info_def != NULL)
        meta->meta_info_def->n_tags = 0;
    return status_ok();
}
