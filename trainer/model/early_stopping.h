/*
 * early_stopping: finds the best evaluation so far, and decides when to end the job, as Keras'
 * EarlyStopping does; an evaluation takes the place of an epoch.
 *
 *     struct early_stopping stopping;
 *     TRY(early_stopping_init(&options, &graph, &stopping));
 *     TRY(early_stopping_read(&stopping, path));            the state of an earlier process
 *     struct verdict verdict = early_stopping_add(&stopping, step, value);
 *     TRY(early_stopping_write(&stopping, path));
 */
#ifndef TRAINER_MODEL_EARLY_STOPPING_H
#define TRAINER_MODEL_EARLY_STOPPING_H

#include "trainer/job/monitor.h"
#include "trainer/model/model.h"

struct early_stopping_options {
    const char *monitor;  /* the loss or a metric: "val_loss", "accuracy"; the prefix val_ is
                           * optional */
    const char *mode;     /* "auto", "min" or "max": which values are better */
    int64_t patience;     /* number of evaluations without improvement that ends the job;
                           * negative: never */
    double min_delta;     /* a smaller change is not an improvement */
    const char *baseline; /* a number that must also be exceeded; "": none */
    int64_t start_from;   /* number of evaluations to ignore at first */
};

struct early_stopping {
    struct early_stopping_options options;
    const char *name; /* of the monitored value: "loss" */
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

/* INVALID_ARGUMENT: the model has no such metric, or the baseline is not a number. */
struct status early_stopping_init(const struct early_stopping_options *options,
                                  const struct training_graph *graph, struct early_stopping *out);

/* Adds the value of an evaluation of this step. A step that a killed process has already
 * evaluated does not count again. */
struct verdict early_stopping_add(struct early_stopping *stopping, uint64_t step, double value);

/* The monitored value of an evaluation. */
double early_stopping_value(const struct early_stopping *stopping,
                            const struct evaluation *evaluation);

/* Has the job been stopped, and would it be with these options? */
bool early_stopping_is_enough(const struct early_stopping *stopping);

/* The state in a file; reading changes nothing if the file does not exist. INVALID_ARGUMENT: the
 * state of another monitor, or not a state. */
struct status early_stopping_read(struct early_stopping *stopping, const char *path);
struct status early_stopping_write(const struct early_stopping *stopping, const char *path);

#endif
