/* Cross-origin resource sharing: tells browsers which web pages may read answers. */
#include <string.h>

#include "base/log.h"
#include "server/rest/rest_internal.h"

void rest_add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (MHD_add_response_header(response, name, value) != MHD_YES)
        log_error("no memory for a response header");
}

bool rest_cors_is_on(const struct server_context *server)
{
    return server->cors || (server->cors_origins != NULL && server->cors_origins[0] != '\0');
}

/* In the same way as TensorFlow Serving. */
bool rest_cors_is_web_page(const struct request *request)
{
    const char *origin = rest_header(request, "Origin");
    return origin != NULL && (strstr(origin, "http://") || strstr(origin, "https://"));
}

/* Is it one of "https://a.example,https://b.example"? */
static bool is_listed(const char *origins, const char *origin)
{
    size_t size = strlen(origin);
    for (const char *at = origins; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (size > 0 && strcspn(at, ",") == size && memcmp(at, origin, size) == 0)
            return true;
    return false;
}

/* The value of Access-Control-Allow-Origin; NULL: none. */
static const char *allowed_origin(const struct request *request, struct MHD_Response *response)
{
    const char *origins = request->rest->server->cors_origins;
    const char *origin = rest_header(request, "Origin");
    if (origins == NULL || origins[0] == '\0')
        return "*";
    rest_add_header(response, MHD_HTTP_HEADER_VARY, "Origin"); /* for caches */
    return origin != NULL && is_listed(origins, origin) ? origin : NULL;
}

void rest_cors_add(const struct request *request, struct MHD_Response *response)
{
    if (!rest_cors_is_on(request->rest->server))
        return;
    const char *origin = allowed_origin(request, response);
    if (origin == NULL)
        return;
    rest_add_header(response, "Access-Control-Allow-Origin", origin);
    rest_add_header(response, "Access-Control-Allow-Methods", "POST, GET");
    bool token = request->rest->server->auth != NULL;
    rest_add_header(response, "Access-Control-Allow-Headers",
                    token ? "Content-Type, Authorization" : "Content-Type");
}
