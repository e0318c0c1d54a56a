#include "trainer/ps/push_reader.h"

#include <stdint.h>
#include <stdlib.h>

static void begin_chunk(struct push_reader *reader, const struct push *chunk)
{
    reader->chunk = chunk;
    reader->payload = (struct payload_cursor){ .message = &chunk->waiting.request };
    row_list_read(&chunk->rows, &reader->ids);
    reader->next_list = 0;
}

void push_reader_init(struct push_reader *reader, const struct push *push)
{
    *reader = (struct push_reader){ 0 };
    begin_chunk(reader, push);
}

void push_reader_finish(struct push_reader *reader)
{
    free(reader->rows.rows);
    free(reader->keys.keys);
    free(reader->scratch);
}

static void find_chunk_of(struct push_reader *reader, const struct slice *slice)
{
    while ((uint32_t)slice->id >= reader->chunk->range.end) {
        assert(reader->chunk->waiting.next != NULL);
        begin_chunk(reader, (const struct push *)reader->chunk->waiting.next);
    }
}

/* The next floats: in place if they are contiguous and aligned, otherwise in `scratch`. */
static const float *read_floats(struct push_reader *reader, size_t size_bytes)
{
    const void *data = payload_borrow(&reader->payload, size_bytes);

    if (data != NULL && (uintptr_t)data % _Alignof(float) == 0)
        return data;
    if (size_bytes > reader->scratch_bytes) {
        reader->scratch = xrealloc(reader->scratch, size_bytes);
        reader->scratch_bytes = size_bytes;
    }
    if (data != NULL)
        memcpy(reader->scratch, data, size_bytes);
    else
        payload_copy(&reader->payload, reader->scratch, size_bytes);
    return reader->scratch;
}

const float *push_read(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    return read_floats(reader, slice->size_bytes);
}

struct rows_gradient push_read_rows(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    slice_rows_take(&reader->rows, slice, &reader->ids);
    return (struct rows_gradient){ .rows = reader->rows.rows,
                                   .g = read_floats(reader, reader->rows.count * slice->row_bytes),
                                   .count = reader->rows.count };
}

const float *push_read_keys(struct push_reader *reader, const struct slice *slice)
{
    find_chunk_of(reader, slice);
    reader->keys.count = 0;
    if (reader->next_list < reader->chunk->keys.count)
        slice_keys_take(&reader->keys, &reader->chunk->keys.lists[reader->next_list++]);
    return read_floats(reader, reader->keys.count * slice->row_bytes);
}

void push_read_into_work(struct push_reader *reader, struct slice *slice, struct row_work *work)
{
    find_chunk_of(reader, slice);
    struct row_item *item = row_work_add(work, slice, &reader->ids);
    item->g = read_floats(reader, item->count * slice->row_bytes);
    if (item->g == reader->scratch)
        row_work_run(work); /* the next gradient may overwrite it */
}
