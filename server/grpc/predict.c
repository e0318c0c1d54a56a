/* PredictionService.Predict: reads tensors from where they are, runs, writes tensors. */
#include <stdlib.h>
#include <string.h>

#include "proto/wire.h"
#include "server/grpc/request.h"
#include "server/grpc/predict_form.h"
#include "tensor/tensor_wire.h"

#define NAMES_MAX 4096 /* characters of a list of names in an error text */
#define EXTRA_MAX 1024 /* with more surplus inputs than this, their names are not listed */

/* Fields of PredictRequest, PredictResponse and of an entry of their maps. */
enum { REQUEST_SPEC = 1, REQUEST_INPUTS = 2, REQUEST_FILTER = 3 };
enum { RESPONSE_OUTPUTS = 1, RESPONSE_SPEC = 2 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

struct given {
    struct bytes key, tensor;
};

struct predict {
    struct callable *callable;
    struct given *given; /* the request's inputs, in its order */
    int given_count;
    struct bytes *filter; /* aliases of the wanted outputs; none: all */
    int filter_count;
    struct bytes *tensors; /* for each input of the signature; data NULL: not in the request */
    int unknown_count;     /* given inputs that the signature does not have */
    struct bytes *names;   /* scratch space for all names, for error texts */
    const struct tensor *inputs;
    int *outputs; /* the outputs to answer with, by index in the signature */
    int outputs_count;

    /* For a form that is known or being learnt: */
    struct tensor input;
    int output;            /* what `outputs` points to */
    struct tensor outcome; /* type and shape of the answer, whose form is in request->reply */
    char *numbers;         /* where its numbers belong; NULL: the form is not known */
    size_t answer_at;      /* their offset in an answer that was written; 0: not to be learnt */
};

/* ---- The message. ---- */

static struct status read_entry(struct bytes entry, struct given *out)
{
    struct wire wire = wire_of(entry);
    struct wire_field field;
    *out = (struct given){ { "", 0 }, { "", 0 } };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, ENTRY_KEY, WIRE_BYTES))
            out->key = field.bytes;
        else if (wire_is(&field, ENTRY_VALUE, WIRE_BYTES))
            out->tensor = field.bytes;
    }
    return wire.damaged ? grpc_parse_error("PredictRequest") : status_ok();
}

/* Counts the fields and reserves arrays for them. */
static struct status make_room(struct served_request *request, struct predict *predict)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    size_t inputs = 0, filter = 0;
    while (wire_next(&wire, &field)) {
        inputs += wire_is(&field, REQUEST_INPUTS, WIRE_BYTES);
        filter += wire_is(&field, REQUEST_FILTER, WIRE_BYTES);
    }
    if (wire.damaged)
        return grpc_parse_error("PredictRequest");
    void *given, *names;
    TRY(arena_reserve(request->arena, inputs * sizeof(struct given), &given));
    TRY(arena_reserve(request->arena, filter * sizeof(struct bytes), &names));
    predict->given = given;
    predict->filter = names;
    return status_ok();
}

static struct status read_request(struct served_request *request, struct predict *predict)
{
    struct wire wire = wire_of(request->body);
    struct wire_field field;
    bool has_spec = false;
    TRY(make_room(request, predict));
    while (wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == REQUEST_SPEC) {
            TRY(model_spec_read(field.bytes, &request->spec));
            has_spec = true;
        } else if (field.number == REQUEST_INPUTS) {
            TRY(read_entry(field.bytes, &predict->given[predict->given_count++]));
        } else if (field.number == REQUEST_FILTER) {
            predict->filter[predict->filter_count++] = field.bytes;
        }
    }
    return has_spec || request->servable != NULL ? status_ok() : grpc_missing_model_spec();
}

static struct status find_callable(struct served_request *request, struct predict *predict)
{
    struct bytes name = request->spec.signature_name;
    TRY(served_request_find_servable(request));
    predict->callable = servable_callable(request->servable, name);
    if (name.size == 0)
        name = bytes_of(SIGNATURE_DEFAULT);
    if (predict->callable == NULL)
        return status_error(STATUS_FAILED_PRECONDITION, "Serving signature key \"%.*s\" not found.",
                            (int)name.size, name.data);
    return request->server->check_method_names ? callable_check_predict(predict->callable)
                                               : status_ok();
}

/* ---- Inputs by name. ---- */

