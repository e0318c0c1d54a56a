#include "server/inference/batch_metrics.h"

#include <stdio.h>

#include "base/clock.h"

void batch_metrics_run(const struct inference_call *calls, int64_t rows, int64_t padding)
{
    const struct batching *batching = calls->callable->queue.batching;
    struct bytes pool = bytes_of(batching->thread_pool_name);
    const struct metric_series *inputs =
        metric_series(METRIC_TF_INPUT_BATCH_SIZE, METRIC_NO_LABELS);
    const struct metric_series *waits =
        metric_series(METRIC_TF_QUEUING_LATENCY, METRIC_LABELS(pool));
    int64_t now_ns = clock_now_ns(clock_monotonic());
    char size[24];
    for (const struct inference_call *call = calls; call != NULL; call = call->next) {
        metric_observe(inputs, (uint64_t)call->rows);
        metric_observe(waits, (uint64_t)(now_ns - call->queued_ns) / 1000);
    }
    snprintf(size, sizeof size, "%lld", (long long)(rows + padding));
    metric_observe(metric_series(METRIC_TF_PADDING_SIZE, METRIC_LABELS(bytes_of(size))),
                   (uint64_t)padding);
    metric_observe(metric_series(METRIC_TF_PROCESSED_BATCH_SIZE, METRIC_NO_LABELS),
                   (uint64_t)(rows + padding));
    metric_add(metric_series(METRIC_TF_WRAPPED_RUN_COUNT, METRIC_NO_LABELS), 1);
}
