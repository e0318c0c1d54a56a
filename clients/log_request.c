#include "clients/log_request.h"

#include "clients/grpc_messages.h"
#include "proto/wire.h"

/* model_spec has one number in PredictRequest, ClassificationRequest, RegressionRequest and
 * InferenceTask; MultiInferenceRequest has a list of tasks. */
enum { MESSAGE_SPEC = 1, MULTI_TASK = 1 };
enum { SPEC_NAME = 1, SPEC_VERSION = 2, SPEC_LABEL = 4 };

const char *log_request_path(enum prediction_kind kind)
{
    switch (kind) {
    case PREDICTION_PREDICT:
        return "/tensorflow.serving.PredictionService/Predict";
    case PREDICTION_CLASSIFY:
        return "/tensorflow.serving.PredictionService/Classify";
    case PREDICTION_REGRESS:
        return "/tensorflow.serving.PredictionService/Regress";
    case PREDICTION_MULTI_INFERENCE:
        return "/tensorflow.serving.PredictionService/MultiInference";
    default:
        return NULL;
    }
}

static bool names_version(const struct client_target *target)
{
    return target->version >= 0 || target->label != NULL;
}

/* Copies the fields of the spec that stay, then appends the others. */
static void put_spec(struct bytes spec, const struct client_target *target, struct buffer *out)
{
    size_t opened = wire_open(out, MESSAGE_SPEC);
    struct wire wire = wire_of(spec);
    struct wire_field field;
    for (const char *from = wire.at; wire_next(&wire, &field); from = wire.at) {
        bool version = field.number == SPEC_VERSION || field.number == SPEC_LABEL;
        bool replaced =
            version ? names_version(target) : field.number == SPEC_NAME && target->model != NULL;
        if (!replaced)
            buffer_append(out, from, (size_t)(wire.at - from));
    }
    if (target->model != NULL)
        wire_put_bytes(out, SPEC_NAME, bytes_of(target->model));
    grpc_put_version(target, out);
    wire_close(out, opened);
}

/* The other fields follow unchanged. */
static void put_message(struct bytes message, const struct client_target *target,
                        struct buffer *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    bool has_spec = false;
    for (const char *from = wire.at; wire_next(&wire, &field); from = wire.at) {
        if (wire_is(&field, MESSAGE_SPEC, WIRE_BYTES)) {
            put_spec(field.bytes, target, out);
            has_spec = true;
        } else {
            buffer_append(out, from, (size_t)(wire.at - from));
        }
    }
    if (!has_spec)
        put_spec((struct bytes){ "", 0 }, target, out);
}

static void put_tasks(struct bytes message, const struct client_target *target, struct buffer *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    for (const char *from = wire.at; wire_next(&wire, &field); from = wire.at) {
        if (wire_is(&field, MULTI_TASK, WIRE_BYTES)) {
            size_t task = wire_open(out, MULTI_TASK);
            put_message(field.bytes, target, out);
            wire_close(out, task);
        } else {
            buffer_append(out, from, (size_t)(wire.at - from));
        }
    }
}

void log_request_put(const struct prediction_log *record, const struct client_target *target,
                     struct buffer *out)
{
    if (target->model == NULL && !names_version(target))
        buffer_append(out, record->request.data, record->request.size);
    else if (record->kind == PREDICTION_MULTI_INFERENCE)
        put_tasks(record->request, target, out);
    else
        put_message(record->request, target, out);
}
