#include "runtime/kernels/plain/ascii_class.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/clones.h"

#define ASCII_COUNT 128

/* Reads a character at *at; an escaped one must be punctuation. */
static bool read_character(const char *pattern, size_t end, size_t *at, unsigned char *out)
{
    bool escaped = *at < end && pattern[*at] == '\\';
    size_t place = *at + escaped;
    if (place >= end)
        return false;
    *out = (unsigned char)pattern[place];
    *at = place + 1;
    if (escaped)
        return *out < ASCII_COUNT && ispunct(*out);
    return *out >= ' ' && *out < ASCII_COUNT && strchr("[]-", *out) == NULL;
}

/* Reads a character, or a range of them. */
static bool read_range(const char *pattern, size_t end, size_t *at, bool *set)
{
    unsigned char first, last;
    if (!read_character(pattern, end, at, &first))
        return false;
    last = first;
    if (*at < end && pattern[*at] == '-') {
        (*at)++;
        if (!read_character(pattern, end, at, &last) || last < first)
            return false;
    }
    memset(set + first, true, (size_t)(last - first) + 1);
    return true;
}

/* Writes the set as ranges; false: there are too many. */
static bool make_ranges(const bool *set, struct ascii_class *out)
{
    out->count = 0;
    for (int c = 0; c < ASCII_COUNT; c++) {
        if (!set[c])
            continue;
        if (out->count == ASCII_RANGES_MAX)
            return false;
        int first = c;
        while (c + 1 < ASCII_COUNT && set[c + 1])
            c++;
        out->ranges[out->count].first = (unsigned char)first;
        out->ranges[out->count++].span = (unsigned char)(c - first);
    }
    return true;
}

bool ascii_class_read(const char *pattern, size_t size, struct ascii_class *out)
{
    bool set[ASCII_COUNT] = { false };
    if (size < 3 || pattern[0] != '[' || pattern[1] == '^' || pattern[size - 1] != ']')
        return false;
    for (size_t at = 1; at < size - 1;)
        if (!read_range(pattern, size - 1, &at, set))
            return false;
    return make_ranges(set, out);
}

static bool has(const struct ascii_class *set, unsigned char byte)
{
    for (int i = 0; i < set->count; i++)
        if ((unsigned char)(byte - set->ranges[i].first) <= set->ranges[i].span)
            return true;
    return false;
}

#define BLOCK 64

typedef unsigned char block_bytes __attribute__((vector_size(BLOCK)));
typedef uint64_t block_words __attribute__((vector_size(BLOCK)));

CLONES static bool block_has(const struct ascii_class *set, const unsigned char *block)
{
    block_bytes bytes, found = { 0 };
    memcpy(&bytes, block, BLOCK);
    for (int i = 0; i < set->count; i++)
        found |= (block_bytes)(bytes - set->ranges[i].first <= set->ranges[i].span);
    block_words words = (block_words)found;
    uint64_t any = 0;
    for (int i = 0; i < BLOCK / 8; i++)
        any |= words[i];
    return any != 0;
}

size_t ascii_class_find(const struct ascii_class *set, const char *text, size_t size, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)text;
    while (at + BLOCK <= size && !block_has(set, bytes + at))
        at += BLOCK;
    while (at < size && !has(set, bytes[at]))
        at++;
    return at;
}
