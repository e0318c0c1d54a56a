/* inference.GRPCInferenceService: the Open Inference Protocol (proto/open_inference.proto). */
#include "server/inference/open_inference.h"
#include "proto/wire.h"
#include "server/grpc/form_call.h"
#include "server/oip/infer_wire.h"

/* A response of one bool. Requests for a model: ModelReadyRequest, ModelMetadataRequest. */
enum { ANSWER_BOOL = 1, MODEL_NAME = 1, MODEL_VERSION = 2 };
/* RepositoryIndexRequest; RepositoryModelLoadRequest and -UnloadRequest. */
enum { INDEX_READY = 2, CHANGE_MODEL = 2, CHANGE_PARAMETERS = 3 };

static struct status damaged(const char *message)
{
    return status_error(STATUS_INTERNAL, "Failed to parse inference.%s", message);
}

/* ---- health ---- */

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

/* ---- descriptions ---- */

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

/* ---- inference ---- */

struct infer_call {
    struct open_inference inference; /* first: request->method points to it */
    struct form_call form;
};

static struct status read_infer(struct served_request *request, struct infer_call *call)
{
    struct open_inference *inference = &call->inference;
    TRY(infer_wire_read(request->body, request->arena, &inference->request));
    request->spec.name = inference->request.model_name;
    return open_inference_version(inference->request.model_version, &request->spec.version);
}

/* Do the numbers of the only raw output end the answer? */
static bool ends_in_numbers(const struct infer_answer *answer, const struct tensor *output)
{
    return answer->choices_count == 1 && answer->raw && output->dtype != DT_STRING;
}

/* A request whose form was recalled is parsed after all if the answer has another form. */
static struct status put_outputs(struct served_request *request, const struct tensor *outputs)
{
    struct infer_call *call = request->method;
    if (form_call_put(&call->form, request, &outputs[call->form.output]))
        return status_ok();
    if (call->inference.match.choices == NULL) {
        TRY(read_infer(request, call));
        TRY(infer_match(&call->inference.request, call->form.callable->signature, request->arena,
                        &call->inference.match));
    }
    struct infer_answer answer = open_inference_answer(request);
    TRY(infer_check_outputs(&answer, outputs));
    TRY(served_request_reserve_reply(request, infer_wire_size_max(&answer, outputs)));
    infer_wire_put(&answer, outputs, &request->reply);
    if (ends_in_numbers(&answer, &outputs[call->form.output]))
        form_call_note(&call->form, request, &outputs[call->form.output]);
    return status_ok();
}

/* Back in the loop's thread. */
static struct status learn(struct served_request *request)
{
    const struct infer_call *call = request->method;
    form_call_learn(request, &call->form);
    return status_ok();
}

/* Only numbers can be used in place: bools are checked, and strings have lengths. */
static bool has_a_form(const struct infer_call *call)
{
    const struct open_inference *inference = &call->inference;
    return inference->request.inputs_count == 1 && inference->match.choices_count == 1 &&
           call->form.callable->signature->inputs_count == 1 &&
           inference->match.inputs->dtype != DT_BOOL && inference->match.inputs->dtype != DT_STRING;
}

struct status grpc_answer_oip_model_infer(struct served_request *request)
{
    struct infer_call *call = ARENA_NEW(request->arena, struct infer_call);
    struct form_call *form = &call->form;
    request->method = call;
    request->next = learn;
    if (form_call_recall(request, form))
        return served_request_run(request, form->callable, &form->input, put_outputs);
    TRY(read_infer(request, call));
    TRY(open_inference_run(request, &call->inference, put_outputs));
    const struct infer_match *match = &call->inference.match;
    form->callable = request->call.callable;
    form->output = match->choices_count > 0 ? match->choices[0].output : 0;
    form->learns = has_a_form(call) ? match->inputs : NULL;
    return status_ok();
}

/* ---- the repository ---- */

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

/* `parameters`: does the request have any? */
static struct status read_change(struct served_request *request, const char *message,
                                 bool *parameters)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    *parameters = false;
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, CHANGE_MODEL, WIRE_BYTES))
            request->spec.name = field.bytes;
        else if (wire_is(&field, CHANGE_PARAMETERS, WIRE_BYTES))
            *parameters = true;
    }
    return wire.damaged ? damaged(message) : status_ok();
}

struct status grpc_answer_oip_repository_load(struct served_request *request)
{
    bool parameters;
    TRY(read_change(request, "RepositoryModelLoadRequest", &parameters));
    return parameters ? open_inference_refuse_parameters() : open_inference_load(request);
}

/* The only parameter is unload_dependents, and no model depends on another. */
struct status grpc_answer_oip_repository_unload(struct served_request *request)
{
    bool ignored;
    TRY(read_change(request, "RepositoryModelUnloadRequest", &ignored));
    return open_inference_unload(request);
}
