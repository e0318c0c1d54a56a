/* Describes models: PredictionService.GetModelMetadata and ModelService. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/text_print.h"
#include "proto/message.h"
#include "proto/wire.h"
#include "server/grpc/request.h"
#include "server/metrics/metrics.h"
#include "server/models/load_metrics.h"
#include "tensor/tensor_wire.h"

/* GetModelMetadataRequest and -Response, and an entry of a map. */
enum { REQUEST_SPEC = 1, REQUEST_FIELD = 2, RESPONSE_SPEC = 1, RESPONSE_METADATA = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
/* Any; SignatureDefMap and SignatureDef; TensorInfo; TensorShapeProto and its Dim. */
enum { ANY_TYPE_URL = 1, ANY_VALUE = 2, MAP_SIGNATURE = 1 };
enum { SIGNATURE_INPUTS = 1, SIGNATURE_OUTPUTS = 2, SIGNATURE_METHOD = 3, SIGNATURE_DEFAULTS = 4 };
enum { INFO_NAME = 1, INFO_DTYPE = 2, INFO_SHAPE = 3, INFO_COO = 4, INFO_COMPOSITE = 5 };
enum { COO_VALUES = 1, COO_INDICES = 2, COO_DENSE_SHAPE = 3 };
enum { SHAPE_DIM = 2, SHAPE_UNKNOWN = 3, DIM_SIZE = 1, DIM_NAME = 2 };
/* GetModelStatusResponse, ModelVersionStatus, StatusProto. */
enum { STATUS_VERSIONS = 1, VERSION_NUMBER = 1, VERSION_STATE = 2, VERSION_STATUS = 3 };
enum { ERROR_CODE = 1, ERROR_MESSAGE = 2 };

/* The only metadata_field that TensorFlow Serving knows, and the type of its value. */
#define SIGNATURE_DEF         "signature_def"
#define SIGNATURE_DEF_MAP_URL "type.googleapis.com/tensorflow.serving.SignatureDefMap"

/* Reads a request with a model_spec in field 1 and, for metadata, strings in field 2. */
static struct status read_request(struct served_request *request, const char *message,
                                  bool *wants_signatures, struct bytes *other)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    bool has_spec = false;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, REQUEST_SPEC, WIRE_BYTES)) {
            TRY(model_spec_read(field.bytes, &request->spec));
            has_spec = true;
        } else if (wire_is(&field, REQUEST_FIELD, WIRE_BYTES)) {
            if (bytes_equal(field.bytes, bytes_of(SIGNATURE_DEF)))
                *wants_signatures = true;
            else if (other->data == NULL)
                *other = field.bytes;
        }
    }
    if (wire.damaged)
        return grpc_parse_error(message);
    return has_spec ? status_ok() : grpc_missing_model_spec();
}

static void put_shape(const struct signature_tensor *tensor, struct buffer *out)
{
    const struct shape *shape = &tensor->shape;
    size_t opened = wire_open(out, INFO_SHAPE);
    for (int i = 0; i < shape->rank; i++) {
        size_t dim = wire_open(out, SHAPE_DIM);
        wire_put_varint(out, DIM_SIZE, (uint64_t)shape->dims[i]);
        if (tensor->dim_names != NULL)
            wire_put_bytes(out, DIM_NAME, bytes_of(tensor->dim_names[i]));
        wire_close(out, dim);
    }
    wire_put_varint(out, SHAPE_UNKNOWN, shape->rank < 0);
    wire_close(out, opened);
}

static void put_coo(const struct signature_coo *coo, struct buffer *out)
{
    size_t opened = wire_open(out, INFO_COO);
    wire_put_bytes(out, COO_VALUES, bytes_of(coo->values));
    wire_put_bytes(out, COO_INDICES, bytes_of(coo->indices));
    wire_put_bytes(out, COO_DENSE_SHAPE, bytes_of(coo->dense_shape));
    wire_close(out, opened);
}

/* The number of a reference type is the base type's plus 100. */
static void put_info(const struct signature_tensor *tensor, struct buffer *out)
{
    if (tensor->coo != NULL) {
        put_coo(tensor->coo, out);
    } else if (tensor->composite != NULL) {
        size_t opened = wire_open(out, INFO_COMPOSITE);
        proto_pack(tensor->composite, out);
        wire_close(out, opened);
    } else {
        wire_put_bytes(out, INFO_NAME, bytes_of(tensor->tensor_name));
    }
    wire_put_varint(out, INFO_DTYPE, (uint64_t)tensor->dtype + (tensor->is_ref ? DT_REF : 0));
    if (tensor->has_shape)
        put_shape(tensor, out);
}

