/*
 * metrics: counters, gauges and histograms, by label sets (series). Each metric is a row of rows.h.
 *
 *     const struct metric_series *loads =
 *         metric_series(METRIC_MODEL_LOADS, METRIC_LABELS(bytes_of(name), bytes_of("OK")));
 *     metric_add(loads, 1);
 *
 * Finding a series takes a lock and hashes its labels. Code on a warm path finds its series once
 * and keeps them; adding then takes no lock (slots.h). Like the log, the metrics are global to the
 * process, so any code may count.
 *
 * Bounds  The number of series is bounded. Beyond the limit, later ones are counted together, with
 *         "(other)" for every label. Pass names from clients through metric_client_name first, so
 *         that clients cannot exhaust the series.
 *
 * Threads safe
 */
#ifndef SERVER_METRICS_METRICS_H
#define SERVER_METRICS_METRICS_H

#include "base/bytes.h"
#include "server/metrics/rows.h"
#include "server/metrics/slots.h"

#define METRIC_OTHER "(other)"

struct metric_series {
    enum metric_id metric;
    uint32_t slot; /* the first of its slots: a counter has one, a histogram one per bucket, one
                    * for values above all limits, and one for the sum */
    _Atomic int64_t value; /* of a gauge */
    int owners;            /* number of owners; < 0: it is never removed */
    struct bytes *labels;  /* in the order of the row */
    struct bytes key;      /* the labels with their sizes */
    struct metric_series *next_removed;
};

/* The series of a temporary thing, such as a version of a model. Zero-initialise it. */
struct metric_owner {
    struct metric_series **series;
    size_t count, capacity;
};

#define METRIC_LABELS(...) ((const struct bytes[]){ __VA_ARGS__ })
#define METRIC_NO_LABELS   NULL

/* Finds or adds a series. It lives as long as the process. */
struct metric_series *metric_series(enum metric_id metric, const struct bytes *labels);
/* The same, until its last owner releases it. The caller locks the owner. */
struct metric_series *metric_series_owned(enum metric_id metric, const struct bytes *labels,
                                          struct metric_owner *owner);
/* Removes the series without other owners. No thread may add to them any more. */
void metric_owner_release(struct metric_owner *owner);

/* A name as a label: `name` for the first 100 names that clients make up, if it has at most 128
 * bytes, all of them printable ASCII; METRIC_OTHER for all others. Lives as long as `name`. */
struct bytes metric_client_name(struct bytes name);

static inline void metric_add(const struct metric_series *series, uint64_t count)
{
    slot_add(series->slot, count);
}

/* Adds to a histogram, in the internal unit (metric_row.unit). */
void metric_observe(const struct metric_series *series, uint64_t value);
/* Sets a gauge. */
void metric_set(struct metric_series *series, int64_t value);

/* For tests: the total of a counter or gauge, the number of observations of a histogram. */
uint64_t metric_value(const struct metric_series *series);

/**
 * The value of the first series, in the order of labels, of the counter or gauge with this internal
 * name, TensorFlow Serving's or ours. 0: none; also for a histogram, which has no single value.
 */
int64_t metric_first_value(struct bytes name);

#endif
