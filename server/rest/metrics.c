/* The pages that Prometheus scrapes. */
#include <string.h>

#include "server/metrics/page.h"
#include "server/rest/exchange.h"

struct status answer_metrics(struct exchange *exchange)
{
    metrics_print(&exchange->served.reply);
    return status_ok();
}

/* TensorFlow Serving's text, which is not JSON, for a path with a query. */
static void refuse_query(struct exchange *exchange)
{
    exchange->http = status_http(STATUS_INVALID_ARGUMENT);
    buffer_printf(&exchange->served.reply, "Unexpected path: %s. Should be %s", exchange->url,
                  exchange->served.server->monitoring_path);
}

struct status answer_tensorflow_metrics(struct exchange *exchange)
{
    if (strchr(exchange->url, '?') != NULL)
        refuse_query(exchange);
    else
        metrics_print_tensorflow(&exchange->served.reply);
    return status_ok();
}
