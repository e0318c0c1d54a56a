/* The predict route: reads the body into tensors, runs, prints the outputs as JSON. */
#include "server/rest/exchange.h"

struct finder {
    struct signature_finder base;
    struct exchange *exchange;
    struct callable *callable;
};

/* May be called twice: an unusual body is read again. */
static struct status find(struct signature_finder *base, struct bytes name,
                          const struct signature **out)
{
    struct finder *finder = (struct finder *)base;
    TRY(exchange_find_servable(finder->exchange));
    finder->callable = servable_callable(finder->exchange->servable, name);
    if (finder->callable == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Serving signature name: \"%.*s\" not found in signature def",
                            name.size ? (int)name.size : (int)strlen(SIGNATURE_DEFAULT),
                            name.size ? name.data : SIGNATURE_DEFAULT);
    *out = finder->callable->signature;
    return status_ok();
}

static struct status print_outputs(struct inference_call *call, const struct tensor *outputs)
{
    struct exchange *exchange = exchange_of(call);
    const struct signature *signature = call->callable->signature;
    bool rows = exchange->predict.rows;
    /* The text can be many times as large as the tensors, and empty lists may be many. */
    TRY(exchange_reserve_reply(exchange, predict_response_size_max(signature, outputs, rows)));
    return predict_response_print(signature, outputs, rows, &exchange->reply);
}

struct status answer_predict(struct exchange *exchange)
{
    struct finder finder = { { find }, exchange, NULL };
    TRY(predict_request_read(exchange->body, &finder.base, exchange->arena, &exchange->predict));
    if (exchange->server->check_method_names)
        TRY(callable_check_predict(finder.callable));
    return exchange_call(exchange, finder.callable, exchange->predict.inputs, print_outputs);
}
