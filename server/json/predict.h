/*
 * predict: bodies of REST predict requests and of their responses, as json_tensor.cc of TensorFlow
 * Serving reads and writes them.
 *
 * A typical body is parsed in one pass, which looks up the signature when it reaches the tensors.
 * Any other body is parsed again step by step, in the order that determines the reported error.
 */
#ifndef SERVER_JSON_PREDICT_H
#define SERVER_JSON_PREDICT_H

#include "base/arena.h"
#include "graph/signature.h"

/* Looks up the model and the signature; an empty name means the default signature. NOT_FOUND,
 * INVALID_ARGUMENT with TensorFlow Serving's texts. */
struct signature_finder {
    struct status (*find)(struct signature_finder *finder, struct bytes signature_name,
                          const struct signature **out);
};

struct predict_request {
    const struct signature *signature;
    bool rows;             /* it has `instances`, and its response `predictions` */
    struct tensor *inputs; /* as signature->inputs; they borrow from the arena and the body */
};

/**
 * Parses a body, which must be followed by JSON_PADDING zero bytes and live as long as the tensors.
 *
 * Errors  the finder's; INVALID_ARGUMENT with TensorFlow Serving's texts; RESOURCE_EXHAUSTED arena
 *         over its limit
 */
struct status predict_request_read(struct bytes body, struct signature_finder *finder,
                                   struct arena *arena, struct predict_request *out);

/* Upper bound of the bytes that predict_response_print writes; SIZE_MAX if it overflows. */
size_t predict_response_size_max(const struct signature *signature, const struct tensor *outputs,
                                 bool rows);

/**
 * Prints the response. `outputs` are in the order of signature->outputs.
 *
 * Errors  INVALID_ARGUMENT a dtype without a JSON form; with `rows`, an output without dimension 0,
 *         or outputs that differ in it
 */
struct status predict_response_print(const struct signature *signature,
                                     const struct tensor *outputs, bool rows, struct buffer *out);

#endif
