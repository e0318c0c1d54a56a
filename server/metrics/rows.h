/*
 * metric_rows: every metric of the server, a row each: TensorFlow Serving's by its internal names,
 * and ours by Prometheus' rules (base units, HELP).
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
    /* internal units per printed unit: NS_PER_S if nanoseconds are added and seconds printed */
    double unit;
    const char *help;
};

enum metric_id {
    METRIC_TF_LOAD_ATTEMPTS,
    METRIC_TF_LOAD_LATENCY,
    METRIC_TF_LOAD_LATENCY_BY_STAGE,
    METRIC_TF_DIRECT_SESSION_RUNS,
    METRIC_TF_GRAPH_BUILD_CALLS,
    METRIC_TF_GRAPH_BUILD_TIME,
    METRIC_TF_GRAPH_RUN_TIME,
    METRIC_TF_GRAPH_RUN_TIME_HISTOGRAM,
    METRIC_TF_GRAPH_RUNS,
    METRIC_TF_INPUT_BATCH_SIZE,
    METRIC_TF_PADDING_SIZE,
    METRIC_TF_PROCESSED_BATCH_SIZE,
    METRIC_TF_QUEUING_LATENCY,
    METRIC_TF_WRAPPED_RUN_COUNT,
    METRIC_TF_MLMD_MAP,
    METRIC_TF_WARMUP_LATENCY,
    METRIC_TF_WARMUP_RECORDS_READ,
    METRIC_TF_REQUEST_COUNT,
    METRIC_TF_EXAMPLE_COUNT_TOTAL,
    METRIC_TF_EXAMPLE_COUNTS,
    METRIC_TF_REQUEST_LATENCY,
    METRIC_TF_REQUEST_LOG_COUNT,
    METRIC_TF_RUNTIME_LATENCY,

    METRIC_REQUESTS,
    METRIC_REQUEST_STAGE,
    METRIC_BATCH_ROWS,
    METRIC_BATCH_ROWS_CHOSEN,
    METRIC_QUEUED_CALLS,
    METRIC_CONNECTIONS,
    METRIC_MODEL_VERSIONS,
    METRIC_MODEL_MEMORY,
    METRIC_MODEL_LOADS,
    METRIC_MODEL_LOAD_SECONDS,
    METRIC_CONFIG_RELOADS,
    METRIC_CONFIG_FILE_ACCEPTED,
    METRIC_REQUEST_LOG_RECORDS,
    METRIC_BUDGET,
    METRIC_BUDGET_LIMIT,
    METRIC_PROCESS_MEMORY,
    METRIC_PROCESS_START,
    METRIC_BUILD_INFO,
    METRIC_SERIES_DROPPED,
    METRIC_COUNT
};

extern const struct metric_row metric_rows[METRIC_COUNT];

#endif