static int compare(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

/* Makes "a,b,c": sorted, without repetitions, cut off if too long. *distinct: how many there are.
 */
static const char *names_text(struct bytes *names, int count, struct arena *arena, int *distinct)
{
    struct buffer text = { 0 };
    *distinct = 0;
    if (count > 0)
        qsort(names, (size_t)count, sizeof *names, compare);
    for (int i = 0; i < count; i++) {
        if (i > 0 && bytes_equal(names[i], names[i - 1]))
            continue;
        ++*distinct;
        if (text.size < NAMES_MAX)
            buffer_printf(&text, "%s%.*s", text.size > 0 ? "," : "", (int)names[i].size,
                          names[i].data);
    }
    const char *kept = arena_memdup(arena, text.size > 0 ? text.data : "", text.size);
    buffer_finish(&text);
    return kept;
}

enum choice { SENT, EXPECTED, EXTRA, MISSING, DEFAULTS, USED };

/* Lists the names of the signature's inputs, or of the request's, that `choice` selects. */
static const char *list(const struct predict *predict, enum choice choice, struct arena *arena,
                        int *distinct)
{
    const struct signature *signature = predict->callable->signature;
    struct bytes *names = predict->names;
    int count = 0;
    for (int i = 0; (choice == SENT || choice == EXTRA) && i < predict->given_count; i++)
        if (choice == SENT || signature_input(signature, predict->given[i].key) < 0)
            names[count++] = predict->given[i].key;
    for (int i = 0; choice != SENT && choice != EXTRA && i < signature->inputs_count; i++) {
        bool there = predict->tensors[i].data != NULL;
        if (choice == EXPECTED || (choice == MISSING && !there) || (choice == USED && there) ||
            (choice == DEFAULTS && signature->inputs[i].default_value.dtype != DT_INVALID))
            names[count++] = bytes_of(signature->inputs[i].key);
    }
    return names_text(names, count, arena, distinct);
}

/* Decides whether defaults can replace missing inputs, and reports what is wrong otherwise. */
static struct status check_names(struct served_request *request, struct predict *predict)
{
    const struct signature *signature = predict->callable->signature;
    struct arena *arena = request->arena;
    int sent, expected = signature->inputs_count, defaults, used, n;
    void *names;
    TRY(arena_reserve(
        arena, ((size_t)predict->given_count + (size_t)expected) * sizeof(struct bytes), &names));
    predict->names = names;
    const char *sent_text = list(predict, SENT, arena, &sent);
    const char *defaults_text = list(predict, DEFAULTS, arena, &defaults);
    if (sent > expected || (sent < expected && defaults == 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input size does not match signature: %d!=%d len({%s}) != len({%s}). "
                            "Sent extra: {%s}. Missing but required: {%s}.",
                            sent, expected, sent_text, list(predict, EXPECTED, arena, &n),
                            list(predict, EXTRA, arena, &n), list(predict, MISSING, arena, &n));
    for (int i = 0; i < signature->inputs_count; i++)
        if (predict->tensors[i].data == NULL &&
            signature->inputs[i].default_value.dtype == DT_INVALID)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Signature input alias: %s(feed name: %s) not found in request and no default "
                "value provided. Inputs expected to be in the request {%s}, or default input alias "
                "set: %s",
                signature->inputs[i].key, signature->inputs[i].tensor_name, sent_text,
                defaults_text);
    const char *used_text = list(predict, USED, arena, &used);
    if (used != sent)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Inputs contains invalid name. Used request inputs: %s, request input: "
                            "%s",
                            used_text, sent_text);
    return status_ok();
}

static struct status match_inputs(struct served_request *request, struct predict *predict)
{
    const struct signature *signature = predict->callable->signature;
    int matched = 0;
    if (predict->given_count - signature->inputs_count > EXTRA_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "input size does not match signature: %d!=%d",
                            predict->given_count, signature->inputs_count);
    predict->tensors = ARENA_ARRAY(request->arena, struct bytes, signature->inputs_count);
    for (int i = 0; i < predict->given_count; i++) {
        int input = signature_input(signature, predict->given[i].key);
        if (input < 0) {
            predict->unknown_count++;
            continue;
        }
        matched += predict->tensors[input].data == NULL;
        /* of two with the same name the last one counts */
        predict->tensors[input] = predict->given[i].tensor;
    }
    if (predict->unknown_count == 0 && matched == signature->inputs_count)
        return status_ok();
    return check_names(request, predict);
}

static struct status parsing_error(struct status status, const struct signature_tensor *input)
{
    if (status_is_ok(status) || status.code == STATUS_RESOURCE_EXHAUSTED)
        return status;
    if (status.code == STATUS_UNIMPLEMENTED)
        return status_in(status, "input '%s'", input->key);
    return status_error(STATUS_INVALID_ARGUMENT, "tensor parsing error: %s", input->key);
}

