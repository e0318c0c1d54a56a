#include "trainer/protocol/row_ids.h"

#include <assert.h>
#include <inttypes.h>

#include "base/clones.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* No branch per row, so that the compiler can compare several at once. */
CLONES static bool ascends(const int64_t *ids, size_t count)
{
    int64_t wrong = 0;

    for (size_t i = 1; i < count; i++)
        wrong |= ids[i] <= ids[i - 1];
    return wrong == 0;
}

struct status row_ids_check(const struct row_ids *rows, int64_t rows_count)
{
    int64_t before = -1;
    bool good = rows->count == 0 || (rows->ids[0] >= 0 && rows->ids[rows->count - 1] < rows_count &&
                                     ascends(rows->ids, rows->count));

    if (good)
        return status_ok();

    for (size_t i = 0; i < rows->count; i++) {
        int64_t id = rows->ids[i];
        if (id < 0 || id >= rows_count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "row %" PRId64 " is not in [0, %" PRId64 ")", id, rows_count);
        if (id <= before)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "row %" PRId64 " after row %" PRId64 ": rows must ascend", id,
                                before);
        before = id;
    }
    return status_ok();
}

void row_ids_begin_list(struct row_ids_writer *writer)
{
    writer->least = 0;
}

void row_ids_append(struct row_ids_writer *writer, uint64_t row)
{
    struct buffer *bytes = &writer->bytes;

    assert(row >= writer->least);
    buffer_reserve(bytes, VARINT_MAX);
    bytes->size += varint_put(bytes->data + bytes->size, row - writer->least);
    writer->least = row + 1;
}

#define RESERVED_ROWS 1024 /* at a time; their worst case takes ten times the usual bytes */
#define GROUP         8    /* numbers of one byte that are encoded or decoded together */

/* Encodes whole groups of numbers while each takes one byte; returns how many. Never starts with
 * the first number of a list. A loop that writes numbers one by one waits for the address of
 * each: the two lists of a step took 5.5 ns a row on a busy machine, and take 3.3 in groups. */
CLONES static size_t put_groups(const int64_t *ids, size_t count, char *out)
{
    size_t done = 0;

    for (; count - done >= GROUP; done += GROUP) {
        unsigned char bytes[GROUP];
        uint64_t any = 0;
        for (size_t i = 0; i < GROUP; i++) {
            const int64_t *id = ids + done + i;
            uint64_t distance = (uint64_t)id[0] - (uint64_t)id[-1] - 1;
            any |= distance;
            bytes[i] = (unsigned char)distance;
        }
        if (any >= 0x80)
            break;
        memcpy(out + done, bytes, GROUP);
    }
    return done;
}

/* Needs VARINT_MAX bytes of room per number. Returns the end of the list. */
static char *put_all(char *at, uint64_t least, const int64_t *ids, size_t count, uint64_t shift)
{
    for (size_t i = 0; i < count;) {
        size_t singly = count - i < GROUP ? count - i : GROUP;
        for (; singly > 0; singly--, i++) {
            uint64_t row = (uint64_t)ids[i] + shift;
            assert(row >= least);
            at += varint_put(at, row - least);
            least = row + 1;
        }
        size_t grouped = put_groups(ids + i, count - i, at);
        at += grouped;
        i += grouped;
        least = (uint64_t)ids[i - 1] + shift + 1;
    }
    return at;
}

void row_ids_append_all(struct row_ids_writer *writer, const int64_t *ids, size_t count,
                        uint64_t shift)
{
    struct buffer *bytes = &writer->bytes;

    for (size_t i = 0, some; i < count; i += some) {
        some = count - i < RESERVED_ROWS ? count - i : RESERVED_ROWS;
        buffer_reserve(bytes, some * VARINT_MAX);
        char *end = put_all(bytes->data + bytes->size, writer->least, ids + i, some, shift);
        bytes->size = (size_t)(end - bytes->data);
        writer->least = (uint64_t)ids[i + some - 1] + shift + 1;
    }
}

/* Returns false at the end of the payload. */
static bool next_byte(struct row_ids_reader *reader, unsigned char *out)
{
    while (reader->at == reader->end) {
        if (++reader->piece >= reader->message->pieces_count)
            return false;
        const struct bytes *piece = &reader->message->pieces[reader->piece];
        reader->at = (const unsigned char *)piece->data;
        reader->end = reader->at + piece->size;
    }
    *out = *reader->at++;
    reader->used_bytes++;
    return true;
}

