#include "base/base64.h"

/* The value of a digit; -1: padding; -2: white space; -3: anything else. */
static int letter(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    if (c == '/')
        return 63;
    if (c == '=')
        return -1;
    return c == ' ' || (c >= '\t' && c <= '\r') ? -2 : -3;
}

struct status base64_decode(struct bytes text, struct arena *arena, struct bytes *out)
{
    static const struct status undecodable = { STATUS_INVALID_ARGUMENT, "Unable to base64 decode" };
    char *data;
    size_t size = 0, letters = 0, padding = 0;
    uint32_t bits = 0;

    TRY(arena_reserve(arena, text.size / 4 * 3 + 3, (void **)&data));
    for (size_t i = 0; i < text.size; i++) {
        int value = letter((unsigned char)text.data[i]);
        if (value == -2)
            continue;
        if (value == -3 || (value >= 0 && padding > 0))
            return undecodable;
        if (value == -1) {
            padding++;
            continue;
        }
        bits = bits << 6 | (uint32_t)value;
        letters++;
        if (letters % 4 != 1)
            data[size++] = (char)(bits >> (letters % 4 == 2 ? 4 : letters % 4 == 3 ? 2 : 0));
    }
    if (letters % 4 == 1 || padding > 2 || (padding > 0 && (letters + padding) % 4 != 0))
        return undecodable;
    *out = (struct bytes){ data, size };
    return status_ok();
}
