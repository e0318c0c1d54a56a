#include "server/grpc/warmup.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "server/grpc/request.h"
#include "server/inference/batch.h"
#include "server/inference/zero_warmup.h"
#include "server/models/load_metrics.h"
#include "storage/prediction_log.h"
#include "storage/tfrecord.h"

#define REQUESTS_FILE "assets.extra/tf_serving_warmup_requests"
#define RECORDS_MAX   1000

static grpc_method *method_of(enum prediction_kind kind)
{
    switch (kind) {
    case PREDICTION_CLASSIFY:
        return grpc_answer_classify;
    case PREDICTION_REGRESS:
        return grpc_answer_regress;
    case PREDICTION_MULTI_INFERENCE:
        return grpc_answer_multi_inference;
    case PREDICTION_PREDICT:
        return grpc_answer_predict;
    default:
        return NULL;
    }
}

/* Executes the runs that the method and its `next` request, in this thread. */
static struct status run_all(struct served_request *request, const struct work_limits *limits)
{
    struct batch_limits batch = { .run_memory_bytes = limits->memory_bytes, .load = limits };
    while (request->runs) {
        request->runs = false;
        batch_run(&request->call, &batch, 0);
        TRY(request->call.status);
        if (request->next != NULL)
            TRY(request->next(request));
    }
    return status_ok();
}

static struct status replay(const struct warmup *warmup, struct servable *servable,
                            const struct prediction_log *record, const struct work_limits *limits,
                            struct arena *arena)
{
    int64_t deadline_ns = clock_deadline_ns(clock_monotonic(), limits->timeout_ms);
    struct served_request request = {
        .server = warmup->server,
        .protocol = PROTOCOL_WARMUP,
        .arena = arena,
        .servable = servable,
        .body = record->request,
        .in_pool = true, /* nothing of the loop may be touched */
        .call = { .arena = arena, .deadline_ns = limits->timeout_ms > 0 ? deadline_ns : 0 },
    };
    struct status status = method_of(record->kind)(&request);
    if (status_is_ok(status))
        status = run_all(&request, limits);
    served_request_free_reply(&request);
    return status;
}

/* `place` is the record's number, from 1. */
static struct status run_record(const struct warmup *warmup, struct servable *servable,
                                struct bytes bytes, const char *path, int place,
                                const struct work_limits *limits)
{
    struct prediction_log record;
    if (place > RECORDS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of warmup records exceeeds the maximum (%d) at %s", RECORDS_MAX,
                            path);
    if (!prediction_log_read(bytes, &record))
        return status_error(STATUS_INVALID_ARGUMENT, "Failed to parse warmup record: %d from %s",
                            place, path);
    if (record.kind == PREDICTION_NONE)
        return status_ok();
    if (method_of(record.kind) == NULL)
        return status_error(STATUS_UNIMPLEMENTED,
                            "%s: record %d: Unsupported log_type for warmup: %d", path, place,
                            (int)record.kind);
    struct status status = status_ok();
    for (int i = 0; i < warmup->iterations && status_is_ok(status); i++) {
        struct arena *arena = arena_create(0);
        arena_charge(arena, warmup->server->budget);
        status = limits->check(limits->context);
        if (status_is_ok(status))
            status = status_in(replay(warmup, servable, &record, limits, arena), "%s: record %d",
                               path, place);
        arena_destroy(arena); /* the text of the status is a copy, made by status_in */
    }
    return status;
}

static struct status run_records(const struct warmup *warmup, struct servable *servable,
                                 struct tfrecord_reader *reader, const char *path, int *count,
                                 const struct work_limits *limits)
{
    struct bytes bytes;
    for (bool found = true; found; *count += found) {
        struct status status = tfrecord_reader_next(reader, &bytes, &found);
        if (status.code == STATUS_DATA_LOSS)
            return status_error(STATUS_DATA_LOSS,
                                "%s. Please verify your warmup data is in TFRecord format.",
                                status.message); /* it names the file */
        TRY(status);
        if (found)
            TRY(run_record(warmup, servable, bytes, path, *count + 1, limits));
    }
    return status_ok();
}

static struct status run_file(const struct warmup *warmup, struct servable *servable,
                              const char *directory, const char *path,
                              const struct work_limits *limits)
{
    struct tfrecord_reader *reader;
    int count = 0;
    int64_t began_ns = clock_now_ns(clock_monotonic());
    log_debug("replaying the requests in %s", path);
    TRY(tfrecord_reader_open(path, TFRECORD_PLAIN, &reader));
    struct status status = run_records(warmup, servable, reader, path, &count, limits);
    tfrecord_reader_close(reader);
    int64_t took_ns = clock_now_ns(clock_monotonic()) - began_ns;
    load_metrics_warmup(servable, directory, status, took_ns, count);
    if (status_is_ok(status))
        log_info("Finished reading warmup data for model at %s. Number of warmup records read: %d. "
                 "Elapsed time (microseconds): %lld.",
                 path, count, (long long)took_ns / (NS_PER_MS / 1000));
    return status;
}

struct status warmup_run(void *context, struct servable *servable, const char *directory,
                         const struct work_limits *limits)
{
    struct arena *arena = arena_create(0);
    const struct warmup *warmup = context;
    const char *path = file_join(arena, directory, REQUESTS_FILE);
    struct status status = status_ok();
    if (file_exists(path))
        status = run_file(warmup, servable, directory, path, limits);
    else if (warmup->zeros)
        zero_warmup(servable, warmup->server->budget, limits);
    arena_destroy(arena);
    return status;
}
