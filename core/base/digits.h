/*
 * digits: reads decimal digits eight at a time. Eight bytes are loaded from where a number begins:
 * readers keep some after the end of the text.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

/*
 * Counts the leading digits of eight bytes, in the order of memory. Each byte was xored with '0'. A
 * byte of 10 to 127 gets its high bit from the sum. A carry reaches only bytes after the first that
 * is not a digit.
 */
static inline int digits_in(uint64_t eight)
{
    uint64_t others = ((eight + 0x7676767676767676u) | eight) & 0x8080808080808080u;
    return others == 0 ? 8 : __builtin_ctzll(others) >> 3;
}

/* Converts eight digits, the first in memory being the highest: in pairs, in fours, then all. */
static inline uint64_t eight_digits(uint64_t eight)
{
    eight = eight * 10 + (eight >> 8);
    return (((eight & 0x000000FF000000FFu) * 0x000F424000000064u) +
            (((eight >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

/* Reads up to seven digits with one load of eight bytes. Returns how many; 0: none, or more than
 * seven. */
static inline int digits_read(const char *at, uint64_t *out)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    eight ^= 0x3030303030303030u;
    int count = digits_in(eight);
    if (count == 0 || count == 8)
        return 0;
    *out = eight_digits(eight << (64 - 8 * count));
    return count;
#else
    (void)at, (void)out;
    return 0;
#endif
}

#endif
