/*
 * Encodes requests.
 */
#include "clients/example_text.h"
#include "clients/grpc_messages.h"
#include "proto/wire.h"
#include "tensor/tensor_wire.h"

#define PREDICTION "/tensorflow.serving.PredictionService/"
#define MODEL      "/tensorflow.serving.ModelService/"

enum { REQUEST_SPEC = 1, REQUEST_INPUTS = 2, REQUEST_INPUT = 2, REQUEST_FIELD = 2 };
enum { SPEC_NAME = 1, SPEC_VERSION = 2, SPEC_SIGNATURE = 3, SPEC_LABEL = 4, INT64_VALUE = 1 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { INPUT_LIST = 1, INPUT_LIST_WITH_CONTEXT = 2, LIST_EXAMPLES = 1, LIST_CONTEXT = 2 };

void grpc_put_version(const struct client_target *target, struct buffer *out)
{
    if (target->version >= 0) {
        size_t version = wire_open(out, SPEC_VERSION);
        wire_put_varint(out, INT64_VALUE, (uint64_t)target->version);
        wire_close(out, version);
    } else if (target->label != NULL) {
        wire_put_bytes(out, SPEC_LABEL, bytes_of(target->label));
    }
}

/* Starts a request: each begins with its model_spec. */
static struct buffer *begin(const char *path, const struct client_target *target,
                            struct client_request *request)
{
    struct buffer *out = &request->body;
    buffer_append(&request->path, path, strlen(path) + 1);
    size_t spec = wire_open(out, REQUEST_SPEC);
    wire_put_bytes(out, SPEC_NAME, bytes_of(target->model));
    grpc_put_version(target, out);
    if (target->signature != NULL)
        wire_put_bytes(out, SPEC_SIGNATURE, bytes_of(target->signature));
    wire_close(out, spec);
    return out;
}

/* Sends tensor_content, which is copied once here and which modelserver uses in place if it is
 * aligned. */
void grpc_put_predict(const struct client_target *target, const struct client_tensor *inputs,
                      int count, struct client_request *request)
{
    struct buffer *out = begin(PREDICTION "Predict", target, request);
    for (int i = 0; i < count; i++) {
        struct bytes name = bytes_of(inputs[i].name);
        enum tensor_wire_form form =
            inputs[i].tensor.dtype == DT_STRING ? TENSOR_WIRE_VALUES : TENSOR_WIRE_CONTENT;
        size_t size = tensor_wire_size(&inputs[i].tensor, form);
        wire_put_head(out, REQUEST_INPUTS,
                      wire_head_size(ENTRY_KEY, name.size) + name.size +
                          wire_head_size(ENTRY_VALUE, size) + size);
        wire_put_bytes(out, ENTRY_KEY, name);
        wire_put_head(out, ENTRY_VALUE, size);
        tensor_wire_put(&inputs[i].tensor, form, out);
    }
}

struct status grpc_put_examples(const struct client_target *target, const char *verb,
                                const char *examples, const char *context,
                                struct client_request *request)
{
    bool classify = strcmp(verb, "classify") == 0;
    struct buffer *out =
        begin(classify ? PREDICTION "Classify" : PREDICTION "Regress", target, request);
    size_t input = wire_open(out, REQUEST_INPUT);
    size_t list = wire_open(out, context != NULL ? INPUT_LIST_WITH_CONTEXT : INPUT_LIST);
    TRY(status_in(examples_from_json(examples, LIST_EXAMPLES, out), "examples"));
    if (context != NULL)
        TRY(status_in(example_from_json(context, LIST_CONTEXT, out), "context"));
    wire_close(out, list);
    wire_close(out, input);
    return status_ok();
}

void grpc_put_metadata(const struct client_target *target, struct client_request *request)
{
    struct buffer *out = begin(PREDICTION "GetModelMetadata", target, request);
    wire_put_bytes(out, REQUEST_FIELD, bytes_of("signature_def"));
}

void grpc_put_status(const struct client_target *target, struct client_request *request)
{
    begin(MODEL "GetModelStatus", target, request);
}
