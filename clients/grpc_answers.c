/*
 * Decodes answers.
 */
#include "base/float_bits.h"
#include "clients/grpc_messages.h"
#include "proto/wire.h"
#include "tensor/tensor_wire.h"

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, INT64_VALUE = 1, SPEC_VERSION = 2 };
enum { PREDICT_OUTPUTS = 1, PREDICT_SPEC = 2 };
enum { RESPONSE_RESULT = 1, RESULT_ROWS = 1, ROW_CLASSES = 1, CLASS_LABEL = 1, CLASS_SCORE = 2 };
enum { REGRESSION_VALUE = 1 };
enum { METADATA_SPEC = 1, METADATA_ENTRY = 2, ANY_VALUE = 2, MAP_SIGNATURE = 1 };
enum { SIGNATURE_INPUTS = 1, SIGNATURE_OUTPUTS = 2, SIGNATURE_METHOD = 3 };
enum { INFO_DTYPE = 2, INFO_SHAPE = 3, SHAPE_DIM = 2, SHAPE_UNKNOWN = 3, DIM_SIZE = 1 };
enum { STATUS_VERSIONS = 1, VERSION_NUMBER = 1, VERSION_STATE = 2, VERSION_STATUS = 3 };
enum { ERROR_CODE = 1, ERROR_MESSAGE = 2 };

static struct status damaged(const char *message)
{
    return status_error(STATUS_INTERNAL, "the server's answer is not a tensorflow.serving.%s",
                        message);
}

static const char *text_of(struct bytes bytes, struct arena *arena)
{
    return arena_memdup(arena, bytes.data, bytes.size);
}

static int count_of(struct bytes message, uint32_t number)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    int count = 0;
    while (wire_next(&wire, &field))
        count += wire_is(&field, number, WIRE_BYTES);
    return count;
}

/* The last field of this number; empty if there is none. */
static struct bytes held(struct bytes message, uint32_t number)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    struct bytes found = { "", 0 };
    while (wire_next(&wire, &field))
        if (wire_is(&field, number, WIRE_BYTES))
            found = field.bytes;
    return found;
}

static uint64_t number_of(struct bytes message, uint32_t number)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    uint64_t found = 0;
    while (wire_next(&wire, &field))
        if (field.number == number && field.type != WIRE_BYTES)
            found = field.value;
    return found;
}

static int64_t version_of(struct bytes spec)
{
    return (int64_t)number_of(held(spec, SPEC_VERSION), INT64_VALUE);
}

struct status grpc_get_predict(struct bytes message, struct arena *arena,
                               struct client_outputs *out)
{
    message.data = arena_memdup(arena, message.data, message.size); /* tensors borrow from it */
    struct wire wire = wire_of(message);
    struct wire_field field;
    int count = count_of(message, PREDICT_OUTPUTS);
    *out = (struct client_outputs){ .outputs = ARENA_ARRAY(arena, struct client_tensor, count) };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, PREDICT_SPEC, WIRE_BYTES))
            out->version = version_of(field.bytes);
        if (!wire_is(&field, PREDICT_OUTPUTS, WIRE_BYTES))
            continue;
        struct client_tensor *output = &out->outputs[out->count++];
        struct tensor_wire tensor;
        output->name = text_of(held(field.bytes, ENTRY_KEY), arena);
        TRY(status_in(tensor_wire_scan(held(field.bytes, ENTRY_VALUE), &tensor), "output '%s'",
                      output->name));
        TRY(status_in(tensor_wire_read(&tensor, arena, &output->tensor), "output '%s'",
                      output->name));
    }
    return wire.damaged ? damaged("PredictResponse") : status_ok();
}

static void get_class(struct bytes message, struct arena *arena, struct client_class *out)
{
    struct bytes label = held(message, CLASS_LABEL);
    float score = float_of_bits((uint32_t)number_of(message, CLASS_SCORE));
    *out = (struct client_class){ { text_of(label, arena), label.size }, score };
}

static int get_row(struct bytes message, struct arena *arena, struct client_class **out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    int count = 0;
    *out = ARENA_ARRAY(arena, struct client_class, count_of(message, ROW_CLASSES));
    while (wire_next(&wire, &field))
        if (wire_is(&field, ROW_CLASSES, WIRE_BYTES))
            get_class(field.bytes, arena, &(*out)[count++]);
    return count;
}

struct status grpc_get_classes(struct bytes message, struct arena *arena,
                               struct client_classes *out)
{
    struct bytes result = held(message, RESPONSE_RESULT);
    struct wire wire = wire_of(result);
    struct wire_field field;
    int count = count_of(result, RESULT_ROWS);
    *out = (struct client_classes){ .rows = ARENA_ARRAY(arena, struct client_class *, count),
                                    .classes_count = ARENA_ARRAY(arena, int, count) };
    while (wire_next(&wire, &field)) {
        if (!wire_is(&field, RESULT_ROWS, WIRE_BYTES))
            continue;
        int at = out->examples_count++;
        out->classes_count[at] = get_row(field.bytes, arena, &out->rows[at]);
    }
    return wire.damaged || !wire_is_whole(message) ? damaged("ClassificationResponse")
                                                   : status_ok();
}

