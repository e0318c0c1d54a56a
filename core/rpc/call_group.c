#include "rpc/call_group.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "rpc/shared_loop.h"

/* The pause after a failure, doubled after each further one. */
#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 1000

#define RELEASE_POLL_NS 50000 /* between two checks whether a request was given back */

/* A request that may be sent again. Each attempt borrows its bytes. */
struct kept_request {
    struct message message;
    _Atomic int references;
};

struct group_call {
    struct call_group *calls;
    struct client_call *call;
    enum status_code code;
    char *text; /* of the failure; on the heap */
    bool done;
    /* If the call may be made again: */
    struct channel *channel;
    const char *path;
    struct kept_request *request;
    int64_t deadline_ns, attempt_ns; /* of the call; of this attempt */
    int64_t next_ns;                 /* when the next attempt begins; 0: an attempt is under way */
    int attempts;
};

void call_group_init(struct call_group *calls, struct clock *clock, int capacity)
{
    *calls = (struct call_group){ .clock = clock, .capacity = capacity };
    calls->entries = zalloc((size_t)capacity * sizeof *calls->entries);
    calls->replies = zalloc((size_t)capacity * sizeof *calls->replies);
    pthread_mutex_init(&calls->lock, NULL);
    clock_cond_init(&calls->changed);
}

static void kept_release(void *owner)
{
    struct kept_request *kept = owner;

    if (atomic_fetch_sub_explicit(&kept->references, 1, memory_order_acq_rel) > 1)
        return;
    message_release(&kept->message);
    free(kept);
}

static struct kept_request *keep(struct message *request)
{
    struct kept_request *kept = zalloc(sizeof *kept);

    kept->message = message_move(request);
    atomic_init(&kept->references, 1);
    return kept;
}

/* A message for one attempt, which borrows the kept request. */
static struct message borrow(struct kept_request *kept)
{
    struct message message = kept->message;

    atomic_fetch_add_explicit(&kept->references, 1, memory_order_relaxed);
    message.release = kept_release;
    message.owner = kept;
    return message;
}

/* Drops the last calls. From now on a thread that cancels finds none. Returns their number. */
static int forget(struct call_group *calls)
{
    pthread_mutex_lock(&calls->lock);
    while (calls->cancelling > 0)
        pthread_cond_wait(&calls->changed, &calls->lock);
    int count = calls->count;
    calls->count = 0;
    calls->cancelled = false;
    calls->failed = NULL;
    calls->seen = STATUS_OK;
    calls->loop = NULL;
    pthread_mutex_unlock(&calls->lock);
    return count;
}

void call_group_begin(struct call_group *calls)
{
    assert(calls->waiting == 0);
    int count = forget(calls);
    for (int i = 0; i < count; i++) {
        struct group_call *entry = &calls->entries[i];
        client_call_release(entry->call);
        free(entry->text);
        if (entry->request != NULL)
            kept_release(entry->request);
        message_release(&calls->replies[i]);
        *entry = (struct group_call){ 0 };
    }
}

static int64_t pause_ns(int attempts)
{
    int64_t pause_ms = attempts <= 7 ? PAUSE_MIN_MS << (attempts - 1) : PAUSE_MAX_MS;

    return pause_ms * NS_PER_MS;
}

/* With the lock. Decides whether to try again, and sets `next_ns`. An attempt that was given up is
 * repeated at once; a peer that is gone gets time to come back. */
static bool plan_next(struct group_call *entry, enum status_code code)
{
    struct call_group *calls = entry->calls;
    int64_t now_ns = clock_now_ns(calls->clock);

    if (entry->request == NULL || calls->cancelled || now_ns >= entry->deadline_ns)
        return false;
    if (code == STATUS_DEADLINE_EXCEEDED && entry->attempt_ns < entry->deadline_ns)
        entry->next_ns = now_ns;
    else if (code == STATUS_UNAVAILABLE)
        entry->next_ns = now_ns + pause_ns(entry->attempts);
    else
        return false;
    return entry->next_ns < entry->deadline_ns;
}

/* With the lock. Wakes the waiting thread. */
static void changed(struct call_group *calls)
{
    calls->changes++;
    pthread_cond_signal(&calls->changed);
    if (calls->loop != NULL && !loop_is_mine(shared_loop_of(calls->loop)))
        loop_wake(shared_loop_of(calls->loop));
}

