/*
 * load_metrics: counts loads and reloads for Prometheus. Series with the path of a version are
 * removed when it is unloaded, except those of attempts, which live until it is forgotten.
 */
#ifndef SERVER_MODELS_LOAD_METRICS_H
#define SERVER_MODELS_LOAD_METRICS_H

#include "server/models/servable.h"

/* An attempt to load a version has ended, after took_ns including warm-up. The version owns the
 * series with its path. */
void load_metrics_attempt(const char *model, const char *directory, struct status status,
                          int64_t took_ns, struct metric_owner *version);

/* The signatures of a version are ready to run: `count` plans were made. */
void load_metrics_planned(int count, int64_t took_ns);

/* A version is loaded but not warm yet. */
void load_metrics_loaded(struct servable *servable, const char *directory, int64_t took_ns);

/* The file of warm-up requests was replayed, or the replay failed. */
void load_metrics_warmup(struct servable *servable, const char *directory, struct status status,
                         int64_t took_ns, int records);

/* A configuration was applied or refused after the start; source: "file" or "rpc". */
void load_metrics_reload(const char *source, struct status status);

#endif
