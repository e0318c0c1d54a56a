#include "proto/types.h"

#include "proto/example.pb-c.h"
#include "proto/platform_config.pb-c.h"
#include "proto/saved_model.pb-c.h"
#include "proto/serving.pb-c.h"
#include "proto/serving_config.pb-c.h" /* the wrappers too */
#include "proto/session_bundle.pb-c.h"
#include "proto/variable.pb-c.h"

/* The types that collections, configurations and answers contain in an Any. */
static const ProtobufCMessageDescriptor *const types[] = {
    &tensorflow__asset_file_def__descriptor,
    &tensorflow__variable_def__descriptor,
    &tensorflow__save_slice_info_def__descriptor,
    &tensorflow__saver_def__descriptor,
    &tensorflow__graph_def__descriptor,
    &tensorflow__node_def__descriptor,
    &tensorflow__tensor_proto__descriptor,
    &tensorflow__tensor_info__descriptor,
    &tensorflow__signature_def__descriptor,
    &tensorflow__meta_graph_def__descriptor,
    &tensorflow__example__descriptor,
    &tensorflow__serving__signatures__descriptor,
    &tensorflow__serving__asset_file__descriptor,
    &tensorflow__serving__signature_def_map__descriptor,
    &tensorflow__serving__batching_parameters__descriptor,
    &tensorflow__serving__model_server_config__descriptor,
    &tensorflow__serving__saved_model_bundle_source_adapter_config__descriptor,
    &tensorflow__serving__session_bundle_config__descriptor,
    &google__protobuf__bool_value__descriptor,
    &google__protobuf__int32_value__descriptor,
    &google__protobuf__int64_value__descriptor,
    &google__protobuf__float_value__descriptor,
    &google__protobuf__double_value__descriptor,
    &google__protobuf__string_value__descriptor,
    &google__protobuf__bytes_value__descriptor,
};

const ProtobufCMessageDescriptor *proto_type_find(struct bytes name_or_url)
{
    struct bytes name = name_or_url;
    for (size_t i = name.size; i-- > 0;) {
        if (name_or_url.data[i] == '/') {
            name = (struct bytes){ name_or_url.data + i + 1, name_or_url.size - i - 1 };
            break;
        }
    }
    for (size_t i = 0; i < COUNT(types); i++)
        if (bytes_equal(name, bytes_of(types[i]->name)))
            return types[i];
    return NULL;
}

size_t proto_value_size(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return 8;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
        return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
        return sizeof(ProtobufCBinaryData);
    default:
        return 4;
    }
}
