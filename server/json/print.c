#include "server/json/print.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/decimal.h"
#include "base/float_bits.h"
#include "base/powers_of_ten.h"

static char *put_word(char *out, const char *word)
{
    size_t size = strlen(word);
    memcpy(out, word, size);
    return out + size;
}

/* Exactly `count` digits, with leading zeros. */
static inline void put_digits(char *out, uint64_t value, int count)
{
    int at = count;
    for (; at >= 2; value /= 100) {
        at -= 2;
        memcpy(out + at, &decimal_pairs[value % 100 * 2], 2);
    }
    if (at == 1)
        out[0] = (char)('0' + value % 10);
}

static inline void put_nine(char *out, uint32_t value)
{
    uint32_t high = value / 10000, low = value % 10000;
    uint32_t top = high / 10000, middle = high % 10000;
    out[0] = (char)('0' + top);
    memcpy(out + 1, &decimal_pairs[middle / 100 * 2], 2);
    memcpy(out + 3, &decimal_pairs[middle % 100 * 2], 2);
    memcpy(out + 5, &decimal_pairs[low / 100 * 2], 2);
    memcpy(out + 7, &decimal_pairs[low % 100 * 2], 2);
}

static char *put_exponent(char *out, int exponent)
{
    *out++ = 'e';
    *out++ = exponent < 0 ? '-' : '+';
    exponent = exponent < 0 ? -exponent : exponent;
    if (exponent >= 100) {
        *out++ = (char)('0' + exponent / 100);
        exponent %= 100;
    }
    memcpy(out, &decimal_pairs[exponent * 2], 2);
    return out + 2;
}

/* The size of digit buffers. Nine digits are copied as 16 bytes at once, for which these buffers
 * and JSON_NUMBER_MAX have room. */
#define DIGITS_SIZE 32

static inline void copy_digits(char *out, const char *digits, int size, int count)
{
    memcpy(out, digits, count <= 9 ? 16 : (size_t)size);
}

/*
 * Writes `count` digits, d.ddd · 10^exponent, as %g with that precision does: drops trailing zeros,
 * and writes an exponent below 1e-4 and from 10^count. Appends ".0" to what would look like an
 * integer.
 */
static inline char *put_general(char *out, const char *digits, int count, int exponent)
{
    int kept = count;
    while (kept > 1 && digits[kept - 1] == '0')
        kept--;
    if (exponent < -4 || exponent >= count) {
        *out++ = digits[0];
        if (kept > 1) {
            *out++ = '.';
            copy_digits(out, digits + 1, kept - 1, count);
            out += kept - 1;
        }
        return put_exponent(out, exponent);
    }
    if (exponent < 0) {
        memcpy(out, "0.000", 5);
        out += 1 - exponent;
        copy_digits(out, digits, kept, count);
        return out + kept;
    }
    int whole = exponent + 1;
    /* Trailing zeros are not counted, but still in the buffer. */
    copy_digits(out, digits, whole, count);
    out += whole;
    *out++ = '.';
    if (kept <= whole) {
        *out++ = '0';
        return out;
    }
    copy_digits(out, digits + whole, kept - whole, count);
    return out + (kept - whole);
}

/* Lets printf write the numbers that the fast path cannot decide. */
static char *put_by_printf(char *out, double value, bool is_float)
{
    char text[64];
    snprintf(text, sizeof text, "%g", value);
    bool same = is_float ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
    if (!same)
        snprintf(text, sizeof text, is_float ? "%.9g" : "%.17g", value);
    if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    return put_word(out, text);
}

