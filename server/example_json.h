/*
 * example_json: bodies of REST classify and regress requests (serving-api.md §3.4) to serialized
 * tf.Examples.
 */
#ifndef SERVER_EXAMPLE_JSON_H
#define SERVER_EXAMPLE_JSON_H

#include "base/arena.h"
#include "tensor/tensor.h"

struct example_request {
    struct bytes signature_name; /* empty: the default one */
    struct tensor examples;      /* [n] strings in the arena: context and example, serialized */
};

/* The body as for predict_request_read. INVALID_ARGUMENT with the texts of §3.4;
 * RESOURCE_EXHAUSTED. */
struct status example_request_read(struct bytes body, struct arena *arena,
                                   struct example_request *out);

#endif
