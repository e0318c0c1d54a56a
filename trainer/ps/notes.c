#include "trainer/ps/notes.h"

#include <stdlib.h>

#include "trainer/ps/identity.h"
#include "trainer/ps/methods.h"

#define NOTES_MAX    4096
#define KEY_SIZE_MAX 200

/* A reply may still refer to the bytes of a replaced note, so notes are freed only at the end. */
struct posted_note {
    struct posted_note *next;
    char *key; /* NULL: it was replaced */
    struct bytes data;
};

struct notes {
    struct posted_note *first;
    int count;
    int64_t paid_bytes; /* from the budget */
};

struct notes *notes_create(void)
{
    return zalloc(sizeof(struct notes));
}

void notes_destroy(struct notes *notes, struct budget *budget)
{
    for (struct posted_note *note = notes->first, *next; note != NULL; note = next) {
        next = note->next;
        free(note->key);
        free((void *)(uintptr_t)note->data.data);
        free(note);
    }
    if (budget != NULL)
        budget_give(budget, notes->paid_bytes);
    free(notes);
}

static struct posted_note *find_note(const struct ps *ps, const char *key)
{
    ASSERT_LOCKED(ps);
    for (struct posted_note *note = ps->notes->first; note != NULL; note = note->next)
        if (note->key != NULL && strcmp(note->key, key) == 0)
            return note;
    return NULL;
}

static struct status pay_for_note(struct ps *ps, size_t size)
{
    struct notes *notes = ps->notes;

    if (notes->count == NOTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "ps %u has %d notes of other tasks",
                            ps->options.index, NOTES_MAX);
    if (ps->options.budget != NULL) {
        TRY(status_in(budget_take(ps->options.budget, (int64_t)size),
                      "ps %u, for what a task found in its data", ps->options.index));
        notes->paid_bytes += (int64_t)size;
    }
    notes->count++;
    return status_ok();
}

static struct status add_note(struct ps *ps, const char *key, const struct message *message)
{
    size_t size = message_payload_size(message);
    struct payload_cursor payload = { .message = message };
    struct posted_note *earlier = find_note(ps, key);

    TRY(pay_for_note(ps, size));
    struct posted_note *note = zalloc(sizeof *note);
    char *data = zalloc(size + 1);
    payload_copy(&payload, data, size);
    *note = (struct posted_note){ ps->notes->first, xstrdup(key), { data, size } };
    ps->notes->first = note;
    if (earlier != NULL) {
        free(earlier->key);
        earlier->key = NULL;
    }
    return status_ok();
}

static struct status admit_note(const struct ps *ps, const struct note_request *request)
{
    if (request->identity == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the request does not say who asks");
    if (strlen(request->key) > KEY_SIZE_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "a key of %zu bytes, at most %d",
                            strlen(request->key), KEY_SIZE_MAX);
    TRY(ps_check_running(ps));
    return identity_check_job(ps, request->identity);
}

void ps_post(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct note_request request;

    struct status status = unpack_note_request(message, arena, &request);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = admit_note(ps, &request);
        if (status_is_ok(status))
            status = add_note(ps, request.key, message);
        ps_unlock(ps);
    }
    message_release(message);
    arena_destroy(arena);
    ps_answer(call, status, pack_done());
}

void ps_fetch(void *instance, struct call *call, struct message *message)
{
    struct ps *ps = instance;
    struct arena *arena = arena_create(REQUEST_ARENA_MAX);
    struct message reply = { 0 };
    struct note_request request;

    struct status status = unpack_note_request(message, arena, &request);
    message_release(message);
    if (status_is_ok(status)) {
        ps_lock(ps);
        status = admit_note(ps, &request);
        const struct posted_note *note = status_is_ok(status) ? find_note(ps, request.key) : NULL;
        const struct fetch_reply header = { .found = note != NULL };
        reply = pack_fetch_reply(&header);
        if (note != NULL)
            reply = protocol_attach(reply, &note->data, 1);
        ps_unlock(ps);
    }
    arena_destroy(arena);
    ps_answer(call, status, reply);
}
