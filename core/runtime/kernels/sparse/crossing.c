#include "runtime/kernels/sparse/crossing.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/fingerprint.h"

enum {
    ROWS_PER_CHECK = 1024, /* combinations between two checks of the deadline */
    INT64_TEXT_MAX = 21,   /* "-9223372036854775808", and a NUL */
};

static int64_t first_of(const struct crossing_column *column, int64_t row)
{
    return column->begin != NULL ? column->begin[row] : row * column->width;
}

static int64_t width_of(const struct crossing_column *column, int64_t row)
{
    return column->begin != NULL ? column->begin[row + 1] - column->begin[row] : column->width;
}

struct status crossing_count(const struct crossing *crossing, int64_t row, int64_t *out)
{
    int64_t count = 1;
    for (int c = 0; c < crossing->count; c++)
        if (width_of(&crossing->columns[c], row) == 0)
            count = 0;
    for (int c = 0; c < crossing->count; c++)
        if (__builtin_mul_overflow(count, width_of(&crossing->columns[c], row), &count))
            return status_error(STATUS_RESOURCE_EXHAUSTED,
                                "more than 2^63 combinations of the features of row %" PRId64, row);
    *out = count;
    return status_ok();
}

static struct bytes bytes_of_int(const int64_t *value)
{
    return (struct bytes){ (const char *)value, sizeof *value / 2 };
}

/* TensorFlow's SparseCrossHashed takes the fingerprint of the low four bytes of an integer in a
 * sparse input, and, without the strong hash, uses one in a dense input directly. */
static uint64_t hash_feature(const struct crossing *crossing, const struct crossing_column *column,
                             int64_t at)
{
    bool text = column->values->dtype == DT_STRING, hashed = crossing->kind == CROSSING_HASHED;
    const int64_t *value = text ? NULL : &tensor_int64s(column->values)[at];
    struct bytes bytes = text ? tensor_strings(column->values)[at] : bytes_of_int(value);
    if (hashed && crossing->strong)
        return siphash64(crossing->salt, bytes);
    if (text || (hashed && column->begin != NULL))
        return fingerprint64(bytes);
    return (uint64_t)*value;
}

static int64_t hash_combination(const struct crossing *crossing, const int64_t *place)
{
    bool keyed = crossing->kind == CROSSING_HASH;
    uint64_t hash = crossing->key;
    for (int c = 0; c < crossing->count; c++) {
        uint64_t next = hash_feature(crossing, &crossing->columns[c], place[c]);
        hash = c == 0 && !keyed ? next : fingerprint_cat64(hash, next);
    }
    return (int64_t)(hash % (uint64_t)(crossing->buckets > 0 ? crossing->buckets : INT64_MAX));
}

/* The characters that a feature takes, at most. */
static size_t text_room(const struct tensor *values, int64_t at)
{
    return values->dtype == DT_STRING ? tensor_strings(values)[at].size : INT64_TEXT_MAX;
}

static size_t put_text(const struct tensor *values, int64_t at, char *to)
{
    if (values->dtype != DT_STRING)
        return (size_t)snprintf(to, INT64_TEXT_MAX, "%" PRId64, tensor_int64s(values)[at]);
    const struct bytes *text = &tensor_strings(values)[at];
    if (text->size > 0)
        memcpy(to, text->data, text->size);
    return text->size;
}

static struct status join_combination(struct kernel_context *k, const struct crossing *crossing,
                                      const int64_t *place, struct bytes *out)
{
    size_t room = 1, used = 0;
    void *text;
    for (int c = 0; c < crossing->count; c++)
        room += crossing->separator.size + text_room(crossing->columns[c].values, place[c]);
    TRY(arena_reserve(kernel_arena(k), room, &text));
    for (int c = 0; c < crossing->count; c++) {
        if (c > 0 && crossing->separator.size > 0) {
            memcpy((char *)text + used, crossing->separator.data, crossing->separator.size);
            used += crossing->separator.size;
        }
        used += put_text(crossing->columns[c].values, place[c], (char *)text + used);
    }
    *out = (struct bytes){ text, used };
    return status_ok();
}

static void next_combination(const struct crossing *crossing, int64_t row, int64_t *place)
{
    for (int c = crossing->count - 1; c >= 0; c--) {
        const struct crossing_column *column = &crossing->columns[c];
        if (++place[c] < first_of(column, row) + width_of(column, row))
            return;
        place[c] = first_of(column, row);
    }
}

struct status crossing_row(struct kernel_context *k, const struct crossing *crossing, int64_t row,
                           int64_t count, int64_t *place, struct tensor *values, int64_t at)
{
    for (int c = 0; c < crossing->count; c++)
        place[c] = first_of(&crossing->columns[c], row);
    for (int64_t i = 0; i < count; i++) {
        if (i % ROWS_PER_CHECK == 0)
            TRY(kernel_check(k));
        if (crossing->kind == CROSSING_TEXT)
            TRY(join_combination(k, crossing, place, &tensor_strings_mut(values)[at + i]));
        else
            tensor_int64s_mut(values)[at + i] = hash_combination(crossing, place);
        next_combination(crossing, row, place);
    }
    return status_ok();
}
