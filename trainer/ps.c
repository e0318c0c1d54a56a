#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

struct ps *ps_create(const struct ps_options *options)
{
    struct ps *ps = zalloc(sizeof *ps);

    ps->options = *options;
    pthread_mutex_init(&ps->lock, NULL);
    return ps;
}

void ps_destroy(struct ps *ps)
{
    if (ps == NULL)
        return;
    ps_snapshot_drop(ps);
    for (int i = 0; i < ps->slices_count; i++)
        slice_finish(&ps->slices[i]);
    free(ps->slices);
    free(ps->block);
    free(ps->sum);
    free(ps->workers);
    free(ps->outcome_text);
    pthread_mutex_destroy(&ps->lock);
    free(ps);
}

uint64_t ps_global_step(struct ps *ps)
{
    pthread_mutex_lock(&ps->lock);
    uint64_t step = ps->global_step;
    pthread_mutex_unlock(&ps->lock);
    return step;
}

/* ---- Calls that wait. ---- */

void waiting_append(struct waiting **list, struct waiting *waiting)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = waiting;
}

struct waiting *waiting_take(struct waiting **list, const struct call *call)
{
    for (; *list != NULL; list = &(*list)->next)
        if ((*list)->call == call) {
            struct waiting *taken = *list;
            *list = taken->next;
            taken->next = NULL;
            return taken;
        }
    return NULL;
}

void waiting_fail_all(struct waiting *list, struct status why)
{
    while (list != NULL) {
        struct waiting *next = list->next;
        message_release(&list->request);
        call_fail(list->call, why);
        free(list);
        list = next;
    }
}

void ps_forget(void *context, struct call *call)
{
    struct ps *ps = context;

    pthread_mutex_lock(&ps->lock);
    struct waiting *waiting = waiting_take(&ps->joins, call);
    if (waiting == NULL)
        waiting = waiting_take(&ps->pushes, call);
    if (waiting == NULL)
        waiting = waiting_take(&ps->awaits, call);
    pthread_mutex_unlock(&ps->lock);
    waiting_fail_all(waiting, status_error(STATUS_CANCELLED, "the caller has left"));
}

void ps_stop(struct ps *ps, struct status why)
{
    pthread_mutex_lock(&ps->lock);
    struct waiting *joins = ps->joins, *pushes = ps->pushes, *awaits = ps->awaits;
    struct call *hold = ps->hold, *cut = ps->cut;
    ps->joins = ps->pushes = ps->awaits = NULL;
    ps->hold = ps->cut = NULL;
    ps->stopped = true;
    pthread_mutex_unlock(&ps->lock);
    waiting_fail_all(joins, why);
    waiting_fail_all(pushes, why);
    waiting_fail_all(awaits, why);
    if (hold != NULL)
        call_fail(hold, why);
    if (cut != NULL)
        call_fail(cut, why);
}

/* ---- Who takes part. ---- */

struct status ps_read(const struct message *request, const ProtobufCMessageDescriptor *descriptor,
                      struct arena *arena, void *out)
{
    return protocol_unpack(request, descriptor, arena, out);
}

