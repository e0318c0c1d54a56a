#include "trainer/ps/pull.h"

#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/loss_scaling.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/row_work.h"

/* The values that a reply refers to. */
struct value_references {
    struct message header;
    struct values_buffer **values; /* [values_count]: slices that are sent whole */
    int values_count;
    char *rows; /* the copied rows, on the heap */
    struct budget *budget;
    int64_t paid_bytes;
    struct bytes *pieces; /* [pieces_count] */
    int pieces_count;
};

static void release_references(void *owner)
{
    struct value_references *references = owner;

    for (int i = 0; i < references->values_count; i++)
        values_buffer_release(references->values[i]);
    if (references->paid_bytes > 0)
        budget_give(references->budget, references->paid_bytes);
    free(references->rows);
    message_release(&references->header);
    free(references);
}

/* Allocates references for slices_count slices, and for rows of rows_bytes in total. */
static struct status make_references(const struct ps *ps, size_t slices_count, size_t rows_bytes,
                                     struct value_references **out)
{
    struct value_references *references =
        zalloc(sizeof *references +
               slices_count * (sizeof(struct values_buffer *) + sizeof(struct bytes)));

    *out = references;
    references->pieces = (struct bytes *)(references + 1);
    references->values = (struct values_buffer **)(references->pieces + slices_count);
    references->budget = ps->options.budget;
    if (rows_bytes == 0)
        return status_ok();
    if (references->budget != NULL) {
        TRY(budget_take(references->budget, (int64_t)rows_bytes));
        references->paid_bytes = (int64_t)rows_bytes;
    }
    references->rows = malloc(rows_bytes);
    return references->rows != NULL ? status_ok()
                                    : status_error(STATUS_RESOURCE_EXHAUSTED,
                                                   "no memory for %zu bytes of rows", rows_bytes);
}

static bool refer_to_slice(struct value_references *references, struct slice *slice, bool before)
{
    struct values_buffer *values = before ? slice_acquire_before(slice) : slice_acquire(slice);

    if (values == NULL)
        return false;
    references->values[references->values_count++] = values;
    references->pieces[references->pieces_count++] =
        (struct bytes){ values->data, slice->size_bytes };
    return true;
}

/* The state of copying rows. */
struct row_copies {
    bool before;
    _Atomic bool lost; /* the rows from before the last step were not kept */
};

static void copy_rows(void *context, const struct row_item *item, const uint32_t *rows)
{
    struct row_copies *copies = context;

    if (!slice_copy_rows(item->slice, rows, item->count, copies->before, item->out))
        atomic_store_explicit(&copies->lost, true, memory_order_relaxed);
}

/* Schedules the copy of a slice's wanted rows, after those of the previous slices. */
static void refer_to_rows(struct value_references *references, struct slice *slice,
                          struct row_work *work, struct row_ids_reader *reader, char **at)
{
    struct row_item *item = row_work_add(work, slice, reader);
    size_t size = item->count * slice->row_bytes;

    item->out = *at;
    if (size > 0)
        references->pieces[references->pieces_count++] = (struct bytes){ *at, size };
    *at += size;
}

/* The list of a slice with keys; NULL: no keys are wanted. */
static const struct row_list *next_keys(const struct wanted_values *wanted, size_t *next)
{
    return *next < wanted->keys.count ? &wanted->keys.lists[(*next)++] : NULL;
}

/* Copies the rows of the wanted keys. */
static bool copy_keys(struct value_references *references, const struct slice *slice,
                      const struct wanted_values *wanted, const struct row_list *list, char **at)
{
    enum key_reading reading = wanted->before      ? KEY_BEFORE
                               : wanted->evaluated ? KEY_EVALUATED
                                                   : KEY_NOW;
    struct slice_keys keys = { 0 };

    if (list == NULL || list->count == 0)
        return true;
    slice_keys_take(&keys, list);
    bool kept = key_table_copy(slice->table, keys.keys, keys.count, reading, (float *)*at);
    references->pieces[references->pieces_count++] = (struct bytes){ *at, list->rows_bytes };
    *at += list->rows_bytes;
    free(keys.keys);
    return kept;
}

