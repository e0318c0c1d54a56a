/*
 * schedule: the learning rate of each step. Each kind of schedule is one row of a table, with the
 * name, the parameters and the arithmetic (in float) of Keras' class of that name.
 *
 *     float rate;
 *     struct schedule schedule;
 *     TRY(schedule_begin("CosineDecay", &schedule));
 *     TRY(schedule_set(&schedule, "initial_learning_rate", (double[]){ 0.1 }, 1, &rate));
 *     TRY(schedule_set(&schedule, "decay_steps", (double[]){ 1000 }, 1, &rate));
 *     TRY(schedule_check(&schedule));
 *     rate_of_the_first_step = schedule_rate(&schedule, rate, 0);
 *
 * The initial learning rate is a separate value, because a constant rate consists of it alone. A
 * schedule of zeros is that constant rate.
 */
#ifndef TRAINER_OPTIMIZERS_SCHEDULE_H
#define TRAINER_OPTIMIZERS_SCHEDULE_H

#include "base/bytes.h"

#define SCHEDULE_BOUNDARIES_MAX 64
#define SCHEDULE_VALUES_MAX     (2 * SCHEDULE_BOUNDARIES_MAX)
#define SCHEDULE_PARAMETERS_MAX 4

struct schedule_parameter {
    const char *name;
    double initial; /* NAN: none */
    enum {
        SCHEDULE_REQUIRED, /* must be given */
        SCHEDULE_POSITIVE, /* required, and above 0 */
        SCHEDULE_GROWING,  /* has a default; 1 or more */
        SCHEDULE_GIVEN,    /* has an initial value */
        SCHEDULE_OPTIONAL, /* may be left out: NAN */
    } rule;
};

struct schedule_kind {
    const char *name;
    int parameters_count; /* 0: PiecewiseConstantDecay, which has two lists */
    struct schedule_parameter parameters[SCHEDULE_PARAMETERS_MAX];
    /* step: the number of earlier updates. values: as in struct schedule. */
    float (*rate)(const double *values, int values_count, float initial_rate, uint64_t step);
};

struct schedule {
    const struct schedule_kind *kind; /* NULL: the rate is constant */
    /* The parameters in the table's order; for PiecewiseConstantDecay, each boundary with the
     * rate after it. */
    double values[SCHEDULE_VALUES_MAX];
    int values_count;
};

/* INVALID_ARGUMENT: no such kind; the text lists all kinds. */
struct status schedule_begin(const char *name, struct schedule *out);

/**
 * Sets a parameter, and *initial_rate if it is the initial learning rate, or the list of values of
 * PiecewiseConstantDecay, whose first is the initial rate.
 *
 * Errors  INVALID_ARGUMENT no such parameter, or the wrong number of values
 */
struct status schedule_set(struct schedule *schedule, const char *parameter, const double *numbers,
                           int count, float *initial_rate);

/* Makes a schedule from its values. "": a constant rate. INVALID_ARGUMENT: as schedule_check. */
struct status schedule_read(const char *name, const double *values, size_t values_count,
                            struct schedule *out);

/* INVALID_ARGUMENT: a parameter is missing or out of range. */
struct status schedule_check(const struct schedule *schedule);

/* The learning rate of the update after `step` updates. */
float schedule_rate(const struct schedule *schedule, float initial_rate, uint64_t step);

/* The step that determines an update's rate if each update takes the gradients of several
 * batches: as in Keras, a schedule counts batches, and an update is made with the last of its
 * batches. */
static inline uint64_t schedule_step(uint64_t updates, uint64_t batches_per_step)
{
    return updates * batches_per_step + batches_per_step - 1;
}

#endif
