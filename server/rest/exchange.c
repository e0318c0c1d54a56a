#include "server/rest/exchange.h"

#include <assert.h>
#include <string.h>

#include "server/json/print.h"

const char *exchange_header(const struct exchange *exchange, const char *name)
{
    const char *const *names = exchange->route->headers;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return exchange->wanted[i];
    assert(!"the row of the route does not name this header");
    return NULL;
}

void exchange_add_header(struct exchange *exchange, const char *name, const char *value)
{
    assert(exchange->headers_count < EXCHANGE_HEADERS_MAX);
    exchange->headers[exchange->headers_count++] = (struct exchange_header){ name, value };
}

void exchange_set_unavailable(struct exchange *exchange)
{
    exchange->http = status_http(STATUS_UNAVAILABLE);
    exchange->served.status = (struct status){ STATUS_UNAVAILABLE, "" };
}

void exchange_fail(struct exchange *exchange, struct status status)
{
    struct buffer *reply = &exchange->served.reply;
    exchange->served.status = status_keep(exchange->served.arena, status);
    exchange->http = status_http(status.code);
    exchange->content_type = "application/json";
    reply->size = 0;
    buffer_append_text(reply, "{\n    \"error\": ");
    json_print_string(reply, bytes_of(status.message));
    buffer_append_text(reply, "\n}");
}