static struct status read_tensors(struct served_request *request, const struct predict *predict,
                                  struct tensor **out)
{
    const struct signature *signature = predict->callable->signature;
    int count = signature->inputs_count;
    struct tensor_wire *wires = ARENA_ARRAY(request->arena, struct tensor_wire, count);
    struct tensor *tensors = ARENA_ARRAY(request->arena, struct tensor, count);
    for (int i = 0; i < count; i++) {
        if (predict->tensors[i].data == NULL)
            continue;
        TRY(parsing_error(tensor_wire_scan(predict->tensors[i], &wires[i]), &signature->inputs[i]));
        wires[i].any_address = true; /* the batch copies them, so they need not be aligned */
    }
    for (int i = 0; i < count; i++) {
        if (predict->tensors[i].data == NULL)
            tensors[i] = signature->inputs[i].default_value;
        else
            TRY(parsing_error(tensor_wire_read(&wires[i], request->arena, &tensors[i]),
                              &signature->inputs[i]));
    }
    *out = tensors;
    return status_ok();
}

/* ---- Outputs. ---- */

static const char *outputs_text(const struct signature *signature, struct arena *arena)
{
    struct bytes *names = ARENA_ARRAY(arena, struct bytes, signature->outputs_count);
    int distinct;
    for (int i = 0; i < signature->outputs_count; i++)
        names[i] = bytes_of(signature->outputs[i].key);
    return names_text(names, signature->outputs_count, arena, &distinct);
}

static struct status choose_outputs(struct served_request *request, struct predict *predict)
{
    const struct signature *signature = predict->callable->signature;
    bool *chosen = ARENA_ARRAY(request->arena, bool, signature->outputs_count);
    predict->outputs = ARENA_ARRAY(request->arena, int, signature->outputs_count);
    for (int i = 0; i < predict->filter_count; i++) {
        struct bytes alias = predict->filter[i];
        int output = signature_output(signature, alias);
        if (output < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "output tensor alias not found in signature: %.*s Outputs expected "
                                "to be in the set {%s}.",
                                (int)alias.size, alias.data,
                                outputs_text(signature, request->arena));
        if (chosen[output])
            return status_error(STATUS_INVALID_ARGUMENT, "duplicate output tensor alias: %.*s",
                                (int)alias.size, alias.data);
        chosen[output] = true;
        predict->outputs[predict->outputs_count++] = output;
    }
    for (int i = 0; predict->filter_count == 0 && i < signature->outputs_count; i++)
        predict->outputs[predict->outputs_count++] = i;
    return status_ok();
}

/* Room beside the tensors' bytes: the heads of other fields, and the spare room that a writer
 * requires. */
static size_t around_size(const struct served_request *request, const struct signature *signature)
{
    return strlen(request->servable->name) + strlen(signature->name) + 16 * VARINT_MAX;
}

static struct status put_output(struct served_request *request, const struct signature *signature,
                                int output, const struct tensor *tensor)
{
    struct bytes key = bytes_of(signature->outputs[output].key);
    enum tensor_wire_form form =
        request->server->tensor_content ? TENSOR_WIRE_CONTENT : TENSOR_WIRE_VALUES;
    if (!tensor_wire_can_put(tensor->dtype))
        return status_error(STATUS_UNIMPLEMENTED, "output '%s' is of type %s, which has no %s",
                            key.data, dtype_name(tensor->dtype), "form in an answer");
    size_t size = tensor_wire_size(tensor, form);
    size_t entry =
        wire_head_size(ENTRY_KEY, key.size) + key.size + wire_head_size(ENTRY_VALUE, size) + size;
    TRY(served_request_reserve_reply(request, entry + around_size(request, signature)));
    wire_put_head(&request->reply, RESPONSE_OUTPUTS, entry);
    wire_put_bytes(&request->reply, ENTRY_KEY, key);
    wire_put_head(&request->reply, ENTRY_VALUE, size);
    tensor_wire_put(tensor, form, &request->reply);
    return status_ok();
}

/* Fills the numbers into an answer whose form is known; false: it is not. */
static bool put_numbers(const struct predict *predict, const struct tensor *outputs)
{
    const struct tensor *outcome = &predict->outcome;
    if (predict->numbers == NULL)
        return false;
    const struct tensor *output = &outputs[predict->outputs[0]];
    if (output->dtype != outcome->dtype || !shape_equal(&output->shape, &outcome->shape))
        return false;
    memcpy(predict->numbers, output->data, tensor_bytes(output));
    return true;
}

/* Remembers where the numbers of an answer's only output are, so that its form can be learnt. */
static void note_numbers(struct served_request *request, const struct tensor *outputs)
{
    struct predict *predict = request->method;
    const struct tensor *output = &outputs[predict->outputs[0]];
    size_t size = tensor_bytes(output);
    if (output->dtype != DT_FLOAT || predict->outputs_count != 1 || size == 0)
        return;
    predict->outcome = tensor_borrow(output->dtype, &output->shape, NULL);
    predict->answer_at = request->reply.size - size;
}

