#include "trainer/job/task_notes.h"

#include <stdlib.h>

#include "base/arena.h"
#include "rpc/call_group.h"
#include "trainer/job/task_endpoint.h"
#include "trainer/protocol/protocol.h"

#define PAUSE_MS   200
#define ATTEMPT_MS 10000

struct task_notes {
    const struct task_options *options;
    struct task_endpoint endpoint;
    struct ps_channels channels;
    bool (*stopped)(void *context);
    void *context;
};

struct status task_notes_open(const struct task_options *options, bool (*stopped)(void *context),
                              void *context, struct task_notes **out)
{
    struct task_notes *notes = zalloc(sizeof *notes);

    notes->options = options;
    notes->stopped = stopped;
    notes->context = context;
    struct status status = endpoint_open(&notes->endpoint, options);
    if (status_is_ok(status))
        status = endpoint_connect(&notes->endpoint, &notes->channels);
    struct status held = status_hold(status);
    if (!status_is_ok(held))
        task_notes_close(notes);
    else
        *out = notes;
    return status_resume(held);
}

void task_notes_close(struct task_notes *notes)
{
    if (notes == NULL)
        return;
    ps_channels_close(&notes->channels);
    endpoint_close(&notes->endpoint);
    free(notes);
}

struct status task_notes_pause(struct task_notes *notes)
{
    clock_sleep(clock_monotonic(), PAUSE_MS);
    return notes->stopped(notes->context) ? status_error(STATUS_CANCELLED, "stopped") : status_ok();
}

static struct message pack_request(const struct task_notes *notes, const char *key)
{
    const struct task_endpoint *endpoint = &notes->endpoint;
    const struct identity identity = { .cluster = notes->options->cluster,
                                       .task = endpoint->name,
                                       .ps_list = endpoint->ps_list,
                                       .agreed = "",
                                       .incarnation = endpoint->identity.incarnation,
                                       .protocol = PROTOCOL_VERSION };
    const struct note_request request = { .identity = &identity, .key = key };

    return pack_note_request(&request);
}

/* Is the ps absent, or not of this job yet, so that waiting may help? */
static bool may_come(struct status status)
{
    return status.code == STATUS_UNAVAILABLE || status.code == STATUS_DEADLINE_EXCEEDED ||
           status.code == STATUS_PERMISSION_DENIED || status.code == STATUS_NOT_FOUND;
}

/* Calls ps 0 until it answers. */
static struct status ask(struct task_notes *notes, const char *path, const char *key,
                         const struct bytes *note, struct message *reply)
{
    struct clock *clock = clock_monotonic();
    int64_t until_ns = clock_deadline_ns(clock, notes->options->start_timeout_ms);

    for (;;) {
        struct message request = pack_request(notes, key);
        if (note != NULL)
            request = protocol_attach(request, note, 1);
        struct status held = status_hold(channel_call(notes->channels.channels[0], path, &request,
                                                      clock_deadline_ns(clock, ATTEMPT_MS), reply));
        message_release(&request);
        if (!may_come(held) || clock_now_ns(clock) >= until_ns)
            return status_in(status_resume(held), "%s", notes->endpoint.peers[0]);
        status_ignore(status_resume(held));
        TRY(task_notes_pause(notes));
    }
}

struct status task_notes_post(struct task_notes *notes, const char *key, struct bytes note)
{
    struct message reply = { 0 };

    TRY(ask(notes, PS_POST, key, &note, &reply));
    message_release(&reply);
    return status_ok();
}

struct status task_notes_fetch(struct task_notes *notes, const char *key, struct buffer *out,
                               bool *found)
{
    struct arena *arena = arena_create(0);
    struct message reply = { 0 };
    struct fetch_reply header;

    struct status status = ask(notes, PS_FETCH, key, NULL, &reply);
    if (status_is_ok(status))
        status = unpack_fetch_reply(&reply, arena, &header);
    if (status_is_ok(status)) {
        struct payload_cursor payload = { .message = &reply };
        size_t size = message_payload_size(&reply);
        *found = header.found;
        buffer_reserve(out, size);
        payload_copy(&payload, out->data + out->size, size);
        out->size += size;
    }
    struct status held = status_hold(status);
    message_release(&reply);
    arena_destroy(arena);
    return status_resume(held);
}
