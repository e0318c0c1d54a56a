#include "trainer/records/svm_pairs.h"

#include <string.h>

#include "base/clones.h"
#include "base/powers_of_ten.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BLOCK_BYTES 64
#define PART_BYTES  2048 /* limit of the part of a line whose separators are found together */
#define GROUP       8    /* separators that are listed without checking whether they exist */

/* ---- finding the ends of numbers ---- */

/* A bit for each of 64 bytes that may end a number: a blank, a line end, '#' or ':'. Some other
 * characters match too, because that is cheaper: the reader checks the character. */
static inline uint64_t separators_in(const char *at)
{
    uint64_t bits = 0;

#if defined(__SSE2__)
    const __m128i above = _mm_set1_epi8('#' + 1), colon = _mm_set1_epi8(':');
    for (int i = 0; i < BLOCK_BYTES; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i found = _mm_or_si128(_mm_cmplt_epi8(bytes, above), _mm_cmpeq_epi8(bytes, colon));
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(found) << i;
    }
#else
    for (int i = 0; i < BLOCK_BYTES; i++)
        bits |= (uint64_t)((signed char)at[i] <= '#' || at[i] == ':') << i;
#endif
    return bits;
}

/* Lists the offsets of the separators in a part of the line; returns their number. `out` has
 * room for BLOCK_BYTES more. Few blocks have more than twice GROUP, so the processor predicts
 * the inner loop well. */
CLONES static size_t list_separators(const char *at, size_t size, uint16_t *out)
{
    size_t count = 0;

    for (size_t block = 0; block < size; block += BLOCK_BYTES) {
        uint64_t bits = separators_in(at + block);
        if (size - block < BLOCK_BYTES)
            bits &= ((uint64_t)1 << (size - block)) - 1;
        size_t found = (size_t)__builtin_popcountll(bits);
        for (size_t listed = 0; listed < found; listed += GROUP)
            for (size_t i = 0; i < GROUP; i++) {
                uint64_t none = (uint64_t)1 << 63; /* 0 has no lowest bit */
                out[count + listed + i] = (uint16_t)(block + (size_t)__builtin_ctzll(bits | none));
                bits &= bits - 1;
            }
        count += found;
    }
    return count;
}

/* ---- the texts of numbers ---- */

#define ZEROS 0x3030303030303030u

#define PAIRS_MAX 64 /* converted together */
#define LANES     8  /* the count is rounded up, so that all are converted as vectors */

#define PAIRS_ROOM (PAIRS_MAX + LANES)

static inline size_t round_up(size_t count)
{
    return (count + LANES - 1) / LANES * LANES;
}

/* The texts of some pairs, eight characters each, and their sizes. convert_digits replaces `value`
 * by its digits as a number. The extra room is for rounding up. */
struct pair_texts {
    uint64_t index[PAIRS_ROOM], index_size[PAIRS_ROOM];
    uint64_t negative[PAIRS_ROOM]; /* 1: the value has a minus, which its texts leave out */
    uint64_t value[PAIRS_ROOM], value_size[PAIRS_ROOM]; /* its last eight characters */
    uint64_t value_more[PAIRS_ROOM];                    /* the number of characters before them */
    uint64_t head[PAIRS_ROOM];                          /* its first eight characters */
    uint64_t places[PAIRS_ROOM];                        /* the number of digits after its point */
    uint64_t bad[PAIRS_ROOM];                           /* not 0: another form */
};

static inline uint64_t load_eight(const char *at)
{
    uint64_t eight;

    memcpy(&eight, at, sizeof eight);
    return eight;
}

/* Copies the texts of pairs. The first begins at *begin, which moves past the last. */
static void copy_texts(const char *at, const uint16_t *separators, size_t count, size_t *begin,
                       struct pair_texts *out)
{
    size_t index = *begin;

