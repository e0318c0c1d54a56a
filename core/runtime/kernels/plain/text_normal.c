#include "runtime/kernels/plain/text_normal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <uninorm.h>
#include <unictype.h>

#include "base/status.h"
#include "base/utf8.h"

/* ---- parts ---- */

/* Letters that begin a character in each form, and do not join the character before them. Most
 * texts have one every few bytes; a list of all would be long. */
static bool begins_anew(int32_t c)
{
    static const int32_t ranges[][2] = {
        { 0, 0x7f },        { 0xc0, 0x24f },      { 0x391, 0x3ce },     { 0x400, 0x481 },
        { 0x5d0, 0x5ea },   { 0x621, 0x64a },     { 0x904, 0x939 },     { 0xe01, 0xe30 },
        { 0x3041, 0x3094 }, { 0x30a1, 0x30fa },   { 0x3400, 0x9fff },   { 0xac00, 0xd7a3 },
        { 0xff01, 0xff5e }, { 0x1f300, 0x1f3fa }, { 0x1f400, 0x1faff }, { 0x20000, 0x2a6df },
    };
    for (size_t i = 0; i < COUNT(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

size_t text_normal_part(const char *text, size_t size)
{
    int32_t character;
    size_t part = utf8_read(text, size, &character);
    while (character >= 0 && part < size) {
        size_t next = utf8_read(text + part, size - part, &character);
        if (character < 0 || (part >= TEXT_PART_BYTES && begins_anew(character)))
            break;
        part += next;
    }
    return part;
}

bool text_is_normal(const char *text, size_t size, enum text_form form)
{
    unsigned char all = 0;
    bool capital = false;
    for (size_t i = 0; i < size; i++) {
        all |= (unsigned char)text[i];
        capital |= text[i] >= 'A' && text[i] <= 'Z';
    }
    return all < 0x80 && !(capital && form == TEXT_NFKC_CASEFOLD);
}

/* ---- forms ---- */

static uninorm_t rule_of(enum text_form form)
{
    switch (form) {
    case TEXT_NFC:
        return UNINORM_NFC;
    case TEXT_NFD:
        return UNINORM_NFD;
    case TEXT_NFKD:
        return UNINORM_NFKD;
    default:
        return UNINORM_NFKC;
    }
}

/* Removes what Unicode says to ignore, such as soft hyphens; returns the new size. */
static size_t remove_invisible(char *text, size_t size)
{
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        int32_t character;
        size_t length = utf8_read(text + at, size - at, &character);
        if (!uc_is_property_default_ignorable_code_point((ucs4_t)character)) {
            memmove(text + kept, text + at, length);
            kept += length;
        }
        at += length;
    }
    return kept;
}

/* One round of folding in `text`, which has room for `room` bytes. */
static size_t fold_once(char *text, size_t size, size_t room)
{
    size_t length = 0;
    uint8_t *folded = u8_casefold((const uint8_t *)text, size, NULL, UNINORM_NFKC, NULL, &length);
    bool fits = folded != NULL && length <= room;
    if (fits)
        memcpy(text, folded, length);
    free(folded);
    return fits ? remove_invisible(text, length) : TEXT_NORMAL_FAILED;
}

/* Folding may bring out what can be folded again: U+1D2C, a small A, becomes A and then a. */
static size_t fold(const char *text, size_t size, char *out)
{
    size_t room = TEXT_NORMAL_GROWTH * size, before = SIZE_MAX;
    memcpy(out, text, size);
    size = remove_invisible(out, size);
    for (int round = 0; size > 0 && size != TEXT_NORMAL_FAILED && round < 3; round++) {
        size = fold_once(out, size, room);
        if (size == before)
            break;
        before = size;
    }
    return size;
}

size_t text_normalize(const char *text, size_t size, enum text_form form, char *out)
{
    size_t length = TEXT_NORMAL_GROWTH * size;
    int32_t character;
    utf8_read(text, size, &character);
    if (character < 0) { /* a part of its own */
        memcpy(out, text, size);
        return size;
    }
    if (form == TEXT_NFKC_CASEFOLD)
        return fold(text, size, out);
    uint8_t *result =
        u8_normalize(rule_of(form), (const uint8_t *)text, size, (uint8_t *)out, &length);
    if (result == (uint8_t *)out)
        return length;
    free(result); /* allocated if it does not fit into out */
    return TEXT_NORMAL_FAILED;
}