static void done(void *context, struct status status, struct message *reply)
{
    struct group_call *entry = context;
    struct call_group *calls = entry->calls;

    pthread_mutex_lock(&calls->lock);
    free(entry->text);
    entry->code = status.code;
    entry->text = status_is_ok(status) ? NULL : xstrdup(status.message);
    bool again = !status_is_ok(status) && plan_next(entry, status.code);
    if (!again) {
        entry->next_ns = 0;
        entry->done = true;
        calls->replies[entry - calls->entries] = message_move(reply);
        assert(calls->waiting > 0);
        calls->waiting--;
    }
    bool first = !again && !status_is_ok(status) && calls->failed == NULL;
    if (first)
        calls->failed = entry;
    if (again || first || calls->waiting == 0)
        changed(calls);
    pthread_mutex_unlock(&calls->lock);
}

/* Without the lock. */
static void start(struct group_call *entry, struct message *request, int64_t deadline_ns)
{
    struct client_call *call =
        channel_start(entry->channel, entry->path, request, deadline_ns, done, entry);

    pthread_mutex_lock(&entry->calls->lock);
    entry->call = call;
    bool cancelled = entry->calls->cancelled && !entry->done;
    pthread_mutex_unlock(&entry->calls->lock);
    if (cancelled) /* call_group_cancel came before there was a handle */
        client_call_cancel(call);
}

static void start_attempt(struct group_call *entry)
{
    const struct call_group *calls = entry->calls;
    struct message request = borrow(entry->request);
    int64_t deadline_ns = entry->deadline_ns;

    if (calls->retry.attempt_ms > 0) {
        int doublings = entry->attempts < 6 ? entry->attempts : 6;
        int64_t until = clock_deadline_ns(calls->clock, calls->retry.attempt_ms << doublings);
        deadline_ns = until < deadline_ns ? until : deadline_ns;
    }
    entry->attempts++;
    entry->attempt_ns = deadline_ns;
    start(entry, &request, deadline_ns);
}

void call_group_add(struct call_group *calls, struct channel *channel, const char *path,
                    struct message *request, int64_t deadline_ns)
{
    assert(calls->count < calls->capacity);
    struct group_call *entry = &calls->entries[calls->count];

    entry->calls = calls;
    entry->channel = channel;
    entry->path = path;
    entry->deadline_ns = deadline_ns;
    pthread_mutex_lock(&calls->lock);
    if (channel->loop != NULL)
        calls->loop = channel->loop;
    calls->count++;
    calls->waiting++;
    pthread_mutex_unlock(&calls->lock);
    if (calls->retry.again) {
        entry->request = keep(request);
        start_attempt(entry);
    } else {
        start(entry, request, deadline_ns);
    }
}

/* With the lock. The earliest time of a next attempt, and *out, its call. */
static int64_t earliest(struct call_group *calls, struct group_call **out)
{
    int64_t next_ns = CLOCK_NEVER;

    *out = NULL;
    for (int i = 0; i < calls->count; i++) {
        struct group_call *entry = &calls->entries[i];
        if (!entry->done && entry->next_ns != 0 && entry->next_ns < next_ns) {
            next_ns = entry->next_ns;
            *out = entry;
        }
    }
    return next_ns;
}

/* With the lock, which is released meanwhile. */
static void try_again(struct call_group *calls, struct group_call *entry)
{
    struct client_call *before = entry->call;

    entry->next_ns = 0;
    entry->call = NULL;
    pthread_mutex_unlock(&calls->lock);
    client_call_release(before);
    start_attempt(entry);
    pthread_mutex_lock(&calls->lock);
}

/* With the lock. Calls between two attempts end with the failure of the last one. */
static void end_pauses(struct call_group *calls)
{
    struct group_call *entry;

    while (earliest(calls, &entry), entry != NULL) {
        entry->next_ns = 0;
        entry->code = STATUS_CANCELLED;
        entry->done = true;
        calls->waiting--;
        if (calls->failed == NULL)
            calls->failed = entry;
    }
}

/* With the lock, which is released meanwhile. */
static void cancel_all(struct call_group *calls)
{
    calls->cancelled = true; /* no attempt follows */
    calls->cancelling++;
    for (int i = 0; i < calls->count; i++) {
        struct client_call *call = calls->entries[i].call;
        if (calls->entries[i].done || call == NULL)
            continue;
        /* The entry keeps its reference until call_group_begin, which waits for this function. */
        pthread_mutex_unlock(&calls->lock);
        client_call_cancel(call);
        pthread_mutex_lock(&calls->lock);
    }
    calls->cancelling--;
    changed(calls);
}

