/*
 * infer: an inference request of the Open Inference Protocol, from JSON (infer_json.h) or a message
 * (infer_wire.h), and its match with a signature.
 *
 * The protocol has no signatures. The parameter `signature_name` chooses one; the default is
 * serving_default.
 */
#ifndef SERVER_OIP_INFER_H
#define SERVER_OIP_INFER_H

#include "base/arena.h"
#include "graph/signature.h"

struct infer_input {
    struct bytes name;
    struct tensor tensor;
};

/* The requested form of an output. As binary data, its elements follow the JSON object. */
enum infer_form { INFER_FORM_DEFAULT, INFER_FORM_JSON, INFER_FORM_BINARY };

struct infer_output {
    struct bytes name;
    enum infer_form form;
};

struct infer_request {
    struct bytes model_name, model_version; /* from a message; with JSON, they are in the URL */
    struct bytes id, signature_name;
    struct infer_input *inputs; /* in the request's order */
    int inputs_count;
    struct infer_output *outputs; /* the requested ones; none: all */
    int outputs_count;
    bool binary; /* the default form; in a message: raw contents */
};

/* An output of the answer. */
struct infer_choice {
    int output; /* its index in the signature */
    bool binary;
};

struct infer_match {
    const struct tensor *inputs;        /* in the signature's order; borrowed from the request */
    const struct infer_choice *choices; /* in the request's order */
    int choices_count;
};

/**
 * Matches the request's inputs and outputs with a signature. A missing input gets the signature's
 * default value.
 *
 * Owner   *out lives in `arena`, and as long as the request
 * Errors  INVALID_ARGUMENT an unknown, repeated or missing name; another datatype; a shape that
 *         does not match; RESOURCE_EXHAUSTED the arena's limit
 */
struct status infer_match(const struct infer_request *request, const struct signature *signature,
                          struct arena *arena, struct infer_match *out);

/* The parts of an answer besides its tensors. */
struct infer_answer {
    struct bytes model_name, id; /* id empty: the request had none */
    int64_t version;
    const struct signature *signature;
    const struct infer_choice *choices;
    int choices_count;
    bool raw; /* in a message: raw contents */
};

/* UNIMPLEMENTED: the protocol has no name for the type of a chosen output. INVALID_ARGUMENT: a
 * string of 4 GiB. Checked before an answer is written; `outputs` are in the signature's order. */
struct status infer_check_outputs(const struct infer_answer *answer, const struct tensor *outputs);

#endif
