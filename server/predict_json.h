/*
 * predict_json: bodies of REST predict requests and their answers (serving-api.md §3.2, §4.1).
 *
 * A body is read in one pass where it is ordinary: the signature is looked up when its tensors
 * begin. Anything else is read again step by step, in the order that decides which error is told.
 */
#ifndef SERVER_PREDICT_JSON_H
#define SERVER_PREDICT_JSON_H

#include "base/arena.h"
#include "graph/signature.h"

/* Looks up model and signature: NOT_FOUND, INVALID_ARGUMENT with the texts of §3.2. Name "": the
 * default one. */
struct signature_finder {
    struct status (*find)(struct signature_finder *finder, struct bytes signature_name,
                          const struct signature **out);
};

struct predict_request {
    const struct signature *signature;
    bool rows; /* `instances`, answered by `predictions` */
    struct tensor
        *inputs; /* in the order of signature->inputs; borrow from the arena and the body */
};

/**
 * Reads a body, which must have JSON_PADDING zero bytes behind it and live as long as the tensors.
 *
 * Errors  those of the finder and of §3.2; RESOURCE_EXHAUSTED arena over its limit
 */
struct status predict_request_read(struct bytes body, struct signature_finder *finder,
                                   struct arena *arena, struct predict_request *out);

/* As many bytes as predict_response_print may write at the most; SIZE_MAX: more than that. */
size_t predict_response_size_max(const struct signature *signature, const struct tensor *outputs,
                                 bool rows);

/**
 * Prints the answer: `outputs` in the order of signature->outputs.
 *
 * Errors  INVALID_ARGUMENT a dtype without a JSON form; rows: no dimension 0, or they differ
 */
struct status predict_response_print(const struct signature *signature,
                                     const struct tensor *outputs, bool rows, struct buffer *out);

#endif
