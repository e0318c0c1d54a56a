#include "base/json_number.h"

#include <math.h>
#include <stdlib.h>

#include "base/characters.h"
#include "base/digits.h"
#include "base/powers_of_ten.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#define DIGITS_MAX   19  /* as many always fit 64 bits */
#define EXPONENT_MAX 308 /* RapidJSON refuses larger ones, even of zero */

static const uint64_t small_tens[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
};

/*
 * Advances by one byte, after a branch. The empty asm keeps the compiler from turning the branch
 * into an addition, which would make each number wait for the bytes of the previous one. With a
 * branch, the processor predicts where the next number begins.
 */
static inline const char *step(const char *at)
{
    at++;
    __asm__("" : "+r"(at));
    return at;
}

/* Appends the digits at `at` to *value, which wraps beyond 64 bits; the caller counts them. */
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

/* Reads an exponent of any length. Beyond six digits its value no longer matters. */
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

/* There are more than 19 digits. Do they fit without leading zeros? If not, strtod has to read the
 * text. */
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
 * Computes digits · 10^exponent with 64 bits of precision. Powers up to 10^27 are exact there, so
 * there is one rounding. Rounding its result to a double gives what rounding the true value gives,
 * unless the result is next to the middle between two doubles.
 */
static bool by_long_double(uint64_t digits, int exponent, double *out)
{
#if __LDBL_MANT_DIG__ == 64
    if (exponent < -LONG_TENS_MAX || exponent > LONG_TENS_MAX)
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

/* A single operation on two exact doubles: it is rounded correctly. */
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

/* Rounds twice, to double and then to float, as TensorFlow Serving's cast does. */
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

/* A number of 20 digits may still fit: 2^64 has 20. */
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

/*
 * Multiplying by these is wrong by at most 2 units in the last place of a double, a relative error
 * of 5e-16. Rounding to float hides it: a decimal below 2^13 with up to 7 places is never the
 * middle between two floats, which has 12 places or more, and its relative distance from one is at
 * least 1 / (10^7 · 2^25) = 3e-15. A division would be exact, but takes three times as long.
 */
#define TENTHS_BELOW 8192
static const double tenths[] = { 1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7 };

/*
 * The most common numbers in bodies: a digit, a point, one to five digits and a comma, which one
 * load of eight bytes holds. `size` counts the bytes before the comma. Xor with `zeros` turns
 * digits into their values, and point and comma into 0. After `others` is added, each byte that is
 * something else has its high bit set (as in digits_in).
 *
 * The bytes are then added up in pairs of 10 and 1, and the pairs weighed by the product with
 * `even` (the bytes 0 and 1 in its high half, 4 and 5 in the low one) and with `odd` (2 and 3, 6
 * and 7). In this way the comma is one more digit of 0, every form gives millionths, and what
 * stands after the comma has the weight 0.
 */
struct short_form {
    uint64_t zeros, others, highs, even, odd;
    int size;
};

#define MILLIONTH      1e-6
#define FIRST_BYTES(n) (((uint64_t)1 << 8 * (n)) - 1)
#define SHORT_FORM(n)                                                                          \
    {                                                                                          \
        (0x3030303030302E30u & FIRST_BYTES(n)) | (uint64_t)',' << 8 * (n),                     \
            (0x7676767676767F76u & FIRST_BYTES(n)) | (uint64_t)0x7F << 8 * (n),                \
            (0x8080808080808080u & FIRST_BYTES(n)) | (uint64_t)0x80 << 8 * (n),                \
            (uint64_t)100000 << 32 | ((n) > 4 ? 100 : 0), (uint64_t)10000 << 32 | ((n) > 6), n \
    }
#define SHORT_MIN 3
#define SHORT_MAX 7
static const struct short_form short_forms[] = { SHORT_FORM(3), SHORT_FORM(4), SHORT_FORM(5),
                                                 SHORT_FORM(6), SHORT_FORM(7) };

static inline bool has_form(uint64_t eight, const struct short_form *form, uint64_t *digits)
{
    *digits = eight ^ form->zeros;
    return (((*digits + form->others) | *digits) & form->highs) == 0;
}

/* By the number of digits after the point. NULL: the number has none of the forms. */
static inline const struct short_form *find_form(uint64_t eight)
{
    uint64_t digits;
    int places = digits_in((eight ^ 0x3030303030303030u) >> 16 | (uint64_t)0xFF << 48);
    if (places < SHORT_MIN - 2 || places > SHORT_MAX - 2)
        return NULL;
    const struct short_form *form = &short_forms[places + 2 - SHORT_MIN];
    return has_form(eight, form, &digits) ? form : NULL;
}

static inline uint64_t millionths(uint64_t digits, const struct short_form *form)
{
    uint64_t pairs = digits * 10 + (digits >> 8);
    return (((pairs & 0x000000FF000000FFu) * form->even) +
            (((pairs >> 16) & 0x000000FF000000FFu) * form->odd)) >>
           32;
}

#if defined(__SSE2__)
static inline __m128i load_two(const char *first, const char *second)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(const void *)first),
                              _mm_loadl_epi64((const __m128i *)(const void *)second));
}

