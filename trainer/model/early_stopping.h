/*
 * early_stopping: which evaluation was the best so far, and when the job need not go on, as Keras'
 * EarlyStopping decides it; an evaluation takes the place of an epoch.
 *
 *     struct early_stopping stopping;
 *     TRY(early_stopping_init(&options, &graph, &stopping));
 *     TRY(early_stopping_read(&stopping, path));            what a process before this one found
 *     struct verdict verdict = early_stopping_add(&stopping, step, value);
 *     TRY(early_stopping_write(&stopping, path));
 */
#ifndef TRAINER_MODEL_EARLY_STOPPING_H
#define TRAINER_MODEL_EARLY_STOPPING_H

#include "trainer/job/monitor.h"
#include "trainer/model/model.h"

struct early_stopping_options {
    const char *monitor;  /* "val_loss", "accuracy": the loss or a metric; val_ may precede it */
    const char *mode;     /* "auto", "min" or "max": which values are better */
    int64_t patience;     /* evaluations without improvement that end the job; negative: none do */
    double min_delta;     /* a smaller change is no improvement */
    const char *baseline; /* a number that must be beaten as well; "": none */
    int64_t start_from;   /* evaluations that do not count */
};

struct early_stopping {
    struct early_stopping_options options;
    const char *name; /* of what is monitored: "loss" */
    int metric;       /* index of the metric; -1: the loss */
    bool larger_is_better, has_baseline;
    double baseline;
    /* The state. */
    uint64_t step; /* of the last evaluation that counted; 0: none */
    int64_t evaluations, wait;
    bool has_best;
    double best;
    uint64_t best_step;
};

/* INVALID_ARGUMENT: the model has no such metric; the baseline is no number. */
struct status early_stopping_init(const struct early_stopping_options *options,
                                  const struct training_graph *graph, struct early_stopping *out);

/* Takes the value that an evaluation of this step found. A step that has been evaluated before, by
 * a process that was killed, does not count again. */
struct verdict early_stopping_add(struct early_stopping *stopping, uint64_t step, double value);

/* The monitored value of an evaluation. */
double early_stopping_value(const struct early_stopping *stopping,
                            const struct evaluation *evaluation);

/* Has the job been stopped, and would it be with these options? */
bool early_stopping_is_enough(const struct early_stopping *stopping);

/* The state in a file; reading changes nothing if there is no such file.
 * INVALID_ARGUMENT: another monitor's state, or not such a file. */
struct status early_stopping_read(struct early_stopping *stopping, const char *path);
struct status early_stopping_write(const struct early_stopping *stopping, const char *path);

#endif