struct status ps_admit(struct ps *ps, const Slipway__Training__Ticket *ticket, struct worker **out)
{
    if (ticket == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    if (ps->stopped)
        return status_error(STATUS_UNAVAILABLE, "ps %u is stopping", ps->options.index);
    if (ps->generation == 0)
        return status_error(STATUS_FAILED_PRECONDITION, "ps %u has no variables yet",
                            ps->options.index);
    if (ticket->generation != ps->generation)
        return status_error(STATUS_ABORTED,
                            "from generation %" PRIu64 " of the job, which is at %" PRIu64,
                            ticket->generation, ps->generation);
    if (ticket->worker >= ps->workers_count || !ps->workers[ticket->worker].joined)
        return status_error(STATUS_FAILED_PRECONDITION, "worker %u has not joined", ticket->worker);
    struct worker *worker = &ps->workers[ticket->worker];
    if (worker->incarnation != ticket->incarnation)
        return status_error(STATUS_ABORTED, "worker %u has been replaced by a later process",
                            ticket->worker);
    *out = worker;
    return status_ok();
}

/* Is the caller of this job, and does it take this ps for what it is? */
static struct status check_identity(const struct ps *ps,
                                    const Slipway__Training__Identity *identity)
{
    const struct ps_options *mine = &ps->options;

    if (identity == NULL || identity->cluster == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    if (strcmp(identity->cluster, mine->cluster) != 0)
        return status_error(STATUS_PERMISSION_DENIED,
                            "ps %u belongs to cluster '%s', %s %u to '%s'", mine->index,
                            mine->cluster, identity->job, identity->index, identity->cluster);
    if (identity->ps_index != mine->index)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "%s %u asks for ps %u at the address of ps %u", identity->job,
                            identity->index, identity->ps_index, mine->index);
    if (identity->ps_list_hash != mine->ps_list_hash)
        return status_error(
            STATUS_FAILED_PRECONDITION,
            "%s %u has another list of ps tasks than ps %u: compare --ps_hosts, their order too",
            identity->job, identity->index, mine->index);
    if (identity->index >= PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "worker %u: at most %d workers",
                            identity->index, PS_WORKERS_MAX);
    if (ps->generation != 0 && identity->placement_hash != ps->placement_hash)
        return status_error(
            STATUS_FAILED_PRECONDITION,
            "%s %u has another model or placement than the chief: compare --model and the ps count",
            identity->job, identity->index);
    return status_ok();
}

/* The worker of that index, begun anew when another process than before has its place. */
static void register_worker(struct ps *ps, const Slipway__Training__Identity *identity)
{
    if (ps->workers == NULL) /* does not move: pushes that wait point to their worker */
        ps->workers = zalloc(PS_WORKERS_MAX * sizeof *ps->workers);
    if (identity->index >= ps->workers_count)
        ps->workers_count = identity->index + 1;
    struct worker *worker = &ps->workers[identity->index];
    if (worker->joined && worker->incarnation == identity->incarnation)
        return;
    *worker = (struct worker){ .joined = true,
                               .index = identity->index,
                               .incarnation = identity->incarnation };
}

static struct message join_reply(struct ps *ps)
{
    Slipway__Training__JoinReply reply = SLIPWAY__TRAINING__JOIN_REPLY__INIT;

    reply.incarnation = ps->options.incarnation;
    reply.generation = ps->generation;
    reply.global_step = ps->global_step;
    reply.finished = ps->over || (ps->stop_step > 0 && ps->global_step >= ps->stop_step);
    return protocol_pack(&reply);
}

static struct waiting *waiting_create(struct ps *ps, struct call *call)
{
    struct waiting *waiting = zalloc(sizeof *waiting);

    waiting->ps = ps;
    waiting->call = call;
    return waiting;
}

static struct status join(struct ps *ps, struct call *call,
                          const Slipway__Training__JoinRequest *request, struct message *reply,
                          bool *waits)
{
    TRY(check_identity(ps, request->identity));
    if (ps->stopped)
        return status_error(STATUS_UNAVAILABLE, "ps %u is stopping", ps->options.index);
    register_worker(ps, request->identity);
    *waits = ps->generation == 0 && request->wait_until_created;
    if (*waits)
        waiting_append(&ps->joins, waiting_create(ps, call));
    else
        *reply = join_reply(ps);
    return status_ok();
}

static void ps_join(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__JoinRequest *request;
    struct message reply = { 0 };
    bool waits = false;

    struct status status =
        ps_read(message, &slipway__training__join_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = join(ps, call, request, &reply, &waits);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (!status_is_ok(status))
        call_fail(call, status);
    else if (waits)
        call_when_left(call, ps_forget, ps);
    else
        call_reply(call, &reply);
    arena_destroy(arena);
}

/* ---- Creation. ---- */

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
    TRY(check_identity(ps, request->identity));
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
        struct message reply = join_reply(ps);
        pthread_mutex_unlock(&ps->lock);
        call_reply(joins->call, &reply);
        free(joins);
        joins = next;
    }
}