struct status grpc_get_values(struct bytes message, struct arena *arena, struct client_values *out)
{
    struct bytes result = held(message, RESPONSE_RESULT);
    struct wire wire = wire_of(result);
    struct wire_field field;
    *out = (struct client_values){
        .values = ARENA_ARRAY(arena, float, count_of(result, RESULT_ROWS)),
    };
    while (wire_next(&wire, &field)) {
        if (!wire_is(&field, RESULT_ROWS, WIRE_BYTES))
            continue;
        uint32_t bits = (uint32_t)number_of(field.bytes, REGRESSION_VALUE);
        memcpy(&out->values[out->count++], &bits, sizeof bits);
    }
    return wire.damaged || !wire_is_whole(message) ? damaged("RegressionResponse") : status_ok();
}

static void get_shape(struct bytes message, struct shape *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    *out = shape_scalar();
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, SHAPE_UNKNOWN, WIRE_VARINT) && field.value != 0) {
            *out = shape_unknown();
            return;
        }
        if (wire_is(&field, SHAPE_DIM, WIRE_BYTES) && out->rank < SHAPE_RANK_MAX)
            shape_append(out, (int64_t)number_of(field.bytes, DIM_SIZE));
    }
}

static int get_endpoints(struct bytes signature, uint32_t number, struct arena *arena,
                         struct client_endpoint **out)
{
    struct wire wire = wire_of(signature);
    struct wire_field field;
    int count = 0;
    *out = ARENA_ARRAY(arena, struct client_endpoint, count_of(signature, number));
    while (wire_next(&wire, &field)) {
        if (!wire_is(&field, number, WIRE_BYTES))
            continue;
        struct client_endpoint *endpoint = &(*out)[count++];
        struct bytes info = held(field.bytes, ENTRY_VALUE);
        endpoint->key = text_of(held(field.bytes, ENTRY_KEY), arena);
        endpoint->dtype = dtype_base((int)number_of(info, INFO_DTYPE));
        endpoint->shape = shape_unknown();
        if (count_of(info, INFO_SHAPE) > 0)
            get_shape(held(info, INFO_SHAPE), &endpoint->shape);
    }
    return count;
}

static void get_signature(struct bytes entry, struct arena *arena, struct client_signature *out)
{
    struct bytes signature = held(entry, ENTRY_VALUE);
    out->name = text_of(held(entry, ENTRY_KEY), arena);
    out->method = text_of(held(signature, SIGNATURE_METHOD), arena);
    out->inputs_count = get_endpoints(signature, SIGNATURE_INPUTS, arena, &out->inputs);
    out->outputs_count = get_endpoints(signature, SIGNATURE_OUTPUTS, arena, &out->outputs);
}

struct status grpc_get_metadata(struct bytes message, struct arena *arena,
                                struct client_metadata *out)
{
    struct bytes any = held(held(message, METADATA_ENTRY), ENTRY_VALUE);
    struct bytes map = held(any, ANY_VALUE);
    struct wire wire = wire_of(map);
    struct wire_field field;
    *out = (struct client_metadata){
        .signatures = ARENA_ARRAY(arena, struct client_signature, count_of(map, MAP_SIGNATURE)),
        .version = version_of(held(message, METADATA_SPEC)),
    };
    while (wire_next(&wire, &field))
        if (wire_is(&field, MAP_SIGNATURE, WIRE_BYTES))
            get_signature(field.bytes, arena, &out->signatures[out->count++]);
    return wire.damaged || !wire_is_whole(message) ? damaged("GetModelMetadataResponse")
                                                   : status_ok();
}

static const char *state_name(uint64_t number)
{
    switch (number) {
    case 10:
        return "START";
    case 20:
        return "LOADING";
    case 30:
        return "AVAILABLE";
    case 40:
        return "UNLOADING";
    case 50:
        return "END";
    default:
        return "UNKNOWN";
    }
}

struct status grpc_get_status(struct bytes message, struct arena *arena,
                              struct client_versions *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    *out = (struct client_versions){
        .versions = ARENA_ARRAY(arena, struct client_version, count_of(message, STATUS_VERSIONS)),
    };
    while (wire_next(&wire, &field)) {
        if (!wire_is(&field, STATUS_VERSIONS, WIRE_BYTES))
            continue;
        struct bytes status = held(field.bytes, VERSION_STATUS);
        out->versions[out->count++] = (struct client_version){
            .number = (int64_t)number_of(field.bytes, VERSION_NUMBER),
            .state = state_name(number_of(field.bytes, VERSION_STATE)),
            .code = (enum status_code)number_of(status, ERROR_CODE),
            .message = text_of(held(status, ERROR_MESSAGE), arena),
        };
    }
    return wire.damaged ? damaged("GetModelStatusResponse") : status_ok();
}
