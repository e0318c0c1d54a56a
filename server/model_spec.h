/*
 * model_spec: which model, version and signature a gRPC request is for, and which one answered.
 */
#ifndef SERVER_MODEL_SPEC_H
#define SERVER_MODEL_SPEC_H

#include "server/manager.h"

struct model_spec {
    struct bytes name, signature_name; /* as long as the message they were read from */
    struct version_choice version;
};

/* A serialized tensorflow.serving.ModelSpec; a field that comes again wins. INTERNAL: damaged. */
struct status model_spec_read(struct bytes message, struct model_spec *out);

/* The field `number` of a message: the model, its version as a number, and the signature's name
 * unless that is empty. */
void model_spec_put(struct buffer *out, uint32_t number, const struct servable *servable,
                    struct bytes signature_name);

#endif
