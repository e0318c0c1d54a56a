/* model_spec: the model, version and signature that a gRPC request asks for, or that answered. */
#ifndef SERVER_GRPC_MODEL_SPEC_H
#define SERVER_GRPC_MODEL_SPEC_H

#include "server/models/manager.h"

struct model_spec {
    struct bytes name, signature_name; /* valid as long as the message that they were read from */
    struct version_choice version;
};

/* Reads a serialized tensorflow.serving.ModelSpec; of a repeated field the last one counts.
 * INTERNAL: damaged. */
struct status model_spec_read(struct bytes message, struct model_spec *out);

/* Writes the field `number` of a message: the model, its version as a number, and the signature's
 * name unless it is empty. */
void model_spec_put(struct buffer *out, uint32_t number, const struct servable *servable,
                    struct bytes signature_name);

#endif