    for (size_t i = 0; i < count; i++) {
        size_t colon = separators[2 * i], end = separators[2 * i + 1];
        uint64_t negative = at[colon + 1] == '-';
        size_t value = colon + 1 + negative, size = end - value;
        out->bad[i] = (at[colon] != ':') | ((at[end] != ' ') & (at[end] != '\n'));
        out->index[i] = load_eight(at + index);
        out->index_size[i] = colon - index;
        out->head[i] = load_eight(at + value);
        size_t more = size > 8 ? size - 8 : 0;
        out->value[i] = load_eight(at + value + more);
        out->value_size[i] = size - more;
        out->value_more[i] = more;
        out->negative[i] = negative;
        index = end + 1;
    }
    /* With a constant count, this compiles without a call of memset. */
    for (size_t i = count; i < count + LANES; i++) {
        out->index[i] = out->value[i] = out->head[i] = ZEROS;
        out->index_size[i] = out->value_size[i] = 1;
        out->value_more[i] = out->negative[i] = out->bad[i] = 0;
    }
    *begin = index;
}

/* ---- conversion without branches, which the compiler vectorises ---- */

/* The code has no conditions and no shifts whose distance is known to fit in an int: the compiler
 * vectorises neither. */

/* The high bits of bytes that are not digits, after the text was xored with ZEROS. As in
 * digits_in, those after the first may be wrong. */
static inline uint64_t others_in(uint64_t eight)
{
    return ((eight + 0x7676767676767676u) | eight) & 0x8080808080808080u;
}

/* 1 or 0. */
static inline uint64_t is_any(uint64_t bits)
{
    return (bits | (0 - bits)) >> 63;
}

/* Like eight_digits, with shifts instead of 64-bit products, which AVX2 lacks: each of those
 * takes a dozen instructions. */
static inline uint64_t add_digits(uint64_t eight)
{
    uint64_t pairs = ((eight << 3) + (eight << 1) + (eight >> 8)) & 0x00FF00FF00FF00FFu;
    uint64_t fours =
        ((pairs << 6) + (pairs << 5) + (pairs << 2) + (pairs >> 16)) & 0x0000FFFF0000FFFFu;
    uint64_t high = (fours << 13) + (fours << 11) - (fours << 8) + (fours << 4); /* by 10,000 */

    return (high + (fours >> 32)) & 0xFFFFFFFFu;
}

/* Right-aligns a text of up to 8 characters, padded with '0' digits. */
static inline uint64_t align_text(uint64_t text, uint64_t size)
{
    return (text ^ ZEROS) << ((8 - size) * 8 & 63);
}

CLONES static void convert_indices(struct pair_texts *texts, size_t count, int64_t *out)
{
    for (size_t i = 0; i < round_up(count); i++) {
        uint64_t eight = align_text(texts->index[i], texts->index_size[i]);
        texts->bad[i] |= others_in(eight) | (texts->index_size[i] - 1) >> 3;
        out[i] = (int64_t)add_digits(eight);
    }
}

#define EACH_BYTE 0x0101010101010101u

/* 0 if the `more` characters before the last eight are nothing, "0" or "0.". */
static inline uint64_t check_before_eight(uint64_t head, uint64_t more)
{
    uint64_t mask = (0xFF & (0 - is_any(more))) | (0xFF00 & (0 - (more >> 1)));

    return ((head ^ ('0' | '.' << 8)) & mask) | more >> 2 | (more & more >> 1);
}

/* Converts the digits of values to `value`, and the number of digits after the point to
 * `places`. */
