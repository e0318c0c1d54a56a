#include "runtime/kernels/plain/text_case.h"

#include <stdlib.h>
#include <string.h>
#include <unicase.h>

/* Is `second` valid after `first`? It is not if it makes an overlong form, a surrogate, or a
 * number over U+10FFFF. */
static bool is_second(unsigned char first, unsigned char second)
{
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= least && second <= most;
}

/* The size of a character that starts with `first`; 0: none does. */
static size_t length_after(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The size of the character at `text`; if it is cut off, the size of its valid start (then
 * *valid is false); at least 1. */
static size_t character_size(const unsigned char *text, size_t left, bool *valid)
{
    size_t wanted = length_after(text[0]), size = 1;
    if (wanted > 1 && left > 1 && is_second(text[0], text[1]))
        for (size = 2; size < wanted && size < left && (text[size] & 0xc0) == 0x80;)
            size++;
    *valid = size == wanted;
    return size;
}

static size_t make_valid(const char *text, size_t size, char *out)
{
    size_t done = 0;
    for (size_t at = 0; at < size;) {
        bool valid;
        size_t length = character_size((const unsigned char *)text + at, size - at, &valid);
        size_t put = valid ? length : 3;
        memcpy(out + done, valid ? text + at : "\xef\xbf\xbd", put);
        done += put;
        at += length;
    }
    return done;
}

size_t text_change_case(const char *text, size_t size, bool upper, char *room, char *out)
{
    size_t valid = make_valid(text, size, room), length = TEXT_CASE_GROWTH * size;
    if (valid == 0) /* libunistring takes a length of 0 for a missing buffer */
        return 0;
    uint8_t *result = (upper ? u8_toupper : u8_tolower)((const uint8_t *)room, valid, NULL, NULL,
                                                        (uint8_t *)out, &length);
    if (result == (uint8_t *)out)
        return length;
    free(result); /* allocated if it does not fit into out */
    return TEXT_CASE_FAILED;
}
