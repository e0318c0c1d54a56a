#include "savedmodel/collections_proto.h"

#include <assert.h>
#include <string.h>

#include "proto/message.h"

Tensorflow__CollectionDef *collection_find(const Tensorflow__MetaGraphDef *meta, const char *name)
{
    for (size_t i = meta->n_collection_def; i-- > 0;) {
        if (strcmp(meta->collection_def[i]->key, name) == 0)
            return meta->collection_def[i]->value;
    }
    return NULL;
}

void collection_remove(Tensorflow__MetaGraphDef *meta, const char *name)
{
    size_t kept = 0;
    for (size_t i = 0; i < meta->n_collection_def; i++) {
        if (strcmp(meta->collection_def[i]->key, name) != 0)
            meta->collection_def[kept++] = meta->collection_def[i];
    }
    meta->n_collection_def = kept;
}

Tensorflow__CollectionDef *collection_add(Tensorflow__MetaGraphDef *meta, const char *name,
                                          struct arena *arena)
{
    assert(collection_find(meta, name) == NULL);
    size_t count = meta->n_collection_def;
    Tensorflow__MetaGraphDef__CollectionDefEntry **entries =
        ARENA_ARRAY(arena, Tensorflow__MetaGraphDef__CollectionDefEntry *, count + 1);
    for (size_t i = 0; i < count; i++)
        entries[i] = meta->collection_def[i];
    entries[count] = PROTO_NEW(arena, Tensorflow__MetaGraphDef__CollectionDefEntry,
                               tensorflow__meta_graph_def__collection_def_entry);
    entries[count]->key = (char *)name;
    entries[count]->value = PROTO_NEW(arena, Tensorflow__CollectionDef, tensorflow__collection_def);
    meta->collection_def = entries;
    meta->n_collection_def = count + 1;
    return entries[count]->value;
}

void collection_add_node(Tensorflow__MetaGraphDef *meta, const char *name, const char *node,
                         struct arena *arena)
{
    Tensorflow__CollectionDef__NodeList *list = PROTO_NEW(
        arena, Tensorflow__CollectionDef__NodeList, tensorflow__collection_def__node_list);
    list->n_value = 1;
    list->value = ARENA_ARRAY(arena, char *, 1);
    list->value[0] = (char *)node;
    Tensorflow__CollectionDef *def = collection_add(meta, name, arena);
    def->kind_case = TENSORFLOW__COLLECTION_DEF__KIND_NODE_LIST;
    def->node_list = list;
}

static Google__Protobuf__Any *any_of(const ProtobufCMessage *message, struct arena *arena)
{
    Google__Protobuf__Any *any = PROTO_NEW(arena, Google__Protobuf__Any, google__protobuf__any);
    any->type_url = arena_printf(arena, "type.googleapis.com/%s", message->descriptor->name);
    any->value.len = protobuf_c_message_get_packed_size(message);
    any->value.data = arena_alloc(arena, any->value.len + 1);
    protobuf_c_message_pack(message, any->value.data);
    return any;
}

void collection_add_messages(Tensorflow__MetaGraphDef *meta, const char *name, size_t count,
                             const ProtobufCMessage *const *messages, struct arena *arena)
{
    Tensorflow__CollectionDef__AnyList *list =
        PROTO_NEW(arena, Tensorflow__CollectionDef__AnyList, tensorflow__collection_def__any_list);
    list->value = ARENA_ARRAY(arena, Google__Protobuf__Any *, count);
    for (; list->n_value < count; list->n_value++)
        list->value[list->n_value] = any_of(messages[list->n_value], arena);
    Tensorflow__CollectionDef *def = collection_add(meta, name, arena);
    def->kind_case = TENSORFLOW__COLLECTION_DEF__KIND_ANY_LIST;
    def->any_list = list;
}

size_t collection_messages_count(const Tensorflow__CollectionDef *collection)
{
    return collection != NULL && collection->kind_case == TENSORFLOW__COLLECTION_DEF__KIND_ANY_LIST
               ? collection->any_list->n_value
               : 0;
}

struct status collection_message(const Tensorflow__CollectionDef *collection, size_t index,
                                 const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                                 void *out)
{
    const Google__Protobuf__Any *any = collection->any_list->value[index];
    struct bytes value = { (const char *)any->value.data, any->value.len };
    struct status status = proto_unpack(descriptor, value, arena, out);
    return status.code == STATUS_INTERNAL ? status_error(STATUS_DATA_LOSS, "%s", status.message)
                                          : status;
}
