/* The predict route: reads the body into tensors, runs, prints the outputs as JSON. */
#include "server/json/predict.h"
#include "server/rest/exchange.h"

struct finder {
    struct signature_finder base;
    struct served_request *request;
    struct callable *callable;
};

/* May be called twice: an unusual body is read again. */
static struct status find(struct signature_finder *base, struct bytes name,
                          const struct signature **out)
{
    struct finder *finder = (struct finder *)base;
    finder->request->spec.signature_name = name;
    TRY(served_request_find_servable(finder->request));
    finder->callable = servable_callable(finder->request->servable, name);
    if (finder->callable == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Serving signature name: \"%.*s\" not found in signature def",
                            name.size ? (int)name.size : (int)strlen(SIGNATURE_DEFAULT),
                            name.size ? name.data : SIGNATURE_DEFAULT);
    *out = finder->callable->signature;
    return status_ok();
}

static struct status print_outputs(struct served_request *request, const struct tensor *outputs)
{
    const struct predict_request *predict = request->method;
    /* The text can be many times as large as the tensors, and empty lists may be many. */
    size_t size_max = predict_response_size_max(predict->signature, outputs, predict->rows);
    TRY(served_request_reserve_reply(request, size_max));
    return predict_response_print(predict->signature, outputs, predict->rows, &request->reply);
}

struct status answer_predict(struct exchange *exchange)
{
    struct served_request *request = &exchange->served;
    struct finder finder = { { find }, request, NULL };
    struct predict_request *predict = ARENA_NEW(request->arena, struct predict_request);
    request->method = predict;
    TRY(predict_request_read(request->body, &finder.base, request->arena, predict));
    if (request->server->check_method_names)
        TRY(callable_check_predict(finder.callable));
    return served_request_run(request, finder.callable, predict->inputs, print_outputs);
}
