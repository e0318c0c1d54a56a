#include "server/inference/request_log.h"

#include <assert.h>
#include <time.h>

#include "base/random.h"
#include "proto/wire.h"
#include "server/metrics/metrics.h"
#include "storage/prediction_log.h"
#include "tensor/tensor_wire.h"

enum { SPEC_NAME = 1, SPEC_VERSION = 2, SPEC_SIGNATURE = 3, SPEC_LABEL = 4, INT64_VALUE = 1 };
enum { REQUEST_SPEC = 1, REQUEST_INPUTS = 2, RESPONSE_OUTPUTS = 1, RESPONSE_SPEC = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, LOG_METADATA = 1, LOG_REQUEST = 1, LOG_RESPONSE = 2 };

/* buffer_reserve needs a little more than a field's size. */
#define SLACK_BYTES 64

/* ---- sampling ---- */

/* Each thread has its own random stream. */
static uint64_t draw(void)
{
    static _Thread_local struct random random;
    static _Thread_local bool seeded;
    static _Atomic uint64_t streams;
    if (!seeded) {
        random_init(&random, (uint64_t)time(NULL), atomic_fetch_add(&streams, 1));
        seeded = true;
    }
    return random_u64(&random);
}

/* Samples a request: returns the number of its log; 0: not logged. */
static uint64_t sample(const struct served_request *request)
{
    const struct servable *servable = request->servable;
    if (servable == NULL)
        return 0;
    uint64_t id = atomic_load_explicit(&servable->log.id, memory_order_relaxed);
    if (id == 0)
        return 0;
    uint64_t threshold = atomic_load_explicit(&servable->log.threshold, memory_order_relaxed);
    return threshold == UINT64_MAX || draw() < threshold ? id : 0;
}

/* The kind of record that contains the request's messages verbatim. */
static enum prediction_kind kind_of(const struct served_request *request)
{
    static const enum prediction_kind kinds[APIS_COUNT] = {
        [API_PREDICT] = PREDICTION_PREDICT,
        [API_CLASSIFY] = PREDICTION_CLASSIFY,
        [API_REGRESS] = PREDICTION_REGRESS,
        [API_MULTI_INFERENCE] = PREDICTION_MULTI_INFERENCE,
    };
    return request->protocol == PROTOCOL_GRPC ? kinds[request->api] : PREDICTION_NONE;
}

/* ---- records ---- */

static struct bytes bytes_in(const struct buffer *buffer)
{
    return (struct bytes){ buffer->data, buffer->size };
}

static void put_metadata(const struct request_log *log, const struct served_request *request,
                         struct buffer *out)
{
    const struct servable *servable = request->servable;
    const struct callable *callable = request->call.callable;
    uint64_t threshold = atomic_load_explicit(&servable->log.threshold, memory_order_relaxed);
    struct prediction_metadata metadata = {
        .model = bytes_of(servable->name),
        .signature = bytes_of(callable != NULL ? callable->signature->name : ""),
        .version = servable->version,
        .sampling_rate = threshold == UINT64_MAX ? 1 : (double)threshold / 0x1p64,
        .tags = log->tags,
        .tags_count = log->tags_count,
        .timestamp_s = time(NULL),
    };
    prediction_metadata_put(&metadata, out);
}

/* The entry's memory, as a buffer that must not grow. */
static struct buffer buffer_of(struct log_entry *entry, size_t size)
{
    return (struct buffer){ .data = log_entry_data(entry), .capacity = size };
}

static struct log_entry *make_entry(const struct request_log *log, uint64_t id,
                                    const struct prediction_log *record)
{
    size_t size = prediction_log_size(record) + SLACK_BYTES;
    struct log_entry *entry = log_writer_reserve(log->writer, id, size);
    if (entry == NULL)
        return NULL;
    struct buffer out = buffer_of(entry, size);
    prediction_log_put(record, &out);
    assert(out.data == log_entry_data(entry));
    log_entry_set_size(entry, out.size);
    return entry;
}

