#include "base/utf8.h"

#include <string.h>

/* The least and the greatest second byte after a first one: no surrogates, nothing beyond
 * 0x10FFFF, no overlong forms (Unicode, table 3-7). */
static unsigned char least_second(unsigned char first)
{
    return first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
}

static unsigned char greatest_second(unsigned char first)
{
    return first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
}

size_t utf8_read(const char *text, size_t size, int32_t *character)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char first = at[0];
    size_t wanted = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    int32_t value = wanted == 1 ? first : wanted == 0 ? -1 : first & (0x7f >> wanted);
    size_t used = 1;

    for (; used < wanted; used++) {
        unsigned char low = used == 1 ? least_second(first) : 0x80;
        unsigned char high = used == 1 ? greatest_second(first) : 0xbf;
        if (used == size || at[used] < low || at[used] > high) {
            *character = -1;
            return used;
        }
        value = value << 6 | (at[used] & 0x3f);
    }
    *character = value;
    return used;
}

size_t utf8_stated_size(const char *text, size_t size)
{
    unsigned char first = (unsigned char)text[0];
    size_t wanted = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return wanted < size ? wanted : size;
}

bool utf8_is_valid(struct bytes text)
{
    int32_t character = 0;
    for (size_t i = 0; i < text.size && character >= 0;)
        i += utf8_read(text.data + i, text.size - i, &character);
    return character >= 0;
}

size_t utf8_mark_size(struct bytes text)
{
    return text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t utf8_write(int32_t character, char out[UTF8_SIZE_MAX])
{
    size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    if (size == 1) {
        out[0] = (char)character;
        return 1;
    }
    for (size_t i = size - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(0xf0 << (4 - size) | character);
    return size;
}
