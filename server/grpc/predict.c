/* PredictionService.Predict: reads tensors in place, runs, writes tensors. */
#include <string.h>

#include "base/text_print.h"
#include "proto/wire.h"
#include "server/grpc/form_call.h"
#include "server/grpc/request.h"
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
    struct given *given; /* the request's inputs, in its order */
    int given_count;
    struct bytes *filter; /* aliases of the wanted outputs; none: all */
    int filter_count;
    struct bytes *tensors; /* for each input of the signature; data NULL: not in the request */
    int unknown_count;     /* number of given inputs that the signature lacks */
    struct bytes *names;   /* scratch space for all names, for error texts */
    int *outputs;          /* the outputs of the answer, by index in the signature */
    int outputs_count;
    struct form_call form;
};

/* ---- the message ---- */

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

/* Counts the fields and allocates arrays for them. */
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
    predict->form.callable = servable_callable(request->servable, name);
    if (name.size == 0)
        name = bytes_of(SIGNATURE_DEFAULT);
    if (predict->form.callable == NULL)
        return status_error(STATUS_FAILED_PRECONDITION, "Serving signature key \"%s\" not found.",
                            text_print_name(name));
    return request->server->check_method_names ? callable_check_predict(predict->form.callable)
                                               : status_ok();
}

/* ---- inputs by name ---- */

/* Makes "a,b,c": sorted, without repetitions, cut off if too long. *distinct: how many there are.
 */
static const char *names_text(struct bytes *names, int count, struct arena *arena, int *distinct)
{
    struct buffer text = { 0 };
    *distinct = 0;
    bytes_sort(names, (size_t)count);
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
    const struct signature *signature = predict->form.callable->signature;
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

/* Decides whether defaults can replace missing inputs, and otherwise reports the error. */
static struct status check_names(struct served_request *request, struct predict *predict)
{
    const struct signature *signature = predict->form.callable->signature;
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
    const struct signature *signature = predict->form.callable->signature;
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
    const struct signature *signature = predict->form.callable->signature;
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

/* ---- outputs ---- */

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
    const struct signature *signature = predict->form.callable->signature;
    bool *chosen = ARENA_ARRAY(request->arena, bool, signature->outputs_count);
    predict->outputs = ARENA_ARRAY(request->arena, int, signature->outputs_count);
    for (int i = 0; i < predict->filter_count; i++) {
        struct bytes alias = predict->filter[i];
        int output = signature_output(signature, alias);
        if (output < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "output tensor alias not found in signature: %s Outputs expected "
                                "to be in the set {%s}.",
                                text_print_name(alias), outputs_text(signature, request->arena));
        if (chosen[output])
            return status_error(STATUS_INVALID_ARGUMENT, "duplicate output tensor alias: %s",
                                text_print_name(alias));
        chosen[output] = true;
        predict->outputs[predict->outputs_count++] = output;
    }
    for (int i = 0; predict->filter_count == 0 && i < signature->outputs_count; i++)
        predict->outputs[predict->outputs_count++] = i;
    for (int i = 0; i < predict->outputs_count; i++)
        TRY(signature_check_output(signature, predict->outputs[i]));
    return status_ok();
}

int grpc_predict_outputs(const struct served_request *request, const int **out)
{
    const struct predict *predict = request->method;
    *out = predict->outputs;
    return predict->outputs_count;
}

/* Bytes beside the tensors': the other fields, and the spare room that a writer requires. */
static size_t around_size(const struct served_request *request, const struct signature *signature)
{
    return strlen(request->servable->name) + strlen(signature->name) + 16 * VARINT_MAX;
}

struct status grpc_put_predict_output(struct served_request *request,
                                      const struct signature *signature, int output,
                                      const struct tensor *tensor)
{
    struct bytes key = bytes_of(signature->outputs[output].key);
    enum tensor_wire_form form =
        request->server->tensor_content ? TENSOR_WIRE_CONTENT : TENSOR_WIRE_VALUES;
    if (!tensor_wire_can_put(tensor->dtype))
        return status_error(STATUS_UNIMPLEMENTED,
                            "output '%s' is of type %s, which has no form in an answer", key.data,
                            dtype_name(tensor->dtype));
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

static struct status put_outputs(struct served_request *request, const struct tensor *outputs)
{
    struct predict *predict = request->method;
    const struct tensor *lone = predict->outputs_count == 1 ? &outputs[predict->outputs[0]] : NULL;
    if (form_call_put(&predict->form, request, lone))
        return status_ok();
    const struct signature *signature = predict->form.callable->signature;
    for (int i = 0; i < predict->outputs_count; i++) {
        int output = predict->outputs[i];
        TRY(grpc_put_predict_output(request, signature, output, &outputs[output]));
    }
    if (lone != NULL && lone->dtype == DT_FLOAT)
        form_call_note(&predict->form, request, lone);
    model_spec_put(&request->reply, RESPONSE_SPEC, request->servable, bytes_of(signature->name));
    return status_ok();
}

/* Back in the loop's thread. */
static struct status learn(struct served_request *request)
{
    const struct predict *predict = request->method;
    form_call_learn(request, &predict->form);
    return status_ok();
}

/* Only a single float tensor has the same bytes in both messages as in memory. */
static bool has_a_form(const struct predict *predict, const struct tensor *inputs)
{
    return predict->form.callable->signature->inputs_count == 1 && predict->given_count == 1 &&
           predict->outputs_count == 1 && inputs->dtype == DT_FLOAT;
}

struct status grpc_answer_predict(struct served_request *request)
{
    struct predict *predict = ARENA_NEW(request->arena, struct predict);
    struct form_call *form = &predict->form;
    struct tensor *inputs;
    request->method = predict;
    request->next = learn;
    if (form_call_recall(request, form)) {
        predict->outputs = &form->output;
        predict->outputs_count = 1;
        return served_request_run(request, form->callable, &form->input, put_outputs);
    }
    TRY(read_request(request, predict));
    TRY(find_callable(request, predict));
    TRY(match_inputs(request, predict));
    TRY(read_tensors(request, predict, &inputs));
    TRY(choose_outputs(request, predict));
    form->learns = has_a_form(predict, inputs) ? inputs : NULL;
    form->output = predict->outputs_count > 0 ? predict->outputs[0] : 0;
    return served_request_run(request, form->callable, inputs, put_outputs);
}
