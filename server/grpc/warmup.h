/*
 * warmup: replays the requests that a model contains, before the version serves.
 *
 * They are in <version>/assets.extra/tf_serving_warmup_requests, a TFRecord file of serialized
 * PredictionLogs, and are answered as if they came over gRPC, one after the other, in the thread
 * that loads the version. The answers are dropped.
 *
 * A version without such a file runs each of its signatures once with zeros.
 */
#ifndef SERVER_GRPC_WARMUP_H
#define SERVER_GRPC_WARMUP_H

#include "server/inference/server_context.h"
#include "server/models/manager.h"

struct warmup {
    struct server_context *server;
    int iterations; /* of each record */
    bool zeros;     /* a version without a file runs each signature with zeros (zero_warmup.h) */
};

/**
 * Warms up a version, whatever model and version its records name. `context` is a struct warmup.
 *
 * Errors  INVALID_ARGUMENT over 1000 records, or one that is not a PredictionLog; UNIMPLEMENTED a
 *         record of another kind; DATA_LOSS not a TFRecord file; those of the requests;
 *         limits->check's. OK if there is no file
 * Threads several concurrently, each with its own servable
 */
struct status warmup_run(void *context, struct servable *servable, const char *directory,
                         const struct work_limits *limits);

#endif
