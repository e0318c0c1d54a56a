/*
 * metrics_log: writes metrics over time to files: JSON lines (--metrics_file) and event files for
 * TensorBoard (--log_dir).
 *
 * The lines of a training step, of the training rows of all workers, and of an evaluation:
 *
 *     {"kind":"train","time":1763850000.125,"step":100,"loss":0.41,"learning_rate":0.01,
 *      "steps_per_second":512.5,"examples_per_second":51250}
 *     {"kind":"train_metrics","time":1763850000.126,"step":100,"rows":51200,"loss":0.4,"accuracy":0.8}
 *     {"kind":"evaluation","name":"test","time":1763850001.5,"step":1000,"loss":0.31,"accuracy":0.9}
 *
 * The events have the tags of TensorFlow's Estimator: loss, learning_rate and global_step/sec in
 * the directory itself, and the values of an evaluation in its sub-directory eval. The graph and
 * histograms of the variables, with Keras' tags, are only in the events of training.
 *
 * If writing to a file fails, `warn` is called once and that kind of file ends; training continues.
 * Any thread may call. All functions accept NULL for the log, and do nothing.
 */
#ifndef TRAINER_REPORT_METRICS_LOG_H
#define TRAINER_REPORT_METRICS_LOG_H

#include "base/clock.h"
#include "storage/event_file.h"

struct metrics_log;

struct metrics_log_options {
    const char *file;      /* "": no JSON lines */
    const char *directory; /* "": no event files */
    bool trains;           /* false: only evaluations are logged */
    uint64_t every_steps;  /* a line at each multiple, at the first step and at the last */
    uint64_t last_step;
    uint64_t rows_per_step;
    struct clock *clock;
    void (*warn)(void *context, const char *text);
    void *context;
};

/**
 * Opens the files. An existing --metrics_file is appended to. Without a file and a directory, *out
 * is NULL.
 *
 * Errors  those of the file system, with the flag's name in front
 */
struct status metrics_log_open(const struct metrics_log_options *options, struct metrics_log **out);

/* A step was made with this loss. NULL: by another worker; the loss of this task's last step since
 * the previous line then counts. If the step does not follow the previous one, the job has
 * returned to a checkpoint: readers of the event files are told to drop later events. A loss that
 * is not finite (unknown, or of a skipped step) is null in a line and left out of the events.
 * Returns whether a multiple of every_steps, or the last step, has been reached. */
bool metrics_log_step(struct metrics_log *log, uint64_t step, const float *loss,
                      double learning_rate);

/* The loss and the metrics of the `rows` training rows since the previous line. */
void metrics_log_train(struct metrics_log *log, uint64_t step, int64_t rows,
                       const struct event_scalar *values, int values_count);

/* name: the evaluated rows, "test" or "validation". values_count is at most EVENT_SCALARS_MAX. */
void metrics_log_evaluation(struct metrics_log *log, const char *name, uint64_t step,
                            const struct event_scalar *values, int values_count);

/* The trained graph, a serialized GraphDef. Only for event files. */
void metrics_log_graph(struct metrics_log *log, struct bytes graph);

/* The values of a variable after this step. Only for event files. */
void metrics_log_histogram(struct metrics_log *log, const char *variable, uint64_t step,
                           const struct histogram *histogram);

/* Flushes the files for readers, unless that was done within the last second. */
void metrics_log_show(struct metrics_log *log);

void metrics_log_close(struct metrics_log *log);

#endif
