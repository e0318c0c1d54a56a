/*
 * muon: Keras' Muon, an update of a whole matrix. Newton-Schulz iterations, which are matrix
 * products, move the momentum's singular values close to 1. Source: keras/src/optimizers/muon.py.
 *
 * Keras' Muon trains everything but matrices by AdamW, which is a further optimizer of the job
 * here: see trainer/options/other_optimizers.h.
 */
#ifndef TRAINER_OPTIMIZERS_MUON_H
#define TRAINER_OPTIMIZERS_MUON_H

#include "trainer/optimizers/optimizer.h"

#define MUON_STEPS_MAX 100 /* of ns_steps */

/* settings: momentum, nesterov, ns_steps, rms_rate (below 0: the update is not scaled by the
 * size of the matrix), muon_a, muon_b, muon_c, weight_decay (as Adam's), and others that are not
 * read here. One slot. Any other shape counts as a matrix with a single row. */
void muon_update(const struct optimizer_step *step, const struct shape *shape);

#endif
