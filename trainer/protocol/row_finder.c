#include "trainer/protocol/row_finder.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/clones.h"

void row_finder_begin(struct row_finder *finder, struct row_scratch *scratch, int64_t rows_count)
{
    finder->rows_count = rows_count;
    finder->scratch = scratch;
    finder->rows = (struct row_ids){ 0 };
    finder->count = 0;
    finder->only = NULL;
}

#define ANY_KEY (-1)

void row_finder_begin_keys(struct row_finder *finder, struct row_scratch *scratch)
{
    row_finder_begin(finder, scratch, ANY_KEY);
}

/* No branch per id, so that the compiler can compare several at once. A negative id is a large
 * unsigned number. */
CLONES static bool are_rows(const int64_t *ids, size_t count, uint64_t rows_count)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < count; i++)
        wrong |= (uint64_t)ids[i] >= rows_count ? 1 : 0;
    return wrong == 0;
}

static struct status refuse_id(const struct row_finder *finder, const int64_t *ids)
{
    while (*ids >= 0 && *ids < finder->rows_count)
        ids++;
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the id %" PRId64 " is out of range; expected 0 to %" PRId64, *ids,
                        finder->rows_count - 1);
}

/* Keeps the contents. */
static void reserve_joined(struct row_scratch *scratch, size_t count)
{
    if (count <= scratch->joined_capacity)
        return;
    scratch->joined_capacity =
        count > 2 * scratch->joined_capacity ? count : 2 * scratch->joined_capacity;
    scratch->joined = xrealloc(scratch->joined, scratch->joined_capacity * sizeof *scratch->joined);
}

static void join(struct row_finder *finder, const int64_t *ids, size_t count)
{
    struct row_scratch *scratch = finder->scratch;

    reserve_joined(scratch, finder->count + count);
    if (finder->only != NULL)
        memcpy(scratch->joined, finder->only, finder->count * sizeof *ids);
    memcpy(scratch->joined + finder->count, ids, count * sizeof *ids);
    finder->only = NULL;
}

/* The ids in the order of addition. */
static const int64_t *added_ids(const struct row_finder *finder)
{
    return finder->only != NULL ? finder->only : finder->scratch->joined;
}

struct status row_finder_add(struct row_finder *finder, const int64_t *ids, size_t count)
{
    if (finder->rows_count != ANY_KEY && !are_rows(ids, count, (uint64_t)finder->rows_count))
        return refuse_id(finder, ids);
    if (finder->count == 0)
        finder->only = ids;
    else if (count > 0)
        join(finder, ids, count);
    finder->count += count;
    return status_ok();
}

/* ---- by a bit for each row ---- */

#define WORD_BITS 64

/* Words of marks per id. With more, sorting the ids is as fast: for 39 k ids, it takes 0.6 ms, and
 * marks take 0.2 ms for 2^20 rows and 0.4 ms for 2^23. */
#define WORDS_OF_AN_ID 4

static size_t words_of(const struct row_finder *finder)
{
    return ((size_t)finder->rows_count + WORD_BITS - 1) / WORD_BITS;
}

static void reserve_words(struct row_scratch *scratch, size_t words)
{
    if (words <= scratch->words)
        return;
    free(scratch->marks);
    free(scratch->ranks);
    scratch->marks = zalloc(words * sizeof *scratch->marks);
    scratch->ranks = zalloc(words * sizeof *scratch->ranks);
    scratch->words = words;
}

/* Counts the marked rows before each word; returns the number of all. The processors of the last
 * ten years count bits in one instruction. */
CLONES static size_t rank_words(const uint64_t *marks, size_t words, uint32_t *ranks)
{
    size_t rows = 0;

    for (size_t w = 0; w < words; w++) {
        ranks[w] = (uint32_t)rows;
        rows += (size_t)__builtin_popcountll(marks[w]);
    }
    return rows;
}

static void reserve_placed(struct row_scratch *scratch, size_t count)
{
    if (count <= scratch->placed_capacity)
        return;
    scratch->placed_capacity = count + count / 8;
    free(scratch->placed);
    scratch->placed = xrealloc(NULL, scratch->placed_capacity * sizeof *scratch->placed);
}

/* Finds each id's place, and writes the id there into `rows`. These writes are random, so `rows` is
 * memory of the search, which stays in the cache of its core: the list that a finder keeps was last
 * in the cache of the core that used it. */
CLONES static void place_ids(const int64_t *ids, size_t count, const uint64_t *marks,
                             const uint32_t *ranks, int64_t *places, uint32_t *rows)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t id = (uint64_t)ids[i], below = ((uint64_t)1 << id % WORD_BITS) - 1;
        int before = __builtin_popcountll(marks[id / WORD_BITS] & below);
        int64_t place = (int64_t)ranks[id / WORD_BITS] + before;
        places[i] = place;
        rows[place] = (uint32_t)id;
    }
}

