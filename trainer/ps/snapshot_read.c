/* Reads snapshots: chunks of slices, and rows, as of the moment when snapshots.c took them. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/snapshots.h"

void snapshot_drop(struct ps *ps, struct snapshot *snapshot)
{
    if (snapshot->states == NULL)
        return;
    for (int i = 0; i < ps->variables->slices_count; i++) {
        if (snapshot->states[i].keys != NULL)
            key_table_let_go(ps->variables->slices[i].table, snapshot->states[i].keys);
        slice_let_go(&snapshot->states[i]);
    }
    if (snapshot->paid_bytes > 0)
        budget_give(ps->options.budget, snapshot->paid_bytes);
    free(snapshot->states);
    free(snapshot->position);
    *snapshot = (struct snapshot){ 0 };
}

/* NULL: it was dropped. */
static struct snapshot_owner *find_taken(struct ps *ps, uint64_t id)
{
    for (size_t i = 0; i < COUNT(ps->snapshots->owners); i++)
        if (ps->snapshots->owners[i].snapshot.states != NULL &&
            ps->snapshots->owners[i].snapshot.id == id)
            return &ps->snapshots->owners[i];
    return NULL;
}

/* A part of one slice, by reference. */
struct chunk {
    struct values_buffer *values; /* NULL: it is of `image` */
    struct key_image *image;
    struct bytes piece;
};

static void release_chunk(void *owner)
{
    struct chunk *chunk = owner;

    if (chunk->values != NULL)
        values_buffer_release(chunk->values);
    key_image_release(chunk->image);
    free(chunk);
}

/* ABORTED: the snapshot is gone, for instance because the ps was restarted. */
static struct status use_taken(struct ps *ps, const struct read_request *request,
                               struct snapshot_owner **out)
{
    TRY(ps_check_running(ps));
    *out = find_taken(ps, request->snapshot);
    if (*out == NULL)
        return status_error(STATUS_ABORTED, "ps %u has no snapshot %" PRIu64, ps->options.index,
                            request->snapshot);
    (*out)->heard_ns = clock_now_ns(ps->options.clock);
    return status_ok();
}

static struct message chunk_message(struct chunk *chunk)
{
    return (struct message){ .header = { "", 0 },
                             .pieces = &chunk->piece,
                             .pieces_count = 1,
                             .release = release_chunk,
                             .owner = chunk };
}

/* A part of one shard, whole. */
static struct status read_keys(const struct slice *slice, const struct slice_state *state,
                               const struct read_request *request, struct message *reply)
{
    struct key_image *image;

    if (request->shard >= KEY_SHARDS || request->offset != 0)
        return status_error(STATUS_OUT_OF_RANGE,
                            "piece %u has the shards 0 to %d, each read from its beginning; not "
                            "shard %u from %" PRIu64,
                            request->piece, KEY_SHARDS - 1, request->shard, request->offset);
    TRY(key_snapshot_read(slice->table, state->keys, request->shard, &image));
    if (request->part >= KEY_PARTS || image->parts[request->part].data == NULL)
        return status_error(STATUS_NOT_FOUND, "snapshot %" PRIu64 " has no part %u of piece %u",
                            request->snapshot, request->part, request->piece);
    struct chunk *chunk = zalloc(sizeof *chunk);
    chunk->image = key_image_acquire(image);
    chunk->piece = image->parts[request->part];
    *reply = chunk_message(chunk);
    return status_ok();
}

static struct status read_chunk(struct ps *ps, const struct read_request *request,
                                struct message *reply)
{
    const struct slice *slice = variables_find(ps->variables, request->piece);
    struct snapshot_owner *owner;

