/* inference.GRPCInferenceService: the Open Inference Protocol (proto/open_inference.proto). */
#include "server/inference/open_inference.h"
#include "proto/wire.h"
#include "server/grpc/request.h"
#include "server/oip/infer_wire.h"

/* A response of one bool. Requests for a model: ModelReadyRequest, ModelMetadataRequest. */
enum { ANSWER_BOOL = 1, MODEL_NAME = 1, MODEL_VERSION = 2 };
/* RepositoryIndexRequest; RepositoryModelLoadRequest and -UnloadRequest. */
enum { INDEX_READY = 2, CHANGE_MODEL = 2 };

static struct status damaged(const char *message)
{
    return status_error(STATUS_INTERNAL, "Failed to parse inference.%s", message);
}

/* ---- Health. ---- */

struct status grpc_answer_oip_server_live(struct served_request *request)
{
    wire_put_varint(&request->reply, ANSWER_BOOL, true);
    return status_ok();
}

struct status grpc_answer_oip_server_ready(struct served_request *request)
{
    wire_put_varint(&request->reply, ANSWER_BOOL, open_inference_server_ready(request));
    return status_ok();
}

static struct status read_model(struct served_request *request, const char *message)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, MODEL_NAME, WIRE_BYTES))
            request->spec.name = field.bytes;
        else if (wire_is(&field, MODEL_VERSION, WIRE_BYTES))
            TRY(open_inference_version(field.bytes, &request->spec.version));
    }
    return wire.damaged ? damaged(message) : status_ok();
}

struct status grpc_answer_oip_model_ready(struct served_request *request)
{
    bool ready;
    TRY(read_model(request, "ModelReadyRequest"));
    TRY(open_inference_model_ready(request, &ready));
    wire_put_varint(&request->reply, ANSWER_BOOL, ready);
    return status_ok();
}

/* ---- Descriptions. ---- */

struct status grpc_answer_oip_server_metadata(struct served_request *request)
{
    server_metadata_put(&request->reply);
    return status_ok();
}

struct status grpc_answer_oip_model_metadata(struct served_request *request)
{
    struct model_metadata metadata;
    TRY(read_model(request, "ModelMetadataRequest"));
    TRY(open_inference_metadata(request, &metadata));
    model_metadata_put(&metadata, &request->reply);
    return status_ok();
}

/* ---- Inference. ---- */

static struct status put_outputs(struct served_request *request, const struct tensor *outputs)
{
    struct infer_answer answer = open_inference_answer(request);
    TRY(infer_check_outputs(&answer, outputs));
    TRY(served_request_reserve_reply(request, infer_wire_size_max(&answer, outputs)));
    infer_wire_put(&answer, outputs, &request->reply);
    return status_ok();
}

struct status grpc_answer_oip_model_infer(struct served_request *request)
{
    struct open_inference *inference = ARENA_NEW(request->arena, struct open_inference);
    TRY(infer_wire_read(request->body, request->arena, &inference->request));
    request->spec.name = inference->request.model_name;
    TRY(open_inference_version(inference->request.model_version, &request->spec.version));
    return open_inference_run(request, inference, put_outputs);
}

/* ---- The repository. ---- */

struct status grpc_answer_oip_repository_index(struct served_request *request)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    struct index_entry *entries;
    size_t count;
    bool ready = false;
    while (wire_next(&wire, &field))
        if (wire_is(&field, INDEX_READY, WIRE_VARINT))
            ready = field.value != 0;
    if (wire.damaged)
        return damaged("RepositoryIndexRequest");
    TRY(open_inference_index(request, ready, &entries, &count));
    repository_index_put(entries, count, &request->reply);
    return status_ok();
}

static struct status refuse_change(struct served_request *request, const char *message,
                                   const char *change)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (wire_is(&field, CHANGE_MODEL, WIRE_BYTES))
            request->spec.name = field.bytes;
    if (wire.damaged)
        return damaged(message);
    return open_inference_refuse_change(request, change);
}

struct status grpc_answer_oip_repository_load(struct served_request *request)
{
    return refuse_change(request, "RepositoryModelLoadRequest", "loaded");
}

struct status grpc_answer_oip_repository_unload(struct served_request *request)
{
    return refuse_change(request, "RepositoryModelUnloadRequest", "unloaded");
}
