#include "runtime/kernels/plain/text_class.h"

#include <stddef.h>
#include <unictype.h>

#include "base/status.h"

struct character_range {
    int32_t first, last;
};

static const struct character_range ideographs[] = {
    { 0x3400, 0x4DBF },   { 0x4E00, 0x9FFF },   { 0xF900, 0xFAFF },   { 0x20000, 0x2A6DF },
    { 0x2A700, 0x2B73F }, { 0x2B740, 0x2B81F }, { 0x2B820, 0x2CEAF }, { 0x2F800, 0x2FA1F },
};

/* In Unicode 15 and 16; libunistring 1.0 knows Unicode 14. */
static const struct character_range new_punctuation[] = {
    { 0x1B4E, 0x1B4F },   { 0x1B7F, 0x1B7F },   { 0x10D6E, 0x10D6E }, { 0x113D4, 0x113D5 },
    { 0x113D7, 0x113D8 }, { 0x11B00, 0x11B09 }, { 0x11BE1, 0x11BE1 }, { 0x11F43, 0x11F4F },
    { 0x16D6D, 0x16D6F }, { 0x1E5FF, 0x1E5FF },
};

static bool is_within(int32_t character, const struct character_range *ranges, size_t count)
{
    for (size_t i = 0; i < count && character >= ranges[i].first; i++)
        if (character <= ranges[i].last)
            return true;
    return false;
}

bool text_is_space(int32_t character)
{
    return character >= 0 && uc_is_property_white_space((ucs4_t)character);
}

bool text_is_punctuation(int32_t character)
{
    if (character < 0x80) {
        bool is_letter = (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
        return character > ' ' && character < 0x7F && !is_letter &&
               !(character >= '0' && character <= '9');
    }
    return is_within(character, ideographs, COUNT(ideographs)) ||
           uc_is_general_category_withtable((ucs4_t)character, UC_CATEGORY_MASK_P) ||
           is_within(character, new_punctuation, COUNT(new_punctuation));
}