/* Copies gRPC's messages verbatim. */
static struct log_entry *copy_messages(const struct request_log *log, uint64_t id,
                                       const struct served_request *request)
{
    struct buffer metadata = { 0 };
    put_metadata(log, request, &metadata);
    struct prediction_log record = {
        .kind = kind_of(request),
        .metadata = bytes_in(&metadata),
        .request = request->body,
        .response = bytes_in(&request->reply),
        .has_response = true,
    };
    struct log_entry *entry = make_entry(log, id, &record);
    buffer_finish(&metadata);
    return entry;
}

/* ---- a Predict of tensors ---- */

/* PredictRequest or PredictResponse: a spec and a map of tensors. */
struct side {
    uint32_t spec_field, entries_field;
    struct bytes spec;
    const struct signature_tensor *names;
    const struct tensor *tensors;
    int count;
};

static enum tensor_wire_form form_of(const struct tensor *tensor)
{
    return tensor->dtype == DT_STRING ? TENSOR_WIRE_VALUES : TENSOR_WIRE_CONTENT;
}

static size_t field_size(uint32_t number, size_t size)
{
    return wire_head_size(number, size) + size;
}

static size_t entry_size(const struct side *side, int i)
{
    const struct tensor *tensor = &side->tensors[i];
    return field_size(ENTRY_KEY, strlen(side->names[i].key)) +
           field_size(ENTRY_VALUE, tensor_wire_size(tensor, form_of(tensor)));
}

static size_t side_size(const struct side *side)
{
    size_t size = field_size(side->spec_field, side->spec.size);
    for (int i = 0; i < side->count; i++)
        size += field_size(side->entries_field, entry_size(side, i));
    return size;
}

static void put_side(const struct side *side, uint32_t number, struct buffer *out)
{
    wire_put_head(out, number, side_size(side));
    wire_put_bytes(out, side->spec_field, side->spec);
    for (int i = 0; i < side->count; i++) {
        const struct tensor *tensor = &side->tensors[i];
        wire_put_head(out, side->entries_field, entry_size(side, i));
        wire_put_bytes(out, ENTRY_KEY, bytes_of(side->names[i].key));
        wire_put_head(out, ENTRY_VALUE, tensor_wire_size(tensor, form_of(tensor)));
        tensor_wire_put(tensor, form_of(tensor), out);
    }
}

static bool can_put(const struct side *side)
{
    for (int i = 0; i < side->count; i++)
        if (!tensor_wire_can_put(side->tensors[i].dtype))
            return false;
    return true;
}

/* Logs the requested spec, so that a replay chooses a version in the same way. */
static void put_spec(const struct served_request *request, struct buffer *out)
{
    const struct version_choice *version = &request->spec.version;
    wire_put_bytes(out, SPEC_NAME, bytes_of(request->servable->name));
    if (version->kind == VERSION_SPECIFIC) {
        size_t opened = wire_open(out, SPEC_VERSION);
        wire_put_varint(out, INT64_VALUE, (uint64_t)version->number);
        wire_close(out, opened);
    } else if (version->kind == VERSION_LABELLED) {
        wire_put_bytes(out, SPEC_LABEL, version->label);
    }
    wire_put_bytes(out, SPEC_SIGNATURE, bytes_of(request->call.callable->signature->name));
}

static struct log_entry *make_predict(const struct request_log *log, uint64_t id,
                                      struct bytes metadata, const struct side *input,
                                      const struct side *output)
{
    if (!can_put(input) || !can_put(output))
        return NULL;
    size_t exchange =
        field_size(LOG_REQUEST, side_size(input)) + field_size(LOG_RESPONSE, side_size(output));
    size_t size = field_size(LOG_METADATA, metadata.size) +
                  field_size(PREDICTION_PREDICT, exchange) + SLACK_BYTES;
    struct log_entry *entry = log_writer_reserve(log->writer, id, size);
    if (entry == NULL)
        return NULL;
    struct buffer out = buffer_of(entry, size);
    wire_put_bytes(&out, LOG_METADATA, metadata);
    wire_put_head(&out, PREDICTION_PREDICT, exchange);
    put_side(input, LOG_REQUEST, &out);
    put_side(output, LOG_RESPONSE, &out);
    assert(out.data == log_entry_data(entry));
    log_entry_set_size(entry, out.size);
    return entry;
}

