/*
 * server_metrics: the gauges that are computed when a page is printed: versions of models and their
 * memory, the budget, the pool's queue, the process.
 */
#ifndef SERVER_SERVER_METRICS_H
#define SERVER_SERVER_METRICS_H

#include "server/inference/server_context.h"
#include "server/metrics/page.h"

struct server_metrics {
    struct metrics_collector collector;
    const struct server_context *server; /* of any loop */
    struct inference_pool *pool;
    double started_s; /* since 1970 */
};

/* Adds these gauges to all later pages. */
void server_metrics_start(struct server_metrics *metrics, const struct server_context *server,
                          struct inference_pool *pool);

#endif
