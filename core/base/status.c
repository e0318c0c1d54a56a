#include "base/status.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/poison.h"

#define FIRST_SIZE 256 /* most texts fit: no allocation on an error path */
#define LOCAL_SIZE 512

/* The texts of this thread's last failures. */
struct ring_slot {
    char *text; /* `first`, or allocated and freed with the thread; NULL: none so far */
    size_t capacity;
    char first[FIRST_SIZE];
};

static _Thread_local struct ring_slot ring[STATUS_RING];
static _Thread_local unsigned ring_next;

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

static void free_text(struct ring_slot *slot)
{
    if (slot->text != slot->first)
        free(slot->text);
    slot->text = NULL;
}

static void free_texts(void *unused)
{
    (void)unused;
    for (int i = 0; i < STATUS_RING; i++)
        free_text(&ring[i]);
}

static void make_ring_key(void)
{
    pthread_key_create(&ring_key, free_texts);
}

/* Ends the oldest text and returns memory for a new one: *size bytes, or fewer if there is no
 * memory. In AddressSanitizer builds each text is an allocation of its own, so that the sanitizer
 * reports accesses to a text that has ended. */
static char *take_slot(size_t *size)
{
    struct ring_slot *slot = &ring[ring_next];
    ring_next = (ring_next + 1) % STATUS_RING;
    if (slot->text != NULL && *size <= slot->capacity && !POISON_WORKS)
        return slot->text;
    free_text(slot);
    if (*size > FIRST_SIZE || POISON_WORKS)
        slot->text = malloc(*size);
    if (slot->text != NULL) {
        slot->capacity = *size;
        pthread_once(&ring_once, make_ring_key);
        pthread_setspecific(ring_key, ring); /* any value but NULL: free_texts is called */
    } else {
        slot->text = slot->first;
        slot->capacity = FIRST_SIZE;
        *size = *size < FIRST_SIZE ? *size : FIRST_SIZE;
    }
    return slot->text;
}

static const char *ring_print(const char *format, va_list arguments, const char *suffix)
{
    va_list again;
    va_copy(again, arguments);
    int body = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (body < 0)
        return "unprintable error";
    size_t size = (size_t)body + strlen(suffix) + 1;
    /* The arguments may be texts of the ring, even the one that ends now: print, then copy. */
    char local[LOCAL_SIZE];
    char *allocated = size <= sizeof local ? NULL : malloc(size);
    char *printed = allocated != NULL ? allocated : local;
    size_t room = allocated != NULL ? size : sizeof local;
    vsnprintf(printed, room, format, arguments);
    if ((size_t)body < room) /* otherwise there was no memory, and the text ends early */
        snprintf(printed + body, room - (size_t)body, "%s", suffix);

    char *text = take_slot(&size);
    snprintf(text, size, "%s", printed);
    free(allocated);
    return text;
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
    case EFBIG:
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

struct status status_hold(struct status status)
{
    if (status.code != STATUS_OK)
        status.message = xstrdup(status.message);
    return status;
}

struct status status_resume(struct status held)
{
    if (held.code == STATUS_OK)
        return held;
    struct status status = status_error(held.code, "%s", held.message);
    free((char *)(uintptr_t)held.message);
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
