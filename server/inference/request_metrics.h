/*
 * request_metrics: the observer that counts requests for Prometheus.
 *
 * The series of a signature and protocol are found by the first request that succeeds there; later
 * ones add to them without a lock. They go with the version. Failures, and requests that run no
 * model, find their series each time.
 */
#ifndef SERVER_INFERENCE_REQUEST_METRICS_H
#define SERVER_INFERENCE_REQUEST_METRICS_H

#include "server/inference/served_request.h"

/* How long each stage of a request took. Queue: the waits for a thread and for a run. */
struct request_stages {
    int64_t queue_ns, parse_ns, run_ns, print_ns;
};
struct request_stages request_stages_of(const struct served_request *request);

void request_metrics_init(struct request_observer *out);

/* A run has ended that had `rows` rows; 0: unknown, or not to be counted. Threads: any. */
void request_metrics_run(struct callable *callable, int64_t rows);
/* --target_p99_ms has chosen how many rows may share a run. Threads: any. */
void request_metrics_choice(struct callable *callable, int64_t rows);

#endif
