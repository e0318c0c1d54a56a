#include "trainer/records/number_text.h"

#include <math.h>
#include <stdlib.h>

#include "base/characters.h"

#define NUMBER_CHARS_MAX 400 /* the longest double has 1080, which nobody writes out */
#define SHOWN_CHARS      40  /* of a wrong text that an error shows */

struct bytes number_text_trim(struct bytes text)
{
    while (text.size > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text.data++, text.size--;
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

static struct status refuse(struct bytes text, const char *why)
{
    int size = (int)(text.size < SHOWN_CHARS ? text.size : SHOWN_CHARS);

    if (text.size > 0 && memchr(text.data, '\0', (size_t)size) != NULL)
        why = "is followed by a NUL byte: is the file UTF-16, or binary?";
    return status_error(STATUS_INVALID_ARGUMENT, "'%.*s%s' %s", size, text.data,
                        text.size > SHOWN_CHARS ? "…" : "", why);
}

/* strtod also reads 0x1p3 and nan(1), which no format here has. */
static bool has_decimal_form(struct bytes text)
{
    size_t at = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');
    bool word = false;

    for (; at < text.size; at++) {
        char c = text.data[at];
        char lower = (char)(c | 0x20);
        if (is_digit(c) || c == '.' || c == '+' || c == '-' || lower == 'e')
            continue;
        if (!is_one_of(lower, "naityf"))
            return false;
        word = true;
    }
    return !word || !is_digit(text.data[text.size - 1]);
}

static bool is_hexadecimal(struct bytes text)
{
    size_t sign = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');

    return text.size > sign + 2 && text.data[sign] == '0' && (text.data[sign + 1] | 0x20) == 'x' &&
           hex_digit(text.data[sign + 2]) >= 0;
}

struct status number_text_float(struct bytes whole, float *out)
{
    char copy[NUMBER_CHARS_MAX + 1], *end;
    struct bytes text = number_text_trim(whole);

    if (is_hexadecimal(text))
        return refuse(whole, "is hexadecimal, and numbers are read as decimal");
    if (text.size == 0 || text.size > NUMBER_CHARS_MAX || !has_decimal_form(text))
        return refuse(whole, "is not a number");
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    double value = strtod(copy, &end);
    if (end != copy + text.size)
        return refuse(whole, "is not a number");
    bool spelled = strpbrk(copy, "iI") != NULL;
    if (!spelled && isinf((float)value))
        return refuse(whole, "is out of the range of a float");
    *out = (float)value;
    return status_ok();
}

struct status number_text_int64(struct bytes whole, int64_t *out)
{
    struct bytes text = number_text_trim(whole);
    size_t at = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-');
    bool negative = at > 0 && text.data[0] == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;

    if (at == text.size)
        return refuse(whole, "is not an integer");
    for (; at < text.size; at++) {
        if (!is_digit(text.data[at]))
            return refuse(whole, "is not an integer");
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.data[at] - '0'), &value) || value > limit)
            return refuse(whole, "is out of the range of int64");
    }
    *out = (int64_t)(negative ? 0 - value : value);
    return status_ok();
}

struct status number_text_hex(struct bytes text, int64_t *out)
{
    uint64_t value = 0;

    if (text.size == 0 || text.size > 16)
        return refuse(text, "is not a hexadecimal number of up to 16 digits");
    for (size_t i = 0; i < text.size; i++) {
        int digit = hex_digit(text.data[i]);
        if (digit < 0)
            return refuse(text, "is not a hexadecimal number of up to 16 digits");
        value = value << 4 | (uint64_t)digit;
    }
    *out = (int64_t)value;
    return status_ok();
}
