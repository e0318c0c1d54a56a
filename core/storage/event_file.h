/*
 * event_file: writes scalars, histograms and graphs to an event file, which TensorBoard and
 * summary_iterator can read while it grows. An event file holds TFRecords of tensorflow.Event
 * (proto/event.proto); the first one names the version.
 *
 *     struct event_file *file;
 *     TRY(event_file_create("logs", &file));
 *     TRY(event_file_add_start(file, wall_time_s, 501));
 *     struct event_scalar loss = { "loss", .5f };
 *     TRY(event_file_add_scalars(file, wall_time_s, 501, &loss, 1));
 *     TRY(event_file_flush(file));
 *     TRY(event_file_close(file));
 *
 * Threads  one at a time for each file
 */
#ifndef STORAGE_EVENT_FILE_H
#define STORAGE_EVENT_FILE_H

#include "base/bytes.h"
#include "storage/histogram.h"

struct event_file;

struct event_scalar {
    const char *tag; /* the name of the curve */
    double value;    /* stored as a float */
};

/* Creates events.out.tfevents.TIME.HOST.PID.N in the directory, and the directory if it is
 * missing. */
struct status event_file_create(const char *directory, struct event_file **out);

/* Tells readers that training continues at `step`: earlier files' events of that step and later
 * ones are void. */
struct status event_file_add_start(struct event_file *file, double wall_time_s, uint64_t step);

/* At most EVENT_SCALARS_MAX of them. */
#define EVENT_SCALARS_MAX 64
struct status event_file_add_scalars(struct event_file *file, double wall_time_s, uint64_t step,
                                     const struct event_scalar *scalars, int count);

struct status event_file_add_histogram(struct event_file *file, double wall_time_s, uint64_t step,
                                       const char *tag, const struct histogram *histogram);

/* graph: a serialized GraphDef. The last one of a directory is shown. */
struct status event_file_add_graph(struct event_file *file, double wall_time_s, struct bytes graph);

/* Flushes the events for readers. If that fails, they are lost. */
struct status event_file_flush(struct event_file *file);

/* Flushes, fsyncs and closes. The file stays. Accepts NULL. */
struct status event_file_close(struct event_file *file);

#endif
