/* The first values and what they are trained with: from the chief, once. */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

static struct status check_pieces(const Slipway__Training__CreateRequest *request,
                                  size_t payload_bytes)
{
    uint64_t total = 0;

    for (size_t i = 0; i < request->n_pieces; i++) {
        const Slipway__Training__Piece *piece = request->pieces[i];
        if (i > 0 && piece->id <= request->pieces[i - 1]->id)
            return status_error(STATUS_INVALID_ARGUMENT, "piece %u after piece %u: ids must ascend",
                                piece->id, request->pieces[i - 1]->id);
        if (piece->trainable && piece->size_bytes % sizeof(float) != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "piece %u: %" PRIu64 " bytes are no whole floats", piece->id,
                                piece->size_bytes);
        if (__builtin_add_overflow(total, piece->size_bytes, &total))
            return status_error(STATUS_INVALID_ARGUMENT, "the sizes of the pieces overflow");
    }
    if (total != payload_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "first values have %zu bytes, the pieces %" PRIu64, payload_bytes,
                            total);
    return status_ok();
}

static struct status choose_optimizer(struct ps *ps,
                                      const Slipway__Training__CreateRequest *request)
{
    const struct optimizer *optimizer = optimizer_find(request->optimizer);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s",
                            request->optimizer, optimizer_names());
    for (int i = 0; i < optimizer->settings_count; i++)
        ps->settings[i] = optimizer->settings[i].initial;
    for (size_t i = 0; i < request->n_settings; i++) {
        int index = optimizer_setting_index(optimizer, request->settings[i]->name);
        if (index < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has no setting '%s'",
                                optimizer->name, request->settings[i]->name);
        ps->settings[index] = request->settings[i]->value;
    }
    ps->optimizer = optimizer;
    ps->rate = request->learning_rate;
    return status_ok();
}

static size_t align_up(size_t offset)
{
    return (offset + 63) & ~(size_t)63;
}

static size_t block_bytes(const Slipway__Training__CreateRequest *request)
{
    size_t offset = 0;

    for (size_t i = 0; i < request->n_pieces; i++)
        offset = (request->pieces[i]->continues ? offset : align_up(offset)) +
                 request->pieces[i]->size_bytes;
    return offset;
}

/* One block for the first values: neighbours in a variable are neighbours in memory, each variable
 * aligned. */
static struct status make_slices(struct ps *ps, const Slipway__Training__CreateRequest *request,
                                 const struct message *message)
{
    struct payload payload = { .message = message };
    size_t total = block_bytes(request), offset = 0, largest = 0;
    void *block = NULL;

    if (posix_memalign(&block, 64, total > 0 ? total : 1) != 0)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of variables",
                            total);
    ps->block = block;
    ps->slices = zalloc(request->n_pieces * sizeof *ps->slices);
    for (size_t i = 0; i < request->n_pieces; i++) {
        const Slipway__Training__Piece *piece = request->pieces[i];
        if (!piece->continues)
            offset = align_up(offset);
        payload_copy(&payload, (char *)block + offset, piece->size_bytes);
        slice_init(&ps->slices[i], (int)piece->id, piece->size_bytes, piece->trainable,
                   (char *)block + offset, ps->optimizer, ps->settings);
        offset += piece->size_bytes;
        if (piece->trainable) {
            ps->gradient_bytes += piece->size_bytes;
            largest = piece->size_bytes > largest ? piece->size_bytes : largest;
        }
    }
    ps->slices_count = (int)request->n_pieces;
    ps->sum = request->sync ? zalloc(largest) : NULL;
    return status_ok();
}

static struct status create(struct ps *ps, const Slipway__Training__CreateRequest *request,
                            const struct message *message)
{
    TRY(ps_check_identity(ps, request->identity));
    if (ps->stopped)
        return status_error(STATUS_UNAVAILABLE, "ps %u is stopping", ps->options.index);
    if (ps->generation == request->generation && request->generation != 0)
        return status_ok(); /* asked again: the first answer was lost */
    if (ps->generation != 0 || request->generation == 0)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u is at generation %" PRIu64 ", asked for %" PRIu64,
                            ps->options.index, ps->generation, request->generation);
    if (request->workers == 0 || request->workers > PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%u workers, must be 1 to %d",
                            request->workers, PS_WORKERS_MAX);
    TRY(check_pieces(request, message_payload_size(message)));
    TRY(choose_optimizer(ps, request));
    TRY(make_slices(ps, request, message));
    ps->placement_hash = request->identity->placement_hash;
    ps->sync = request->sync;
    ps->sync_workers = request->workers;
    ps->global_step = request->global_step;
    ps->stop_step = request->stop_step;
    ps->generation = request->generation;
    return status_ok();
}

static void answer_joins(struct ps *ps, struct waiting *joins)
{
    while (joins != NULL) {
        struct waiting *next = joins->next;
        pthread_mutex_lock(&ps->lock);
        struct message reply = ps_join_reply(ps, joins->worker);
        pthread_mutex_unlock(&ps->lock);
        call_reply(joins->call, &reply);
        free(joins);
        joins = next;
    }
}

void ps_create_variables(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__CreateRequest *request;
    Slipway__Training__CreateReply header = SLIPWAY__TRAINING__CREATE_REPLY__INIT;
    struct waiting *joins = NULL;

    struct status status =
        protocol_unpack(message, &slipway__training__create_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = create(ps, request, message);
        if (status_is_ok(status)) {
            joins = ps->joins;
            ps->joins = NULL;
        }
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (status_is_ok(status)) {
        header.incarnation = ps->options.incarnation;
        struct message reply = protocol_pack(&header);
        call_reply(call, &reply);
        answer_joins(ps, joins);
    } else {
        call_fail(call, status);
    }
    arena_destroy(arena);
}
