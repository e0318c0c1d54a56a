/* Gathers rows into dense tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fingerprint.h"
#include "trainer/data/row_value.h"

static void gather_sparse(const struct row_part *part, const struct columns *columns, size_t row,
                          float *out)
{
    const struct column *index = &columns->list[part->index], *value = &columns->list[part->value];
    int64_t first = part->from->first_index;

    memset(out, 0, (size_t)part->width * sizeof *out);
    size_t values = column_begin(value, row);
    for (size_t i = column_begin(index, row); i < index->ends[row]; i++)
        out[column_int(index, i) - first] += value->floats[values++];
}

/* 1 for each category that occurs; two values of one category add up. */
static void gather_categories(const struct row_part *part, const struct column *column, size_t row,
                              float *out)
{
    const struct schema_column *from = part->from;
    size_t begin = column_begin(column, row), end = column->ends[row];

    memset(out, 0, (size_t)part->width * sizeof *out);
    for (int64_t i = 0; i < row_defaults_count(from, end - begin); i++)
        out[row_range(from, (float)from->default_value)] += 1;
    for (size_t i = begin; i < end; i++)
        if (row_has_category(column, i))
            out[row_category(part, column, i)] += 1;
}

void row_gather_dense(const struct row_tensor *tensor, const struct row_part *part,
                      const struct column *column, size_t row, float *out)
{
    const struct schema_column *from = part->from;
    size_t begin = column_begin(column, row), count = column->ends[row] - begin;

    if (count == 0)
        for (int64_t i = 0; i < part->width; i++)
            out[i] = (float)row_class_number(tensor, row_default(from));
    else if (column->kind == COLUMN_FLOAT && !schema_is_normalised(from) && from->classes == NULL &&
             !tensor->is_binary)
        memcpy(out, column->floats + begin, count * sizeof *out);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (float)row_class_number(tensor, row_value(part, column, begin + i));
}

static void gather_floats(const struct row_tensor *tensor, const struct columns *columns,
                          const uint32_t *rows, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            if (part->from->kind == SCHEMA_SPARSE)
                gather_sparse(part, columns, rows[i], out);
            else if (schema_categories(part->from) > 0)
                gather_categories(part, &columns->list[part->value], rows[i], out);
            else
                row_gather_dense(tensor, part, &columns->list[part->value], rows[i], out);
            out += part->width;
        }
}

/* Writes a column's class numbers to their positions in the row. */
static void gather_part_classes(const struct row_tensor *tensor, const struct row_part *part,
                                const struct columns *columns, size_t row, int32_t *out)
{
    const struct column *column = &columns->list[part->value];
    size_t begin = column_begin(column, row);
    bool none = begin == column->ends[row];

    for (int64_t i = 0; i < part->width; i++) {
        double value = none ? row_default(part->from) : row_value(part, column, begin + (size_t)i);
        out[part->first + i] = (int32_t)row_class_number(tensor, value);
    }
}

static void gather_classes(const struct row_tensor *tensor, const struct columns *columns,
                           const uint32_t *rows, size_t count, int32_t *out)
{
    for (size_t r = 0; r < count; r++, out += tensor->width) {
        if (tensor->is_one_hot)
            row_one_hot_classes(tensor, columns, rows[r], out); /* the rows were checked */
        else
            for (int p = 0; p < tensor->parts_count; p++)
                gather_part_classes(tensor, &tensor->parts[p], columns, rows[r], out);
    }
}

/* An int64 of the file does not pass through a double, which has only 53 bits. */
static int64_t integer_of(const struct row_part *part, const struct column *column, size_t at)
{
    if (schema_categories(part->from) > 0)
        return row_category(part, column, at);
    if (column->kind == COLUMN_INT64 && part->from->classes == NULL)
        return column_int(column, at);
    return (int64_t)row_value(part, column, at);
}

