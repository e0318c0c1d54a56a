/* Reads pairs one by one, with vectors of 32 bytes. */
#include "trainer/records/svm_pairs.h"

#if SVM_PAIRS_AVX2
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

#define AVX2 __attribute__((target("avx2,bmi")))

#define DIGITS_MAX 8
#define POINT_LESS DIGITS_MAX /* the position of the point in a number that has none */
#define NO_BYTE    0x80       /* makes a byte 0 in a shuffle */

/* The source of byte `i` of eight digits, for a text of `count` digits with a point after
 * `before` of them: zeros, the digits before the point, those after it. */
#define FROM(i, count, before)  \
    ((i) < DIGITS_MAX - (count) \
         ? NO_BYTE              \
         : (i) - (DIGITS_MAX - (count)) + ((i) - (DIGITS_MAX - (count)) >= (before)))
#define ORDER(count, before)                                                        \
    {                                                                               \
        FROM(0, count, before), FROM(1, count, before), FROM(2, count, before),     \
            FROM(3, count, before), FROM(4, count, before), FROM(5, count, before), \
            FROM(6, count, before), FROM(7, count, before)                          \
    }
/* A text of `size` characters, `places` of them after a point. If they are equal, the point
 * precedes the text. */
#define TEXT(size, places)                                         \
    ORDER((places) == 0 || (places) >= (size) ? (size) : (size)-1, \
          (places) == 0 || (places) >= (size) ? POINT_LESS : (size)-1 - (places))
#define TEXTS(size)                                                                               \
    {                                                                                             \
        TEXT(size, 0), TEXT(size, 1), TEXT(size, 2), TEXT(size, 3), TEXT(size, 4), TEXT(size, 5), \
            TEXT(size, 6), TEXT(size, 7), TEXT(size, 8)                                           \
    }

/* [size - 1][places]: the shuffle from a text of that form to eight digits. */
static const uint8_t orders[DIGITS_MAX][DIGITS_MAX + 1][DIGITS_MAX] = {
    TEXTS(1), TEXTS(2), TEXTS(3), TEXTS(4), TEXTS(5), TEXTS(6), TEXTS(7), TEXTS(8)
};

/* [is negative][places] */
static const double divisors[2][DIGITS_MAX + 1] = {
    { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8 },
    { -1e0, -1e1, -1e2, -1e3, -1e4, -1e5, -1e6, -1e7, -1e8 },
};

static inline bool begins_with_0_point(const char *at)
{
    uint16_t two;

    memcpy(&two, at, sizeof two);
    return two == ('0' | '.' << 8);
}

AVX2 static inline __m128i two_of(const void *low, const void *high)
{
    return _mm_set_epi64x((long long)get_u64le(high), (long long)get_u64le(low));
}

/* Sums two numbers of eight digits in pairs, in fours, then all. The first is returned in the
 * low 32 bits, the second in the high ones. */
AVX2 static inline uint64_t convert(__m128i digits)
{
    const __m128i by_10 = _mm_set1_epi16(1 << 8 | 10), by_100 = _mm_set1_epi32(1 << 16 | 100);
    const __m128i by_10000 = _mm_set1_epi32(1 << 16 | 10000);
    __m128i fours = _mm_madd_epi16(_mm_maddubs_epi16(digits, by_10), by_100);

    return (uint64_t)_mm_cvtsi128_si64(_mm_madd_epi16(_mm_packus_epi32(fours, fours), by_10000));
}

/* The extents of a pair and its value. */
struct pair_form {
    size_t size, index_size;
    const char *value; /* after '-' and "0." */
    size_t value_size;
    size_t negative, fraction; /* 1: it begins with '-'; "0." follows */
};

/* Returns false for any other form. Without an end or a colon in 32 bytes, a size is too large. */
AVX2 static inline bool find_form(const char *at, struct pair_form *out)
{
    const __m256i above = _mm256_set1_epi8('#' + 1), colon = _mm256_set1_epi8(':');
    __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)at);

    out->size = _tzcnt_u32((unsigned)_mm256_movemask_epi8(_mm256_cmpgt_epi8(above, bytes)));
    out->index_size = _tzcnt_u32((unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, colon)));
    out->value = at + out->index_size + 1;
    out->negative = *out->value == '-';
    out->value += out->negative;
    out->fraction = begins_with_0_point(out->value);
    out->value += 2 * out->fraction;
    out->value_size = (size_t)(at + out->size - out->value);
    return ((out->index_size - 1) | (out->value_size - 1)) < DIGITS_MAX;
}

AVX2 const char *svm_pairs_read_avx2(const char *at, const char *end, int64_t *indices,
                                     float *values, size_t *count)
{
    const __m128i zeros = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    const __m128i point = _mm_set1_epi8('.' - '0');
    struct pair_form form;
    size_t n = 0;

    while (at < end && find_form(at, &form)) {
        __m128i text = _mm_sub_epi8(two_of(at, form.value), zeros);
        unsigned points = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(text, point)) >> DIGITS_MAX;
        size_t last = form.value_size - 1, behind = last - _tzcnt_u32(points | 1u << last);
        size_t places = behind + ((form.value_size - behind) & (0 - form.fraction));
        const __m128i high = _mm_set_epi64x(0x0808080808080808, 0);
        __m128i order =
            _mm_add_epi8(two_of(orders[form.index_size - 1][0], orders[last][places]), high);
        __m128i digits = _mm_shuffle_epi8(text, order), others = _mm_subs_epu8(digits, nine);
        uint64_t numbers = convert(digits);
        bool ended = at[form.size] == ' ' || at + form.size == end;
        /* An integer zero has no sign. */
        if (!_mm_testz_si128(others, others) || !ended || numbers >> 32 < form.negative)
            break;
        indices[n] = (int64_t)(uint32_t)numbers;
        values[n++] = (float)((int32_t)(numbers >> 32) / divisors[form.negative][places]);
        at += form.size + 1;
    }
    *count = n;
    return at < end ? at : end;
}
#endif