static void put_tensors(const struct signature_tensor *tensors, int count, uint32_t number,
                        struct buffer *out)
{
    for (int i = 0; i < count; i++) {
        size_t entry = wire_open(out, number);
        wire_put_bytes(out, ENTRY_KEY, bytes_of(tensors[i].key));
        size_t value = wire_open(out, ENTRY_VALUE);
        put_info(&tensors[i], out);
        wire_close(out, value);
        wire_close(out, entry);
    }
}

static void put_defaults(const struct signature *signature, struct buffer *out)
{
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct signature_tensor *input = &signature->inputs[i];
        if (!tensor_wire_can_put(input->default_value.dtype))
            continue;
        size_t entry = wire_open(out, SIGNATURE_DEFAULTS);
        wire_put_bytes(out, ENTRY_KEY, bytes_of(input->key));
        size_t value = wire_open(out, ENTRY_VALUE);
        tensor_wire_put(&input->default_value, TENSOR_WIRE_VALUES, out);
        wire_close(out, value);
        wire_close(out, entry);
    }
}

static void put_signature(const struct signature *signature, struct buffer *out)
{
    size_t entry = wire_open(out, MAP_SIGNATURE);
    wire_put_bytes(out, ENTRY_KEY, bytes_of(signature->name));
    size_t value = wire_open(out, ENTRY_VALUE);
    put_tensors(signature->inputs, signature->inputs_count, SIGNATURE_INPUTS, out);
    put_tensors(signature->outputs, signature->outputs_count, SIGNATURE_OUTPUTS, out);
    if (signature->method[0] != '\0')
        wire_put_bytes(out, SIGNATURE_METHOD, bytes_of(signature->method));
    put_defaults(signature, out);
    wire_close(out, value);
    wire_close(out, entry);
}

struct status grpc_answer_model_metadata(struct served_request *request)
{
    bool wants_signatures = false;
    struct bytes other = { NULL, 0 };
    struct buffer *out = &request->reply;
    TRY(read_request(request, "GetModelMetadataRequest", &wants_signatures, &other));
    if (!wants_signatures && other.data == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "GetModelMetadataRequest must specify at least one metadata_field");
    if (other.data != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "Metadata field %s is not supported",
                            text_print_name(other));
    TRY(served_request_find_servable(request));
    model_spec_put(out, RESPONSE_SPEC, request->servable, (struct bytes){ "", 0 });
    size_t entry = wire_open(out, RESPONSE_METADATA);
    wire_put_bytes(out, ENTRY_KEY, bytes_of(SIGNATURE_DEF));
    size_t any = wire_open(out, ENTRY_VALUE);
    wire_put_bytes(out, ANY_TYPE_URL, bytes_of(SIGNATURE_DEF_MAP_URL));
    size_t map = wire_open(out, ANY_VALUE);
    for (int i = 0; i < request->servable->callables_count; i++)
        put_signature(request->servable->callables[i].signature, out);
    wire_close(out, map);
    wire_close(out, any);
    wire_close(out, entry);
    return status_ok();
}

/* ModelVersionStatus.State. */
static uint64_t state_number(const char *name)
{
    static const struct {
        const char *name;
        uint64_t number;
    } states[] = {
        { "START", 10 }, { "LOADING", 20 }, { "AVAILABLE", 30 }, { "UNLOADING", 40 }, { "END", 50 }
    };
    for (size_t i = 0; i < COUNT(states); i++)
        if (strcmp(name, states[i].name) == 0)
            return states[i].number;
    return 0;
}

static void put_version(const struct version_status *version, struct buffer *out)
{
    size_t row = wire_open(out, STATUS_VERSIONS);
    wire_put_varint(out, VERSION_NUMBER, (uint64_t)version->number);
    wire_put_varint(out, VERSION_STATE, state_number(version->state));
    size_t status = wire_open(out, VERSION_STATUS);
    wire_put_varint(out, ERROR_CODE, version->status.code);
    if (version->status.message[0] != '\0')
        wire_put_bytes(out, ERROR_MESSAGE, bytes_of(version->status.message));
    wire_close(out, status);
    wire_close(out, row);
}

struct status grpc_answer_model_status(struct served_request *request)
{
    struct version_status *versions;
    size_t count;
    bool ignored = false;
    struct bytes other = { NULL, 0 };
    TRY(read_request(request, "GetModelStatusRequest", &ignored, &other));
    TRY(manager_status(request->server->manager, request->spec.name, &request->spec.version,
                       request->arena, &versions, &count));
    for (size_t i = 0; i < count; i++)
        put_version(&versions[i], &request->reply);
    return status_ok();
}

/* ---- HandleReloadConfigRequest ---- */

/* ReloadConfigRequest and -Response; Metric. */
enum { RELOAD_CONFIG = 1, RELOAD_METRIC_NAMES = 2, RELOAD_STATUS = 1, RELOAD_METRIC = 2 };
enum { METRIC_NAME = 1, METRIC_INCREASE = 2 };