struct wait {
    struct call_group *calls;
    int changes; /* that this thread has seen */
};

static bool has_changed(void *context)
{
    const struct wait *wait = context;

    pthread_mutex_lock(&wait->calls->lock);
    bool has = wait->calls->changes != wait->changes;
    pthread_mutex_unlock(&wait->calls->lock);
    return has;
}

/* With the lock, which is released meanwhile. Calls over sockets progress while this thread turns
 * their loop; if the housekeeper of another loop brings something, it wakes this one. */
static void wait_for_change(struct call_group *calls, int64_t deadline_ns)
{
    struct wait wait = { calls, calls->changes };

    if (calls->loop == NULL) {
        clock_wait(calls->clock, &calls->changed, &calls->lock, deadline_ns);
        return;
    }
    pthread_mutex_unlock(&calls->lock);
    shared_loop_wait(calls->loop, has_changed, &wait, deadline_ns);
    pthread_mutex_lock(&calls->lock);
}

/* A peer in this process may still read the request of a call that has ended: a ps that applies a
 * push finishes it. */
static void await_requests(const struct call_group *calls)
{
    const struct timespec pause = { .tv_nsec = RELEASE_POLL_NS };

    for (int i = 0; i < calls->count; i++) {
        struct kept_request *request = calls->entries[i].request;
        while (request != NULL && atomic_load(&request->references) > 1)
            nanosleep(&pause, NULL);
    }
}

/* With the lock, which is released meanwhile. */
static void look(struct call_group *calls, const struct call_watch *watch)
{
    pthread_mutex_unlock(&calls->lock);
    struct status status = watch->look(watch->context);
    pthread_mutex_lock(&calls->lock);
    if (status_is_ok(status) || calls->failed != NULL || calls->waiting == 0)
        return;
    calls->seen = status.code;
    snprintf(calls->seen_text, sizeof calls->seen_text, "%s", status.message);
    cancel_all(calls);
}

static struct status wait_for(struct call_group *calls, bool all, const struct call_watch *watch)
{
    int64_t look_ns =
        watch != NULL ? clock_deadline_ns(calls->clock, watch->every_ms) : CLOCK_NEVER;

    pthread_mutex_lock(&calls->lock);
    while (calls->waiting > 0) {
        struct group_call *next;
        int64_t next_ns = earliest(calls, &next);
        if (!all && calls->failed != NULL && !calls->cancelled)
            cancel_all(calls);
        else if (calls->cancelled && next != NULL)
            end_pauses(calls);
        else if (next != NULL && clock_now_ns(calls->clock) >= next_ns)
            try_again(calls, next);
        else if (look_ns != CLOCK_NEVER && clock_now_ns(calls->clock) >= look_ns) {
            look(calls, watch);
            look_ns =
                calls->cancelled ? CLOCK_NEVER : clock_deadline_ns(calls->clock, watch->every_ms);
        } else
            wait_for_change(calls, next_ns < look_ns ? next_ns : look_ns);
    }
    const struct group_call *failed = calls->failed;
    pthread_mutex_unlock(&calls->lock);
    if (failed == NULL)
        return status_ok();
    await_requests(calls);
    if (calls->seen != STATUS_OK)
        return status_error(calls->seen, "%s", calls->seen_text);
    return status_error(failed->code, "%s", failed->text);
}

struct status call_group_wait(struct call_group *calls)
{
    return wait_for(calls, false, NULL);
}

struct status call_group_wait_watched(struct call_group *calls, const struct call_watch *watch)
{
    return wait_for(calls, false, watch);
}

struct status call_group_wait_all(struct call_group *calls)
{
    return wait_for(calls, true, NULL);
}

void call_group_cancel(struct call_group *calls)
{
    pthread_mutex_lock(&calls->lock);
    cancel_all(calls);
    pthread_mutex_unlock(&calls->lock);
}

void call_group_finish(struct call_group *calls)
{
    call_group_begin(calls);
    free(calls->entries);
    free(calls->replies);
    pthread_cond_destroy(&calls->changed);
    pthread_mutex_destroy(&calls->lock);
}

struct status channel_call(struct channel *channel, const char *path, struct message *request,
                           int64_t deadline_ns, struct message *reply)
{
    struct call_group calls;

    call_group_init(&calls, channel_clock(channel), 1);
    call_group_add(&calls, channel, path, request, deadline_ns);
    struct status status = call_group_wait(&calls);
    *reply = message_move(&calls.replies[0]);
    call_group_finish(&calls);
    return status;
}