static void ps_create_variables(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__CreateRequest *request;
    Slipway__Training__CreateReply header = SLIPWAY__TRAINING__CREATE_REPLY__INIT;
    struct waiting *joins = NULL;

    struct status status =
        ps_read(message, &slipway__training__create_request__descriptor, arena, &request);
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

/* ---- How it ends. ---- */

static bool all_finished(const struct ps *ps)
{
    for (uint32_t i = 0; i < ps->workers_count; i++)
        if (ps->workers[i].joined && !ps->workers[i].finished)
            return false;
    return true;
}

/* With the lock: those awaits whose event has come. */
static struct waiting *awaits_due(struct ps *ps)
{
    struct waiting *due = NULL;
    bool workers = all_finished(ps) || ps->over;

    for (struct waiting **at = &ps->awaits; *at != NULL;) {
        struct waiting *waiting = *at;
        if (waiting->job ? !ps->over : !workers) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        waiting->next = due;
        due = waiting;
    }
    return due;
}

static void answer_awaits(struct ps *ps, struct waiting *due)
{
    while (due != NULL) {
        struct waiting *next = due->next;
        Slipway__Training__AwaitReply header = SLIPWAY__TRAINING__AWAIT_REPLY__INIT;
        pthread_mutex_lock(&ps->lock);
        header.code = ps->outcome;
        header.text = ps->outcome_text != NULL ? ps->outcome_text : header.text;
        struct message reply = protocol_pack(&header);
        pthread_mutex_unlock(&ps->lock);
        call_reply(due->call, &reply);
        free(due);
        due = next;
    }
}

static struct status finish(struct ps *ps, const Slipway__Training__FinishRequest *request)
{
    struct worker *worker;

    TRY(ps_admit(ps, request->ticket, &worker));
    worker->finished = true;
    if (request->job && !ps->over) {
        ps->over = true;
        ps->outcome = request->code;
        ps->outcome_text = xstrdup(request->text);
    }
    return status_ok();
}

static void ps_finish(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__FinishRequest *request;
    struct waiting *due = NULL;

    struct status status =
        ps_read(message, &slipway__training__finish_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        pthread_mutex_lock(&ps->lock);
        status = finish(ps, request);
        due = awaits_due(ps);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    if (status_is_ok(status)) {
        Slipway__Training__FinishReply header = SLIPWAY__TRAINING__FINISH_REPLY__INIT;
        struct message reply = protocol_pack(&header);
        call_reply(call, &reply);
    } else {
        call_fail(call, status);
    }
    answer_awaits(ps, due);
    arena_destroy(arena);
}

static void ps_await(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__AwaitRequest *request;

    struct status status =
        ps_read(message, &slipway__training__await_request__descriptor, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        struct waiting *waiting = waiting_create(ps, call);
        waiting->job = request->job;
        pthread_mutex_lock(&ps->lock);
        waiting_append(&ps->awaits, waiting);
        struct waiting *due = awaits_due(ps);
        pthread_mutex_unlock(&ps->lock);
        if (due == NULL)
            call_when_left(call, ps_forget, ps);
        answer_awaits(ps, due);
    } else {
        call_fail(call, status);
    }
    arena_destroy(arena);
}

static const struct method methods[] = {
    { PS_JOIN, ps_join },          { PS_CREATE, ps_create_variables },
    { PS_PULL, ps_pull },          { PS_PUSH, ps_push },
    { PS_HOLD, ps_hold },          { PS_CUT, ps_cut },
    { PS_READ, ps_read_snapshot }, { PS_DROP, ps_drop },
    { PS_FINISH, ps_finish },      { PS_AWAIT, ps_await },
};

const struct service ps_service = { methods, COUNT(methods) };
