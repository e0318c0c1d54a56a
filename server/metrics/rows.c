#include "server/metrics/rows.h"

#define NS      1e9 /* nanoseconds are added, seconds printed */
#define NO_UNIT 1
#define NOTHING \
    {           \
        0, 0, 0 \
    }
/* TensorFlow Serving's latencies, in microseconds: up to about 20 minutes. */
#define TF_TIME     \
    {               \
        10, 1.8, 33 \
    }
#define TF_WAIT      \
    {                \
        100, 1.2, 52 \
    }
#define TF_RUN      \
    {               \
        1000, 2, 20 \
    }
#define TF_SIZE  \
    {            \
        1, 2, 14 \
    }
#define TF_COUNT \
    {            \
        1, 2, 15 \
    }
#define STAGE       \
    {               \
        4e-6, 2, 22 \
    } /* up to 8 s */
#define LOAD        \
    {               \
        1e-3, 2, 20 \
    } /* up to 9 minutes */
#define ROWS     \
    {            \
        1, 2, 11 \
    }

#define TF   "/tensorflow/serving/"
#define CC   "/tensorflow/cc/saved_model/"
#define CORE "/tensorflow/core/"

/* TensorFlow Serving's in the order of their names, in which they are printed. */
const struct metric_row metric_rows[METRIC_COUNT] = {
#define ROW(metric, name, kind, buckets, unit, help, ...) \
    [METRIC_##metric] = { name, METRIC_##kind, { __VA_ARGS__ }, buckets, unit, help }
    ROW(TF_LOAD_ATTEMPTS, CC "load_attempt_count", COUNTER, NOTHING, NO_UNIT, 0, "model_path",
        "status"),
    ROW(TF_LOAD_LATENCY, CC "load_latency", COUNTER, NOTHING, NO_UNIT, 0, "model_path"),
    ROW(TF_LOAD_LATENCY_BY_STAGE, CC "load_latency_by_stage", HISTOGRAM, TF_TIME, NO_UNIT, 0,
        "model_path", "stage"),
    ROW(TF_DIRECT_SESSION_RUNS, CORE "direct_session_runs", COUNTER, NOTHING, NO_UNIT, 0, 0),
    ROW(TF_GRAPH_BUILD_CALLS, CORE "graph_build_calls", COUNTER, NOTHING, NO_UNIT, 0, 0),
    ROW(TF_GRAPH_BUILD_TIME, CORE "graph_build_time_usecs", COUNTER, NOTHING, NO_UNIT, 0, 0),
    ROW(TF_GRAPH_RUN_TIME, CORE "graph_run_time_usecs", COUNTER, NOTHING, NO_UNIT, 0, 0),
    ROW(TF_GRAPH_RUN_TIME_HISTOGRAM, CORE "graph_run_time_usecs_histogram", HISTOGRAM, TF_RUN,
        NO_UNIT, 0, 0),
    ROW(TF_GRAPH_RUNS, CORE "graph_runs", COUNTER, NOTHING, NO_UNIT, 0, 0),
    ROW(TF_INPUT_BATCH_SIZE, TF "batching_session/input_batch_size", HISTOGRAM, TF_SIZE, NO_UNIT, 0,
        0),
    ROW(TF_PADDING_SIZE, TF "batching_session/padding_size", HISTOGRAM, TF_SIZE, NO_UNIT, 0,
        "execution_batch_size"),
    ROW(TF_PROCESSED_BATCH_SIZE, TF "batching_session/processed_batch_size", HISTOGRAM, TF_SIZE,
        NO_UNIT, 0, 0),
    ROW(TF_QUEUING_LATENCY, TF "batching_session/queuing_latency", HISTOGRAM, TF_WAIT, NO_UNIT, 0,
        "thread_pool_name"),
    ROW(TF_WRAPPED_RUN_COUNT, TF "batching_session/wrapped_run_count", COUNTER, NOTHING, NO_UNIT, 0,
        0),
    ROW(TF_MLMD_MAP, TF "mlmd_map", GAUGE, NOTHING, NO_UNIT, 0, "model_name", "version"),
    ROW(TF_WARMUP_LATENCY, TF "model_warmup_latency", HISTOGRAM, TF_TIME, NO_UNIT, 0, "model_path",
        "status"),
    ROW(TF_WARMUP_RECORDS_READ, TF "model_warmup_records_read", COUNTER, NOTHING, NO_UNIT, 0,
        "model_path", "status"),
    ROW(TF_REQUEST_COUNT, TF "request_count", COUNTER, NOTHING, NO_UNIT, 0, "model_name", "status"),
    ROW(TF_EXAMPLE_COUNT_TOTAL, TF "request_example_count_total", COUNTER, NOTHING, NO_UNIT, 0,
        "model"),
    ROW(TF_EXAMPLE_COUNTS, TF "request_example_counts", HISTOGRAM, TF_COUNT, NO_UNIT, 0, "model"),
    ROW(TF_REQUEST_LATENCY, TF "request_latency", HISTOGRAM, TF_TIME, NO_UNIT, 0, "model_name",
        "API", "entrypoint"),
    ROW(TF_REQUEST_LOG_COUNT, TF "request_log_count", COUNTER, NOTHING, NO_UNIT, 0, "model_name",
        "status_code"),
    ROW(TF_RUNTIME_LATENCY, TF "runtime_latency", HISTOGRAM, TF_TIME, NO_UNIT, 0, "model_name",
        "API", "runtime"),

    ROW(REQUESTS, "slipway_requests_total", COUNTER, NOTHING, NO_UNIT,
        "Answered requests for models, by outcome.", "model", "version", "signature", "protocol",
        "status"),
    ROW(REQUEST_STAGE, "slipway_request_stage_seconds", HISTOGRAM, STAGE, NS,
        "Time that answered requests spent in each stage.", "model", "version", "signature",
        "protocol", "stage"),
    ROW(BATCH_ROWS, "slipway_batch_rows", HISTOGRAM, ROWS, NO_UNIT,
        "Rows of each run whose rows are independent, those of all its requests together.", "model",
        "version", "signature"),
    ROW(BATCH_ROWS_CHOSEN, "slipway_batch_rows_chosen", GAUGE, NOTHING, NO_UNIT,
        "The most rows that may share a run, as --target_p99_ms chose last.", "model", "version",
        "signature"),
    ROW(QUEUED_CALLS, "slipway_queued_calls", GAUGE, NOTHING, NO_UNIT,
        "Requests that wait for a run.", "queue"),
    ROW(CONNECTIONS, "slipway_connections", LEVEL, NOTHING, NO_UNIT, "Open connections.",
        "protocol"),
    ROW(MODEL_VERSIONS, "slipway_model_versions", GAUGE, NOTHING, NO_UNIT,
        "Versions of models, by state.", "model", "state"),
    ROW(MODEL_MEMORY, "slipway_model_memory_bytes", GAUGE, NOTHING, NO_UNIT,
        "Bytes of the files of each loaded version.", "model", "version"),
    ROW(MODEL_LOADS, "slipway_model_loads_total", COUNTER, NOTHING, NO_UNIT,
        "Attempts to load a version, by outcome.", "model", "status"),
    ROW(MODEL_LOAD_SECONDS, "slipway_model_load_seconds", HISTOGRAM, LOAD, NS,
        "Duration of successful loads, with warm-up.", "model"),
    ROW(CONFIG_RELOADS, "slipway_config_reloads_total", COUNTER, NOTHING, NO_UNIT,
        "Configurations that were applied or refused after the start.", "source", "status"),
    ROW(CONFIG_FILE_ACCEPTED, "slipway_config_file_accepted", GAUGE, NOTHING, NO_UNIT,
        "0 while the config file is refused and the configuration before it stays, otherwise 1.",
        0),
    ROW(REQUEST_LOG_RECORDS, "slipway_request_log_records_total", COUNTER, NOTHING, NO_UNIT,
        "Records of request logs: OK if written, otherwise why they were dropped.", "prefix",
        "status"),
    ROW(BUDGET, "slipway_memory_budget_used_bytes", GAUGE, NOTHING, NO_UNIT,
        "Memory that requests, runs, responses and connections hold.", 0),
    ROW(BUDGET_LIMIT, "slipway_memory_budget_limit_bytes", GAUGE, NOTHING, NO_UNIT,
        "The most that they may hold (--memory_budget_bytes).", 0),
    ROW(PROCESS_MEMORY, "process_resident_memory_bytes", GAUGE, NOTHING, NO_UNIT,
        "Resident memory of the process.", 0),
    ROW(PROCESS_START, "process_start_time_seconds", GAUGE, NOTHING, NO_UNIT,
        "Start of the process, in seconds since 1970.", 0),
    ROW(BUILD_INFO, "slipway_build_info", GAUGE, NOTHING, NO_UNIT,
        "Always 1; the labels tell what runs.", "version"),
    ROW(SERIES_DROPPED, "slipway_metric_series_dropped_total", COUNTER, NOTHING, NO_UNIT,
        "Label sets that are counted as \"(other)\", because there were too many.", 0),
};
