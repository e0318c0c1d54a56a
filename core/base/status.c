#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define STATUS_RING 5

/* One text each of the last failures of this thread. Grown as needed, freed with the thread. */
struct ring_slot {
    char *text;
    size_t capacity;
};

static _Thread_local struct ring_slot ring[STATUS_RING];
static _Thread_local unsigned ring_next;
static _Thread_local char ring_first[STATUS_RING]
                                    [256]; /* most messages fit: no allocation on an error path */

static const struct {
    const char *name;
    int http;
} codes[] = {
#define STATUS_ROW(name, grpc, http) [grpc] = { #name, http },
    STATUS_CODES(STATUS_ROW)
#undef STATUS_ROW
};

static pthread_key_t ring_key;
static pthread_once_t ring_once = PTHREAD_ONCE_INIT;

/* At the end of a thread: gives back the texts that outgrew their first buffers. */
static void free_grown(void *unused)
{
    (void)unused;
    for (int i = 0; i < STATUS_RING; i++)
        if (ring[i].text != ring_first[i]) {
            free(ring[i].text);
            ring[i].text = NULL;
        }
}

static void make_ring_key(void)
{
    pthread_key_create(&ring_key, free_grown);
}

static const char *ring_print(const char *format, va_list arguments, const char *suffix)
{
    unsigned slot = ring_next;
    ring_next = (ring_next + 1) % STATUS_RING;
    if (ring[slot].text == NULL) {
        ring[slot].text = ring_first[slot];
        ring[slot].capacity = sizeof ring_first[slot];
    }

    va_list again;
    va_copy(again, arguments);
    int body = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (body < 0)
        return "unprintable error";
    size_t need = (size_t)body + strlen(suffix) + 1;
    /* The arguments may point into the slot itself (context around an old failure): print beside
     * it, then swap. */
    char *text = need <= 512 ? NULL : malloc(need);
    char local[512];
    char *out = text ? text : local;
    size_t room = text ? need : sizeof local;
    vsnprintf(out, room, format, arguments);
    if ((size_t)body < room) /* else there was no memory, and the text ends early */
        snprintf(out + body, room - (size_t)body, "%s", suffix);

    if (need > ring[slot].capacity) {
        char *grown = malloc(need);
        if (grown == NULL) {
            need = ring[slot].capacity;
        } else {
            if (ring[slot].text != ring_first[slot])
                free(ring[slot].text);
            ring[slot].text = grown;
            ring[slot].capacity = need;
            pthread_once(&ring_once, make_ring_key);
            pthread_setspecific(ring_key, ring); /* not NULL: free_grown is called */
        }
    }
    snprintf(ring[slot].text, need, "%s", out);
    free(text);
    return ring[slot].text;
}

struct status status_errorv(enum status_code code, const char *format, va_list arguments)
{
    return (struct status){ code, ring_print(format, arguments, "") };
}

const char *status_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = ring_print(format, arguments, "");
    va_end(arguments);
    return text;
}

static enum status_code code_of_errno(int error)
{
    switch (error) {
    case ENOENT:
    case ENXIO:
        return STATUS_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY:
        return STATUS_ALREADY_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return STATUS_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return STATUS_RESOURCE_EXHAUSTED;
    case ENOTDIR:
    case EISDIR:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
        return STATUS_FAILED_PRECONDITION;
    case EINVAL:
    case ENAMETOOLONG:
        return STATUS_INVALID_ARGUMENT;
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPIPE:
    case EAGAIN:
        return STATUS_UNAVAILABLE;
    case ETIMEDOUT:
        return STATUS_DEADLINE_EXCEEDED;
    case EIO:
        return STATUS_DATA_LOSS;
    default:
        return STATUS_UNKNOWN;
    }
}

struct status status_errno(int error, const char *format, ...)
{
    char suffix[256];
    snprintf(suffix, sizeof suffix, ": %s", strerror(error));
    va_list arguments;
    va_start(arguments, format);
    struct status status = { code_of_errno(error), ring_print(format, arguments, suffix) };
    va_end(arguments);
    return status;
}

struct status status_in(struct status status, const char *format, ...)
{
    if (status.code == STATUS_OK)
        return status;
    size_t size = strlen(status.message) + 3;
    char *suffix = malloc(size);
    if (suffix == NULL)
        return status;
    snprintf(suffix, size, ": %s", status.message);
    va_list arguments;
    va_start(arguments, format);
    status.message = ring_print(format, arguments, suffix);
    va_end(arguments);
    free(suffix);
    return status;
}

struct status status_keep(struct arena *arena, struct status status)
{
    if (status.code != STATUS_OK)
        status.message = arena_strdup(arena, status.message);
    return status;
}

const char *status_code_name(enum status_code code)
{
    return (size_t)code < COUNT(codes) ? codes[code].name : "UNKNOWN";
}

bool status_code_parse(const char *name, enum status_code *out)
{
    for (size_t i = 0; i < COUNT(codes); i++) {
        if (strcmp(codes[i].name, name) == 0) {
            *out = (enum status_code)i;
            return true;
        }
    }
    return false;
}

int status_http(enum status_code code)
{
    return (size_t)code < COUNT(codes) ? codes[code].http : 500;
}