    TRY(use_taken(ps, request, &owner));
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    const struct slice_state *state = &owner->snapshot.states[slice - ps->variables->slices];
    if (slice->table != NULL)
        return status_in(read_keys(slice, state, request, reply), "ps %u", ps->options.index);
    struct values_buffer *part =
        request->part < SLICE_PARTS_MAX ? state->parts[request->part] : NULL;
    if (part == NULL)
        return status_error(STATUS_NOT_FOUND, "snapshot %" PRIu64 " has no part %u of piece %u",
                            request->snapshot, request->part, request->piece);
    if (request->offset > slice->size_bytes)
        return status_error(STATUS_OUT_OF_RANGE,
                            "piece %u has %zu bytes, it cannot be read from offset %" PRIu64,
                            request->piece, slice->size_bytes, request->offset);
    size_t rest = slice->size_bytes - request->offset;
    struct chunk *chunk = zalloc(sizeof *chunk);
    chunk->values = part;
    atomic_fetch_add_explicit(&chunk->values->references, 1, memory_order_relaxed);
    chunk->piece.data = (const char *)chunk->values->data + request->offset;
    chunk->piece.size = request->size > 0 && request->size < rest ? request->size : rest;
    *reply = chunk_message(chunk);
    return status_ok();
}

/* Copies of rows. */
struct copied_rows {
    struct budget *budget; /* may be NULL */
    int64_t paid_bytes;
    char *data;
    struct bytes piece;
};

static void release_rows(void *owner)
{
    struct copied_rows *rows = owner;

    if (rows->paid_bytes > 0)
        budget_give(rows->budget, rows->paid_bytes);
    free(rows->data);
    free(rows);
}

static struct status reserve_rows(const struct ps *ps, size_t size, struct copied_rows *rows)
{
    rows->budget = ps->options.budget;
    if (rows->budget != NULL) {
        TRY(budget_take(rows->budget, (int64_t)size));
        rows->paid_bytes = (int64_t)size;
    }
    rows->data = malloc(size > 0 ? size : 1);
    rows->piece = (struct bytes){ rows->data, size };
    return rows->data != NULL
               ? status_ok()
               : status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of rows", size);
}

/* The requested part of a trained slice; of any other slice, its values. */
static const struct values_buffer *part_of(const struct ps *ps, const struct snapshot *snapshot,
                                           int i, uint32_t part)
{
    return snapshot->states[i].parts[ps->variables->slices[i].trainable ? part : 0];
}

static struct status check_part(const struct ps *ps, const struct snapshot *snapshot, uint32_t part)
{
    bool has = part < SLICE_PARTS_MAX;

    for (int i = 0; i < ps->variables->slices_count && has; i++)
        has = ps->variables->slices[i].row_bytes == 0 || ps->variables->slices[i].table != NULL ||
              part_of(ps, snapshot, i, part) != NULL;
    return has ? status_ok()
               : status_error(STATUS_NOT_FOUND, "the snapshot has no part %u of the rows", part);
}

/* The rows of a request, checked. */
struct requested_rows {
    const struct snapshot *snapshot;
    uint32_t part;
    struct row_list rows;
    struct key_list_set keys;
};

static struct status copy_keys(const struct slice *slice, struct key_snapshot *snapshot,
                               const struct row_list *list, char *out)
{
    struct slice_keys keys = { 0 };

    slice_keys_take(&keys, list);
    struct status status =
        key_snapshot_copy(slice->table, snapshot, keys.keys, keys.count, (float *)(void *)out);
    free(keys.keys);
    return status;
}

static struct status copy_all(const struct ps *ps, const struct piece_range *range,
                              const struct requested_rows *asked, char *out)
{
    struct slice_rows numbers = { 0 };
    struct status status = status_ok();
    struct row_ids_reader reader;
    size_t next = 0;

    row_list_read(&asked->rows, &reader);
    for (int i = 0; i < ps->variables->slices_count && status_is_ok(status); i++) {
        const struct slice *slice = &ps->variables->slices[i];
        if (slice->table != NULL) {
            bool listed = (uint32_t)slice->id >= range->first && (uint32_t)slice->id < range->end &&
                          next < asked->keys.count;
            const struct row_list *list = listed ? &asked->keys.lists[next++] : NULL;
            if (list != NULL && list->count > 0)
                status = copy_keys(slice, asked->snapshot->states[i].keys, list, out);
            out += list != NULL ? list->rows_bytes : 0;
        } else if (slice->row_bytes > 0) {
            slice_rows_take(&numbers, slice, &reader);
            const char *values = part_of(ps, asked->snapshot, i, asked->part)->data;
            for (size_t k = 0; k < numbers.count; k++, out += slice->row_bytes)
                memcpy(out, values + (size_t)numbers.rows[k] * slice->row_bytes, slice->row_bytes);
        }
    }
    free(numbers.rows);
    return status;
}