/* The placeholder for the values of a row that has none. */
static int64_t integer_of_none(const struct row_part *part)
{
    if (part->from->hash_buckets > 0)
        return (int64_t)(fingerprint64(bytes_of("")) % (uint64_t)part->from->hash_buckets);
    if (part->from->boundaries != NULL)
        return row_range(part->from, (float)part->from->default_value);
    return (int64_t)row_default(part->from);
}

/* Writes one value of a row. */
static void put_integer(const struct row_part *part, const struct column *column, size_t row,
                        int64_t i, enum dtype dtype, void *out, size_t at)
{
    size_t begin = column_begin(column, row);
    int64_t value = begin == column->ends[row] ? integer_of_none(part)
                                               : integer_of(part, column, begin + (size_t)i);

    switch (dtype_size(dtype)) { /* the value is in the range of the type, signed or not */
    case sizeof(int8_t):
        ((int8_t *)out)[at] = (int8_t)value;
        break;
    case sizeof(int16_t):
        ((int16_t *)out)[at] = (int16_t)value;
        break;
    case sizeof(int32_t):
        ((int32_t *)out)[at] = (int32_t)value;
        break;
    default:
        ((int64_t *)out)[at] = value;
    }
}

static void gather_integers(const struct row_tensor *tensor, const struct columns *columns,
                            const uint32_t *rows, size_t count, void *out)
{
    size_t at = 0;

    for (size_t r = 0; r < count; r++)
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            for (int64_t i = 0; i < part->width; i++)
                put_integer(part, &columns->list[part->value], rows[r], i,
                            tensor->column.spec.dtype, out, at++);
        }
}

/* Missing texts become empty. */
static void gather_texts(const struct row_tensor *tensor, const struct columns *columns,
                         const uint32_t *rows, size_t count, struct bytes *out)
{
    for (size_t r = 0; r < count; r++)
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            const struct column *column = &columns->list[part->value];
            size_t begin = column_begin(column, rows[r]), end = column->ends[rows[r]];
            for (size_t i = begin; i < begin + (size_t)part->width; i++)
                *out++ = i < end ? column_text(column, i) : (struct bytes){ "", 0 };
        }
}

/* Converts floats in the first half of the buffer to doubles in place, from the last one on. */
static void widen(void *out, size_t count)
{
    char *data = out;
    float narrow;

    while (count-- > 0) {
        memcpy(&narrow, data + count * sizeof narrow, sizeof narrow);
        double wide = (double)narrow;
        memcpy(data + count * sizeof wide, &wide, sizeof wide);
    }
}

/* Rounds floats to 16-bit numbers, to nearest even. */
static void narrow(enum dtype dtype, const float *in, size_t count, uint16_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = dtype == DT_HALF ? float_to_half(in[i]) : float_to_bfloat16(in[i]);
}

static void gather_narrow(const struct row_tensor *tensor, const struct columns *columns,
                          const uint32_t *rows, size_t count, uint16_t *out)
{
    size_t width = (size_t)tensor->width;
    float *row = zalloc((width + 1) * sizeof *row);

    for (size_t r = 0; r < count; r++) {
        gather_floats(tensor, columns, &rows[r], 1, row);
        narrow(tensor->column.spec.dtype, row, width, out + r * width);
    }
    free(row);
}

void row_layout_gather(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, void *out)
{
    const struct row_tensor *made = &layout->tensors[tensor];
    enum dtype dtype = made->column.spec.dtype;

    if (row_tensor_is_text(made))
        gather_texts(made, columns, rows, count, out);
    else if (row_tensor_is_integers(made))
        gather_integers(made, columns, rows, count, out);
    else if (dtype == DT_INT32)
        gather_classes(made, columns, rows, count, out);
    else if (dtype == DT_HALF || dtype == DT_BFLOAT16)
        gather_narrow(made, columns, rows, count, out);
    else
        gather_floats(made, columns, rows, count, out);
    if (dtype == DT_DOUBLE)
        widen(out, count * (size_t)made->width);
}
