/* saved_model.pb files. If one parses, the target decodes its constants, writes it and parses it
 * again, and reads its metadata as a loader does. */
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "savedmodel/meta_proto.h"
#include "savedmodel/output_shapes_wire.h"
#include "tensor/tensor_proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void decode_constants(const Tensorflow__GraphDef *graph, struct arena *arena)
{
    for (size_t i = 0; graph != NULL && i < graph->n_node; i++) {
        for (size_t k = 0; k < graph->node[i]->n_attr; k++) {
            const Tensorflow__AttrValue *value = graph->node[i]->attr[k]->value;
            struct tensor tensor;
            if (value != NULL && value->value_case == TENSORFLOW__ATTR_VALUE__VALUE_TENSOR &&
                status_is_ok(tensor_from_proto(value->tensor, arena, &tensor))) {
                tensor_to_proto(&tensor, arena);
                tensor_release(&tensor);
            }
        }
    }
}

static void read_meta(struct bytes bytes, struct arena *arena)
{
    static const char *const tags[] = { "serve" };
    static const struct model_file kind = { "saved_model.pb", FORMAT_SAVED_MODEL, false };
    struct meta meta;
    struct buffer file = { 0 };
    buffer_append(&file, bytes.data, bytes.size);
    hide_output_shapes(&file);
    status_ignore(
        meta_read((struct bytes){ file.data, file.size }, &kind, "model", tags, 1, arena, &meta));
    meta_finish(&meta);
    buffer_finish(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create((size_t)64 << 20);
    struct bytes bytes = { (const char *)data, size };
    Tensorflow__SavedModel *model;
    if (status_is_ok(proto_unpack(&tensorflow__saved_model__descriptor, bytes, arena, &model))) {
        struct buffer again = { 0 };
        proto_pack(model, &again);
        for (size_t i = 0; i < model->n_meta_graphs; i++)
            decode_constants(model->meta_graphs[i]->graph_def, arena);
        struct status status =
            proto_unpack(&tensorflow__saved_model__descriptor,
                         (struct bytes){ again.data, again.size }, arena, &model);
        if (!status_is_ok(status) && status.code != STATUS_RESOURCE_EXHAUSTED)
            __builtin_trap();
        buffer_finish(&again);
        read_meta(bytes, arena);
    }
    arena_destroy(arena);
    return 0;
}