static struct status check_asked(const struct ps *ps, const struct read_request *request,
                                 const struct message *message, const struct piece_range *range,
                                 struct requested_rows *out)
{
    out->part = request->part;
    out->rows = (struct row_list){ .message = message, .count = request->rows };
    TRY(check_part(ps, out->snapshot, request->part));
    if (request->keys.pieces_count > 0 && request->part != 0)
        return status_error(STATUS_NOT_FOUND, "the snapshot has no part %u of single keys",
                            request->part);
    TRY(row_list_check(ps->variables, (struct piece_range){ 0, PIECES_END }, false, &out->rows));
    return key_lists_check(ps, *range, message, out->rows.list_bytes, &request->keys, &out->keys);
}

static struct status read_rows(struct ps *ps, const struct read_request *request,
                               const struct message *message, struct message *reply)
{
    struct requested_rows asked = { 0 };
    struct piece_range range;
    struct snapshot_owner *owner;

    TRY(use_taken(ps, request, &owner));
    asked.snapshot = &owner->snapshot;
    TRY(piece_range_read(request->piece, request->end_piece, &range));
    TRY(check_asked(ps, request, message, &range, &asked));
    struct copied_rows *rows = zalloc(sizeof *rows);
    struct status status = reserve_rows(ps, asked.rows.rows_bytes + asked.keys.rows_bytes, rows);
    if (status_is_ok(status))
        status = copy_all(ps, &range, &asked, rows->data);
    key_lists_finish(&asked.keys);
    if (!status_is_ok(status)) {
        release_rows(rows);
        return status;
    }
    *reply = (struct message){ .header = { "", 0 },
                               .pieces = &rows->piece,
                               .pieces_count = 1,
                               .release = release_rows,
                               .owner = rows };
    return status_ok();
}

void ps_read_snapshot(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct read_request request;
    struct message reply = { 0 };

    struct status status = unpack_read_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        bool by_row = request.rows > 0 || request.keys.pieces_count > 0;
        status =
            by_row ? read_rows(ps, &request, message, &reply) : read_chunk(ps, &request, &reply);
        ps_unlock(ps);
    }
    message_release(message);
    arena_destroy(arena);
    if (status_is_ok(status))
        call_reply(call, &reply);
    else
        call_fail(call, status);
}

/* With the lock: drops the caller's snapshot, and ends its hold if no cut has followed. */
static struct status drop(struct ps *ps, const struct drop_request *request, struct waiting **left)
{
    const struct worker *worker;

    TRY(membership_admit(ps, request->ticket, &worker));
    struct snapshot_owner *owner = snapshots_owner(ps, worker, request->second);
    if (owner->worker != worker || request->number != owner->number)
        return status_ok(); /* an earlier snapshot, which is gone already */
    if (ps->snapshots->held == owner)
        *left = snapshots_let_go(ps);
    snapshot_drop(ps, &owner->snapshot);
    return status_ok();
}

void ps_drop(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct drop_request request;
    struct waiting *left = NULL;

    struct status status = unpack_drop_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = drop(ps, &request, &left);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    waiting_fail_all(left, status_error(STATUS_CANCELLED, "the snapshot is no longer wanted"));
    pushes_apply_ready(ps);
    ps_answer(call, status, pack_done());
}
