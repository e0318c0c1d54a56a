#include "rpc/grpc_headers.h"

#include <stdio.h>

#include "base/characters.h"
#include "base/clock.h"

static const struct unit {
    char name;
    int64_t ns;
} units[] = { { 'n', 1 },        { 'u', 1000 },          { 'm', NS_PER_MS },
              { 'S', NS_PER_S }, { 'M', 60 * NS_PER_S }, { 'H', 3600 * NS_PER_S } };

#define TIMEOUT_DIGITS 8
#define TIMEOUT_VALUES 100000000

bool grpc_timeout_parse(struct bytes text, int64_t *out_ns)
{
    int64_t value = 0;

    if (text.size < 2 || text.size > TIMEOUT_DIGITS + 1)
        return false;
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (!is_digit(text.data[i]))
            return false;
        value = 10 * value + (text.data[i] - '0');
    }
    for (size_t i = 0; i < COUNT(units); i++) {
        if (units[i].name != text.data[text.size - 1])
            continue;
        *out_ns = value > INT64_MAX / units[i].ns ? INT64_MAX : value * units[i].ns;
        return true;
    }
    return false;
}

size_t grpc_timeout_print(int64_t timeout_ns, char out[GRPC_TIMEOUT_MAX])
{
    const struct unit *unit = units;

    if (timeout_ns < 1)
        timeout_ns = 1;
    while (unit < units + COUNT(units) - 1 && (timeout_ns - 1) / unit->ns + 1 >= TIMEOUT_VALUES)
        unit++;
    return (size_t)snprintf(out, GRPC_TIMEOUT_MAX, "%d%c", (int)((timeout_ns - 1) / unit->ns + 1),
                            unit->name);
}

void grpc_message_encode(const char *text, struct buffer *out)
{
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++)
        if (*c >= ' ' && *c <= '~' && *c != '%')
            buffer_append_char(out, (char)*c);
        else
            buffer_printf(out, "%%%02X", *c);
}

void grpc_message_decode(struct bytes text, struct buffer *out)
{
    buffer_reserve(out, text.size + 1); /* never no bytes: there is an address to write to */
    out->size += percent_decode(text, out->data + out->size);
}

bool is_grpc_content_type(struct bytes value)
{
    struct bytes name = bytes_of("application/grpc");

    if (value.size < name.size || memcmp(value.data, name.data, name.size) != 0)
        return false;
    return value.size == name.size || value.data[name.size] == '+' || value.data[name.size] == ';';
}

enum status_code grpc_status_parse(struct bytes text)
{
    int code = 0;

    if (text.size < 1 || text.size > 2)
        return STATUS_UNKNOWN;
    for (size_t i = 0; i < text.size; i++) {
        if (!is_digit(text.data[i]))
            return STATUS_UNKNOWN;
        code = 10 * code + (text.data[i] - '0');
    }
    return code <= STATUS_UNAUTHENTICATED ? (enum status_code)code : STATUS_UNKNOWN;
}

enum status_code grpc_status_of_http(int http)
{
    switch (http) {
    case 400:
        return STATUS_INTERNAL;
    case 401:
        return STATUS_UNAUTHENTICATED;
    case 403:
        return STATUS_PERMISSION_DENIED;
    case 404:
        return STATUS_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return STATUS_UNAVAILABLE;
    default:
        return STATUS_UNKNOWN;
    }
}

enum status_code grpc_status_of_reset(uint32_t error)
{
    switch (error) {
    case 0x7: /* REFUSED_STREAM */
        return STATUS_UNAVAILABLE;
    case 0x8: /* CANCEL */
        return STATUS_CANCELLED;
    case 0xb: /* ENHANCE_YOUR_CALM */
        return STATUS_RESOURCE_EXHAUSTED;
    case 0xc: /* INADEQUATE_SECURITY */
        return STATUS_PERMISSION_DENIED;
    default:
        return STATUS_INTERNAL;
    }
}
