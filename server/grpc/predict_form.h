/*
 * predict_form: recognises Predict and ModelInfer requests that differ from an earlier one only in
 * their numbers. Clients send the same bytes around changing numbers. These bytes are compared
 * instead of parsed, and the bytes around the answer's numbers are copied.
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

#define PREDICT_AROUND_MAX 256 /* bytes around the numbers, of a request or an answer */

/* A message: bytes, numbers, bytes. */
struct predict_bytes {
    size_t size, numbers_at, numbers_size;
    char around[PREDICT_AROUND_MAX]; /* the bytes before the numbers, then those after */
};

struct predict_form {
    uint64_t serial;                      /* of the servable; 0: the form is empty */
    enum request_api api;                 /* of the method */
    struct predict_bytes request, answer; /* answer.size 0: not learnt yet */
    struct model_spec spec;               /* its names point into request.around */
    struct callable *callable;            /* valid while the servable has this serial */
    int output;                           /* index of the output in the answer */
    struct tensor input, outcome;         /* types and shapes */
};

struct predict_forms;

struct predict_forms *predict_forms_create(void);
void predict_forms_destroy(struct predict_forms *forms); /* accepts NULL */

/* The form that matches the request; NULL: none. */
struct predict_form *predict_forms_find(struct predict_forms *forms, struct bytes request);
/* The slot for the form of this request. It may hold another form, which is then overwritten. */
struct predict_form *predict_forms_place(struct predict_forms *forms, struct bytes request);

/* Learns a message. Returns false if too many bytes surround its numbers, or the numbers are not
 * inside it. */
bool predict_bytes_learn(struct predict_bytes *bytes, struct bytes message, const void *numbers,
                         size_t numbers_size);
bool predict_bytes_match(const struct predict_bytes *bytes, struct bytes message);
/* Appends the message without its numbers, and returns the place for them. */
char *predict_bytes_put(const struct predict_bytes *bytes, struct buffer *out);
/* The learnt copy of a part of the message; the part must not overlap the numbers. */
struct bytes predict_bytes_moved(const struct predict_bytes *bytes, struct bytes message,
                                 struct bytes part);
/* The reverse: the same part in a matching message. */
struct bytes predict_bytes_find(const struct predict_bytes *bytes, struct bytes message,
                                struct bytes moved);

#endif
