#include "trainer/ps/row_lists.h"

#include <inttypes.h>
#include <stdlib.h>

void row_list_read(const struct row_list *list, struct row_ids_reader *out)
{
    row_ids_read(out, list->message, list->offset, list->count);
}

static uint64_t end_of(const struct slice *slice)
{
    return slice->first_row + slice->rows_count;
}

/* Finds the slice in [i, end) that has the row. NULL: none. */
static const struct slice *find_slice(const struct variables *variables, int i, int end,
                                      uint64_t row)
{
    while (i < end && row >= end_of(&variables->slices[i]))
        i++;
    const struct slice *slice = &variables->slices[i];
    return i < end && row >= slice->first_row ? slice : NULL;
}

struct status row_list_check(const struct variables *variables, struct piece_range range,
                             bool trained, struct row_list *list)
{
    int begin = variables_find_from(variables, range.first);
    int end = variables_find_from(variables, range.end);
    struct row_ids_reader reader;

    list->rows_bytes = 0;
    row_list_read(list, &reader);
    while (reader.left > 0) {
        const struct slice *slice = find_slice(variables, begin, end, reader.row);
        if (slice == NULL || (trained && !slice->trainable))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "row %" PRIu64 " is in none of the%s pieces from %u up to %u",
                                reader.row, trained ? " trained" : "", range.first, range.end);
        begin = (int)(slice - variables->slices);
        /* no row occurs twice, so at most what the ps holds */
        list->rows_bytes += row_ids_skip(&reader, end_of(slice)) * slice->row_bytes;
    }
    list->list_bytes = reader.used_bytes;
    if (reader.broken)
        return status_error(STATUS_INVALID_ARGUMENT, "a list of %" PRIu64 " rows ends too early",
                            list->count);
    return status_ok();
}

static void reserve_rows(struct slice_rows *rows, size_t more)
{
    if (more <= rows->capacity - rows->count)
        return;
    rows->capacity = rows->capacity * 2 + more;
    rows->rows = xrealloc(rows->rows, rows->capacity * sizeof *rows->rows);
}

size_t slice_rows_append(struct slice_rows *rows, const struct slice *slice,
                         struct row_ids_reader *reader)
{
    size_t most = (size_t)(reader->left < slice->rows_count ? reader->left : slice->rows_count);

    reserve_rows(rows, most);
    size_t taken =
        row_ids_take(reader, slice->first_row, end_of(slice), rows->rows + rows->count, most);
    rows->count += taken;
    return taken;
}

void slice_rows_take(struct slice_rows *rows, const struct slice *slice,
                     struct row_ids_reader *reader)
{
    rows->count = 0;
    slice_rows_append(rows, slice, reader);
}

/* ---- keys ---- */

void key_lists_finish(struct key_list_set *keys)
{
    free(keys->lists);
    *keys = (struct key_list_set){ 0 };
}

void key_lists_move(struct key_list_set *keys, const struct message *message)
{
    for (size_t i = 0; i < keys->count; i++)
        keys->lists[i].message = message;
}

/* Each key takes at least a byte of the payload, so the sizes do not overflow. */
static struct status check_keys(const struct ps *ps, const struct slice *slice,
                                struct row_list *list)
{
    struct row_ids_reader reader;

    for (row_list_read(list, &reader); reader.left > 0; row_ids_next(&reader)) {
        int64_t key = key_from_wire(reader.row);
        if (key_ps(key, slice->ps_count) != (int)ps->options.index)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "key %" PRId64 " of piece %d belongs to ps %d, not to ps %u", key,
                                slice->id, key_ps(key, slice->ps_count), ps->options.index);
    }
    if (reader.broken)
        return status_error(STATUS_INVALID_ARGUMENT, "a list of %" PRIu64 " keys ends too early",
                            list->count);
    list->list_bytes = reader.used_bytes;
    list->rows_bytes = (size_t)list->count * slice->row_bytes;
    return status_ok();
}

static struct status check_lists(const struct ps *ps, struct piece_range range,
                                 const struct message *message, size_t offset,
                                 const struct key_counts *counts, struct key_list_set *out)
{
    const struct variables *variables = ps->variables;
    int end = variables_find_from(variables, range.end);

    for (int i = variables_find_from(variables, range.first); i < end; i++) {
        const struct slice *slice = &variables->slices[i];
        if (slice->table == NULL)
            continue;
        if (out->count == counts->pieces_count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%zu lists of keys, and more pieces by keys from %u up to %u",
                                counts->pieces_count, range.first, range.end);
        struct row_list *list = &out->lists[out->count];
        *list = (struct row_list){ .message = message,
                                   .offset = offset + out->list_bytes,
                                   .count = counts->counts[out->count] };
        TRY(check_keys(ps, slice, list));
        out->list_bytes += list->list_bytes;
        out->rows_bytes += list->rows_bytes;
        out->count++;
    }
    if (out->count != counts->pieces_count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%zu lists of keys for %zu pieces by keys from %u up to %u",
                            counts->pieces_count, out->count, range.first, range.end);
    return status_ok();
}

struct status key_lists_check(const struct ps *ps, struct piece_range range,
                              const struct message *message, size_t offset,
                              const struct key_counts *counts, struct key_list_set *out)
{
    *out = (struct key_list_set){ 0 };
    if (counts->pieces_count == 0)
        return status_ok();
    out->lists = zalloc(counts->pieces_count * sizeof *out->lists);
    struct status status = check_lists(ps, range, message, offset, counts, out);
    if (!status_is_ok(status))
        key_lists_finish(out);
    return status;
}

void slice_keys_take(struct slice_keys *keys, const struct row_list *list)
{
    struct row_ids_reader reader;

    if (list->count > keys->capacity) {
        keys->capacity = list->count;
        keys->keys = xrealloc(keys->keys, keys->capacity * sizeof *keys->keys);
    }
    keys->count = 0;
    for (row_list_read(list, &reader); reader.left > 0; row_ids_next(&reader))
        keys->keys[keys->count++] = key_from_wire(reader.row);
}
