#include "rpc/calls.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

struct calls_entry {
    struct calls *calls;
    struct client_call *call;
    enum status_code code;
    char *text; /* of a failure; on the heap */
    bool done;
};

void calls_init(struct calls *calls, struct clock *clock, int capacity)
{
    *calls = (struct calls){ .clock = clock, .capacity = capacity };
    calls->entries = zalloc((size_t)capacity * sizeof *calls->entries);
    calls->replies = zalloc((size_t)capacity * sizeof *calls->replies);
    pthread_mutex_init(&calls->lock, NULL);
    clock_cond_init(&calls->changed);
}

void calls_begin(struct calls *calls)
{
    assert(calls->waiting == 0);
    for (int i = 0; i < calls->count; i++) {
        client_call_release(calls->entries[i].call);
        free(calls->entries[i].text);
        message_release(&calls->replies[i]);
        calls->entries[i] = (struct calls_entry){ 0 };
    }
    calls->count = 0;
}

static void done(void *context, struct status status, struct message *reply)
{
    struct calls_entry *entry = context;
    struct calls *calls = entry->calls;

    pthread_mutex_lock(&calls->lock);
    entry->code = status.code;
    entry->text = status_is_ok(status) ? NULL : xstrdup(status.message);
    calls->replies[entry - calls->entries] = message_move(reply);
    entry->done = true;
    if (--calls->waiting == 0)
        pthread_cond_signal(&calls->changed);
    pthread_mutex_unlock(&calls->lock);
}

void calls_add(struct calls *calls, struct channel *channel, const char *path,
               struct message *request, int64_t deadline_ns)
{
    assert(calls->count < calls->capacity);
    struct calls_entry *entry = &calls->entries[calls->count];

    entry->calls = calls;
    pthread_mutex_lock(&calls->lock);
    calls->count++;
    calls->waiting++;
    pthread_mutex_unlock(&calls->lock);
    struct client_call *call = channel_start(channel, path, request, deadline_ns, done, entry);
    pthread_mutex_lock(&calls->lock);
    entry->call = call;
    pthread_mutex_unlock(&calls->lock);
}

struct status calls_wait(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    while (calls->waiting > 0)
        clock_wait(calls->clock, &calls->changed, &calls->lock, CLOCK_NEVER);
    pthread_mutex_unlock(&calls->lock);
    for (int i = 0; i < calls->count; i++)
        if (calls->entries[i].code != STATUS_OK)
            return status_error(calls->entries[i].code, "%s", calls->entries[i].text);
    return status_ok();
}

void calls_cancel(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    for (int i = 0; i < calls->count; i++) {
        struct client_call *call = calls->entries[i].call;
        if (calls->entries[i].done || call == NULL)
            continue;
        /* The entry keeps its reference until calls_begin, which cannot come while this one waits.
         */
        pthread_mutex_unlock(&calls->lock);
        client_call_cancel(call);
        pthread_mutex_lock(&calls->lock);
    }
    pthread_mutex_unlock(&calls->lock);
}

void calls_finish(struct calls *calls)
{
    calls_begin(calls);
    free(calls->entries);
    free(calls->replies);
    pthread_cond_destroy(&calls->changed);
    pthread_mutex_destroy(&calls->lock);
}

struct status channel_call(struct channel *channel, const char *path, struct message *request,
                           int64_t deadline_ns, struct message *reply)
{
    struct calls calls;

    calls_init(&calls, channel_clock(channel), 1);
    calls_add(&calls, channel, path, request, deadline_ns);
    struct status status = calls_wait(&calls);
    *reply = message_move(&calls.replies[0]);
    calls_finish(&calls);
    return status;
}