CLONES static void widen_numbers(const uint32_t *numbers, size_t count, int64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = numbers[i];
}

static size_t find_by_marks(struct row_finder *finder)
{
    struct row_scratch *scratch = finder->scratch;
    const int64_t *ids = added_ids(finder);
    size_t words = words_of(finder);

    reserve_words(scratch, words);
    for (size_t i = 0; i < finder->count; i++)
        scratch->marks[ids[i] / WORD_BITS] |= (uint64_t)1 << ids[i] % WORD_BITS;
    size_t rows = rank_words(scratch->marks, words, scratch->ranks);
    reserve_placed(scratch, finder->count);
    place_ids(ids, finder->count, scratch->marks, scratch->ranks, finder->places, scratch->placed);
    widen_numbers(scratch->placed, rows, finder->ids);
    if (words > 0)
        memset(scratch->marks, 0, words * sizeof *scratch->marks);
    return rows;
}

/* ---- by sorting ---- */

/* Without its sign bit flipped, a negative key would be larger than a positive one. */
#define SIGN_BIT ((uint64_t)1 << 63)

static void reserve_entries(struct row_scratch *scratch, size_t count)
{
    if (count <= scratch->entries_capacity)
        return;
    scratch->entries_capacity = count + count / 8;
    free(scratch->entries);
    free(scratch->spare);
    scratch->entries = xrealloc(NULL, scratch->entries_capacity * sizeof *scratch->entries);
    scratch->spare = xrealloc(NULL, scratch->entries_capacity * sizeof *scratch->spare);
}

/* Lists the ids with their indices; returns the bits in which they differ. */
static uint64_t list_entries(const struct row_finder *finder)
{
    struct row_entry *entries = finder->scratch->entries;
    const int64_t *ids = added_ids(finder);
    uint64_t differing = 0;

    for (size_t i = 0; i < finder->count; i++) {
        entries[i] = (struct row_entry){ (uint64_t)ids[i] ^ SIGN_BIT, i };
        differing |= (uint64_t)(ids[i] ^ ids[0]);
    }
    return differing;
}

#define DIGIT_BITS 11
#define DIGITS     ((size_t)1 << DIGIT_BITS)

/* A stable sort of the entries by one digit of their ids. */
static void sort_by_digit(struct row_scratch *scratch, size_t count, int shift)
{
    const struct row_entry *entries = scratch->entries;
    size_t starts[DIGITS] = { 0 }, sum = 0;

    for (size_t i = 0; i < count; i++)
        starts[entries[i].id >> shift & (DIGITS - 1)]++;
    for (size_t d = 0; d < DIGITS; d++) {
        size_t digits = starts[d];
        starts[d] = sum;
        sum += digits;
    }
    for (size_t i = 0; i < count; i++)
        scratch->spare[starts[entries[i].id >> shift & (DIGITS - 1)]++] = entries[i];
    struct row_entry *sorted = scratch->spare;
    scratch->spare = scratch->entries;
    scratch->entries = sorted;
}

/* A radix sort by the digits in which the ids differ: for ids of a million rows, it takes two
 * passes, where qsort would compare each id 16 times. */
static size_t find_by_sorting(struct row_finder *finder)
{
    struct row_scratch *scratch = finder->scratch;
    size_t rows = 0;

    reserve_entries(scratch, finder->count);
    uint64_t differing = list_entries(finder);
    for (int shift = 0; shift < 64; shift += DIGIT_BITS)
        if ((differing >> shift & (DIGITS - 1)) != 0)
            sort_by_digit(scratch, finder->count, shift);
    for (size_t i = 0; i < finder->count; i++) {
        const struct row_entry *entry = &scratch->entries[i];
        if (i == 0 || entry->id != scratch->entries[i - 1].id)
            finder->ids[rows++] = (int64_t)(entry->id ^ SIGN_BIT);
        finder->places[entry->place] = (int64_t)rows - 1;
    }
    return rows;
}

/* ---- by sorting numbers that hold an id and its index ---- */

/* Bits of the largest number. */
static int bits_of(uint64_t largest)
{
    return largest == 0 ? 0 : 64 - __builtin_clzll(largest);
}

/* An id and its index packed into one number: the id in the high bits, the index in the low
 * ones. */
struct packing {
    int id_bits, index_bits;
};

static struct packing packing_of(const struct row_finder *finder)
{
    return (struct packing){ bits_of((uint64_t)finder->rows_count - 1),
                             bits_of(finder->count > 0 ? finder->count - 1 : 0) };
}

