/*
 * classify_regress: the requirements of classify and regress on a signature and its outputs, in
 * every protocol. The rules and the error texts are TensorFlow Serving's (servables/tensorflow:
 * classifier.cc, regressor.cc).
 */
#ifndef SERVER_INFERENCE_CLASSIFY_REGRESS_H
#define SERVER_INFERENCE_CLASSIFY_REGRESS_H

#include "server/inference/inference.h"

/* Finds the signature; an empty name means the default one. INVALID_ARGUMENT: not found. */
struct status classify_regress_find(struct servable *servable, struct bytes signature_name,
                                    struct callable **out);

/* INVALID_ARGUMENT if the signature is not for classification, or regression. check_method: its
 * method name must match too. */
struct status classify_check(const struct signature *signature, bool check_method,
                             struct arena *arena);
struct status regress_check(const struct signature *signature, bool check_method,
                            struct arena *arena);

/* The outputs of a classification; borrows from them. */
struct classification {
    const struct bytes *labels; /* [examples, classes]; NULL: the signature has no labels */
    const float *scores;        /* [examples, classes]; NULL: the signature has no scores */
    int64_t examples, classes;
};
struct status classify_read_outputs(const struct inference_call *call, const struct tensor *outputs,
                                    struct classification *out);

/* *values [examples]: one value per example of call->inputs[0]. */
struct status regress_read_outputs(const struct inference_call *call, const struct tensor *outputs,
                                   const float **values);

#endif
