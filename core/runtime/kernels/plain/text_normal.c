#include "runtime/kernels/plain/text_normal.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>

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

/* ---- segments ---- */

/* The role of a Hangul letter or syllable in composition; a syllable that is whole is JAMO_NONE. */
enum jamo { JAMO_NONE, JAMO_L, JAMO_V, JAMO_LV, JAMO_T };

static enum jamo jamo_of(int32_t c)
{
    if (c >= 0x1100 && c < 0x1113)
        return JAMO_L;
    if (c >= 0x1161 && c < 0x1176)
        return JAMO_V;
    if (c > 0x11a7 && c < 0x11c3)
        return JAMO_T;
    return c >= 0xac00 && c < 0xd7a4 && (c - 0xac00) % 28 == 0 ? JAMO_LV : JAMO_NONE;
}

static bool is_vowel_or_end(int32_t c)
{
    return jamo_of(c) == JAMO_V || jamo_of(c) == JAMO_T;
}

/* The bytes of the letters that make up a Hangul syllable, and the last of them; 0: the text does
 * not begin with such. */
static size_t syllable_size(const char *text, size_t size, int32_t *letter)
{
    int32_t character;
    size_t end = utf8_read(text, size, &character), whole = 0;
    enum jamo last = jamo_of(character);
    while (end < size && last != JAMO_T) {
        size_t step = utf8_read(text + end, size - end, &character);
        enum jamo next = jamo_of(character);
        bool fits = last == JAMO_L ? next == JAMO_V : next == JAMO_T && last != JAMO_NONE;
        if (!fits || (last == JAMO_V && whole == 0))
            break;
        end += step;
        whole = end;
        last = next;
        *letter = character;
    }
    return whole;
}

/* Letters of combining class 0 that join the character before them, apart from Hangul. */
static const uint32_t joining_letters[] = {
    0x9be,   0x9d7,   0xb3e,   0xb56,   0xb57,   0xbbe,   0xbd7,   0xcc2,
    0xcd5,   0xcd6,   0xd3e,   0xd57,   0xdcf,   0xddf,   0x102e,  0x1b35,
    0x11127, 0x1133e, 0x11357, 0x114b0, 0x114ba, 0x114bd, 0x115af, 0x11930,
};
/* Marks that join the character before them. */
static const uint32_t joining_marks[] = {
    0x300, 0x301, 0x302, 0x303, 0x304, 0x306, 0x307, 0x308, 0x309, 0x30a,  0x30b,  0x30c,   0x30f,
    0x311, 0x313, 0x314, 0x31b, 0x323, 0x324, 0x325, 0x326, 0x327, 0x328,  0x32d,  0x32e,   0x330,
    0x331, 0x338, 0x342, 0x345, 0x653, 0x654, 0x655, 0x93c, 0xdca, 0x3099, 0x309a, 0x110ba,
};

static bool joins_before(uint32_t c)
{
    for (size_t i = 0; i < COUNT(joining_letters); i++)
        if (joining_letters[i] == c)
            return true;
    return false;
}

static bool joins_behind(uint32_t c)
{
    for (size_t i = 0; i < COUNT(joining_marks); i++)
        if (uc_composition(c, joining_marks[i]) != 0)
            return true;
    for (size_t i = 0; i < COUNT(joining_letters); i++)
        if (uc_composition(c, joining_letters[i]) != 0)
            return true;
    return false;
}

/* The first and the last character that c becomes in a form without compositions. */
static void decompose(int32_t c, enum text_form form, int32_t *first, int32_t *last)
{
    char text[UTF8_SIZE_MAX];
    uint8_t parts[TEXT_NORMAL_GROWTH * UTF8_SIZE_MAX];
    size_t size = utf8_write(c, text), length = sizeof parts;
    bool compatible = form == TEXT_NFKC || form == TEXT_NFKD;
    uint8_t *made = u8_normalize(compatible ? UNINORM_NFKD : UNINORM_NFD, (const uint8_t *)text,
                                 size, parts, &length);
    *first = *last = c;
    if (made != parts) {
        free(made);
        return;
    }
    utf8_read((const char *)parts, length, first);
    for (size_t at = 0; at < length;)
        at += utf8_read((const char *)parts + at, length - at, last);
}

/* Can a and b, which follow each other, change one by one? Nothing is composed with a, which
 * composes with nothing after it, or b composes with nothing before it; and no marks change
 * places. */
static bool are_apart(int32_t a, int32_t b, enum text_form form)
{
    bool composes = form == TEXT_NFC || form == TEXT_NFKC;
    int32_t first, last, ignored;
    if (b < 0x300)
        return true;
    decompose(b, form, &first, &ignored);
    if (uc_combining_class((ucs4_t)first) == 0 &&
        !(composes && (joins_before((uint32_t)first) || is_vowel_or_end(first))))
        return true;
    if (composes && a >= 0xac00 && a < 0xd7a4 && jamo_of(a) == JAMO_NONE)
        return true; /* a whole syllable */
    decompose(a, form, &ignored, &last);
    if (uc_combining_class((ucs4_t)last) != 0)
        return false;
    return !composes || (jamo_of(last) == JAMO_NONE && !joins_before((uint32_t)last) &&
                         !joins_behind((uint32_t)last));
}

size_t text_normal_segment(const char *text, size_t size, enum text_form form)
{
    int32_t character, next;
    bool composes = form == TEXT_NFC || form == TEXT_NFKC;
    size_t segment = composes ? syllable_size(text, size, &character) : 0;
    if (segment == 0)
        segment = utf8_read(text, size, &character);
    bool is_hangul = composes && jamo_of(character) != JAMO_NONE;
    while (character >= 0 && segment < size) {
        size_t step = utf8_read(text + segment, size - segment, &next);
        if (next < 0 || (is_hangul && is_vowel_or_end(next)) || are_apart(character, next, form))
            break;
        segment += step;
        character = next;
        is_hangul = false;
    }
    return segment;
}
