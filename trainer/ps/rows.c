/* Reads the lists of rows in pulls and pushes. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/internal.h"

void row_list_read(const struct row_list *list, struct row_ids_reader *out)
{
    row_ids_read(out, list->message, list->offset, list->count);
}

static bool holds_row(const struct slice *slice, uint64_t row)
{
    return row >= slice->first_row && row - slice->first_row < slice->rows_count;
}

struct status row_list_check(const struct variables *variables, struct piece_range range,
                             bool trained, struct row_list *list)
{
    int i = variables_find_from(variables, range.first);
    int end = variables_find_from(variables, range.end);
    struct row_ids_reader reader;

    list->rows_bytes = 0;
    for (row_list_read(list, &reader); reader.left > 0; row_ids_next(&reader)) {
        while (i < end && reader.row >= variables->slices[i].first_row &&
               !holds_row(&variables->slices[i], reader.row))
            i++;
        const struct slice *slice = &variables->slices[i];
        if (i == end || !holds_row(slice, reader.row) || (trained && !slice->trainable))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "row %" PRIu64 " is in none of the%s pieces from %u up to %u",
                                reader.row, trained ? " trained" : "", range.first, range.end);
        list->rows_bytes += slice->row_bytes; /* no row comes twice: at most what the ps holds */
    }
    list->list_bytes = reader.used_bytes;
    if (reader.broken)
        return status_error(STATUS_INVALID_ARGUMENT, "a list of %" PRIu64 " rows ends too early",
                            list->count);
    return status_ok();
}

void slice_rows_take(struct slice_rows *rows, const struct slice *slice,
                     struct row_ids_reader *reader)
{
    rows->count = 0;
    for (; reader->left > 0 && holds_row(slice, reader->row); row_ids_next(reader)) {
        if (rows->count == rows->capacity) {
            rows->capacity = rows->capacity * 2 + 256;
            rows->rows = xrealloc(rows->rows, rows->capacity * sizeof *rows->rows);
        }
        rows->rows[rows->count++] = (uint32_t)(reader->row - slice->first_row);
    }
}
