#include "server/http1_print.h"

#include <assert.h>
#include <stdio.h>

static const char *reason(int code)
{
    static const struct {
        int code;
        const char *text;
    } reasons[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 401, "Unauthorized" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 408, "Request Timeout" },
        { 409, "Conflict" },
        { 429, "Too Many Requests" },
        { 431, "Request Header Fields Too Large" },
        { 499, "Client Closed Request" },
        { 500, "Internal Server Error" },
        { 501, "Not Implemented" },
        { 503, "Service Unavailable" },
        { 504, "Gateway Timeout" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (reasons[i].code == code)
            return reasons[i].text;
    return "Unknown";
}

/* In English whatever the locale. */
static const char *print_date(struct http1_date *date)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm;
    time_t now = time(NULL);
    if (now == date->shown || gmtime_r(&now, &tm) == NULL)
        return date->text;
    date->shown = now;
    snprintf(date->text, sizeof date->text, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon, (tm.tm_year + 1900) % 10000,
             tm.tm_hour, tm.tm_min, tm.tm_sec);
    return date->text;
}

static char *put(char *out, const char *text)
{
    return stpcpy(out, text);
}

static char *put_number(char *out, size_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(out, digits + at);
}

/* By hand: printf would take as long as a small model. */
char *http1_print_head(char *out, const struct http1_answer *answer, const char *connection,
                       struct http1_date *date)
{
    const char *headers = answer->headers != NULL ? answer->headers : "";
    assert(strlen(headers) <= HTTP1_HEADERS_MAX);
    out = put_number(put(out, "HTTP/1.1 "), (size_t)answer->code);
    out = put(put(put(out, " "), reason(answer->code)), "\r\nDate: ");
    out = put(out, print_date(date));
    if (answer->type != NULL)
        out = put(put(out, "\r\nContent-Type: "), answer->type);
    if (connection != NULL)
        out = put(put(out, "\r\nConnection: "), connection);
    out = put_number(put(out, "\r\nContent-Length: "), answer->body.size);
    return put(put(put(out, "\r\n"), headers), "\r\n");
}
