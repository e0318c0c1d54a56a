/*
 * metric_rows: every metric of the server, from the list in rows.def: TensorFlow Serving's by its
 * internal names, and ours by Prometheus' rules (base units, HELP).
 */
#ifndef SERVER_METRICS_ROWS_H
#define SERVER_METRICS_ROWS_H

#include <stdint.h>

#define METRIC_LABELS_MAX  5
#define METRIC_BUCKETS_MAX 60

/* A level is changed by adding (1, or -1 as a uint64_t); a gauge is set. Both are gauges for
 * Prometheus. */
enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_LEVEL };

/* Exponential limits: first, first · factor, … (`count` of them), in the printed unit. */
struct metric_buckets {
    double first, factor;
    uint32_t count;
};

struct metric_row {
    const char *name; /* begins with '/' if it is TensorFlow Serving's */
    enum metric_kind kind;
    const char *labels[METRIC_LABELS_MAX + 1]; /* up to a NULL */
    struct metric_buckets buckets;
    /* internal units per printed unit: 1e9 if nanoseconds are added and seconds printed */
    double unit;
    const char *help;
};

enum metric_id {
#define METRIC(id, ...) METRIC_##id,
#include "server/metrics/rows.def"
#undef METRIC
    METRIC_COUNT
};

extern const struct metric_row metric_rows[METRIC_COUNT];

#endif
