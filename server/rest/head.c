#include <string.h>
#include <strings.h>

#include "server/rest/internal.h"

/* The headers that tell where the request ends, and its host. */
struct framing {
    const char *length, *encoding;
    int hosts;
    struct status status;
};

static struct status note_length(struct framing *framing, const char *value)
{
    if (framing->length != NULL && strcmp(framing->length, value) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "two Content-Length headers, %s and %s",
                            framing->length, value);
    framing->length = value;
    return status_ok();
}

static struct status note_encoding(struct framing *framing, const char *value)
{
    if (framing->encoding != NULL || strcasecmp(value, "chunked") != 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "Transfer-Encoding: %s%s%s; only one, chunked, is implemented",
                            framing->encoding != NULL ? framing->encoding : "",
                            framing->encoding != NULL ? ", " : "", value);
    framing->encoding = value;
    return status_ok();
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct framing *framing = context;
    (void)kind;
    value = value != NULL ? value : "";
    if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
        framing->status = note_length(framing, value);
    else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
        framing->status = note_encoding(framing, value);
    else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0)
        framing->hosts++;
    return status_is_ok(framing->status) ? MHD_YES : MHD_NO;
}

struct status rest_head_check(struct MHD_Connection *mhd, const char *version, bool *chunked)
{
    struct framing framing = { .status = status_ok() };
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, note_header, &framing);
    TRY(framing.status);
    if (framing.length != NULL && framing.encoding != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "both Content-Length and Transfer-Encoding: one must say where the "
                            "body ends");
    if (framing.hosts > 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%d Host headers, want one", framing.hosts);
    if (framing.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "no Host header, which HTTP/1.1 requires");
    *chunked = framing.encoding != NULL;
    return status_ok();
}

const char *rest_head_path(const char *target)
{
    static const char scheme[] = "http://";
    if (strncasecmp(target, scheme, sizeof scheme - 1) != 0)
        return target;
    const char *path = strchr(target + sizeof scheme - 1, '/');
    return path != NULL ? path : "/";
}
