/* Write: receives the initial values and slots of a generation in chunks. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/ps/generation.h"
#include "trainer/ps/methods.h"
#include "trainer/ps/variables.h"

/* The payload of keys, in one run. */
struct key_payload {
    struct budget *budget;
    size_t size;
    char *data;
};

static struct status read_payload(struct ps *ps, const struct message *message,
                                  struct key_payload *out)
{
    struct payload_cursor payload = { .message = message };

    *out = (struct key_payload){ .size = message_payload_size(message) };
    if (ps->options.budget != NULL) {
        TRY(budget_take(ps->options.budget, (int64_t)out->size));
        out->budget = ps->options.budget;
    }
    out->data = malloc(out->size > 0 ? out->size : 1);
    if (out->data == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes", out->size);
    payload_copy(&payload, out->data, out->size);
    return status_ok();
}

static void free_payload(struct key_payload *payload)
{
    if (payload->budget != NULL)
        budget_give(payload->budget, (int64_t)payload->size);
    free(payload->data);
}

/* Points into the payload. Each key takes at least 16 bytes of it, so the sizes do not overflow. */
static struct status divide_payload(const struct slice *slice, const struct write_request *request,
                                    const struct key_payload *payload, struct key_batch *out)
{
    size_t count = request->keys <= payload->size / 16 ? (size_t)request->keys : SIZE_MAX;
    size_t row_bytes = slice->row_bytes, at = 16 * count;

    if (count == SIZE_MAX || request->slots >> slice->table->optimizer->slots_count != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %" PRIu64 " keys in %zu bytes, with the slots %#x",
                            request->piece, request->keys, payload->size, request->slots);
    *out = (struct key_batch){ .count = count, .waiting = request->waiting };
    out->keys = (const int64_t *)(const void *)payload->data;
    out->used = out->keys + count;
    if (request->waiting) {
        out->counts = out->used + count;
        at += 8 * count;
    }
    for (int part = 0; part <= OPTIMIZER_SLOTS_MAX && !request->waiting; part++)
        if (part == 0 || (request->slots >> (part - 1) & 1) != 0) {
            out->parts[part] = (const float *)(const void *)(payload->data + at);
            at += count * row_bytes;
        }
    if (at != payload->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %zu keys came in %zu bytes and take %zu", request->piece,
                            count, payload->size, at);
    return status_ok();
}

static struct status check_batch(const struct ps *ps, const struct slice *slice,
                                 const struct key_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (key_ps(batch->keys[i], slice->ps_count) != (int)ps->options.index)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "piece %d: key %" PRId64 " belongs to ps %d", slice->id,
                                batch->keys[i], key_ps(batch->keys[i], slice->ps_count));
        if (batch->used[i] < 0 ||
            (batch->waiting && (batch->counts[i] < 0 || batch->counts[i] > KEY_COUNT_MAX)))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "piece %d: key %" PRId64 " was last used at step %" PRId64
                                ", and its count must be from 0 to %d",
                                slice->id, batch->keys[i], batch->used[i], KEY_COUNT_MAX);
    }
    return status_ok();
}

static struct status write_keys(struct ps *ps, const struct slice *slice,
                                const struct write_request *request, const struct message *message)
{
    struct key_payload payload = { 0 };
    struct key_batch batch;
    struct status status;

    TRY_OR(done, read_payload(ps, message, &payload));
    TRY_OR(done, divide_payload(slice, request, &payload, &batch));
    TRY_OR(done, check_batch(ps, slice, &batch));
    status = key_table_fill(slice->table, &batch);
done:
    free_payload(&payload);
    return status_in(status, "ps %u", ps->options.index);
}

static struct status write_part(struct ps *ps, const struct write_request *request,
                                const struct message *message)
{
    TRY(generation_check_filling(ps, request->generation, request->incarnation));
    if (generation_of(ps)->open)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u has been opened already: its values are the workers' now",
                            ps->options.index);
    struct slice *slice = variables_find(ps->variables, request->piece);
    if (slice == NULL)
        return status_error(STATUS_NOT_FOUND, "ps %u does not hold piece %u", ps->options.index,
                            request->piece);
    if (slice->table != NULL)
        return write_keys(ps, slice, request, message);
    return status_in(slice_fill(slice, request->part, request->offset, message), "ps %u",
                     ps->options.index);
}

void ps_write(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct write_request request;

    struct status status = unpack_write_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = write_part(ps, &request, message);
        ps_unlock(ps);
    }
    message_release(message);
    arena_destroy(arena);
    ps_answer(call, status, pack_done());
}
