#include "base/characters.h"

/* The byte that the three characters at `at` encode; -1: not an escape. */
static int escaped_byte(const char *at)
{
    if (at[0] != '%' || hex_digit(at[1]) < 0 || hex_digit(at[2]) < 0)
        return -1;
    return hex_digit(at[1]) << 4 | hex_digit(at[2]);
}

size_t percent_decode(struct bytes text, char *out)
{
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        int byte = i + 2 < text.size ? escaped_byte(text.data + i) : -1;
        out[size++] = byte < 0 ? text.data[i] : (char)byte;
        i += byte < 0 ? 0 : 2;
    }
    return size;
}