static struct log_entry *copy_tensors(const struct request_log *log, uint64_t id,
                                      const struct served_request *request,
                                      const struct tensor *outputs)
{
    const struct signature *signature = request->call.callable->signature;
    struct buffer spec = { 0 }, metadata = { 0 };
    put_spec(request, &spec);
    put_metadata(log, request, &metadata);
    struct side input = { REQUEST_SPEC,      REQUEST_INPUTS,       bytes_in(&spec),
                          signature->inputs, request->call.inputs, signature->inputs_count };
    struct side output = { RESPONSE_SPEC,   RESPONSE_OUTPUTS,
                           bytes_in(&spec), signature->outputs,
                           outputs,         signature_computed_outputs(signature) };
    struct log_entry *entry = make_predict(log, id, bytes_in(&metadata), &input, &output);
    buffer_finish(&spec);
    buffer_finish(&metadata);
    return entry;
}

/* ---- callbacks of the observer ---- */

static struct request_log *log_of(struct request_observer *observer)
{
    return CONTAINER_OF(observer, struct request_log, observer);
}

static void count_record(const struct served_request *request, const char *outcome)
{
    metric_add(metric_series(METRIC_TF_REQUEST_LOG_COUNT,
                             METRIC_LABELS(bytes_of(request->servable->name), bytes_of(outcome))),
               1);
}

static void count_dropped(const struct served_request *request)
{
    count_record(request, status_code_name(STATUS_RESOURCE_EXHAUSTED));
}

/* The tensors are freed before the request ends. In the thread that ran it. */
static void on_outputs(struct request_observer *observer, struct served_request *request,
                       const struct tensor *outputs)
{
    if (kind_of(request) != PREDICTION_NONE)
        return;
    uint64_t id = sample(request);
    if (id == 0)
        return;
    log_entry_drop(request->notes[observer->index]); /* of a run before */
    request->notes[observer->index] = copy_tensors(log_of(observer), id, request, outputs);
    if (request->notes[observer->index] == NULL)
        count_dropped(request);
}

static void on_end(struct request_observer *observer, struct served_request *request)
{
    struct log_entry *entry = request->notes[observer->index];
    uint64_t id;
    bool succeeded = status_is_ok(request->status);
    if (succeeded && kind_of(request) != PREDICTION_NONE && (id = sample(request)) != 0) {
        entry = copy_messages(log_of(observer), id, request);
        if (entry == NULL)
            count_dropped(request);
    }
    if (entry == NULL || !succeeded) {
        log_entry_drop(entry);
        return;
    }
    count_record(request, status_code_name(STATUS_OK));
    log_entry_submit(entry);
}

void request_log_init(struct request_log *log, const struct log_writer_options *options,
                      const char *const *tags, int tags_count)
{
    *log = (struct request_log){ .observer = { .end = on_end, .outputs = on_outputs },
                                 .options = *options,
                                 .tags = tags,
                                 .tags_count = tags_count };
}

void request_log_finish(struct request_log *log)
{
    log_writer_destroy(log->writer);
    log->writer = NULL;
}

struct status request_log_open(void *context, const char *prefix, bool must_be_open, uint64_t *out)
{
    struct request_log *log = context;
    *out = log->writer != NULL ? log_writer_find(log->writer, prefix) : 0;
    if (*out != 0)
        return status_ok();
    if (must_be_open)
        return status_error(STATUS_PERMISSION_DENIED,
                            "filename_prefix '%s' was not in --model_config_file: clients may not "
                            "choose where the server writes",
                            prefix);
    if (log->writer == NULL)
        TRY(log_writer_create(&log->options, &log->writer));
    return log_writer_open(log->writer, prefix, out);
}

void request_log_close(void *context, uint64_t id)
{
    struct request_log *log = context;
    log_writer_close(log->writer, id);
}
