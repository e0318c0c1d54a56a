/*
 * clip: limits a worker's gradients before they are pushed, as Keras' optimizers do.
 *
 * A worker has whole gradients of all variables, which the norms need; a ps has slices. In a
 * synchronous job each worker therefore clips its own gradients, before they are averaged.
 */
#ifndef TRAINER_JOB_CLIP_H
#define TRAINER_JOB_CLIP_H

#include "trainer/job/worker.h"

struct clip {
    enum clip_kind {
        CLIP_NOTHING,
        CLIP_VALUE,       /* each element to [-limit, limit] */
        CLIP_NORM,        /* the gradient of each variable to this L2 norm */
        CLIP_GLOBAL_NORM, /* all gradients together to this L2 norm */
    } kind;
    float limit; /* above 0 */
};

/* Wraps `inner`, which it owns, and clips its gradients. If there is nothing to clip, returns
 * `inner`. */
struct gradient_source *clip_source(struct gradient_source *inner, const struct clip *clip,
                                    const struct placement *placement);

#endif