static char *put_special(char *out, double value)
{
    return put_word(out, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static inline long double scale_long(long double value, int power)
{
    return power < 0 ? value / long_tens[-power] : value * long_tens[power];
}

/* Computes value · 10^power for |power| <= 49. The result is rounded once to double. If |power| is
 * above 22, earlier roundings add errors that are 2^-11 as large. */
static inline double scale(double value, int power)
{
    if (power > TENS_MAX)
        return (double)scale_long(scale_long(value, TENS_MAX), power - TENS_MAX);
    if (power < -TENS_MAX)
        return (double)scale_long(scale_long(value, -TENS_MAX), power + TENS_MAX);
    return power < 0 ? value / tens[-power] : value * tens[power];
}

/* Returns floor(log10) of a positive normal number, or one less. */
static inline int estimate_exponent(double value)
{
    int binary = (int)(bits_of_double(value) >> 52) - 1023;
    return (int)((binary * 78913L) >> 18); /* log10(2) */
}

/* Writes six digits as %.6g does. */
static char *put_six(char *out, uint32_t six, int exponent)
{
    char digits[DIGITS_SIZE];
    put_digits(digits, six, 6);
    return put_general(out, digits, 6, exponent);
}

/*
 * json_put_float scales a float to nine digits before the point. The scaled value has a relative
 * error of at most 2^-53, 1.2e-7 absolute. Its rounding is therefore certain, unless it is that
 * close to a half; the same holds for the rounding of its first six digits.
 */
#define NINE_DOUBT 2e-7
#define SCALE_MAX  (TENS_MAX + LONG_TENS_MAX - 1)

char *json_put_float(char *out, float value)
{
    if (!isfinite(value))
        return put_special(out, value);
    if (signbit(value)) {
        *out++ = '-';
        value = -value;
    }
    if (value == 0)
        return put_word(out, "0.0");
    double wide = value;
    int exponent = estimate_exponent(wide), power = 8 - exponent;
    if (power > SCALE_MAX || value < FLT_MIN)
        return put_by_printf(out, wide, true);
    double nine = scale(wide, power);
    if (nine >= 1e9) {
        exponent++;
        nine = scale(wide, power - 1);
    }
    uint32_t floor9 = (uint32_t)nine;
    double rest = nine - floor9;
    uint32_t six = floor9 / 1000;
    double rest6 = (floor9 - six * 1000) + rest;

    /* Six digits read back only if the remainder is less than half a step of a float: 2^-24 of
     * 1e9. */
    if (rest6 < 61 || rest6 > 939) {
        uint32_t rounded = six + (rest6 > 500);
        int shift = exponent;
        if ((float)scale(rounded, shift - 5) == value) {
            if (rounded == 1000000) {
                rounded = 100000;
                shift++;
            }
            return put_six(out, rounded, shift);
        }
    }
    if (fabs(rest - 0.5) < NINE_DOUBT)
        return put_by_printf(out, wide, true);
    uint32_t digits = floor9 + (rest > 0.5);
    if (digits >= 1000000000) {
        digits = 100000000;
        exponent++;
    }
    char text[DIGITS_SIZE];
    put_nine(text, digits);
    return put_general(out, text, 9, exponent);
}

#if __LDBL_MANT_DIG__ == 64
/* Writes the first six digits if they alone read back. If the power is small, one exact
 * operation on doubles decides. */
static char *put_double_six(char *out, double value, int exponent)
{
    double six = nearbyint(scale(value, 5 - exponent));
    if (scale(six, exponent - 5) != value)
        return NULL;
    if (six == 1000000) {
        six = 100000;
        exponent++;
    }
    return put_six(out, (uint32_t)six, exponent);
}

/* Seventeen digits take 57 of 64 bits. The other 7 are the fraction, whose last bit is
 * uncertain. */
static char *put_double_fast(char *out, double value)
{
    int exponent = estimate_exponent(value);
    long double all = exponent > 26 || exponent < -10 ? -1 : scale_long(value, 16 - exponent);
    if (all >= 1e17L) {
        exponent++;
        all = scale_long(value, 16 - exponent);
    }
    if (all < 1e16L)
        return NULL;
    char *end = put_double_six(out, value, exponent);
    if (end != NULL)
        return end;
    uint64_t digits = (uint64_t)all;
    long double rest = all - digits;
    if (fabsl(rest - 0.5L) < 0.02L)
        return NULL;
    digits += rest > 0.5L;
    if (digits >= 100000000000000000u)
        return NULL;
    char text[DIGITS_SIZE];
    put_digits(text, digits, 17);
    return put_general(out, text, 17, exponent);
}
#else
static char *put_double_fast(char *out, double value)
{
    (void)out, (void)value;
    return NULL;
}
#endif

char *json_put_double(char *out, double value)
{
    if (!isfinite(value))
        return put_special(out, value);
    if (signbit(value)) {
        *out++ = '-';
        value = -value;
    }
    if (value == 0)
        return put_word(out, "0.0");
    char *end = put_double_fast(out, value);
    return end != NULL ? end : put_by_printf(out, value, false);
}

void json_print_base64_text(struct buffer *out, struct bytes data)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)data.data;
    buffer_append_char(out, '"');
    buffer_reserve(out, (data.size + 2) / 3 * 4);
    char *at = out->data + out->size;
    for (size_t i = 0; i < data.size; i += 3) {
        size_t left = data.size - i;
        unsigned three = (unsigned)in[i] << 16 | (left > 1 ? (unsigned)in[i + 1] << 8 : 0) |
                         (left > 2 ? in[i + 2] : 0);
        *at++ = alphabet[three >> 18];
        *at++ = alphabet[three >> 12 & 63];
        *at++ = left > 1 ? alphabet[three >> 6 & 63] : '=';
        *at++ = left > 2 ? alphabet[three & 63] : '=';
    }
    out->size = (size_t)(at - out->data);
    buffer_append_char(out, '"');
}

void json_print_base64(struct buffer *out, struct bytes data)
{
    buffer_append_text(out, "{\"b64\": ");
    json_print_base64_text(out, data);
    buffer_append_char(out, '}');
}

/* Finds the digits of the shortest "%.*e" that reads back. *exponent: that of the first digit. */
static int shortest_digits(double value, char *digits, int *exponent)
{
    char text[40];
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, value);
        if (strtod(text, NULL) == value)
            break;
    }
    int count = 0;
    const char *at = text;
    for (; *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    *exponent = atoi(at + 1);
    return count;
}

void json_print_shortest(struct buffer *out, double value)
{
    char digits[20];
    int exponent;
    if (!isfinite(value)) {
        char word[16], *end = put_special(word, value);
        buffer_append(out, word, (size_t)(end - word));
        return;
    }
    if (signbit(value))
        buffer_append_char(out, '-');
    if (value == 0) {
        buffer_append_text(out, "0.0");
        return;
    }
    int count = shortest_digits(fabs(value), digits, &exponent), point = exponent + 1;
    if (point >= count && point <= 21)
        buffer_printf(out, "%.*s%.*s.0", count, digits, point - count, "000000000000000000000");
    else if (point > 0 && point <= 21)
        buffer_printf(out, "%.*s.%.*s", point, digits, count - point, digits + point);
    else if (point > -6 && point <= 0)
        buffer_printf(out, "0.%.*s%.*s", -point, "000000", count, digits);
    else if (count == 1)
        buffer_printf(out, "%ce%d", digits[0], exponent);
    else
        buffer_printf(out, "%c.%.*se%d", digits[0], count - 1, digits + 1, exponent);
}
