/* Protobuf text format. If a text parses, its print parses again. */
#include <stddef.h>
#include <stdint.h>

#include "proto/saved_model.pb-c.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_print_read(const ProtobufCMessageDescriptor *descriptor, struct bytes text,
                            int flags)
{
    struct arena *arena = arena_create(0);
    ProtobufCMessage *message;
    if (status_is_ok(proto_text_read(descriptor, text, flags, arena, &message))) {
        struct buffer printed = { 0 };
        proto_text_print(message, &printed);
        if (!status_is_ok(proto_text_read(descriptor, (struct bytes){ printed.data, printed.size },
                                          0, arena, &message)))
            __builtin_trap();
        buffer_finish(&printed);
    }
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = { (const char *)data, size };
    read_print_read(&tensorflow__serving__model_server_config__descriptor, text, 0);
    read_print_read(&tensorflow__meta_graph_def__descriptor, text, PROTO_TEXT_SKIP_UNKNOWN);
    return 0;
}
