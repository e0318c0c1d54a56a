/*
 * model_limits: limits on one model's use of the server, so that it does not slow others down. They
 * come from a file in text format (proto/model_limits.proto):
 *
 *     model { name: "resnet" max_requests: 32 max_waiting_requests: 16 deadline_ms: 500 }
 *     others { max_requests: 256 }
 *
 * A gate counts the requests of one model, whichever of its versions they use.
 */
#ifndef SERVER_MODELS_MODEL_LIMITS_H
#define SERVER_MODELS_MODEL_LIMITS_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/bytes.h"

/* 0: no limit. */
struct model_limits {
    int max_requests;         /* in flight: waiting, running, or being answered */
    int max_waiting_requests; /* whose run has not begun */
    size_t max_run_bytes;     /* of memory, by one run */
    int64_t deadline_ns;      /* from finding the model to the end of the run */
};

struct model_limits_table;

struct model_gate {
    char *name;
    struct model_limits limits;
    _Atomic int requests, waiting;
    struct model_limits_table *table;
    int users; /* number of versions that use it; under the table's lock */
};

/**
 * Reads the file.
 *
 * Errors  INVALID_ARGUMENT "Invalid protobuf file: '<path>'", with line and column; a model without
 *         name or listed twice; a negative limit; reading the file
 */
struct status model_limits_read_file(const char *path, struct model_limits_table **out);
/* Call it after its gates are released; accepts NULL. */
void model_limits_destroy(struct model_limits_table *table);

/* The gate of a model, for one of its versions; NULL: it has no limits. `table` may be NULL.
 * Threads: safe. */
struct model_gate *model_gate_acquire(struct model_limits_table *table, const char *name);
void model_gate_release(struct model_gate *gate); /* accepts NULL */

/* Counts a request of the model, and removes it. RESOURCE_EXHAUSTED: too many. Threads: safe,
 * like the functions below. */
struct status model_gate_enter(struct model_gate *gate);
void model_gate_leave(struct model_gate *gate);

/* Counts a request that begins to wait for its run, and one that stops waiting. UNAVAILABLE: too
 * many wait. */
struct status model_gate_wait(struct model_gate *gate);
static inline void model_gate_stop_waiting(_Atomic int *waiting)
{
    atomic_fetch_sub_explicit(waiting, 1, memory_order_relaxed);
}

/* These add the model and its limit to a failure with the limit's code. The caller must know
 * that it was this limit, and not the client's or the server's. */
struct status model_gate_name_deadline(const struct model_gate *gate, struct status status);
struct status model_gate_name_memory(const struct model_gate *gate, struct status status);

#endif
