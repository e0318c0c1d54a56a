/* The predict route: reads the body into tensors, runs, writes the outputs, as JSON unless the
 * headers request another form. */
#include "server/rest/predict.h"

#include "base/text_print.h"
#include "server/grpc/request.h"

const char *const predict_headers[] = { "Content-Type", "Accept", SHAPE_HEADER, SIGNATURE_HEADER,
                                        NULL };

struct status predict_find_callable(struct served_request *request, struct bytes name,
                                    struct callable **out)
{
    request->spec.signature_name = name;
    TRY(served_request_find_servable(request));
    *out = servable_callable(request->servable, name);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Serving signature name: \"%s\" not found in signature def",
                            name.size ? text_print_name(name) : SIGNATURE_DEFAULT);
    return status_ok();
}

/* ---- JSON ---- */

struct finder {
    struct signature_finder base;
    struct served_request *request;
    struct callable *callable;
};

/* May be called twice: an unusual body is parsed again. */
static struct status find(struct signature_finder *base, struct bytes name,
                          const struct signature **out)
{
    struct finder *finder = (struct finder *)base;
    TRY(predict_find_callable(finder->request, name, &finder->callable));
    *out = finder->callable->signature;
    return status_ok();
}

static struct status read_json(struct served_request *request, struct predict_call *call)
{
    struct finder finder = { { find }, request, NULL };
    TRY(predict_request_read(request->body, &finder.base, request->arena, &call->json));
    call->inputs = call->json.inputs;
    call->callable = finder.callable;
    return status_ok();
}

/* A request that was not JSON gets its outputs as columns. */
static struct status answer_json(struct served_request *request, const struct signature *signature,
                                 const struct tensor *outputs)
{
    const struct predict_call *call = request->method;
    bool rows = call->json.rows;
    /* The text can be many times as large as the tensors, for instance with many empty lists. */
    size_t size_max = predict_response_size_max(signature, outputs, rows);
    TRY(served_request_reserve_reply(request, size_max));
    return predict_response_print(signature, outputs, rows, &request->reply);
}

/* ---- the route ---- */

/* The message may omit the model; it must not name another one than the URL. */
static struct status read_protobuf(struct served_request *request, struct predict_call *call)
{
    TRY(served_request_find_servable(request));
    struct bytes name = request->spec.name;
    TRY(grpc_answer_predict(request));
    if (!bytes_equal(request->spec.name, name))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the URL names the model '%s', the PredictRequest '%s'",
                            text_print_name(name), text_print_name(request->spec.name));
    call->callable = request->call.callable;
    call->inputs = request->call.inputs;
    call->chosen_count = grpc_predict_outputs(request, &call->chosen);
    return status_ok();
}

static struct status read_body(struct exchange *exchange, enum media media,
                               struct predict_call *call)
{
    switch (media) {
    case MEDIA_JSON:
        return read_json(&exchange->served, call);
    case MEDIA_PROTOBUF:
        return read_protobuf(&exchange->served, call);
    default:
        return predict_read_tensor(exchange, media, call);
    }
}

static struct status check_explain(const struct exchange *exchange, enum media wanted)
{
    if (exchange->explain == NULL || wanted == MEDIA_JSON)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "explain adds a member to a JSON answer; Accept asks for %s",
                        media_name(wanted));
}

static void choose_signature(struct arena *arena, struct predict_call *call)
{
    const struct signature *whole = call->callable->signature;
    call->answered = *whole;
    if (call->chosen == NULL)
        return;
    call->answered.outputs = ARENA_ARRAY(arena, struct signature_tensor, call->chosen_count);
    call->answered.outputs_count = call->chosen_count;
    for (int i = 0; i < call->chosen_count; i++)
        call->answered.outputs[i] = whole->outputs[call->chosen[i]];
}

static struct status write_answer(struct served_request *request, const struct tensor *outputs)
{
    const struct predict_call *call = request->method;
    if (call->chosen == NULL)
        return call->write(request, &call->answered, outputs);
    struct tensor *chosen = ARENA_ARRAY(request->arena, struct tensor, call->chosen_count);
    for (int i = 0; i < call->chosen_count; i++)
        chosen[i] = outputs[call->chosen[i]];
    return call->write(request, &call->answered, chosen);
}

struct status answer_predict(struct exchange *exchange)
{
    static predict_writer *const writers[] = {
        [MEDIA_JSON] = answer_json,
        [MEDIA_OCTETS] = predict_answer_octets,
        [MEDIA_NPY] = predict_answer_npy,
        [MEDIA_PROTOBUF] = predict_answer_protobuf,
    };
    struct served_request *request = &exchange->served;
    enum media body = media_of_body(exchange_header(exchange, "Content-Type"));
    enum media wanted = media_of_answer(exchange_header(exchange, "Accept"));
    struct predict_call *call = ARENA_NEW(request->arena, struct predict_call);
    TRY(check_explain(exchange, wanted));
    TRY(read_body(exchange, body, call));
    choose_signature(request->arena, call);
    TRY(predict_check_answer(&call->answered, wanted));
    if (request->server->check_method_names)
        TRY(callable_check_predict(call->callable));
    if (body == MEDIA_PROTOBUF && wanted == MEDIA_PROTOBUF) {
        exchange->content_type = media_name(wanted); /* its own answer applies its output_filter */
        return status_ok();
    }
    TRY(signature_check_outputs(&call->answered));
    call->write = writers[wanted];
    request->method = call;
    request->next = NULL; /* that of a PredictRequest's own answer */
    return served_request_run(request, call->callable, call->inputs, write_answer);
}
