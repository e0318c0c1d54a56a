/*
 * candidates: the vectors and ids of all candidates, which an evaluation ranks.
 *
 *     struct candidates candidates = { 0 };
 *     status = candidates_compute(&candidates, model, values, &given, stop);
 *     …feed candidates.tensors…
 *     candidates_finish(&candidates);
 */
#ifndef TRAINER_MODEL_CANDIDATES_H
#define TRAINER_MODEL_CANDIDATES_H

#include "trainer/model/model.h"

struct candidates {
    struct tensor tensors[2]; /* in the order of training_pass.candidates; they borrow from the
                               * buffers */
    struct buffer vectors, ids, texts;
    int64_t rows, bytes_max;
};

/* Errors  CANCELLED; RESOURCE_EXHAUSTED more memory than given->bytes_max; those of the rows */
struct status candidates_compute(struct candidates *candidates, const struct model *model,
                                 struct evaluation_values *values,
                                 const struct evaluation_candidates *given,
                                 const _Atomic bool *stop);
void candidates_finish(struct candidates *candidates); /* accepts a zeroed one */

#endif
