#include "server/rest/exchange.h"

#include "server/inference/reply.h"
#include "server/json/print.h"

struct status exchange_find_servable(struct exchange *exchange)
{
    if (exchange->servable != NULL)
        return status_ok();
    return manager_find(exchange->server->manager, exchange->target.name, &exchange->target.version,
                        &exchange->servable);
}

struct status exchange_reserve_reply(struct exchange *exchange, size_t size_max)
{
    return reply_reserve(exchange->server, &exchange->reply, &exchange->paid, size_max);
}

void exchange_fail(struct exchange *exchange, struct status status)
{
    exchange->http = status_http(status.code);
    exchange->reply.size = 0;
    buffer_append_text(&exchange->reply, "{\n    \"error\": ");
    json_print_string(&exchange->reply, bytes_of(status.message));
    buffer_append_text(&exchange->reply, "\n}");
}
