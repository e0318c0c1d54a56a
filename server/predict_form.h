/*
 * predict_form: requests of Predict seen before, but for their numbers. Clients ask again and again
 * with the same bytes around another tensor: those bytes are compared, and what they mean is not
 * found out again; the same for the bytes around the answer's numbers.
 *
 * Only for the common shape, one tensor of fixed-size numbers in and one out; all other requests
 * are read (grpc_predict.c), as is the first of each form. The callable is found anew each time.
 *
 * Threads: everything in the loop's thread.
 */
#ifndef SERVER_PREDICT_FORM_H
#define SERVER_PREDICT_FORM_H

#include "server/model_spec.h"
#include "tensor/tensor.h"

#define PREDICT_AROUND_MAX 256 /* bytes beside the numbers, of a request and of an answer */

/* A message: bytes, numbers, bytes. */
struct predict_bytes {
    size_t size, numbers_at, numbers_size;
    char around[PREDICT_AROUND_MAX]; /* those before, then those behind */
};

struct predict_form {
    uint64_t serial;                      /* of the servable; 0: nothing is known */
    struct predict_bytes request, answer; /* answer.size 0: not seen yet */
    struct model_spec spec;               /* in request.around */
    struct callable *callable;            /* while the servable is the one of this serial */
    int output;                           /* the one that is answered */
    struct tensor input, outcome;         /* types and shapes */
};

struct predict_forms;

struct predict_forms *predict_forms_create(void);
void predict_forms_destroy(struct predict_forms *forms); /* accepts NULL */

/* NULL: none of this request's. */
struct predict_form *predict_forms_find(struct predict_forms *forms, struct bytes request);
/* Where the form of such a request stands, or another that is to be forgotten. */
struct predict_form *predict_forms_place(struct predict_forms *forms, struct bytes request);

/* Remembers a message; false: there is too much around its numbers, or they lie elsewhere. */
bool predict_bytes_learn(struct predict_bytes *bytes, struct bytes message, const void *numbers,
                         size_t numbers_size);
bool predict_bytes_match(const struct predict_bytes *bytes, struct bytes message);
/* The message but for its numbers; where they belong. */
char *predict_bytes_put(const struct predict_bytes *bytes, struct buffer *out);
/* A part of the message learnt, where the copy has it; it lies beside the numbers. */
struct bytes predict_bytes_moved(const struct predict_bytes *bytes, struct bytes message,
                                 struct bytes part);

#endif
