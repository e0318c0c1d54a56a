/*
 * example_request: converts bodies of REST classify and regress requests to serialized tf.Examples.
 */
#ifndef SERVER_JSON_EXAMPLE_REQUEST_H
#define SERVER_JSON_EXAMPLE_REQUEST_H

#include "base/arena.h"
#include "tensor/tensor.h"

struct example_request {
    struct bytes signature_name; /* empty: the default signature */
    struct tensor examples;      /* [n] in the arena: each the context and an example, serialized */
};

/* Reads a body, as predict_request_read does. INVALID_ARGUMENT with TensorFlow Serving's texts;
 * RESOURCE_EXHAUSTED. */
struct status example_request_read(struct bytes body, struct arena *arena,
                                   struct example_request *out);

#endif
