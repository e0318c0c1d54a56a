#include "server/json_number.h"

#include <math.h>
#include <stdlib.h>

#define DIGITS_MAX   19  /* always fit 64 bits */
#define EXPONENT_MAX 308 /* RapidJSON refuses larger ones, even of zero */

static const double tens[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
#define TENS_MAX 22 /* the largest power of ten that a double holds exactly */

static const uint64_t small_tens[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
};

/*
 * Moves on, behind a branch. Where the next number begins must be guessed by the branch predictor,
 * not waited for: the compiler would make an addition of the comparison, and each number would wait
 * for the bytes of the one before.
 */
static inline const char *step(const char *at)
{
    at++;
    __asm__("" : "+r"(at));
    return at;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/*
 * Eight bytes less '0' each: how many of them, from the first in memory, are digits?
 * A byte of 10 to 127 gets its high bit from the sum; a carry can only reach bytes behind the first
 * that is no digit.
 */
static inline int digits_in(uint64_t eight)
{
    uint64_t others = ((eight + 0x7676767676767676u) | eight) & 0x8080808080808080u;
    return others == 0 ? 8 : __builtin_ctzll(others) >> 3;
}

/* Eight digits, the first in memory the highest, to a number: pairs, fours, eight. */
static inline uint64_t eight_digits(uint64_t eight)
{
    eight = eight * 10 + (eight >> 8);
    return (((eight & 0x000000FF000000FFu) * 0x000F424000000064u) +
            (((eight >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
           32;
}

/* Appends the digits at `at` to *value; wraps beyond 64 bits (the caller counts). */
static inline const char *read_digits(const char *at, uint64_t *value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (;;) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        eight ^= 0x3030303030303030u;
        int count = digits_in(eight);
        if (count == 0)
            return at;
        *value = *value * small_tens[count] + eight_digits(eight << (64 - 8 * count));
        at += count;
        if (count < 8)
            return at;
    }
#else
    while (is_digit(*at))
        *value = *value * 10 + (uint64_t)(*at++ - '0');
    return at;
#endif
}

/* An exponent of any length, its value cut off where it no longer matters. */
static const char *read_exponent(const char *at, int *out)
{
    bool negative = *at == '-';
    int value = 0;
    at += *at == '-' || *at == '+';
    if (!is_digit(*at))
        return NULL;
    for (; is_digit(*at); at++)
        if (value < 100000)
            value = value * 10 + (*at - '0');
    *out = negative ? -value : value;
    return at;
}

static const char *read_word(const char *at, struct json_number *out)
{
    out->kind = *at == 'N' ? JSON_NAN : JSON_INFINITE;
    if (strncmp(at, "NaN", 3) == 0)
        return at + 3;
    if (strncmp(at, "Inf", 3) != 0)
        return NULL;
    if (at[3] != 'i')
        return at + 3;
    return strncmp(at + 3, "inity", 5) == 0 ? at + 8 : NULL;
}

/* More than 19 digits: were they only leading zeros? If not, strtod has to look at the text. */
static bool digits_fit(const char *first, const char *end)
{
    while (first < end && (*first == '0' || *first == '.'))
        first++;
    const char *dot = memchr(first, '.', (size_t)(end - first));
    return end - first - (dot != NULL) <= DIGITS_MAX;
}

const char *json_number_read(const char *at, struct json_number *out)
{
    struct json_number number = { .start = at, .integer = true, .negative = *at == '-' };
    at += number.negative;
    const char *first = at;
    if (*at == '0') {
        at++;
    } else if (is_digit(*at)) {
        at = read_digits(at, &number.digits);
    } else {
        number.integer = false;
        *out = number;
        return read_word(at, out);
    }
    const char *end = at;
    if (*at == '.') {
        const char *fraction = at + 1;
        end = at = read_digits(fraction, &number.digits);
        if (at == fraction)
            return NULL;
        number.exponent = (int)(fraction - at);
        number.integer = false;
    }
    if (end - first > DIGITS_MAX && !digits_fit(first, end))
        number.rounded = true;
    if (*at == 'e' || *at == 'E') {
        int exponent;
        at = read_exponent(at + 1, &exponent);
        if (at == NULL)
            return NULL;
        number.exponent += exponent;
        number.integer = false;
    }
    *out = number;
    return at;
}

static double by_strtod(const struct json_number *number)
{
    return strtod(number->start, NULL);
}

static double special(const struct json_number *number)
{
    double value = number->kind == JSON_NAN ? (double)NAN : (double)INFINITY;
    return number->negative ? -value : value;
}

/*
 * digits · 10^exponent in 64-bit floating point: one rounding, as powers up to 10^27 are exact
 * there. Rounding that to a double is rounding the true value, unless it stands at the middle
 * between two doubles.
 */
static bool by_long_double(uint64_t digits, int exponent, double *out)
{
#if __LDBL_MANT_DIG__ == 64
    static const long double long_tens[] = { 1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                             1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                             1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L,
                                             1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L };
    if (exponent < -27 || exponent > 27)
        return false;
    long double value = exponent < 0 ? (long double)digits / long_tens[-exponent]
                                     : (long double)digits * long_tens[exponent];
    uint64_t mantissa;
    memcpy(&mantissa, &value, sizeof mantissa);
    if (((mantissa + 1) & 0x7FF) >= 0x400 && ((mantissa + 1) & 0x7FF) <= 0x402)
        return false;
    *out = (double)value;
    return true;
#else
    (void)digits, (void)exponent, (void)out;
    return false;
#endif
}

static inline bool is_exact(const struct json_number *number)
{
    return number->digits <= (1ull << 53) && number->exponent >= -TENS_MAX &&
           number->exponent <= TENS_MAX;
}

/* One correctly rounded operation on two exact doubles. */
static inline double scaled(const struct json_number *number)
{
    double value = number->exponent < 0 ? (double)number->digits / tens[-number->exponent]
                                        : (double)number->digits * tens[number->exponent];
    return number->negative ? -value : value;
}

double json_number_double(const struct json_number *number)
{
    double value;
    if (number->kind != JSON_FINITE)
        return special(number);
    if (number->rounded)
        return by_strtod(number);
    if (number->digits == 0) /* an integer zero has no sign */
        return number->negative && !number->integer ? -0.0 : 0.0;
    if (is_exact(number))
        return scaled(number);
    if (by_long_double(number->digits, number->exponent, &value))
        return number->negative ? -value : value;
    return by_strtod(number);
}

/* The double in between is rounded twice, which is what TensorFlow Serving's cast does too. */
float json_number_float(const struct json_number *number)
{
    return (float)json_number_double(number);
}

bool json_number_is_too_big(const struct json_number *number, double value)
{
    return number->kind == JSON_FINITE && (number->exponent > EXPONENT_MAX || isinf(value));
}

bool json_number_int64(const struct json_number *number, int64_t *out)
{
    uint64_t limit = (uint64_t)INT64_MAX + number->negative;
    if (!number->integer || number->rounded || number->digits > limit)
        return false;
    *out = number->negative ? (int64_t)(0 - number->digits) : (int64_t)number->digits;
    return true;
}

/* 20 digits may still fit: 2^64 has 20. */
static bool read_twenty(const char *at, uint64_t *out)
{
    uint64_t value = 0;
    for (; is_digit(*at); at++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    *out = value;
    return true;
}

bool json_number_uint64(const struct json_number *number, uint64_t *out)
{
    if (!number->integer || (number->negative && (number->digits != 0 || number->rounded)))
        return false;
    if (number->rounded)
        return read_twenty(number->start, out);
    *out = number->digits;
    return true;
}

static inline const char *skip_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/*
 * A product with these is wrong by at most 2 units of a double, 5e-16 of itself, which rounding to
 * a float does not show: a decimal of up to 7 places below 2^13 is no middle between two floats
 * (that would have 12 places and more), and stands at least 1 / (10^7 · 2^25) = 3e-15 of itself
 * away from one. A division would be exact, and takes three times as long.
 */
#define TENTHS_BELOW 8192
static const double tenths[] = { 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7 };

/*
 * The numbers that bodies are full of: a digit, a point, up to five more and a comma, `size` bytes
 * before the comma, all in one load. Less `zeros`, digits become their values and point and comma
 * 0; with `others` added, all that should not be there has its high bit set (as in digits_in).
 */
struct short_form {
    uint64_t zeros, others, highs;
    double scale;
    int size;
};

#define FIRST_BYTES(n) (((uint64_t)1 << 8 * (n)) - 1)
#define SHORT_FORM(n, scale)                                                             \
    {                                                                                    \
        (0x3030303030302E30u & FIRST_BYTES(n)) | (uint64_t)',' << 8 * (n),               \
            (0x7676767676767F76u & FIRST_BYTES(n)) | (uint64_t)0x7F << 8 * (n),          \
            (0x8080808080808080u & FIRST_BYTES(n)) | (uint64_t)0x80 << 8 * (n), scale, n \
    }
#define SHORT_MIN 3
#define SHORT_MAX 7
static const struct short_form short_forms[] = { SHORT_FORM(3, 1e-1), SHORT_FORM(4, 1e-2),
                                                 SHORT_FORM(5, 1e-3), SHORT_FORM(6, 1e-4),
                                                 SHORT_FORM(7, 1e-5) };

static inline bool has_form(uint64_t eight, const struct short_form *form, uint64_t *digits)
{
    *digits = eight ^ form->zeros;
    return (((*digits + form->others) | *digits) & form->highs) == 0;
}

static const struct short_form *find_form(uint64_t eight)
{
    uint64_t digits;
    for (int i = 0; i <= SHORT_MAX - SHORT_MIN; i++)
        if (has_form(eight, &short_forms[i], &digits))
            return &short_forms[i];
    return NULL;
}

/*
 * Reads short numbers until another kind comes, or out is full; stands at the first that it did not
 * read, `last` at the end of the one before. Each is taken to be as long as the one before, until
 * that proves wrong: so the next load need not wait for the size (see step).
 */
static inline const char *read_short(const char *at, float *out, size_t max, size_t *count,
                                     const char **last)
{
    size_t n = *count;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const struct short_form *form = &short_forms[0];
    while (n < max) {
        uint64_t eight, digits;
        memcpy(&eight, at, sizeof eight);
        if (!has_form(eight, form, &digits)) {
            const struct short_form *other = find_form(eight);
            if (other == NULL)
                break;
            form = other;
            continue;
        }
        digits += (digits & 0xFF) * 0xFF; /* the first digit to the place of the point */
        digits = eight_digits((digits & ~(uint64_t)0xFF) << (64 - 8 * form->size));
        out[n++] = (float)((double)(int64_t)digits * form->scale);
        *last = at + form->size;
        at += form->size + 1;
        if (*at == ' ')
            at = step(at);
    }
#else
    (void)out, (void)max, (void)last;
#endif
    *count = n;
    return at;
}

/* Up to seven digits at `at` in one load; 0: none, or more. */
static inline int read_eight(const char *at, uint64_t *out)
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

/* One number of up to 7 digits, and up to 7 behind a point; a sign too. NULL: not of this kind. */
static inline const char *read_medium(const char *at, float *out)
{
    uint64_t digits = 0, places = 0;
    bool negative = *at == '-';
    if (negative)
        at = step(at);
    int count = read_eight(at, &digits);
    if (count == 0 || (count > 1 && *at == '0'))
        return NULL;
    at += count;
    double value = (double)(int64_t)digits;
    if (*at == '.') {
        count = read_eight(at + 1, &places);
        if (count == 0)
            return NULL;
        at += 1 + count;
        value = (double)(int64_t)(digits * small_tens[count] + places);
        value = digits < TENTHS_BELOW ? value * tenths[count] : value / tens[count];
    } else if (digits == 0) {
        negative = false; /* an integer zero has no sign */
    }
    if ((*at | 0x20) == 'e')
        return NULL;
    *out = (float)(negative ? -value : value);
    return at;
}

const char *json_floats_read(const char *at, float *out, size_t max, size_t *count)
{
    size_t n = 0;
    bool are_short = true; /* until one is not: then it is not tried any more */
    for (;;) {
        const char *last = NULL;
        if (are_short) {
            at = read_short(at, out, max, &n, &last);
            are_short = last != NULL;
        }
        if (n == max) { /* as max is at least 1, some were just read */
            *count = n;
            return last;
        }
        if (__builtin_expect(*at <= ' ', 0))
            at = skip_space(at);
        const char *end = read_medium(at, &out[n]);
        if (end == NULL) {
            struct json_number number;
            end = json_number_read(at, &number);
            double value = end != NULL ? json_number_double(&number) : 0;
            if (end == NULL || json_number_is_too_big(&number, value)) {
                *count = n;
                return NULL;
            }
            out[n] = (float)value;
        }
        n++;
        at = *end == ',' ? end : skip_space(end);
        if (*at != ',' || n == max)
            break;
        at++;
        if (*at == ' ')
            at = step(at);
    }
    *count = n;
    return at;
}