/* A metric whose increase the client requests. */
struct requested_metric {
    struct bytes name;
    int64_t before;
};

/* A reload in progress. */
struct reload {
    struct models_waiter *waiter;      /* NULL: not applied, or it waits */
    struct map names;                  /* of the metrics: each is answered once */
    struct requested_metric **metrics; /* [names.count], in the order of their names */
};

static void ask_metric(struct served_request *request, struct reload *asked, struct bytes name)
{
    if (map_has(&asked->names, name))
        return;
    struct requested_metric *metric = ARENA_NEW(request->arena, struct requested_metric);
    *metric = (struct requested_metric){ name, metric_first_value(name) };
    map_put(&asked->names, name, metric);
}

static int compare_metrics(const void *a, const void *b)
{
    const struct requested_metric *const *x = a, *const *y = b;
    return bytes_compare((*x)->name, (*y)->name);
}

/* TensorFlow Serving answers in the order of a set, whatever the order of the request. */
static void sort_metrics(struct served_request *request, struct reload *asked)
{
    size_t count = asked->names.count;
    asked->metrics = ARENA_ARRAY(request->arena, struct requested_metric *, count);
    for (size_t i = 0; i < count; i++)
        asked->metrics[i] = asked->names.entries[i].value;
    if (count > 0)
        qsort(asked->metrics, count, sizeof *asked->metrics, compare_metrics);
}

static void put_metric(const struct requested_metric *metric, struct buffer *out)
{
    char increase[1 + VARINT_MAX] = { METRIC_INCREASE << 3 }; /* in a oneof, even 0 is encoded */
    int64_t value = metric_first_value(metric->name) - metric->before;
    size_t size = 1 + varint_put(increase + 1, (uint64_t)value);
    size_t opened = wire_open(out, RELOAD_METRIC);
    wire_put_bytes(out, METRIC_NAME, metric->name);
    buffer_append(out, increase, size);
    wire_close(out, opened);
}

static struct status read_reload(struct served_request *request, struct reload *asked,
                                 struct bytes *config)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    *config = (struct bytes){ "", 0 };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, RELOAD_CONFIG, WIRE_BYTES))
            *config = field.bytes;
        else if (wire_is(&field, RELOAD_METRIC_NAMES, WIRE_BYTES))
            ask_metric(request, asked, field.bytes);
    }
    sort_metrics(request, asked);
    return wire.damaged ? grpc_parse_error("ReloadConfigRequest") : status_ok();
}

static struct status read_configs(struct bytes message, struct budget *budget,
                                  struct model_configs **out)
{
    TRY(model_configs_unpack(message, budget, out));
    if ((*out)->kind == CONFIGS_LIST)
        return status_ok();
    model_configs_destroy(*out);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "ServerModelConfig type not supported by HandleReloadConfigRequest. Only "
                        "ModelConfigList is currently supported");
}

/* All new models serve, or have failed. As in TensorFlow Serving, the answer contains the status
 * as well. */
static void on_reloaded(void *context, struct status status)
{
    struct served_request *request = context;
    const struct reload *asked = request->method;
    struct buffer *out = &request->reply;
    load_metrics_reload("rpc", status);
    wire_close(out, wire_open(out, RELOAD_STATUS));
    for (size_t i = 0; i < asked->names.count; i++)
        put_metric(asked->metrics[i], out);
    if (!status_is_ok(status))
        log_error("ReloadConfig failed: %s", status.message);
    served_request_finish(request, status);
}

static void free_reload(void *method)
{
    struct reload *asked = method;
    if (asked->waiter != NULL)
        manager_forget_waiter(asked->waiter);
}

static struct status wait_for_models(struct served_request *request)
{
    struct reload *asked = request->method;
    struct models_waiter *waiter = asked->waiter;
    request->next = NULL;
    asked->waiter = NULL;
    manager_wait(waiter, request->server->loop, on_reloaded, request);
    served_request_wait(request);
    return status_ok();
}

/* In the pool: a configuration of a thousand models takes a millisecond, for which the requests of
 * a loop should not wait. */
static struct status apply(struct served_request *request, struct model_configs *configs)
{
    struct reload *asked = request->method;
    configs->from_client = true;
    struct status status = manager_replace(request->server->manager, configs, &asked->waiter);
    if (status_is_ok(status))
        request->next = wait_for_models;
    else
        load_metrics_reload("rpc", status);
    return status;
}

struct status grpc_answer_reload_config(struct served_request *request)
{
    struct reload *asked = ARENA_NEW(request->arena, struct reload);
    struct model_configs *configs;
    struct bytes config;
    asked->names.arena = request->arena;
    request->method = asked;
    request->free_method = free_reload;
    TRY(read_reload(request, asked, &config));
    TRY(read_configs(config, request->server->budget, &configs));
    return apply(request, configs);
}