/* Digits, as bytes, in pairs of 10 and 1. The product's low byte takes the second digit of each
 * pair, and the high one ten times the first and once the second. */
static inline __m128i weigh_pairs(__m128i digits)
{
    return _mm_srli_epi16(_mm_mullo_epi16(digits, _mm_set1_epi16(10 * 256 + 1)), 8);
}

static inline __m128 floats_of_millionths(__m128i values)
{
    const __m128d unit = _mm_set1_pd(MILLIONTH);
    __m128i others = _mm_shuffle_epi32(values, _MM_SHUFFLE(1, 0, 3, 2));
    return _mm_movelh_ps(_mm_cvtpd_ps(_mm_mul_pd(_mm_cvtepi32_pd(values), unit)),
                         _mm_cvtpd_ps(_mm_mul_pd(_mm_cvtepi32_pd(others), unit)));
}

/* Reads numbers of one form, with a space after each comma or with none, while four at a time
 * are of it. Their distance is known, so that nothing waits for the end of the number before. */
static inline const char *read_fours(const char *at, const struct short_form *form, bool spaced,
                                     float *out, size_t max, size_t *count)
{
    const int checked = form->size + 1 + spaced, behind = 8 * (form->size + 1);
    if (checked > 8)
        return at;
    const uint64_t zeros_of_one = form->zeros | (spaced ? (uint64_t)' ' << behind : 0);
    const uint64_t others_of_one = form->others | (spaced ? (uint64_t)0x7F << behind : 0);
    const __m128i zeros = _mm_set1_epi64x((long long)zeros_of_one);
    const __m128i others = _mm_set1_epi64x((long long)others_of_one);
    const __m128i number = _mm_set1_epi64x((long long)FIRST_BYTES(form->size));
    const __m128i hundreds = _mm_set_epi16(1, 100, 1, 10, 1, 100, 1, 10);
    const __m128i myriads = _mm_set1_epi32(1 << 16 | 10000);
    const int wrong = ((1 << checked) - 1) * 0x101;
    size_t n = *count;
    for (; max - n >= 4; n += 4, at += 4 * checked) {
        __m128i a = _mm_xor_si128(load_two(at, at + checked), zeros);
        __m128i b = _mm_xor_si128(load_two(at + 2 * checked, at + 3 * checked), zeros);
        __m128i strange = _mm_or_si128(_mm_or_si128(_mm_add_epi8(a, others), a),
                                       _mm_or_si128(_mm_add_epi8(b, others), b));
        if ((_mm_movemask_epi8(strange) & wrong) != 0)
            break;
        a = _mm_madd_epi16(weigh_pairs(_mm_and_si128(a, number)), hundreds);
        b = _mm_madd_epi16(weigh_pairs(_mm_and_si128(b, number)), hundreds);
        __m128i values = _mm_madd_epi16(_mm_packs_epi32(a, b), myriads);
        _mm_storeu_ps(out + n, floats_of_millionths(values));
    }
    *count = n;
    return at;
}
#else
static inline const char *read_fours(const char *at, const struct short_form *form, bool spaced,
                                     float *out, size_t max, size_t *count)
{
    (void)form, (void)spaced, (void)out, (void)max, (void)count;
    return at;
}
#endif

#if defined(__x86_64__)
#define EIGHTS __attribute__((target("avx512vl,avx512bw,avx512dq,avx512vbmi")))

/* Converts four numbers of eight bytes each. `weights` is 0 for bytes that are not digits. */
EIGHTS static inline __m128 floats_of_digits(__m256i digits, __m256i weights)
{
    const __m256i hundreds = _mm256_set1_epi64x(1ll << 48 | 100ll << 32 | 1 << 16 | 10);
    __m256i parts = _mm256_madd_epi16(_mm256_maddubs_epi16(digits, weights), hundreds);
    __m256i values = _mm256_add_epi64(_mm256_mul_epu32(parts, _mm256_set1_epi64x(10000)),
                                      _mm256_srli_epi64(parts, 32));
    return _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtepi64_pd(values), _mm256_set1_pd(MILLIONTH)));
}

/* Like read_fours, but eight at a time. Registers of 64 bytes take a sixth less than these of 32 in
 * a loop of their own, but gained nothing in a busy server. */