static struct status put_outputs(struct served_request *request, const struct tensor *outputs)
{
    struct predict *predict = request->method;
    if (put_numbers(predict, outputs))
        return status_ok();
    predict->numbers = NULL;
    request->reply.size = 0;
    const struct signature *signature = predict->callable->signature;
    for (int i = 0; i < predict->outputs_count; i++) {
        int output = predict->outputs[i];
        TRY(put_output(request, signature, output, &outputs[output]));
        note_numbers(request, outputs);
    }
    model_spec_put(&request->reply, RESPONSE_SPEC, request->servable, bytes_of(signature->name));
    return status_ok();
}

/* ---- Forms (predict_form.h). ---- */

/* The form's spec, with names that lie in the request itself. */
static struct model_spec spec_in_body(const struct predict_form *form, struct bytes body)
{
    struct model_spec spec = form->spec;
    spec.name = predict_bytes_find(&form->request, body, spec.name);
    spec.signature_name = predict_bytes_find(&form->request, body, spec.signature_name);
    if (spec.version.kind == VERSION_LABELLED)
        spec.version.label = predict_bytes_find(&form->request, body, spec.version.label);
    return spec;
}

/* Answers a request that was seen before, except for its numbers, if its model is still the same
 * one. */
static bool recall(struct served_request *request, struct predict *predict)
{
    struct predict_form *form = predict_forms_find(request->forms, request->body);
    if (form == NULL)
        return false;
    request->spec = form->spec;
    struct status status = served_request_find_servable(request);
    request->spec = spec_in_body(form, request->body); /* the form may be overwritten */
    bool same = status_is_ok(status) && request->servable->serial == form->serial;
    if (same && form->answer.size > 0)
        status = served_request_reserve_reply(request, form->answer.size);
    if (!same || !status_is_ok(status)) {
        served_request_drop_servable(request);
        form->serial = 0;
        return false;
    }
    predict->callable = form->callable;
    predict->input = form->input;
    predict->input.data = (void *)(uintptr_t)(request->body.data + form->request.numbers_at);
    predict->output = form->output;
    predict->outputs = &predict->output;
    predict->outputs_count = 1;
    if (form->answer.size > 0) {
        predict->outcome = form->outcome;
        predict->numbers = predict_bytes_put(&form->answer, &request->reply);
    }
    return true;
}

/* Learns the form of a request that was read, if it has one tensor in and one out. */
static void learn_request(const struct served_request *request, const struct predict *predict)
{
    const struct tensor *inputs = predict->inputs; /* NULL: the form is known */
    struct bytes body = request->body;
    struct predict_form *form = predict_forms_place(request->forms, body);
    struct model_spec spec = request->spec;
    size_t size = inputs != NULL ? tensor_bytes(inputs) : 0;
    if (inputs == NULL || predict->callable->signature->inputs_count != 1 ||
        predict->given_count != 1 || predict->outputs_count != 1 || inputs->dtype != DT_FLOAT ||
        size == 0 || !predict_bytes_learn(&form->request, body, inputs->data, size))
        return;
    spec.name = predict_bytes_moved(&form->request, body, spec.name);
    spec.signature_name = predict_bytes_moved(&form->request, body, spec.signature_name);
    if (spec.version.kind == VERSION_LABELLED)
        spec.version.label = predict_bytes_moved(&form->request, body, spec.version.label);
    form->serial = request->servable->serial;
    form->answer.size = 0;
    form->spec = spec;
    form->callable = predict->callable;
    form->output = predict->outputs[0];
    form->input = tensor_borrow(inputs->dtype, &inputs->shape, NULL);
}

/* Back in the loop's thread: learns the forms of the request and the answer, unless they are known.
 */
static struct status learn(struct served_request *request)
{
    const struct predict *predict = request->method;
    struct bytes reply = { request->reply.data, request->reply.size };
    struct predict_form *form;
    if (predict->answer_at == 0 || request->forms == NULL)
        return status_ok();
    learn_request(request, predict);
    form = predict_forms_find(request->forms, request->body);
    if (form == NULL || form->serial != request->servable->serial)
        return status_ok();
    form->outcome = predict->outcome;
    if (!predict_bytes_learn(&form->answer, reply, reply.data + predict->answer_at,
                             tensor_bytes(&predict->outcome)))
        form->answer.size = 0;
    return status_ok();
}

struct status grpc_answer_predict(struct served_request *request)
{
    struct predict *predict = ARENA_NEW(request->arena, struct predict);
    struct tensor *inputs;
    request->method = predict;
    request->next = learn;
    if (!request->in_pool && request->forms != NULL && recall(request, predict))
        return served_request_run(request, predict->callable, &predict->input, put_outputs);
    TRY(read_request(request, predict));
    TRY(find_callable(request, predict));
    TRY(match_inputs(request, predict));
    TRY(read_tensors(request, predict, &inputs));
    TRY(choose_outputs(request, predict));
    predict->inputs = inputs;
    return served_request_run(request, predict->callable, inputs, put_outputs);
}
