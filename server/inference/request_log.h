/*
 * request_log: logs a sample of the requests of each model with a logging_config, with their
 * answers, as TFRecords of PredictionLog (storage/prediction_log.h). Such a file can be replayed
 * (modelclient replay) and used as a version's warm-up requests.
 *
 * gRPC's Predict, Classify, Regress and MultiInference are logged verbatim. All other requests that
 * run a model, such as those of REST, are logged as the equivalent Predict. Requests that fail are
 * not logged.
 */
#ifndef SERVER_INFERENCE_REQUEST_LOG_H
#define SERVER_INFERENCE_REQUEST_LOG_H

#include "server/inference/log_writer.h"
#include "server/inference/served_request.h"

/* The writing thread starts when the first log is opened. */
struct request_log {
    struct request_observer observer; /* for request_observe */
    struct log_writer_options options;
    struct log_writer *writer; /* NULL: no model has a log */
    const char *const *tags;   /* of the SavedModels, for the records; outlive the log */
    int tags_count;
};

void request_log_init(struct request_log *log, const struct log_writer_options *options,
                      const char *const *tags, int tags_count);
void request_log_finish(struct request_log *log);

/* Are manager_options.open_log and close_log; the context is the request_log. Called with the
 * manager's lock. */
struct status request_log_open(void *log, const char *prefix, bool must_be_open, uint64_t *out);
void request_log_close(void *log, uint64_t id);

#endif
