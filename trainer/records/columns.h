/*
 * columns: rows of named columns, as read from a file of records.
 *
 * A row has a list of values in each column: one number, a vector, a list of any length, or nothing
 * if the value is missing. The values of all rows are contiguous:
 *
 *     column.ends   [rows]    the number of values up to the end of each row
 *     column.floats [count]   or ints, or, for bytes, the ends of the texts in column.text
 *
 * A reader adds the values of a row and then calls columns_end_row, or columns_drop_row if the
 * record is bad. columns_clear keeps the memory, so the next batch allocates nothing.
 *
 * Memory  4 bytes a float, 8 an integer or a text, and 8 a row in each column. In packed columns,
 *         integers that fit into 32 bits take 4
 * Threads not safe
 */
#ifndef TRAINER_RECORDS_COLUMNS_H
#define TRAINER_RECORDS_COLUMNS_H

#include "base/bytes.h"

enum column_kind { COLUMN_FLOAT, COLUMN_INT64, COLUMN_BYTES };

struct column_spec {
    const char *name;
    enum column_kind kind;
};

struct column {
    const char *name; /* as in the spec */
    enum column_kind kind;
    bool is_narrow; /* COLUMN_INT64, packed: the values are narrow_ints */
    size_t *ends;
    union {
        void *values;
        float *floats;
        int64_t *ints;
        int32_t *narrow_ints;
        size_t *text_ends;
    };
    size_t count, capacity; /* values */
    struct buffer text;     /* COLUMN_BYTES */
};

struct columns {
    struct column *list;
    int count;
    size_t rows, rows_capacity;
};

/* Copies nothing: the names outlive the columns. */
void columns_init(struct columns *columns, const struct column_spec *specs, int count);
void columns_finish(struct columns *columns); /* accepts a zeroed one */

void columns_clear(struct columns *columns);
void columns_end_row(struct columns *columns);
void columns_drop_row(struct columns *columns);      /* drops what was added since the last row */
size_t columns_bytes(const struct columns *columns); /* of the current values */
/* Makes room for `rows` rows, if they are like those so far. */
void columns_expect(struct columns *columns, size_t rows);

/* The number of bytes that columns_pack takes. */
size_t columns_packed_bytes(const struct columns *columns);
/* Copies the columns to memory from malloc, which has all that belongs to `out`: it is never
 * changed, and needs no columns_finish. */
void columns_pack(const struct columns *columns, void *memory, struct columns *out);

/* Finds the column of this name, or NULL. */
struct column *columns_find(const struct columns *columns, struct bytes name);

/* The number of values before row `row`. */
static inline size_t column_begin(const struct column *column, size_t row)
{
    return row == 0 ? 0 : column->ends[row - 1];
}

/* Value `index` of a COLUMN_INT64. */
static inline int64_t column_int(const struct column *column, size_t index)
{
    return column->is_narrow ? column->narrow_ints[index] : column->ints[index];
}

/* Prefetches a row's values, for a caller that reads rows in random order. */
void columns_prefetch(const struct columns *columns, size_t row);

/* Value `index` of a COLUMN_BYTES. */
static inline struct bytes column_text(const struct column *column, size_t index)
{
    size_t begin = index == 0 ? 0 : column->text_ends[index - 1];
    return (struct bytes){ column->text.data + begin, column->text_ends[index] - begin };
}

void column_grow(struct column *column, size_t more); /* the slow path of column_reserve */
static inline void column_reserve(struct column *column, size_t more)
{
    if (more > column->capacity - column->count)
        column_grow(column, more);
}

static inline void column_add_float(struct column *column, float value)
{
    column_reserve(column, 1);
    column->floats[column->count++] = value;
}

static inline void column_add_int64(struct column *column, int64_t value)
{
    column_reserve(column, 1);
    column->ints[column->count++] = value;
}

static inline void column_add_bytes(struct column *column, struct bytes value)
{
    column_reserve(column, 1);
    buffer_append(&column->text, value.data, value.size);
    column->text_ends[column->count++] = column->text.size;
}

#endif
