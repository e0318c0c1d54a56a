/*
 * batch_metrics: TensorFlow Serving's metrics of --enable_batching.
 */
#ifndef SERVER_INFERENCE_BATCH_METRICS_H
#define SERVER_INFERENCE_BATCH_METRICS_H

#include "server/inference/inference.h"

/* A batch is about to run, with `padding` rows in addition to those of its calls. */
void batch_metrics_run(const struct inference_call *calls, int64_t rows, int64_t padding);

#endif
