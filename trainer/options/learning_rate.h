/*
 * learning_rate: chooses the learning rate of a job, and its schedule, from the flags and the
 * model's description.
 *
 * --learning_rate_schedule has the form of a call of one of Keras' classes:
 *
 *     CosineDecay(decay_steps=1000, alpha=0.1)
 *     PiecewiseConstantDecay(boundaries=[1000, 2000], values=[0.1, 0.01, 0.001])
 *
 * Without initial_learning_rate, the schedule starts with the job's learning rate.
 */
#ifndef TRAINER_OPTIONS_LEARNING_RATE_H
#define TRAINER_OPTIONS_LEARNING_RATE_H

#include "layers/layers.h"
#include "trainer/optimizers/schedule.h"

struct learning_rate_sources {
    double flag;                             /* --learning_rate; 0: not given */
    const char *flag_schedule;               /* --learning_rate_schedule; "": not given */
    const struct layers_training *described; /* NULL: the description is not used */
    float otherwise;                         /* the optimizer's default */
};

/* Errors: INVALID_ARGUMENT, prefixed by the flag's name or the model's part. */
struct status learning_rate_choose(const struct learning_rate_sources *sources, struct arena *arena,
                                   float *rate, struct schedule *schedule);

/* Appends a call as Keras' JSON: {"class_name":"CosineDecay","config":{"decay_steps":1000}}.
 * INVALID_ARGUMENT: not a call with named numbers and lists. */
struct status learning_rate_call_to_json(const char *call, struct buffer *out);

#endif
