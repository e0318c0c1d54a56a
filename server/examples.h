/*
 * examples: what classify and regress ask of a signature and of what a run gives, for every
 * protocol (serving-api.md §10.2 to §10.4: the rules and their texts).
 */
#ifndef SERVER_EXAMPLES_H
#define SERVER_EXAMPLES_H

#include "server/inference.h"

/* INVALID_ARGUMENT: no such signature. Name "": the default one. */
struct status examples_find(struct servable *servable, struct bytes signature_name,
                            struct callable **out);

/* Does this signature classify, or regress? check_method: its method name must say so too. */
struct status examples_check_classify(const struct signature *signature, bool check_method,
                                      struct arena *arena);
struct status examples_check_regress(const struct signature *signature, bool check_method,
                                     struct arena *arena);

/* What a classification gave, row by row; as long as the outputs. */
struct classification {
    const struct bytes *labels; /* [examples, classes]; NULL: the signature has none */
    const float *scores;        /* the same */
    int64_t examples, classes;
};
struct status classification_of(const struct inference_call *call, const struct tensor *outputs,
                                struct classification *out);

/* One value per example: examples is call->inputs[0].size. */
struct status regression_of(const struct inference_call *call, const struct tensor *outputs,
                            const float **values);

#endif