static bool refer_to_all(const struct ps *ps, int first, int end,
                         const struct wanted_values *wanted, struct value_references *references)
{
    struct row_copies copies = { .before = wanted->before };
    struct row_work work = { .body = copy_rows, .context = &copies, .parts = 1 };
    struct row_ids_reader reader;
    char *at = references->rows;
    size_t next = 0;
    bool kept = true;

    row_list_read(&wanted->rows, &reader);
    for (int i = first; i < end && kept; i++) {
        struct slice *slice = &ps->variables->slices[i];
        if (slice->table != NULL)
            kept = copy_keys(references, slice, wanted, next_keys(wanted, &next), &at);
        else if (slice->row_bytes > 0)
            refer_to_rows(references, slice, &work, &reader, &at);
        else
            kept = refer_to_slice(references, slice, wanted->before);
    }
    row_work_run(&work);
    row_work_finish(&work);
    return kept && !copies.lost;
}

struct status attach_values(const struct ps *ps, const struct wanted_values *wanted,
                            struct message *reply)
{
    int first = variables_find_from(ps->variables, wanted->range.first);
    int end = variables_find_from(ps->variables, wanted->range.end);
    struct value_references *references;
    struct status status;

    TRY_OR(fail, make_references(ps, (size_t)(end - first),
                                 wanted->rows.rows_bytes + wanted->keys.rows_bytes, &references));
    if (!refer_to_all(ps, first, end, wanted, references)) {
        status =
            status_error(STATUS_ABORTED, "ps %u no longer has the values from before its last step",
                         ps->options.index);
        goto fail;
    }
    references->header = message_move(reply);
    *reply = (struct message){ .header = references->header.header,
                               .pieces = references->pieces,
                               .pieces_count = references->pieces_count,
                               .release = release_references,
                               .owner = references };
    return status_ok();

fail:
    release_references(references);
    return status;
}

static struct status read_wanted(const struct ps *ps, const struct pull_request *request,
                                 const struct message *message, struct wanted_values *out)
{
    *out = (struct wanted_values){ .before = request->before,
                                   .evaluated = request->evaluated,
                                   .rows = { .message = message, .count = request->rows } };
    TRY(piece_range_read(request->first_piece, request->end_piece, &out->range));
    TRY(row_list_check(ps->variables, out->range, false, &out->rows));
    TRY(key_lists_check(ps, out->range, message, out->rows.list_bytes, &request->keys, &out->keys));
    size_t used = out->rows.list_bytes + out->keys.list_bytes;
    if (used == message_payload_size(message))
        return status_ok();
    key_lists_finish(&out->keys);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "a pull with lists of %zu bytes, and its rows take %zu",
                        message_payload_size(message), used);
}

/* With the lock, so that the values are those of the step in the reply. Waits for a synchronous
 * step that is being applied. */
static struct status pull(struct ps *ps, const struct pull_request *request,
                          const struct message *message, struct message *reply)
{
    const struct worker *worker;
    struct wanted_values wanted;

    TRY(membership_admit(ps, request->ticket, &worker));
    TRY(read_wanted(ps, request, message, &wanted));
    if (generation_of(ps)->sync)
        pushes_wait_until_idle(ps);
    struct pull_reply header = { .global_step = pushes_step(ps) - request->before,
                                 .sync = generation_of(ps)->sync &&
                                         generation_of(ps)->backup_workers == 0,
                                 .loss_scale = loss_scaling_state(ps, request->before) };
    *reply = pack_pull_reply(&header);
    struct status status = attach_values(ps, &wanted, reply);
    key_lists_finish(&wanted.keys);
    return status;
}

void ps_pull(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct pull_request request;
    struct message reply = { 0 };

    struct status status = unpack_pull_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = pull(ps, &request, message, &reply);
        ps_unlock(ps);
    }
    message_release(message);
    ps_answer(call, status, reply);
    arena_destroy(arena);
}
