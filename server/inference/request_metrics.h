/*
 * request_metrics: the observer that counts requests for Prometheus.
 *
 * The first successful request of a signature and protocol finds their series; later ones add to
 * them without a lock. They are removed with the version. Failures, and requests that run no model,
 * look their series up each time.
 */
#ifndef SERVER_INFERENCE_REQUEST_METRICS_H
#define SERVER_INFERENCE_REQUEST_METRICS_H

#include "server/inference/served_request.h"

/* The durations of a request's stages. Queue: the waits for a thread and for a run. */
struct request_stages {
    int64_t queue_ns, parse_ns, run_ns, print_ns;
};
struct request_stages request_stages_of(const struct served_request *request);

void request_metrics_init(struct request_observer *out);

/* A run of `rows` rows has ended; 0: unknown, or not to be counted. Threads: any. */
void request_metrics_run(struct callable *callable, int64_t rows, int64_t took_ns);
/* --target_p99_ms has changed how many rows may share a run. Threads: any. */
void request_metrics_choice(struct callable *callable, int64_t rows);

#endif
