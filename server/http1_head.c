#include "server/http1_head.h"

#include <strings.h>

#include "base/arena.h"

#define LENGTH_DIGITS_MAX 18 /* they fit int64_t */

struct reader {
    struct http1_head *head;
    struct http1_refusal *refusal;
    int hosts;
    bool has_length, has_encoding, closes, keeps;
};

static bool refuse(struct reader *reader, int code, const char *why)
{
    *reader->refusal = (struct http1_refusal){ code, why };
    return false;
}

static bool is_text(struct bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && strncasecmp(bytes.data, text, bytes.size) == 0;
}

static bool is_token(struct bytes bytes)
{
    static const uint64_t token_characters[2] = { 0x3FF6CFA00000000, 0x57FFFFFFC7FFFFFE };
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        if (c >= 128 || (token_characters[c >> 6] >> (c & 63) & 1) == 0)
            return false;
    }
    return bytes.size > 0;
}

/* Controls (NUL, a CR by itself, …); a tab is allowed in a value, a space too. */
static bool has_control(struct bytes bytes)
{
    bool found = false;
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = (unsigned char)bytes.data[i];
        found |= (c < ' ' && c != '\t') || c == 0x7F;
    }
    return found;
}

static struct bytes trim(struct bytes bytes)
{
    while (bytes.size > 0 && (*bytes.data == ' ' || *bytes.data == '\t')) {
        bytes.data++;
        bytes.size--;
    }
    while (bytes.size > 0 &&
           (bytes.data[bytes.size - 1] == ' ' || bytes.data[bytes.size - 1] == '\t'))
        bytes.size--;
    return bytes;
}

/* What stands before the first `separator`; *rest moves behind it. All, if there is none. */
static struct bytes split(struct bytes *rest, char separator)
{
    const char *at = rest->size > 0 ? memchr(rest->data, separator, rest->size) : NULL;
    struct bytes first = { rest->data, at != NULL ? (size_t)(at - rest->data) : rest->size };
    size_t used = first.size + (at != NULL);
    *rest = (struct bytes){ rest->data + used, rest->size - used };
    return first;
}

/* Lines end with CR LF; a bare LF is accepted, as by TensorFlow Serving. */
static struct bytes next_line(struct bytes *rest)
{
    struct bytes line = split(rest, '\n');
    if (line.size > 0 && line.data[line.size - 1] == '\r')
        line.size--;
    return line;
}

/* ---- The request line. ---- */

/* "http://host/path" means "/path". */
static struct bytes without_authority(struct bytes target)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < COUNT(schemes); i++) {
        size_t size = strlen(schemes[i]);
        if (target.size <= size || strncasecmp(target.data, schemes[i], size) != 0)
            continue;
        const char *path = memchr(target.data + size, '/', target.size - size);
        if (path == NULL)
            return bytes_of("/");
        return (struct bytes){ path, target.size - (size_t)(path - target.data) };
    }
    return target;
}

static bool read_target(struct reader *reader, struct bytes target)
{
    if (has_control(target) || memchr(target.data, ' ', target.size) != NULL ||
        memchr(target.data, '\t', target.size) != NULL)
        return refuse(reader, 400, "the request's target contains a space or a control character");
    target = without_authority(target);
    if (target.size == 0 || (*target.data != '/' && !is_text(target, "*")))
        return refuse(reader, 400, "the request's target is neither a path nor an http:// URL");
    reader->head->target = target;
    return true;
}

static bool read_version(struct reader *reader, struct bytes version)
{
    if (version.size != 8 || memcmp(version.data, "HTTP/", 5) != 0 || version.data[6] != '.' ||
        version.data[5] < '0' || version.data[5] > '9' || version.data[7] < '0' ||
        version.data[7] > '9')
        return refuse(reader, 400, "the request line does not end with an HTTP version");
    if (version.data[5] != '1')
        return refuse(reader, 505, "this port speaks HTTP/1.1 and HTTP/1.0");
    reader->head->minor = version.data[7] != '0';
    return true;
}

static bool read_request_line(struct reader *reader, struct bytes line)
{
    struct bytes target = line;
    reader->head->method = split(&target, ' ');
    if (!is_token(reader->head->method))
        return refuse(reader, 400, "the request line does not begin with a method");
    const char *space = target.size > 0 ? memrchr(target.data, ' ', target.size) : NULL;
    if (space == NULL)
        return refuse(reader, 400, "the request line has no HTTP version");
    struct bytes version = { space + 1, target.size - (size_t)(space + 1 - target.data) };
    target.size = (size_t)(space - target.data);
    return read_version(reader, version) && read_target(reader, target);
}

/* ---- Headers. ---- */

