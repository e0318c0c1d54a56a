#include "trainer/protocol.h"

#include <stdlib.h>

struct message protocol_pack_pieces(const void *header, const struct bytes *pieces,
                                    int pieces_count)
{
    struct buffer buffer = { 0 };

    proto_pack(header, &buffer);
    return (struct message){ .header = { buffer.data, buffer.size },
                             .pieces = pieces,
                             .pieces_count = pieces_count,
                             .release = free,
                             .owner = buffer.data };
}

struct message protocol_pack(const void *header)
{
    return protocol_pack_pieces(header, NULL, 0);
}

struct status protocol_unpack(const struct message *message,
                              const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                              void *out)
{
    return status_in(proto_unpack(descriptor, message->header, arena, out), "%s",
                     descriptor->short_name);
}
