/*
 * predict_form: Predict and ModelInfer requests that were seen before, except for their numbers.
 * Clients send the same bytes around changing numbers. These bytes are compared instead of parsed,
 * and the bytes around the numbers of the answer are copied.
 *
 * Only for the common shape: one tensor of fixed-size numbers in, and one out. All other requests,
 * and the first of each form, are parsed (predict.c). The servable is looked up each time.
 *
 * Threads: everything in the loop's thread.
 */
#ifndef SERVER_GRPC_PREDICT_FORM_H
#define SERVER_GRPC_PREDICT_FORM_H

#include "server/grpc/model_spec.h"
#include "tensor/tensor.h"

#define PREDICT_AROUND_MAX 256 /* bytes beside the numbers, of a request or an answer */

/* A message: bytes, numbers, bytes. */
struct predict_bytes {
    size_t size, numbers_at, numbers_size;
    char around[PREDICT_AROUND_MAX]; /* the bytes before the numbers, then those behind */
};

struct predict_form {
    uint64_t serial;                      /* of the servable; 0: the form is empty */
    enum request_api api;                 /* of the method */
    struct predict_bytes request, answer; /* answer.size 0: not learnt yet */
    struct model_spec spec;               /* its names lie in request.around */
    struct callable *callable;            /* valid while the servable has this serial */
    int output;                           /* the index of the output that answers */
    struct tensor input, outcome;         /* types and shapes */
};

struct predict_forms;

struct predict_forms *predict_forms_create(void);
void predict_forms_destroy(struct predict_forms *forms); /* accepts NULL */

/* The form that matches the request; NULL: none. */
struct predict_form *predict_forms_find(struct predict_forms *forms, struct bytes request);
/* The slot for the form of such a request. It may hold another form, which is then overwritten. */
struct predict_form *predict_forms_place(struct predict_forms *forms, struct bytes request);

/* Learns a message; false: too much surrounds its numbers, or they are not in it. */
bool predict_bytes_learn(struct predict_bytes *bytes, struct bytes message, const void *numbers,
                         size_t numbers_size);
bool predict_bytes_match(const struct predict_bytes *bytes, struct bytes message);
/* Appends the message without its numbers, and returns where they belong. */
char *predict_bytes_put(const struct predict_bytes *bytes, struct buffer *out);
/* The copy of a part of the learnt message; the part does not overlap the numbers. */
struct bytes predict_bytes_moved(const struct predict_bytes *bytes, struct bytes message,
                                 struct bytes part);
/* The reverse: the same part of a message that matches. */
struct bytes predict_bytes_find(const struct predict_bytes *bytes, struct bytes message,
                                struct bytes moved);

#endif
