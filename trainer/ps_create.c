/*
 * The chief begins a generation of the job: Create says what a ps holds and how it is trained,
 * Write fills it, Open lets the workers in. The first one makes the slices; a later one, after a ps
 * or the chief was lost, finds them and gives them other contents. From Create on nothing of an
 * earlier generation counts: what waits is told so, what is being applied is waited for.
 */
#include "trainer/ps_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define REQUEST_ARENA_MAX ((size_t)16 << 20) /* what a header may cost to read */

static struct status check_piece(const Slipway__Training__Piece *piece,
                                 const Slipway__Training__Piece *before, uint64_t *total)
{
    if (before != NULL && piece->id <= before->id)
        return status_error(STATUS_INVALID_ARGUMENT, "piece %u after piece %u: ids must ascend",
                            piece->id, before->id);
    if (piece->trainable && piece->size_bytes % sizeof(float) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "piece %u: %" PRIu64 " bytes are no whole floats", piece->id,
                            piece->size_bytes);
    if (__builtin_add_overflow(*total, piece->size_bytes, total) || *total > SIZE_MAX / 64)
        return status_error(STATUS_INVALID_ARGUMENT, "the sizes of the pieces overflow");
    return status_ok();
}

/* Are these the pieces that there are already, if there are any? */
static struct status check_same(const struct ps *ps,
                                const Slipway__Training__CreateRequest *request)
{
    bool same = (size_t)ps->slices_count == request->n_pieces;

    for (int i = 0; same && i < ps->slices_count; i++) {
        const struct slice *slice = &ps->slices[i];
        const Slipway__Training__Piece *piece = request->pieces[i];
        same = (uint32_t)slice->id == piece->id && slice->size_bytes == piece->size_bytes &&
               slice->trainable == (bool)piece->trainable;
    }
    if (!same)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "ps %u holds other pieces than the chief has now: compare --model and "
                            "the ps count",
                            ps->options.index);
    return status_ok();
}

static struct status check_pieces(const struct ps *ps,
                                  const Slipway__Training__CreateRequest *request)
{
    uint64_t total = 0;

    for (size_t i = 0; i < request->n_pieces; i++)
        TRY(check_piece(request->pieces[i], i > 0 ? request->pieces[i - 1] : NULL, &total));
    return ps->slices != NULL ? check_same(ps, request) : status_ok();
}

/* How slices are trained. */
struct training {
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX];
};

static struct status choose_optimizer(const Slipway__Training__CreateRequest *request,
                                      struct training *out)
{
    const struct optimizer *optimizer = optimizer_find(request->optimizer);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s",
                            request->optimizer, optimizer_names());
    for (int i = 0; i < optimizer->settings_count; i++)
        out->settings[i] = optimizer->settings[i].initial;
    for (size_t i = 0; i < request->n_settings; i++) {
        int index = optimizer_setting_index(optimizer, request->settings[i]->name);
        if (index < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has no setting '%s'",
                                optimizer->name, request->settings[i]->name);
        out->settings[index] = request->settings[i]->value;
    }
    if (request->n_scalars != 0 && request->n_scalars != (size_t)optimizer->scalars_count)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has %d scalars, %zu came",
                            optimizer->name, optimizer->scalars_count, request->n_scalars);
    out->optimizer = optimizer;
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

/* Values, a second buffer of them for updates while they are read, slots, and the sum of a
 * synchronous step. Nothing is allocated before it is paid: whoever calls itself the chief says the
 * sizes. */
static struct status pay(struct ps *ps, const Slipway__Training__CreateRequest *request,
                         const struct optimizer *optimizer)
{
    struct budget *budget = ps->options.budget;
    int64_t bytes = (int64_t)block_bytes(request) * (3 + optimizer->slots_count);

    if (budget == NULL)
        return status_ok();
    if (!status_is_ok(budget_take(budget, bytes)))
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "ps %u would need %" PRId64 " MB for its share of the model with %s, "
                            "and may have %" PRId64 " MB: more ps tasks, or --memory_budget_bytes",
                            ps->options.index, bytes / 1000000, optimizer->name,
                            budget->limit_bytes / 1000000);
    ps->paid_bytes = bytes;
    return status_ok();
}

/* One block for the values: neighbours in a variable are neighbours in memory, each variable
 * aligned. */
static struct status make_slices(struct ps *ps, const Slipway__Training__CreateRequest *request)
{
    size_t total = block_bytes(request), offset = 0;
    void *block = NULL;

    if (posix_memalign(&block, 64, total > 0 ? total : 1) != 0)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of variables",
                            total);
    ps->block = block;
    ps->slices = zalloc((request->n_pieces + 1) * sizeof *ps->slices);
    for (size_t i = 0; i < request->n_pieces; i++) {
        const Slipway__Training__Piece *piece = request->pieces[i];
        if (!piece->continues)
            offset = align_up(offset);
        slice_init(&ps->slices[i], (int)piece->id, piece->size_bytes, piece->trainable,
                   (char *)block + offset);
        offset += piece->size_bytes;
        if (piece->trainable) {
            ps->gradient_bytes += piece->size_bytes;
            ps->largest_bytes =
                piece->size_bytes > ps->largest_bytes ? piece->size_bytes : ps->largest_bytes;
        }
    }
    ps->slices_count = (int)request->n_pieces;
    return status_ok();
}