static bool read_length(struct reader *reader, struct bytes value)
{
    int64_t length = 0;
    if (value.size == 0 || value.size > LENGTH_DIGITS_MAX)
        return refuse(reader, 400, "Content-Length is not a number of at most 18 digits");
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return refuse(reader, 400, "Content-Length is not a number of at most 18 digits");
        length = length * 10 + (value.data[i] - '0');
    }
    if (reader->has_length && reader->head->length != length)
        return refuse(reader, 400, "there are two Content-Length headers, and they differ");
    reader->has_length = true;
    reader->head->length = length;
    return true;
}

static bool read_encoding(struct reader *reader, struct bytes value)
{
    if (reader->has_encoding || !is_text(value, "chunked"))
        return refuse(reader, 501, "the only Transfer-Encoding supported is chunked, once");
    reader->has_encoding = true;
    return true;
}

static bool read_host(struct reader *reader, struct bytes value)
{
    (void)value;
    return ++reader->hosts == 1 || refuse(reader, 400, "there are two Host headers");
}

static bool read_connection(struct reader *reader, struct bytes value)
{
    while (value.size > 0) {
        struct bytes option = trim(split(&value, ','));
        reader->closes |= is_text(option, "close");
        reader->keeps |= is_text(option, "keep-alive");
    }
    return true;
}

static bool read_expect(struct reader *reader, struct bytes value)
{
    reader->head->expects_continue |= is_text(value, "100-continue");
    return true;
}

static bool read_content_encoding(struct reader *reader, struct bytes value)
{
    reader->head->content_encoding = value;
    return true;
}

static bool read_origin(struct reader *reader, struct bytes value)
{
    reader->head->origin = value;
    return true;
}

static bool read_value(struct reader *reader, struct bytes name, struct bytes value)
{
    static const struct {
        const char *name;
        bool (*read)(struct reader *reader, struct bytes value);
    } known[] = {
        { "Content-Length", read_length },
        { "Transfer-Encoding", read_encoding },
        { "Host", read_host },
        { "Connection", read_connection },
        { "Expect", read_expect },
        { "Content-Encoding", read_content_encoding },
        { "Origin", read_origin },
    };
    for (size_t i = 0; i < COUNT(known); i++)
        if (is_text(name, known[i].name))
            return known[i].read(reader, value);
    return true;
}

static bool read_header(struct reader *reader, struct bytes line)
{
    struct bytes value = line, name = split(&value, ':');
    if (name.size == line.size)
        return refuse(reader, 400, "a header has no colon");
    if (!is_token(name))
        return refuse(reader, 400,
                      "the name of a header is empty, or has a space or a control "
                      "character in it or before it");
    if (has_control(value))
        return refuse(reader, 400, "the value of a header contains a control character");
    return read_value(reader, name, trim(value));
}

/* ---- All of it. ---- */

/* What one header cannot tell by itself. */
static bool finish_head(struct reader *reader)
{
    struct http1_head *head = reader->head;
    if (head->minor > 0 && reader->hosts == 0)
        return refuse(reader, 400, "a request of HTTP/1.1 needs a Host header");
    if (reader->has_encoding && reader->has_length)
        return refuse(reader, 400, "there are both Content-Length and Transfer-Encoding");
    if (reader->has_encoding && head->minor == 0)
        return refuse(reader, 400, "HTTP/1.0 has no Transfer-Encoding");
    if (reader->has_encoding)
        head->length = HTTP1_CHUNKED;
    head->keep_alive = !reader->closes && (head->minor > 0 || reader->keeps);
    head->expects_continue &= head->minor > 0;
    return true;
}

bool http1_head_read(struct bytes text, struct http1_head *out, struct http1_refusal *refusal)
{
    struct reader reader = { .head = out, .refusal = refusal };
    *out = (struct http1_head){ 0 };
    if (!read_request_line(&reader, next_line(&text)))
        return false;
    for (;;) {
        struct bytes line = next_line(&text);
        if (line.size == 0)
            return finish_head(&reader);
        if (!read_header(&reader, line))
            return false;
    }
}

size_t http1_head_size(struct bytes text, size_t seen)
{
    /* The empty line's beginning may be among the last bytes that were seen. */
    size_t at = seen > 3 ? seen - 3 : 0;
    while (at < text.size) {
        const char *line_end = memchr(text.data + at, '\n', text.size - at);
        if (line_end == NULL)
            return 0;
        at = (size_t)(line_end - text.data) + 1;
        size_t empty = at + (at < text.size && text.data[at] == '\r');
        if (empty < text.size && text.data[empty] == '\n')
            return empty + 1;
    }
    return 0;
}
