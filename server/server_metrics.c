#include "server/server_metrics.h"

#include <stdio.h>
#include <time.h>

#include "base/memory.h"
#include "server/inference/inference_pool.h"
#include "server/models/manager.h"

static const char *const state_names[] = { "START", "LOADING", "AVAILABLE", "UNLOADING", "END" };

/* Adds the gauges of one model, with its versions. */
static void visit(void *context, const struct served_model *model)
{
    struct metrics_page *page = context;
    int counts[COUNT(state_names)] = { 0 };
    struct bytes name = bytes_of(model->options.name);
    for (const struct model_version *at = model->versions; at != NULL; at = at->next) {
        char number[24];
        counts[at->state]++;
        snprintf(number, sizeof number, "%lld", (long long)at->number);
        if (at->servable != NULL)
            metrics_sample(page, METRIC_MODEL_MEMORY, METRIC_LABELS(name, bytes_of(number)),
                           (double)at->bytes);
    }
    for (size_t i = 0; i < COUNT(state_names); i++)
        metrics_sample(page, METRIC_MODEL_VERSIONS, METRIC_LABELS(name, bytes_of(state_names[i])),
                       counts[i]);
}

static void collect(void *context, struct metrics_page *page)
{
    const struct server_metrics *metrics = context;
    const struct budget *budget = metrics->server->budget;
    bool accepted;
    manager_visit_models(metrics->server->manager, visit, page);
    if (manager_polls_config_file(metrics->server->manager, &accepted))
        metrics_sample(page, METRIC_CONFIG_FILE_ACCEPTED, METRIC_NO_LABELS, accepted);
    metrics_sample(page, METRIC_QUEUED_CALLS, METRIC_LABELS(bytes_of("pool")),
                   inference_pool_queued(metrics->pool));
    metrics_sample(page, METRIC_BUDGET, METRIC_NO_LABELS, (double)atomic_load(&budget->used_bytes));
    metrics_sample(page, METRIC_BUDGET_LIMIT, METRIC_NO_LABELS, (double)budget->limit_bytes);
    metrics_sample(page, METRIC_PROCESS_MEMORY, METRIC_NO_LABELS, (double)memory_in_use());
    metrics_sample(page, METRIC_PROCESS_START, METRIC_NO_LABELS, metrics->started_s);
    metrics_sample(page, METRIC_BUILD_INFO, METRIC_LABELS(bytes_of(SLIPWAY_VERSION)), 1);
}

void server_metrics_start(struct server_metrics *metrics, const struct server_context *server,
                          struct inference_pool *pool)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *metrics = (struct server_metrics){
        .collector = { .collect = collect, .context = metrics },
        .server = server,
        .pool = pool,
        .started_s = (double)now.tv_sec + (double)(now.tv_nsec / 1000000) / 1000,
    };
    metrics_add_collector(&metrics->collector);
}
