/* Appends rows to sparse and ragged tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clones.h"
#include "trainer/data/row_value.h"

#define LIST_VALUES_MIN 64

void row_lists_clear(struct row_lists *lists)
{
    lists->count = lists->rows = 0;
}

void row_lists_finish(struct row_lists *lists)
{
    free(lists->values);
    free(lists->ids);
    free(lists->row_splits);
    *lists = (struct row_lists){ 0 };
}

static void reserve_rows(struct row_lists *lists, size_t more)
{
    size_t wanted = lists->rows + more;

    if (wanted + 1 > lists->rows_capacity) {
        lists->rows_capacity = 2 * wanted + 1;
        lists->row_splits =
            xrealloc(lists->row_splits, lists->rows_capacity * sizeof *lists->row_splits);
    }
    lists->row_splits[0] = 0;
}

static void reserve_values(struct row_lists *lists, const struct tensor_spec *spec, size_t more)
{
    size_t wanted = lists->count + more;

    if (wanted <= lists->capacity)
        return;
    lists->capacity = wanted < LIST_VALUES_MIN ? LIST_VALUES_MIN : 2 * wanted;
    lists->values = xrealloc(lists->values, lists->capacity * dtype_size(spec->dtype));
    if (spec->layout == TENSOR_SPARSE)
        lists->ids = xrealloc(lists->ids, lists->capacity * sizeof *lists->ids);
}

CLONES static void copy_narrow(const int32_t *ints, size_t count, int64_t shift, int64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = ints[i] + shift;
}

CLONES static void copy_wide(const int64_t *ints, size_t count, int64_t shift, int64_t *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = ints[i] + shift;
}

/* Copies `count` integers from `begin` on, plus `shift`. */
static void copy_ints(const struct column *column, size_t begin, size_t count, int64_t shift,
                      int64_t *out)
{
    if (column->is_narrow)
        copy_narrow(column->narrow_ints + begin, count, shift, out);
    else
        copy_wide(column->ints + begin, count, shift, out);
}

static void append_sparse(const struct row_part *part, const struct columns *columns, size_t row,
                          struct row_lists *out)
{
    const struct column *index = &columns->list[part->index], *value = &columns->list[part->value];
    size_t begin = column_begin(index, row), count = index->ends[row] - begin;
    int64_t shift = part->first - part->from->first_index, *ids = out->ids + out->count;

    if (count == 0) /* there may be no memory yet */
        return;

    copy_ints(index, begin, count, shift, ids);
    memcpy(out->floats + out->count, value->floats + column_begin(value, row),
           count * sizeof *out->floats);
    out->count += count;
}

/* Appends the non-zero values of a dense column. */
static void append_dense(const struct row_tensor *tensor, const struct row_part *part,
                         const struct column *column, size_t row, struct row_lists *out)
{
    float *values = out->floats + out->count;

    row_gather_dense(tensor, part, column, row, values);
    for (int64_t i = 0; i < part->width; i++) {
        float value = values[i];
        if (value == 0)
            continue;
        out->floats[out->count] = value; /* at or before values[i] */
        out->ids[out->count++] = part->first + i;
    }
}

static void append_id(int64_t id, struct row_lists *out)
{
    out->ids[out->count] = id;
    out->floats[out->count++] = 1;
}

/* Appends the category of each value, with the value 1. */
static void append_categories(const struct row_part *part, const struct column *column, size_t row,
                              struct row_lists *out)
{
    const struct schema_column *from = part->from;
    size_t begin = column_begin(column, row), end = column->ends[row];

    for (int64_t i = 0; i < row_defaults_count(from, end - begin); i++)
        append_id(part->first + row_range(from, (float)from->default_value), out);
    for (size_t i = begin; i < end; i++)
        if (row_has_category(column, i))
            append_id(part->first + row_category(part, column, i), out);
}

static void append_buckets(const struct row_part *part, const struct column *column, size_t row,
                           struct row_lists *out)
{
    for (size_t i = column_begin(column, row); i < column->ends[row]; i++)
        out->ints[out->count++] = row_bucket(part, column, i);
}

static void append_texts(const struct column *column, size_t row, struct row_lists *out)
{
    for (size_t i = column_begin(column, row); i < column->ends[row]; i++)
        out->texts[out->count++] = column_text(column, i);
}

/* In a dense column, a row without a value has its default. */
static void append_ragged(const struct schema_column *from, const struct column *column, size_t row,
                          struct row_lists *out)
{
    size_t begin = column_begin(column, row), count = column->ends[row] - begin;

    for (int64_t i = 0; count == 0 && from->has_default && i < from->width; i++)
        if (column->kind == COLUMN_INT64)
            out->ints[out->count++] = (int64_t)from->default_value;
        else
            out->floats[out->count++] = (float)from->default_value;
    if (count == 0)
        return;
    if (column->kind == COLUMN_INT64)
        copy_ints(column, begin, count, 0, out->ints + out->count);
    else
        memcpy(out->floats + out->count, column->floats + begin, count * sizeof *out->floats);
    out->count += count;
}

static void append_part(const struct row_tensor *tensor, const struct row_part *part,
                        const struct columns *columns, size_t row, struct row_lists *out)
{
    const struct column *value = &columns->list[part->value];
    bool dense = part->from->kind == SCHEMA_DENSE; /* may have a default instead of values */

    bool sparse = tensor->column.spec.layout == TENSOR_SPARSE;

    reserve_values(out, &tensor->column.spec,
                   dense ? (size_t)part->from->width : value->ends[row] - column_begin(value, row));
    if (row_tensor_is_text(tensor))
        append_texts(value, row, out);
    else if (sparse && schema_categories(part->from) > 0)
        append_categories(part, value, row, out);
    else if (part->from->hash_buckets > 0)
        append_buckets(part, value, row, out);
    else if (!sparse)
        append_ragged(part->from, value, row, out);
    else if (part->from->kind == SCHEMA_SPARSE)
        append_sparse(part, columns, row, out);
    else
        append_dense(tensor, part, value, row, out);
}

void row_layout_append(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, struct row_lists *out)
{
    const struct row_tensor *made = &layout->tensors[tensor];

    reserve_rows(out, count);
    for (size_t i = 0; i < count; i++) {
        for (int p = 0; p < made->parts_count; p++)
            append_part(made, &made->parts[p], columns, rows[i], out);
        out->row_splits[++out->rows] = (int64_t)out->count;
    }
}