EIGHTS static const char *read_eights(const char *at, const struct short_form *form, bool spaced,
                                      float *out, size_t max, size_t *count)
{
    const int checked = form->size + 1 + spaced;
    if (checked > 8)
        return at;
    const uint64_t space = spaced ? (uint64_t)0xFF << 8 * (form->size + 1) : 0;
    const __m256i zeros =
        _mm256_set1_epi64x((long long)(form->zeros | (space & 0x2020202020202020u)));
    const __m256i others =
        _mm256_set1_epi64x((long long)(form->others | (space & 0x7F7F7F7F7F7F7F7Fu)));
    const __m256i highs =
        _mm256_set1_epi64x((long long)(form->highs | (space & 0x8080808080808080u)));
    const __m256i weights =
        _mm256_set1_epi64x((long long)(0x010A010A010A010Au & FIRST_BYTES(form->size)));
    /* Moves four numbers of `checked` bytes each to eight bytes each. */
    const __m256i order =
        _mm256_add_epi8(_mm256_set1_epi64x(0x0706050403020100),
                        _mm256_mullo_epi64(_mm256_set_epi64x(3, 2, 1, 0),
                                           _mm256_set1_epi64x(checked * 0x0101010101010101)));
    const __mmask32 loaded = ~(__mmask32)0 >> (32 - 4 * checked);
    size_t n = *count;
    for (; max - n >= 8; n += 8, at += 8 * checked) {
        __m256i a = _mm256_maskz_loadu_epi8(loaded, at);
        __m256i b = _mm256_maskz_loadu_epi8(loaded, at + 4 * checked);
        a = _mm256_xor_si256(_mm256_permutexvar_epi8(order, a), zeros);
        b = _mm256_xor_si256(_mm256_permutexvar_epi8(order, b), zeros);
        __m256i strange = _mm256_or_si256(_mm256_or_si256(_mm256_add_epi8(a, others), a),
                                          _mm256_or_si256(_mm256_add_epi8(b, others), b));
        if (_mm256_test_epi8_mask(strange, highs) != 0)
            break;
        _mm_storeu_ps(out + n, floats_of_digits(a, weights));
        _mm_storeu_ps(out + n + 4, floats_of_digits(b, weights));
    }
    *count = n;
    return at;
}

static inline bool can_read_eights(void)
{
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi");
}
#else
static inline const char *read_eights(const char *at, const struct short_form *form, bool spaced,
                                      float *out, size_t max, size_t *count)
{
    (void)form, (void)spaced, (void)out, (void)max, (void)count;
    return at;
}

static inline bool can_read_eights(void)
{
    return false;
}
#endif

#define STEADY 4 /* successive numbers of one form, after which read_fours is tried */

/*
 * Reads short numbers until another kind comes or `out` is full. Returns the first that it did not
 * read; *last is the end of the one before. Each number is first taken to be as long as the
 * previous one, so that the next load does not wait for the size (see step).
 */
static inline const char *read_short(const char *at, float *out, size_t max, size_t *count,
                                     const char **last)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const struct short_form *form = &short_forms[0];
    size_t n = *count;
    int steady = 0;
    while (n < max) {
        uint64_t eight, digits;
        memcpy(&eight, at, sizeof eight);
        if (!has_form(eight, form, &digits)) {
            form = find_form(eight);
            if (form == NULL)
                break;
            digits = eight ^ form->zeros;
            steady = 0;
        }
        out[n++] = (float)((double)(int64_t)millionths(digits, form) * MILLIONTH);
        at += form->size + 1;
        if (*at == ' ')
            at = step(at);
        if (++steady == STEADY) {
            bool spaced = at[-1] == ' ';
            if (max - n >= 8 && can_read_eights())
                at = read_eights(at, form, spaced, out, max, &n);
            at = read_fours(at, form, spaced, out, max, &n);
            steady = 0;
        }
    }
    if (n > *count)
        *last = at - (at[-1] == ' ' ? 2 : 1);
    *count = n;
#else
    (void)out, (void)max, (void)count, (void)last;
#endif
    return at;
}

/* Reads a number with up to 7 digits and up to 7 more after a point, which may have a sign. NULL:
 * it is of another kind. */
static inline const char *read_medium(const char *at, float *out)
{
    uint64_t digits = 0, places = 0;
    bool negative = *at == '-';
    if (negative)
        at = step(at);
    int count = digits_read(at, &digits);
    if (count == 0 || (count > 1 && *at == '0'))
        return NULL;
    at += count;
    double value = (double)(int64_t)digits;
    if (*at == '.') {
        count = digits_read(at + 1, &places);
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

/* Reads a number that read_medium does not. */
static const char *read_any(const char *at, float *out)
{
    struct json_number number;
    const char *end = json_number_read(at, &number);
    double value = end != NULL ? json_number_double(&number) : 0;
    if (end == NULL || json_number_is_too_big(&number, value))
        return NULL;
    *out = (float)value;
    return end;
}

const char *json_float_read(const char *at, float *out)
{
    const char *end = read_medium(at, out);
    return end != NULL ? end : read_any(at, out);
}

const char *json_floats_read(const char *at, float *out, size_t max, size_t *count)
{
    size_t n = 0;
    bool are_short = true; /* cleared at the first that is not */
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
            at = json_space(at);
        const char *end = read_medium(at, &out[n]);
        if (end == NULL && (end = read_any(at, &out[n])) == NULL) {
            *count = n;
            return NULL;
        }
        n++;
        at = *end == ',' ? end : json_space(end);
        if (*at != ',' || n == max)
            break;
        at++;
        if (*at == ' ')
            at = step(at);
    }
    *count = n;
    return at;
}