/* Only the process that has the chief's place may begin, and only what is later than all before. */
static struct status check_chief(struct ps *ps, const Slipway__Training__CreateRequest *request)
{
    TRY(ps_check_identity(ps, request->identity));
    if (ps->stopped)
        return status_error(STATUS_ABORTED, "ps %u is stopping", ps->options.index);
    if (request->identity->index != 0 || request->identity->reader)
        return status_error(STATUS_PERMISSION_DENIED,
                            "%s is not the chief, who alone makes the variables",
                            request->identity->task);
    TRY(ps_check_member(ps, request->identity->index, request->identity->incarnation));
    if (request->generation == 0 || request->generation < ps->generation ||
        (request->generation == ps->generation && request->identity->incarnation != ps->creator))
        return status_error(STATUS_ABORTED,
                            "ps %u is at generation %" PRIu64 ", asked for %" PRIu64,
                            ps->options.index, ps->generation, request->generation);
    if (request->workers == 0 || request->workers > PS_WORKERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%u workers, must be 1 to %d",
                            request->workers, PS_WORKERS_MAX);
    if (ps->options.trainers != NULL && request->workers != ps->options.trainers_count)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "the chief's lists have %u tasks that train, those of ps %u have %u: "
                            "compare --worker_hosts and --chief_hosts",
                            request->workers, ps->options.index, ps->options.trainers_count);
    return status_ok();
}

/* What waited for the generation before; it is told so without the lock. */
struct voided {
    struct waiting *pushes, *awaits, *cuts;
};

/* From here on no push of before is taken. Those that are being applied are waited for: the lock is
 * given up meanwhile. */
static void end_generation(struct ps *ps, struct voided *voided)
{
    *voided = (struct voided){ ps->pushes, ps->awaits, ps_let_go(ps) };
    ps->pushes = ps->awaits = NULL;
    ps->open = false;
    for (size_t i = 0; i < COUNT(ps->cutters); i++)
        waiting_append(&voided->cuts, ps_cutter_leave(ps, &ps->cutters[i]));
    while (ps->applying > 0)
        pthread_cond_wait(&ps->idle, &ps->lock);
}

static void fail_voided(const struct voided *voided, struct status why)
{
    waiting_fail_all(voided->pushes, why);
    waiting_fail_all(voided->awaits, why);
    waiting_fail_all(voided->cuts, why);
}

static void begin_generation(struct ps *ps, const Slipway__Training__CreateRequest *request,
                             const struct training *training)
{
    ps->optimizer = training->optimizer;
    memcpy(ps->settings, training->settings, sizeof ps->settings);
    ps->rate = request->learning_rate;
    for (int i = 0; i < ps->slices_count; i++)
        slice_begin(&ps->slices[i], ps->optimizer, ps->settings,
                    request->n_scalars > 0 ? request->scalars : NULL);
    for (uint32_t i = 0; i < ps->workers_count; i++) {
        struct worker *worker = &ps->workers[i];
        worker->applied = worker->done = worker->permitted = 0;
        worker->finished = false;
    }
    free(ps->sum);
    ps->sum = request->sync ? zalloc(ps->largest_bytes) : NULL;
    free(ps->agreed);
    ps->agreed = xstrdup(request->identity->agreed);
    ps->placement_hash = request->identity->placement_hash;
    ps->sync = request->sync;
    ps->keep_before = request->sync && request->keep_before;
    ps->sync_workers = request->workers;
    ps->begin_step = ps->global_step = request->global_step;
    ps->stop_step = request->stop_step;
}

static struct status create(struct ps *ps, const Slipway__Training__CreateRequest *request,
                            struct voided *voided)
{
    struct training training = { 0 };

    TRY(check_chief(ps, request));
    if (ps->generation == request->generation)
        return status_ok(); /* asked again: the first answer was lost */
    TRY(check_pieces(ps, request));
    TRY(choose_optimizer(request, &training));
    if (ps->slices == NULL) {
        TRY(pay(ps, request, training.optimizer));
        TRY(make_slices(ps, request));
    }
    ps->generation = request->generation;
    ps->creator = request->identity->incarnation;
    end_generation(ps, voided);
    if (ps->generation != request->generation || ps->creator != request->identity->incarnation)
        return status_error(STATUS_ABORTED, "ps %u: another chief begins generation %" PRIu64,
                            ps->options.index, ps->generation);
    begin_generation(ps, request, &training);
    return status_ok();
}

void ps_create_variables(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    Slipway__Training__CreateRequest *request;
    Slipway__Training__CreateReply header = SLIPWAY__TRAINING__CREATE_REPLY__INIT;
    struct voided voided = { 0 };
    uint64_t step = 0;

    struct status status =
        protocol_unpack(message, &slipway__training__create_request__descriptor, arena, &request);
    if (status_is_ok(status)) {
        step = request->global_step;
        pthread_mutex_lock(&ps->lock);
        status = create(ps, request, &voided);
        pthread_mutex_unlock(&ps->lock);
    }
    message_release(message);
    header.incarnation = ps->options.incarnation;
    ps_answer(call, status, &header);
    fail_voided(&voided, status_error(STATUS_ABORTED, "the job goes back to step %" PRIu64, step));
    arena_destroy(arena);
}
