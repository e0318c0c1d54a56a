#include "trainer/records/columns.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clones.h"
#include "base/memory.h"

#define ROWS_MIN   64
#define VALUES_MIN 64

static size_t value_bytes(const struct column *column)
{
    return column->kind == COLUMN_FLOAT || column->is_narrow ? sizeof(float) : sizeof(int64_t);
}

void columns_init(struct columns *columns, const struct column_spec *specs, int count)
{
    *columns = (struct columns){ .count = count };
    columns->list = zalloc(((size_t)count + 1) * sizeof *columns->list);
    for (int i = 0; i < count; i++)
        columns->list[i] = (struct column){ .name = specs[i].name, .kind = specs[i].kind };
}

void columns_finish(struct columns *columns)
{
    for (int i = 0; i < columns->count; i++) {
        free(columns->list[i].ends);
        free(columns->list[i].values);
        buffer_finish(&columns->list[i].text);
    }
    free(columns->list);
    *columns = (struct columns){ 0 };
}

void columns_clear(struct columns *columns)
{
    columns->rows = 0;
    columns_drop_row(columns);
}

static void grow_rows(struct columns *columns)
{
    size_t rows = columns->rows_capacity < ROWS_MIN ? ROWS_MIN : columns->rows_capacity * 2;

    for (int i = 0; i < columns->count; i++)
        columns->list[i].ends = xrealloc(columns->list[i].ends, rows * sizeof(size_t));
    columns->rows_capacity = rows;
}

void columns_end_row(struct columns *columns)
{
    if (columns->rows == columns->rows_capacity)
        grow_rows(columns);
    for (int i = 0; i < columns->count; i++)
        columns->list[i].ends[columns->rows] = columns->list[i].count;
    columns->rows++;
}

void columns_drop_row(struct columns *columns)
{
    for (int i = 0; i < columns->count; i++) {
        struct column *column = &columns->list[i];
        column->count = column_begin(column, columns->rows);
        if (column->kind == COLUMN_BYTES)
            column->text.size = column->count == 0 ? 0 : column->text_ends[column->count - 1];
    }
}

size_t columns_bytes(const struct columns *columns)
{
    size_t bytes = 0;

    for (int i = 0; i < columns->count; i++)
        bytes += columns->list[i].count * value_bytes(&columns->list[i]) +
                 columns->list[i].text.size + columns->rows * sizeof(size_t);
    return bytes;
}

static void expect_values(struct column *column, size_t count)
{
    if (count <= column->capacity)
        return;
    void *values = memory_alloc_table(count * value_bytes(column));
    if (values == NULL)
        return; /* column_grow ends the program if there is no memory either */
    if (column->count > 0)
        memcpy(values, column->values, column->count * value_bytes(column));
    free(column->values);
    column->values = values;
    column->capacity = count;
}

void columns_expect(struct columns *columns, size_t rows)
{
    if (columns->rows == 0 || rows <= columns->rows_capacity)
        return;
    columns->rows_capacity = rows;
    for (int i = 0; i < columns->count; i++) {
        struct column *column = &columns->list[i];
        column->ends = xrealloc(column->ends, rows * sizeof *column->ends);
        expect_values(column, (column->count + column->count / 16) / columns->rows * rows + rows);
    }
}

#define PACK_ALIGNMENT 16 /* as malloc's */

static size_t packed(size_t bytes)
{
    return (bytes + PACK_ALIGNMENT - 1) / PACK_ALIGNMENT * PACK_ALIGNMENT;
}

/* No branch per integer, so that the compiler checks several at once. */
CLONES static bool fit_into_32_bits(const int64_t *ints, size_t count)
{
    uint64_t high = 0;

    for (size_t i = 0; i < count; i++)
        high |= ((uint64_t)ints[i] + ((uint64_t)1 << 31)) >> 32;
    return high == 0;
}

/* The description of the packed column, without its arrays. */
static struct column describe_packed(const struct column *column)
{
    struct column out = *column;

    out.is_narrow = column->kind == COLUMN_INT64 && fit_into_32_bits(column->ints, column->count);
    out.capacity = column->count;
    out.text.capacity = column->text.size;
    return out;
}

size_t columns_packed_bytes(const struct columns *columns)
{
    size_t bytes = packed((size_t)columns->count * sizeof *columns->list);

    for (int i = 0; i < columns->count; i++) {
        struct column out = describe_packed(&columns->list[i]);
        bytes += packed(out.count * value_bytes(&out)) + packed(columns->rows * sizeof *out.ends) +
                 packed(out.text.size);
    }
    return bytes;
}

static void *take(char **at, size_t size)
{
    char *begin = *at;

    *at += packed(size);
    return begin;
}

static void *copy(char **at, const void *data, size_t size)
{
    void *out = take(at, size);

    return size > 0 ? memcpy(out, data, size) : out;
}

static void pack_column(const struct column *column, size_t rows, char **at, struct column *out)
{
    *out = describe_packed(column);
    if (out->is_narrow) {
        out->narrow_ints = take(at, out->count * sizeof *out->narrow_ints);
        for (size_t i = 0; i < out->count; i++)
            out->narrow_ints[i] = (int32_t)column->ints[i];
    } else {
        out->values = copy(at, column->values, out->count * value_bytes(out));
    }
    out->ends = copy(at, column->ends, rows * sizeof *out->ends);
    out->text.data = copy(at, column->text.data, out->text.size);
}

void columns_pack(const struct columns *columns, void *memory, struct columns *out)
{
    char *at = memory;

    *out = *columns;
    out->list = take(&at, (size_t)columns->count * sizeof *out->list);
    out->rows_capacity = columns->rows;
    for (int i = 0; i < columns->count; i++)
        pack_column(&columns->list[i], columns->rows, &at, &out->list[i]);
}

#define LINE_BYTES         64
#define PREFETCH_BYTES_MAX 512 /* per column: the processor's own prefetcher finds the rest */

void columns_prefetch(const struct columns *columns, size_t row)
{
    for (int i = 0; i < columns->count; i++) {
        const struct column *column = &columns->list[i];
        size_t size = value_bytes(column), begin = column_begin(column, row) * size;
        size_t bytes = column->ends[row] * size - begin;
        const char *at = (const char *)column->values + begin;
        bytes = bytes < PREFETCH_BYTES_MAX ? bytes : PREFETCH_BYTES_MAX;
        for (size_t b = 0; b < bytes + LINE_BYTES - 1; b += LINE_BYTES)
            __builtin_prefetch(at + b);
    }
}

struct column *columns_find(const struct columns *columns, struct bytes name)
{
    for (int i = 0; i < columns->count; i++)
        if (bytes_equal(bytes_of(columns->list[i].name), name))
            return &columns->list[i];
    return NULL;
}

void column_grow(struct column *column, size_t more)
{
    size_t wanted = column->count + more, twice = column->capacity * 2;

    wanted = wanted > twice ? wanted : twice;
    column->capacity = wanted > VALUES_MIN ? wanted : VALUES_MIN;
    column->values = xrealloc(column->values, column->capacity * value_bytes(column));
}
