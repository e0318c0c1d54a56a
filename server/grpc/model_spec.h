/* model_spec: gRPC's ModelSpec, of a request or a response. */
#ifndef SERVER_GRPC_MODEL_SPEC_H
#define SERVER_GRPC_MODEL_SPEC_H

#include "server/inference/served_request.h"

/* Reads a serialized tensorflow.serving.ModelSpec; of a repeated field the last one counts.
 * INTERNAL: damaged. */
struct status model_spec_read(struct bytes message, struct model_spec *out);

/* Writes field `number` of a message: the model, its version as a number, and the signature's
 * name unless it is empty. */
void model_spec_put(struct buffer *out, uint32_t number, const struct servable *servable,
                    struct bytes signature_name);

#endif
