/*
 * The predict route: body to tensors, run, outputs to JSON.
 */
#include "server/exchange.h"

struct finder {
    struct signature_finder base;
    struct exchange *exchange;
    struct callable *callable;
};

/* May be asked twice: an unusual body is read again. */
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

static struct status check_method(const struct exchange *exchange, const char *method)
{
    if (!exchange->server->check_method_names || strcmp(method, SIGNATURE_PREDICT) == 0 ||
        strcmp(method, SIGNATURE_CLASSIFY) == 0 || strcmp(method, SIGNATURE_REGRESS) == 0)
        return status_ok();
    return status_error(STATUS_INTERNAL,
                        "Expected prediction signature method_name to be one of {%s, %s, %s}. Was: "
                        "%s",
                        SIGNATURE_PREDICT, SIGNATURE_CLASSIFY, SIGNATURE_REGRESS, method);
}

static struct status print_outputs(struct inference_call *call, const struct tensor *outputs)
{
    struct exchange *exchange = exchange_of(call);
    return predict_response_print(call->callable->signature, outputs, exchange->predict.rows,
                                  &exchange->reply);
}

struct status answer_predict(struct exchange *exchange)
{
    struct finder finder = { { find }, exchange, NULL };
    TRY(predict_request_read(exchange->body, &finder.base, exchange->arena, &exchange->predict));
    TRY(check_method(exchange, finder.callable->signature->method));
    return exchange_call(exchange, finder.callable, exchange->predict.inputs, print_outputs);
}
