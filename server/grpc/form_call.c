#include "server/grpc/form_call.h"

/* The form's spec, with names that point into the request. */
static struct model_spec spec_in_body(const struct predict_form *form, struct bytes body)
{
    struct model_spec spec = form->spec;
    spec.name = predict_bytes_find(&form->request, body, spec.name);
    spec.signature_name = predict_bytes_find(&form->request, body, spec.signature_name);
    if (spec.version.kind == VERSION_LABELLED)
        spec.version.label = predict_bytes_find(&form->request, body, spec.version.label);
    return spec;
}

/* Is the form's model still the same one? */
static bool find_servable(struct served_request *request, struct predict_form *form)
{
    request->spec = form->spec;
    struct status status = served_request_find_servable(request);
    request->spec = spec_in_body(form, request->body); /* the form may be overwritten */
    bool same = status_is_ok(status) && request->servable->serial == form->serial;
    if (same && form->answer.size > 0)
        status = served_request_reserve_reply(request, form->answer.size);
    if (same && status_is_ok(status))
        return true;
    served_request_drop_servable(request);
    form->serial = 0;
    return false;
}

bool form_call_recall(struct served_request *request, struct form_call *out)
{
    if (request->in_pool || request->forms == NULL)
        return false;
    struct predict_form *form = predict_forms_find(request->forms, request->body);
    if (form == NULL || form->api != request->api || !find_servable(request, form))
        return false;
    out->callable = form->callable;
    out->input = form->input;
    out->input.data = (void *)(uintptr_t)(request->body.data + form->request.numbers_at);
    out->output = form->output;
    if (form->answer.size > 0) {
        out->outcome = form->outcome;
        out->numbers = predict_bytes_put(&form->answer, &request->reply);
    }
    return true;
}

bool form_call_put(struct form_call *call, struct served_request *request,
                   const struct tensor *output)
{
    const struct tensor *outcome = &call->outcome;
    if (call->numbers == NULL)
        return false;
    if (output->dtype == outcome->dtype && shape_equal(&output->shape, &outcome->shape)) {
        memcpy(call->numbers, output->data, tensor_bytes(output));
        return true;
    }
    call->numbers = NULL;
    request->reply.size = 0;
    return false;
}

void form_call_note(struct form_call *call, const struct served_request *request,
                    const struct tensor *output)
{
    size_t size = tensor_bytes(output);
    if (size == 0)
        return;
    call->outcome = tensor_borrow(output->dtype, &output->shape, NULL);
    call->answer_at = request->reply.size - size;
}

/* Learns the form of a request that was parsed. */
static void learn_request(const struct served_request *request, const struct form_call *call)
{
    const struct tensor *input = call->learns;
    struct bytes body = request->body;
    struct predict_form *form = predict_forms_place(request->forms, body);
    struct model_spec spec = request->spec;
    size_t size = input != NULL ? tensor_bytes(input) : 0;
    if (size == 0 || !predict_bytes_learn(&form->request, body, input->data, size))
        return;
    spec.name = predict_bytes_moved(&form->request, body, spec.name);
    spec.signature_name = predict_bytes_moved(&form->request, body, spec.signature_name);
    if (spec.version.kind == VERSION_LABELLED)
        spec.version.label = predict_bytes_moved(&form->request, body, spec.version.label);
    form->serial = request->servable->serial;
    form->api = request->api;
    form->answer.size = 0;
    form->spec = spec;
    form->callable = call->callable;
    form->output = call->output;
    form->input = tensor_borrow(input->dtype, &input->shape, NULL);
}

void form_call_learn(struct served_request *request, const struct form_call *call)
{
    struct bytes reply = { request->reply.data, request->reply.size };
    if (call->answer_at == 0 || request->forms == NULL)
        return;
    learn_request(request, call);
    struct predict_form *form = predict_forms_find(request->forms, request->body);
    if (form == NULL || form->api != request->api || form->serial != request->servable->serial)
        return;
    form->outcome = call->outcome;
    if (!predict_bytes_learn(&form->answer, reply, reply.data + call->answer_at,
                             tensor_bytes(&call->outcome)))
        form->answer.size = 0;
}