static bool can_pack(const struct row_finder *finder)
{
    struct packing packing = packing_of(finder);

    return finder->rows_count > 0 && finder->count < UINT32_MAX &&
           packing.id_bits + packing.index_bits <= 64;
}

#define PASSES_MAX ((64 + DIGIT_BITS - 1) / DIGIT_BITS)

/* Packs the ids, and counts the numbers with each digit of each place at once: a pass over the list
 * for each place would wait for the same numbers again. */
static void pack_ids(const int64_t *ids, size_t count, int index_bits, int passes,
                     uint32_t (*counts)[DIGITS], uint64_t *out)
{
    memset(counts, 0, (size_t)passes * sizeof *counts);
    for (size_t i = 0; i < count; i++) {
        uint64_t id = (uint64_t)ids[i];
        out[i] = id << index_bits | i;
        for (int pass = 0; pass < passes; pass++, id >>= DIGIT_BITS)
            counts[pass][id & (DIGITS - 1)]++;
    }
}

/* A stable sort by one digit. */
static void sort_packed(const uint64_t *numbers, size_t count, int shift, uint32_t *counts,
                        uint64_t *out)
{
    uint32_t sum = 0;

    for (size_t d = 0; d < DIGITS; d++) {
        uint32_t some = counts[d];
        counts[d] = sum;
        sum += some;
    }
    for (size_t i = 0; i < count; i++)
        out[counts[numbers[i] >> shift & (DIGITS - 1)]++] = numbers[i];
}

/* Of 39 k ids of 2^25 rows, sorting takes 4 ns an id, and 9 ns with a row_entry for each. */
static size_t find_by_packing(struct row_finder *finder)
{
    struct row_scratch *scratch = finder->scratch;
    struct packing packing = packing_of(finder);
    uint32_t counts[PASSES_MAX][DIGITS];
    int passes = (packing.id_bits + DIGIT_BITS - 1) / DIGIT_BITS, shift = packing.index_bits;
    uint64_t index_mask = ((uint64_t)1 << shift) - 1;
    size_t rows = 0;

    reserve_entries(scratch, finder->count);
    reserve_placed(scratch, finder->count);
    uint64_t *numbers = (uint64_t *)(void *)scratch->entries;
    uint64_t *sorted = (uint64_t *)(void *)scratch->spare;
    pack_ids(added_ids(finder), finder->count, shift, passes, counts, numbers);
    for (int pass = 0; pass < passes; pass++) {
        sort_packed(numbers, finder->count, shift + pass * DIGIT_BITS, counts[pass], sorted);
        uint64_t *last = numbers;
        numbers = sorted;
        sorted = last;
    }
    for (size_t i = 0; i < finder->count; i++) {
        uint64_t id = numbers[i] >> shift;
        if (i == 0 || id != numbers[i - 1] >> shift)
            finder->ids[rows++] = (int64_t)id;
        scratch->placed[numbers[i] & index_mask] = (uint32_t)(rows - 1);
    }
    widen_numbers(scratch->placed, finder->count, finder->places);
    return rows;
}

/* With an eighth to spare: the numbers of ids of batches differ a little. */
static void reserve_found(struct row_finder *finder)
{
    if (finder->count <= finder->capacity)
        return;
    finder->capacity = finder->count + finder->count / 8;
    free(finder->places);
    free(finder->ids);
    finder->places = xrealloc(NULL, finder->capacity * sizeof *finder->places);
    finder->ids = xrealloc(NULL, finder->capacity * sizeof *finder->ids);
}

void row_finder_finish(struct row_finder *finder)
{
    bool marks = finder->rows_count != ANY_KEY && finder->rows_count <= UINT32_MAX &&
                 finder->count < UINT32_MAX && words_of(finder) / WORDS_OF_AN_ID <= finder->count;

    reserve_found(finder);
    finder->rows.ids = finder->ids;
    finder->rows.count = marks              ? find_by_marks(finder)
                         : can_pack(finder) ? find_by_packing(finder)
                                            : find_by_sorting(finder);
}

void row_finder_free(struct row_finder *finder)
{
    free(finder->places);
    free(finder->ids);
    *finder = (struct row_finder){ 0 };
}

void row_scratch_free(struct row_scratch *scratch)
{
    free(scratch->joined);
    free(scratch->entries);
    free(scratch->spare);
    free(scratch->marks);
    free(scratch->ranks);
    free(scratch->placed);
    *scratch = (struct row_scratch){ 0 };
}

size_t row_finder_bytes(const struct row_finder *finder)
{
    return finder->capacity * (sizeof *finder->places + sizeof *finder->ids);
}