CLONES static void convert_digits(struct pair_texts *texts, size_t count)
{
    for (size_t i = 0; i < round_up(count); i++) {
        uint64_t last = texts->value_size[i], more = texts->value_more[i];
        uint64_t eight = align_text(texts->value[i], last), negative = texts->negative[i];
        uint64_t others = others_in(eight),
                 first = (others & (0 - others)) >> 7; /* 1 in its byte */
        uint64_t before = first - 1, has_point = is_any(first), point = (first << 8) - first;
        uint64_t bytes_before = (before & EACH_BYTE) * EACH_BYTE >> 56;
        uint64_t digits = (eight & ~(before | point)) | (eight & before) << 8 * has_point;
        uint64_t wanted = (first << 5) - (first << 1); /* '.' ^ '0' at the point */
        uint64_t bad = ((eight & point) ^ wanted) | others_in(digits) |
                       check_before_eight(texts->head[i], more);

        digits = add_digits(digits);
        bad |= is_any(last ^ has_point) ^ 1; /* no digits */
        bad |= more >> 1 & has_point;        /* two points */
        bad |= negative & ~is_any(digits);   /* an integer zero has no sign */
        texts->bad[i] |= bad;
        texts->value[i] = digits;
        /* After "0.", all eight are decimals. */
        texts->places[i] = 8 - ((bytes_before + has_point) & (0 - (more >> 1 ^ 1)));
    }
}

/* digits / 10^places is rounded correctly as a double, because both are exact, and then to a
 * float, as in json_number_float. */
CLONES static void convert_values(const struct pair_texts *texts, size_t count, float *out)
{
    for (size_t i = 0; i < round_up(count); i++) {
        double sign = 1 - 2 * (int)texts->negative[i];
        out[i] = (float)(sign * (int)texts->value[i] / tens[texts->places[i] & 15]);
    }
}

/* ---- pairs ---- */

static size_t count_good(const struct pair_texts *texts, size_t count)
{
    uint64_t any = 0;
    size_t good = 0;

    for (size_t i = 0; i < count; i++)
        any |= texts->bad[i];
    if (any == 0)
        return count;
    while (texts->bad[good] == 0)
        good++;
    return good;
}

/* Reads the pairs that end in a part of the line. *ended: the part has no more whole pairs.
 * Otherwise the next pair has another form. */
static const char *read_part(const char *at, size_t size, int64_t *indices, float *values,
                             size_t *count, bool *ended)
{
    uint16_t separators[PART_BYTES + BLOCK_BYTES];
    struct pair_texts texts;
    size_t pairs = list_separators(at, size, separators) / 2, begin = 0, n = 0;

    *ended = true;
    while (n < pairs && *ended) {
        size_t some = pairs - n < PAIRS_MAX ? pairs - n : PAIRS_MAX;
        copy_texts(at, separators + 2 * n, some, &begin, &texts);
        convert_indices(&texts, some, indices + n);
        convert_digits(&texts, some);
        convert_values(&texts, some, values + n);
        size_t good = count_good(&texts, some);
        *ended = good == some;
        n += good;
    }
    *count += n;
    return n > 0 ? at + separators[2 * n - 1] + 1 : at;
}

const char *svm_pairs_read_any(const char *at, const char *end, size_t part_bytes, int64_t *indices,
                               float *values, size_t *count)
{
    *count = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (bool ended = true; at < end && ended;) {
        size_t left = (size_t)(end + 1 - at), before = *count;
        at = read_part(at, left < part_bytes ? left : part_bytes, indices + before, values + before,
                       count, &ended);
        part_bytes = 2 * part_bytes < PART_BYTES ? 2 * part_bytes : PART_BYTES;
        if (*count == before)
            break;
    }
#else
    (void)part_bytes, (void)indices, (void)values;
#endif
    return at < end ? at : end;
}

bool svm_pairs_has_avx2(void)
{
#if SVM_PAIRS_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
#else
    return false;
#endif
}

const char *svm_pairs_read(const char *at, const char *end, size_t part_bytes, int64_t *indices,
                           float *values, size_t *count)
{
#if SVM_PAIRS_AVX2
    if (svm_pairs_has_avx2())
        return svm_pairs_read_avx2(at, end, indices, values, count);
#endif
    return svm_pairs_read_any(at, end, part_bytes, indices, values, count);
}
