#include "server/models/load_metrics.h"

#include <stdio.h>

#include "base/file.h"
#include "server/metrics/metrics.h"

#define MLMD_FILE "assets.extra/mlmd_uuid" /* TensorFlow Serving's: an ID of ML Metadata */

static uint64_t us(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns / 1000 : 0;
}

void load_metrics_attempt(const char *model, const char *directory, struct status status,
                          int64_t took_ns, struct metric_owner *version)
{
    bool loaded = status_is_ok(status);
    struct bytes name = bytes_of(model), code = bytes_of(status_code_name(status.code));
    struct bytes outcome = bytes_of(loaded ? "success" : "fail");
    metric_add(metric_series_owned(METRIC_TF_LOAD_ATTEMPTS,
                                   METRIC_LABELS(bytes_of(directory), outcome), version),
               1);
    metric_add(metric_series(METRIC_MODEL_LOADS, METRIC_LABELS(name, code)), 1);
    if (loaded)
        metric_observe(metric_series(METRIC_MODEL_LOAD_SECONDS, METRIC_LABELS(name)),
                       (uint64_t)took_ns);
}

void load_metrics_planned(int count, int64_t took_ns)
{
    metric_add(metric_series(METRIC_TF_GRAPH_BUILD_CALLS, METRIC_NO_LABELS), (uint64_t)count);
    metric_add(metric_series(METRIC_TF_GRAPH_BUILD_TIME, METRIC_NO_LABELS), us(took_ns));
}

static void observe_stage(struct servable *servable, struct bytes path, const char *stage,
                          int64_t took_ns)
{
    metric_observe(metric_series_owned(METRIC_TF_LOAD_LATENCY_BY_STAGE,
                                       METRIC_LABELS(path, bytes_of(stage)), &servable->series),
                   us(took_ns));
}

/* TensorFlow Serving's gauge has a text, which its exporter prints as 0. */
static void note_mlmd(struct servable *servable, const char *directory)
{
    struct arena *arena = arena_create(0);
    char version[24];
    snprintf(version, sizeof version, "%lld", (long long)servable->version);
    if (file_exists(file_join(arena, directory, MLMD_FILE)))
        metric_series_owned(METRIC_TF_MLMD_MAP,
                            METRIC_LABELS(bytes_of(servable->name), bytes_of(version)),
                            &servable->series);
    arena_destroy(arena);
}

void load_metrics_loaded(struct servable *servable, const char *directory, int64_t took_ns)
{
    struct bytes path = bytes_of(directory);
    struct savedmodel_times times = savedmodel_load_times(servable->model);
    metric_add(metric_series_owned(METRIC_TF_LOAD_LATENCY, METRIC_LABELS(path), &servable->series),
               us(took_ns));
    observe_stage(servable, path, "restore_graph", times.restore_ns);
    observe_stage(servable, path, "init_graph", times.init_ns);
    note_mlmd(servable, directory);
}

void load_metrics_warmup(struct servable *servable, const char *directory, struct status status,
                         int64_t took_ns, int records)
{
    const struct bytes *labels =
        METRIC_LABELS(bytes_of(directory), bytes_of(status_code_name(status.code)));
    metric_observe(metric_series_owned(METRIC_TF_WARMUP_LATENCY, labels, &servable->series),
                   us(took_ns));
    metric_add(metric_series_owned(METRIC_TF_WARMUP_RECORDS_READ, labels, &servable->series),
               (uint64_t)records);
}

void load_metrics_reload(const char *source, struct status status)
{
    metric_add(
        metric_series(METRIC_CONFIG_RELOADS,
                      METRIC_LABELS(bytes_of(source), bytes_of(status_code_name(status.code)))),
        1);
}
