#include "storage/prediction_log.h"

#include "base/float_bits.h"
#include "proto/wire.h"

enum { LOG_METADATA = 1, LOG_REQUEST = 1, LOG_RESPONSE = 2 };
enum { METADATA_SPEC = 1, METADATA_SAMPLING = 2, METADATA_TAG = 3, METADATA_TIME = 4 };
enum { SPEC_NAME = 1, SPEC_VERSION = 2, SPEC_SIGNATURE = 3, INT64_VALUE = 1, SAMPLING_RATE = 1 };

static bool read_exchange(struct bytes log, struct prediction_log *out)
{
    struct wire wire = wire_of(log);
    struct wire_field field;
    out->request = out->response = (struct bytes){ "", 0 };
    out->has_response = false;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, LOG_REQUEST, WIRE_BYTES))
            out->request = field.bytes;
        if (wire_is(&field, LOG_RESPONSE, WIRE_BYTES)) {
            out->response = field.bytes;
            out->has_response = true;
        }
    }
    return !wire.damaged;
}

bool prediction_log_read(struct bytes record, struct prediction_log *out)
{
    struct wire wire = wire_of(record);
    struct wire_field field;
    *out = (struct prediction_log){ 0 };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, LOG_METADATA, WIRE_BYTES))
            out->metadata = field.bytes;
        if (field.type != WIRE_BYTES || field.number < PREDICTION_CLASSIFY ||
            field.number > PREDICTION_PREDICT_STREAMED)
            continue;
        out->kind = (enum prediction_kind)field.number;
        if (!read_exchange(field.bytes, out))
            return false;
    }
    return !wire.damaged;
}

static size_t field_size(uint32_t number, size_t size)
{
    return wire_head_size(number, size) + size;
}

static size_t exchange_size(const struct prediction_log *log)
{
    return field_size(LOG_REQUEST, log->request.size) +
           (log->has_response ? field_size(LOG_RESPONSE, log->response.size) : 0);
}

size_t prediction_log_size(const struct prediction_log *log)
{
    return field_size(LOG_METADATA, log->metadata.size) + field_size(log->kind, exchange_size(log));
}

void prediction_log_put(const struct prediction_log *log, struct buffer *out)
{
    wire_put_bytes(out, LOG_METADATA, log->metadata);
    wire_put_head(out, log->kind, exchange_size(log));
    wire_put_bytes(out, LOG_REQUEST, log->request);
    if (log->has_response)
        wire_put_bytes(out, LOG_RESPONSE, log->response);
}

static void put_double(struct buffer *out, uint32_t number, double value)
{
    char bytes[8];
    put_u64le(bytes, bits_of_double(value));
    buffer_append_char(out, (char)(number << 3 | WIRE_FIXED64));
    buffer_append(out, bytes, sizeof bytes);
}

void prediction_metadata_put(const struct prediction_metadata *metadata, struct buffer *out)
{
    size_t spec = wire_open(out, METADATA_SPEC);
    wire_put_bytes(out, SPEC_NAME, metadata->model);
    size_t version = wire_open(out, SPEC_VERSION);
    wire_put_varint(out, INT64_VALUE, (uint64_t)metadata->version);
    wire_close(out, version);
    if (metadata->signature.size > 0)
        wire_put_bytes(out, SPEC_SIGNATURE, metadata->signature);
    wire_close(out, spec);
    size_t sampling = wire_open(out, METADATA_SAMPLING);
    put_double(out, SAMPLING_RATE, metadata->sampling_rate);
    wire_close(out, sampling);
    for (int i = 0; i < metadata->tags_count; i++)
        wire_put_bytes(out, METADATA_TAG, bytes_of(metadata->tags[i]));
    wire_put_varint(out, METADATA_TIME, (uint64_t)metadata->timestamp_s);
}
