#include "server/oip/metadata.h"

#include <stdio.h>

#include "proto/wire.h"
#include "server/json/print.h"
#include "server/oip/datatype.h"

#define SERVER_NAME "modelserver"
#define PLATFORM    "tensorflow_savedmodel"

static const char *const extensions[] = { "binary_tensor_data", "model_repository" };

/* Fields of ServerMetadataResponse, ModelMetadataResponse, TensorMetadata, RepositoryIndexResponse
 * and ModelIndex. */
enum { SERVER_FIELD_NAME = 1, SERVER_FIELD_VERSION = 2, SERVER_FIELD_EXTENSIONS = 3 };
enum {
    MODEL_NAME = 1,
    MODEL_VERSIONS = 2,
    MODEL_PLATFORM = 3,
    MODEL_INPUTS = 4,
    MODEL_OUTPUTS = 5
};
enum { TENSOR_NAME = 1, TENSOR_DATATYPE = 2, TENSOR_SHAPE = 3 };
enum { INDEX_MODELS = 1, INDEX_NAME = 1, INDEX_VERSION = 2, INDEX_STATE = 3, INDEX_REASON = 4 };

/* ---- the server ---- */

void server_metadata_print(struct buffer *out)
{
    buffer_printf(out, "{\"name\":\"%s\",\"version\":\"%s\",\"extensions\":[", SERVER_NAME,
                  SLIPWAY_VERSION);
    for (size_t i = 0; i < COUNT(extensions); i++)
        buffer_printf(out, "%s\"%s\"", i > 0 ? "," : "", extensions[i]);
    buffer_append_text(out, "]}");
}

void server_metadata_put(struct buffer *out)
{
    wire_put_bytes(out, SERVER_FIELD_NAME, bytes_of(SERVER_NAME));
    wire_put_bytes(out, SERVER_FIELD_VERSION, bytes_of(SLIPWAY_VERSION));
    for (size_t i = 0; i < COUNT(extensions); i++)
        wire_put_bytes(out, SERVER_FIELD_EXTENSIONS, bytes_of(extensions[i]));
}

/* ---- a model ---- */

static const struct shape any_rank = { 1, { -1 } };

static const struct shape *shape_to_show(const struct signature_tensor *tensor)
{
    return tensor->has_shape && tensor->shape.rank >= 0 ? &tensor->shape : &any_rank;
}

static void print_tensors(const char *key, const struct signature_tensor *tensors, int count,
                          struct buffer *out)
{
    buffer_printf(out, ",\"%s\":[", key);
    for (int i = 0; i < count; i++) {
        const struct shape *shape = shape_to_show(&tensors[i]);
        buffer_append_text(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        json_print_string(out, bytes_of(tensors[i].key));
        buffer_printf(out, ",\"datatype\":\"%s\",\"shape\":[", datatype_show(tensors[i].dtype));
        for (int j = 0; j < shape->rank; j++)
            buffer_printf(out, "%s%lld", j > 0 ? "," : "", (long long)shape->dims[j]);
        buffer_append_text(out, "]}");
    }
    buffer_append_char(out, ']');
}

void model_metadata_print(const struct model_metadata *model, struct buffer *out)
{
    const struct signature *signature = model->signature;
    buffer_append_text(out, "{\"name\":");
    json_print_string(out, model->name);
    buffer_append_text(out, ",\"versions\":[");
    for (int i = 0; i < model->versions_count; i++)
        buffer_printf(out, "%s\"%lld\"", i > 0 ? "," : "", (long long)model->versions[i]);
    buffer_printf(out, "],\"platform\":\"%s\"", PLATFORM);
    print_tensors("inputs", signature->inputs, signature->inputs_count, out);
    print_tensors("outputs", signature->outputs, signature->outputs_count, out);
    buffer_append_char(out, '}');
}

static void put_tensors(uint32_t number, const struct signature_tensor *tensors, int count,
                        struct buffer *out)
{
    for (int i = 0; i < count; i++) {
        const struct shape *shape = shape_to_show(&tensors[i]);
        size_t tensor = wire_open(out, number);
        wire_put_bytes(out, TENSOR_NAME, bytes_of(tensors[i].key));
        wire_put_bytes(out, TENSOR_DATATYPE, bytes_of(datatype_show(tensors[i].dtype)));
        size_t dims = wire_open(out, TENSOR_SHAPE);
        for (int j = 0; j < shape->rank; j++) {
            buffer_reserve(out, VARINT_MAX);
            out->size += varint_put(out->data + out->size, (uint64_t)shape->dims[j]);
        }
        wire_close(out, dims);
        wire_close(out, tensor);
    }
}

static void put_version(uint32_t number, int64_t version, struct buffer *out)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)version);
    wire_put_bytes(out, number, bytes_of(text));
}

void model_metadata_put(const struct model_metadata *model, struct buffer *out)
{
    const struct signature *signature = model->signature;
    wire_put_bytes(out, MODEL_NAME, model->name);
    for (int i = 0; i < model->versions_count; i++)
        put_version(MODEL_VERSIONS, model->versions[i], out);
    wire_put_bytes(out, MODEL_PLATFORM, bytes_of(PLATFORM));
    put_tensors(MODEL_INPUTS, signature->inputs, signature->inputs_count, out);
    put_tensors(MODEL_OUTPUTS, signature->outputs, signature->outputs_count, out);
}

/* ---- the repository ---- */

void repository_index_print(const struct index_entry *entries, size_t count, struct buffer *out)
{
    buffer_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        json_print_string(out, entries[i].name);
        buffer_printf(out, ",\"version\":\"%lld\",\"state\":\"%s\",\"reason\":",
                      (long long)entries[i].version, entries[i].state);
        json_print_string(out, bytes_of(entries[i].reason));
        buffer_append_char(out, '}');
    }
    buffer_append_char(out, ']');
}

void repository_index_put(const struct index_entry *entries, size_t count, struct buffer *out)
{
    for (size_t i = 0; i < count; i++) {
        size_t model = wire_open(out, INDEX_MODELS);
        wire_put_bytes(out, INDEX_NAME, entries[i].name);
        put_version(INDEX_VERSION, entries[i].version, out);
        wire_put_bytes(out, INDEX_STATE, bytes_of(entries[i].state));
        wire_put_bytes(out, INDEX_REASON, bytes_of(entries[i].reason));
        wire_close(out, model);
    }
}
