/*
 * prediction_log: TensorFlow Serving's PredictionLog: one request and its answer, as request logs
 * and warm-up files hold them in TFRecords. Requests and answers are serialized messages here.
 *
 *     log_metadata(1)  what the request was asked of, and when
 *     predict_log(6), classify_log(2), …  { request(1)  response(2) }
 */
#ifndef STORAGE_PREDICTION_LOG_H
#define STORAGE_PREDICTION_LOG_H

#include "base/bytes.h"

/* The numbers of PredictionLog's fields. */
enum prediction_kind {
    PREDICTION_NONE = 0, /* the record has no request */
    PREDICTION_CLASSIFY = 2,
    PREDICTION_REGRESS = 3,
    PREDICTION_MULTI_INFERENCE = 4,
    PREDICTION_SESSION_RUN = 5,
    PREDICTION_PREDICT = 6,
    PREDICTION_PREDICT_STREAMED = 7,
};

struct prediction_log {
    enum prediction_kind kind;
    struct bytes metadata; /* a LogMetadata; may be empty */
    struct bytes request, response;
    bool has_response;
};

/* Reads a record, from which *out borrows. Returns false if it is not a PredictionLog. */
bool prediction_log_read(struct bytes record, struct prediction_log *out);

/* Appends the record; `kind` is one that has a request. */
size_t prediction_log_size(const struct prediction_log *log);
void prediction_log_put(const struct prediction_log *log, struct buffer *out);

/* The fields of a LogMetadata. */
struct prediction_metadata {
    struct bytes model, signature;
    int64_t version;
    double sampling_rate;
    const char *const *tags; /* of the SavedModel */
    int tags_count;
    int64_t timestamp_s; /* since 1970 */
};
void prediction_metadata_put(const struct prediction_metadata *metadata, struct buffer *out);

#endif
