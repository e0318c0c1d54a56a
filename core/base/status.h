/*
 * status: the outcome of an operation, from the kernel to the wire.
 *
 * A failing function returns `struct status`. Its codes are the canonical gRPC codes; the HTTP
 * number is a column of the same table.
 *
 *     TRY(expr)            returns a failure to the caller, if there is nothing to undo
 *     TRY_OR(label, expr)  stores it in the local `status` and jumps to `label`, if there is
 *
 * Clang warns if a status is ignored; for GCC, tests/repo/test_statuses.py checks.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__clang__)
#define CHECKED __attribute__((warn_unused_result))
#else
#define CHECKED
#endif
#define PRINTF_LIKE(text, first) __attribute__((__format__(__printf__, text, first)))

/* name, gRPC code, HTTP status (the mapping TensorFlow Serving uses) */
#define STATUS_CODES(X)            \
    X(OK, 0, 200)                  \
    X(CANCELLED, 1, 499)           \
    X(UNKNOWN, 2, 500)             \
    X(INVALID_ARGUMENT, 3, 400)    \
    X(DEADLINE_EXCEEDED, 4, 504)   \
    X(NOT_FOUND, 5, 404)           \
    X(ALREADY_EXISTS, 6, 409)      \
    X(PERMISSION_DENIED, 7, 403)   \
    X(RESOURCE_EXHAUSTED, 8, 429)  \
    X(FAILED_PRECONDITION, 9, 400) \
    X(ABORTED, 10, 409)            \
    X(OUT_OF_RANGE, 11, 400)       \
    X(UNIMPLEMENTED, 12, 501)      \
    X(INTERNAL, 13, 500)           \
    X(UNAVAILABLE, 14, 503)        \
    X(DATA_LOSS, 15, 500)          \
    X(UNAUTHENTICATED, 16, 401)

enum status_code {
#define STATUS_ENUM(name, grpc, http) STATUS_##name = (grpc),
    STATUS_CODES(STATUS_ENUM)
#undef STATUS_ENUM
};

/* The outcome of an operation: a plain value of 16 bytes, returned in registers; it need not be
 * freed.
 *
 * The text belongs to the thread that failed, which keeps those of its last STATUS_RING failures:
 * status_error, status_errno and status_in make one each. That is enough to return a failure up
 * the stack and add context on the way. Code that keeps a status for longer, hands it to another
 * thread, or calls functions that can fail in between, copies the text first (status_keep).
 * AddressSanitizer builds free a text at its end, so they report code that reads it later. */
#define STATUS_RING 5

struct CHECKED status {
    enum status_code code;
    const char *message; /* one line of UTF-8, any length; "" when OK */
};

struct arena;

static inline struct status status_ok(void)
{
    return (struct status){ STATUS_OK, "" };
}

static inline bool status_is_ok(struct status status)
{
    return status.code == STATUS_OK;
}

/* A failure with a text of printf's form: status_error(STATUS_NOT_FOUND, "no '%s'", name). A macro,
 * so that the compiler sees that it is a failure and does not warn of outputs that only a success
 * writes. */
#define status_error(code, ...) ((struct status){ (code), status_text(__VA_ARGS__) })
const char *status_text(const char *format, ...) PRINTF_LIKE(1, 2);
struct status status_errorv(enum status_code code, const char *format, va_list arguments);

/* The errno of a system call, mapped once, in one table; the text ends in strerror's words: "open
 * '/x': No such file". */
struct status status_errno(int error, const char *format, ...) PRINTF_LIKE(2, 3);

/* Adds context in front, "context: message", and keeps the code. Passes OK through. */
struct status status_in(struct status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same status with its text in `arena`, for as long as that lives. */
struct status status_keep(struct arena *arena, struct status status);

/* Keep a failure through cleanup that can fail too:
 *
 *     struct status held = status_hold(status);
 *     rpc_server_destroy(server);
 *     return status_resume(held);
 *
 * status_hold copies the text to the heap; status_resume frees the copy, and its result is the same
 * failure as if it had just happened. */
struct status status_hold(struct status status);
struct status status_resume(struct status held);

/* "INVALID_ARGUMENT", and back (false: no such name). */
const char *status_code_name(enum status_code code);
bool status_code_parse(const char *name, enum status_code *out);
int status_http(enum status_code code);

/* Ignores a failure without consequence. The comment beside the call must say why. */
static inline void status_ignore(struct status status)
{
    (void)status;
}

#define TRY(expr)                           \
    do {                                    \
        struct status try_status_ = (expr); \
        if (try_status_.code != STATUS_OK)  \
            return try_status_;             \
    } while (0)

#define TRY_OR(label, expr)           \
    do {                              \
        status = (expr);              \
        if (status.code != STATUS_OK) \
            goto label;               \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
