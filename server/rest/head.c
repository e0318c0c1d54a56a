#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "server/rest/open_inference.h"
#include "server/rest/rest_internal.h"

/* ---- the bytes of the headers ---- */

/*
 * libmicrohttpd 0.9.75 ends a header's value at a NUL, which hides the rest from us but not from a
 * proxy, and it changes the name of a header that continues on the next line. It parses the headers
 * in place, and writes NULs over the line ends:
 *
 *     Host: x␍␊A: b␍␊␍␊     →     Host␀ x␀␀A␀ b␀␀␀␀
 *
 * So a name must begin where the previous value ends, and each value directly after its name. */

struct lines {
    const char *end; /* of the last value; NULL: there was none, or this is another version of
                      * the library */
    bool bare;       /* a line ended in ␊ alone */
};

static bool is_blank(const char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\0' && *from != ' ' && *from != '\t')
            return false;
    return true;
}

static bool follows(struct lines *lines, const char *name, const char *value)
{
    const char *end = lines->end, *colon = name + strlen(name);
    if (value < colon || !is_blank(colon, value))
        return false;
    lines->end = value + strlen(value);
    if (end == NULL)
        return true;
    lines->bare |= name == end + 1;
    return name == end + 1 || (name == end + 2 && end[1] == '\0');
}

/* An empty line follows the last value. */
static bool ends(const struct lines *lines)
{
    const char *end = lines->end;
    return end == NULL || (end[1] == '\0' && (lines->bare || (end[2] == '\0' && end[3] == '\0')));
}

/* ---- the contents of the headers ---- */

/* The headers that determine the end of the request and of the JSON in it, and its host. */
struct framing {
    const char *length, *encoding, *json_size;
    int hosts;
    bool in_place;
    struct lines lines;
    struct status status;
};

static struct status bytes_error(void)
{
    return status_error(STATUS_INVALID_ARGUMENT,
                        "a header with a NUL, of several lines, or without a name");
}

/* RFC 9110's token. libmicrohttpd keeps a space before the colon as part of the name, so
 * "Transfer-Encoding : chunked" would count for a proxy but not for us. */
static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && strchr(others, *name) == NULL)
            return false;
    return true;
}

static struct status check_text(const char *name, const char *value)
{
    if (!is_token(name))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the name of a header, '%.100s', has a space or another character "
                            "that is not allowed in names",
                            name);
    if (strchr(value, '\r') != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the header %.100s has a carriage return that does not end a line",
                            name);
    return status_ok();
}

/* Two equal sizes count as one. */
static struct status note_size(const char **size, const char *name, const char *value)
{
    if (*size != NULL && strcmp(*size, value) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "two %s headers, %.64s and %.64s", name, *size,
                            value);
    *size = value;
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

/* Compares the sizes first: few names have the size of the other. */
static bool is_named(struct bytes name, const char *other)
{
    return name.size == strlen(other) && strncasecmp(name.data, other, name.size) == 0;
}

static enum MHD_Result note_header(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct framing *framing = context;
    (void)kind;
    value = value != NULL ? value : "";
    if (framing->in_place && !follows(&framing->lines, name, value))
        framing->status = bytes_error();
    else
        framing->status = check_text(name, value);
    if (!status_is_ok(framing->status))
        return MHD_NO;
    struct bytes text = bytes_of(name);
    if (is_named(text, MHD_HTTP_HEADER_CONTENT_LENGTH))
        framing->status = note_size(&framing->length, MHD_HTTP_HEADER_CONTENT_LENGTH, value);
    else if (is_named(text, JSON_SIZE_HEADER))
        framing->status = note_size(&framing->json_size, JSON_SIZE_HEADER, value);
    else if (is_named(text, MHD_HTTP_HEADER_TRANSFER_ENCODING))
        framing->status = note_encoding(framing, value);
    else if (is_named(text, MHD_HTTP_HEADER_HOST))
        framing->hosts++;
    return status_is_ok(framing->status) ? MHD_YES : MHD_NO;
}

/* RFC 9110, 5.5: blanks around a value are not part of it. libmicrohttpd 0.9.75 removes only those
 * before it. */
const char *rest_header(const struct request *request, const char *name)
{
    const char *value = MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
    size_t size = value != NULL ? strlen(value) : 0, whole = size;
    while (size > 0 && (value[size - 1] == ' ' || value[size - 1] == '\t'))
        size--;
    return size == whole ? value : arena_memdup(request->exchange.served.arena, value, size);
}

struct status rest_head_check(struct MHD_Connection *mhd, const char *version, bool *chunked)
{
    struct framing framing = { .in_place = rest_knows_library(), .status = status_ok() };
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, note_header, &framing);
    TRY(framing.status);
    if (!ends(&framing.lines))
        return bytes_error();
    if (framing.length != NULL && framing.encoding != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "both Content-Length and Transfer-Encoding: one must say where the "
                            "body ends");
    if (framing.encoding != NULL && strcmp(version, MHD_HTTP_VERSION_1_0) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Transfer-Encoding in a request of HTTP/1.0, which has none");
    if (framing.hosts > 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%d Host headers, want one", framing.hosts);
    if (framing.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_1) == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "no Host header, which HTTP/1.1 requires");
    *chunked = framing.encoding != NULL;
    return status_ok();
}

const char *rest_head_path(const char *target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < COUNT(schemes); i++) {
        size_t size = strlen(schemes[i]);
        if (strncasecmp(target, schemes[i], size) == 0) {
            const char *path = strchr(target + size, '/');
            return path != NULL ? path : "/";
        }
    }
    return target;
}