static bool next_varint(struct row_ids_reader *reader, uint64_t *out)
{
    unsigned char byte;

    *out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (!next_byte(reader, &byte) || (shift == 63 && byte > 1))
            return false;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* Decodes a number of one or two bytes, as most distances have, if the piece certainly holds all
 * of it. */
static inline bool next_short(struct row_ids_reader *reader, uint64_t *out)
{
    const unsigned char *at = reader->at;

    if (reader->end - at < 2 || (at[0] & at[1] & 128) != 0)
        return false;
    bool two = at[0] >= 128;
    *out = two ? (at[0] & 127u) | (uint64_t)at[1] << 7 : at[0];
    reader->at += 1 + two;
    reader->used_bytes += 1 + two;
    return true;
}

/* Decodes the next number, which is at least `least`. */
static void read_from(struct row_ids_reader *reader, uint64_t least)
{
    uint64_t more;

    reader->broken = (!next_short(reader, &more) && !next_varint(reader, &more)) ||
                     __builtin_add_overflow(least, more, &reader->row);
    if (reader->broken)
        reader->left = 0;
}

void row_ids_read(struct row_ids_reader *reader, const struct message *message, size_t offset,
                  uint64_t count)
{
    *reader = (struct row_ids_reader){ .message = message, .piece = -1, .left = count };
    while (reader->piece + 1 < message->pieces_count) {
        const struct bytes *piece = &message->pieces[++reader->piece];
        if (offset <= piece->size) {
            reader->at = (const unsigned char *)piece->data + offset;
            reader->end = (const unsigned char *)piece->data + piece->size;
            break;
        }
        offset -= piece->size;
    }
    if (count > 0)
        read_from(reader, 0);
}

void row_ids_next(struct row_ids_reader *reader)
{
    assert(reader->left > 0);
    if (--reader->left == 0)
        return;
    if (reader->row == UINT64_MAX) { /* no number can follow */
        reader->broken = true;
        reader->left = 0;
        return;
    }
    read_from(reader, reader->row + 1);
}

/* Decodes a group of one-byte numbers as distances; returns the distance of the number after the
 * group from the first. Sums the bytes as vectors: one by one, each number would wait for the
 * one before. */
static inline uint64_t take_group(const unsigned char *at, uint32_t distance, uint32_t *out)
{
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128(), ones = _mm_set1_epi16(1);
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)at);
    __m128i sums = _mm_add_epi16(_mm_unpacklo_epi8(bytes, zero), ones);
    sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 2));
    sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
    sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
    __m128i before = _mm_slli_si128(sums, 2), from = _mm_set1_epi32((int)distance);
    _mm_storeu_si128((__m128i *)(void *)out, _mm_add_epi32(from, _mm_unpacklo_epi16(before, zero)));
    _mm_storeu_si128((__m128i *)(void *)(out + 4),
                     _mm_add_epi32(from, _mm_unpackhi_epi16(before, zero)));
    return (uint64_t)_mm_extract_epi16(sums, GROUP - 1);
#else
    uint32_t passed = 0;

    for (int i = 0; i < GROUP; passed += at[i++] + 1u)
        out[i] = distance + passed;
    return passed;
#endif
}

#define LONGER         0x8080808080808080u
#define SHORT_DISTANCE (1u << 14)

/* Like row_ids_take, up to the first number that is not certainly short and in this piece, which
 * row_ids_next handles. `left` is not 0. */
static size_t take_short(struct row_ids_reader *reader, uint64_t first, uint64_t end, uint32_t *out,
                         size_t max)
{
    const unsigned char *at = reader->at;
    uint64_t row = reader->row, most = reader->left - 1;
    size_t taken = 0;

    max = max < most ? max : (size_t)most; /* no number follows the last one */
    while (taken < max && row < end && row < UINT64_MAX - GROUP * SHORT_DISTANCE) {
        uint64_t more;
        if (reader->end - at < GROUP)
            break;
        memcpy(&more, at, sizeof more);
        if ((more & LONGER) == 0 && max - taken >= GROUP && end - row > GROUP * 128) {
            row += take_group(at, (uint32_t)(row - first), out + taken);
            taken += GROUP;
            at += GROUP;
            continue;
        }
        if ((at[0] & at[1] & 128) != 0)
            break;
        bool two = at[0] >= 128;
        out[taken++] = (uint32_t)(row - first);
        row += 1 + (two ? (at[0] & 127u) | (uint64_t)at[1] << 7 : at[0]);
        at += 1 + two;
    }
    reader->used_bytes += (size_t)(at - reader->at);
    reader->at = at;
    reader->row = row;
    reader->left -= taken;
    return taken;
}

size_t row_ids_take(struct row_ids_reader *reader, uint64_t first, uint64_t end, uint32_t *out,
                    size_t max)
{
    size_t taken = 0;

    while (taken < max && reader->left > 0 && reader->row < end) {
        taken += take_short(reader, first, end, out + taken, max - taken);
        if (taken == max || reader->row >= end)
            break;
        out[taken++] = (uint32_t)(reader->row - first);
        row_ids_next(reader);
    }
    return taken;
}

/* Skips groups of numbers of a byte each that are surely less than `end`; returns how many. */
static size_t skip_groups(struct row_ids_reader *reader, uint64_t end)
{
    const uint64_t low = 0x00ff00ff00ff00ffu;
    const unsigned char *at = reader->at;
    uint64_t row = reader->row, left = reader->left, more;

    /* the last number has no successor */
    while (left > GROUP && reader->end - at >= GROUP && row < end && end - row > GROUP * 128) {
        memcpy(&more, at, sizeof more);
        if ((more & LONGER) != 0)
            break;
        uint64_t pairs = (more & low) + (more >> 8 & low); /* four sums of 16 bits */
        row += (pairs * 0x0001000100010001u >> 48) + GROUP;
        left -= GROUP;
        at += GROUP;
    }
    size_t skipped = (size_t)(reader->left - left);
    reader->used_bytes += (size_t)(at - reader->at);
    reader->at = at;
    reader->row = row;
    reader->left = left;
    return skipped;
}

size_t row_ids_skip(struct row_ids_reader *reader, uint64_t end)
{
    uint32_t unused[GROUP];
    size_t skipped = 0, some;

    do {
        skipped += skip_groups(reader, end);
        some = row_ids_take(reader, reader->row, end, unused, GROUP);
        skipped += some;
    } while (some == GROUP);
    return skipped;
}
