#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/data/file_source_internal.h"

/* The part of a row with a NaN or an infinite value; NULL: none. */
static const struct row_part *part_at_fault(const struct row_tensor *tensor,
                                            const struct columns *columns, size_t row)
{
    for (int p = 0; p < tensor->parts_count; p++) {
        const struct column *column = &columns->list[tensor->parts[p].value];
        if (column->kind != COLUMN_FLOAT)
            continue;
        for (size_t i = column_begin(column, row); i < column->ends[row]; i++)
            if (!isfinite(column->floats[i]))
                return &tensor->parts[p];
    }
    return NULL;
}

/* Does the row have these values? Always true for values of size 0. */
static bool has_values(const struct row_layout *layout, int tensor, const struct columns *columns,
                       size_t row, struct bytes values)
{
    const uint32_t rows[] = { (uint32_t)row };
    size_t size = (size_t)layout->tensors[tensor].width *
                  dtype_size(layout->tensors[tensor].column.spec.dtype);

    if (values.size == 0 || values.size != size)
        return values.size == 0;
    char *made = zalloc(size);
    row_layout_gather(layout, tensor, columns, rows, 1, made);
    bool same = memcmp(made, values.data, size) == 0;
    free(made);
    return same;
}

/* Reads the next row alone. Returns false at the end. */
static struct status read_alone(struct file_source *source, bool *more)
{
    bool ended;

    columns_clear(&source->block);
    *more = true;
    while (*more && source->block.rows == 0) {
        TRY(file_source_open_next(source, more));
        if (!*more)
            return status_ok();
        TRY(file_source_read_row(source, &ended));
        if (ended)
            file_source_close_file(source);
    }
    return status_ok();
}

static struct status locate(struct file_source *source, int tensor, struct bytes row,
                            struct buffer *out)
{
    const struct row_layout *layout = &source->split->options.layout;
    const struct row_part *part;
    bool more = true;

    while (more) {
        TRY(read_alone(source, &more));
        if (!more)
            return status_ok();
        part = part_at_fault(&layout->tensors[tensor], &source->block, 0);
        if (part == NULL || !has_values(layout, tensor, &source->block, 0, row))
            continue;
        struct status place = record_reader_at(
            source->open, status_error(STATUS_OUT_OF_RANGE, "column '%s'", part->from->name));
        buffer_printf(out, ": %s", place.message);
        return status_ok();
    }
    return status_ok();
}

void file_source_locate(const struct data_split *split, int column, struct bytes row,
                        struct buffer *out)
{
    struct file_source *source;
    struct status status = file_source_open_quietly(split, &source);

    if (!status_is_ok(status))
        return; /* the row is reported without its place */
    status_ignore(locate(source, column, row, out));
    source->source.destroy(&source->source);
}
