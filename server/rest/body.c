#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/poison.h"
#include "server/json/text.h"
#include "server/rest/body_inflate.h"
#include "server/rest/rest_internal.h"

#define GUNZIP_BYTES_MAX  ((size_t)100 * 1024 * 1024)
#define PROMISE_BYTES_MAX ((size_t)64 * 1024)

static struct status pay(struct request *request, size_t bytes)
{
    return budget_take(request->rest->server->budget, (int64_t)bytes);
}

/* If many bodies arrive at the same time, each one that is large gets pages of its own, which move
 * when it grows. realloc would copy it, into pages that the system clears first, and bodies of one
 * size grow in the same round: all other requests of the loop would wait for tens of milliseconds.
 * For a few bodies, the heap has pages left of earlier ones, and costs less. */
#define MAPPED_BYTES_MIN ((size_t)1 << 20)
#define MANY_BODIES      8

static void free_data(struct request *request)
{
    if (request->is_mapped)
        memory_unmap(request->data, request->capacity);
    else
        free(request->data);
    request->is_mapped = false;
}

/* NULL: no memory. */
static char *map_data(struct request *request, size_t capacity)
{
    if (request->is_mapped)
        return memory_resize(request->data, request->capacity, capacity);
    char *data = memory_resize(NULL, 0, capacity);
    if (data == NULL)
        return NULL;
    if (request->size > 0)
        memcpy(data, request->data, request->size);
    free_data(request);
    request->is_mapped = true;
    return data;
}

/* AddressSanitizer only watches the heap. */
static bool wants_pages(const struct request *request, size_t capacity)
{
    return request->is_mapped || (capacity >= MAPPED_BYTES_MIN && !POISON_WORKS &&
                                  request->rest->requests_incomplete > MANY_BODIES);
}

static bool grow_data(struct request *request, size_t capacity)
{
    char *data = wants_pages(request, capacity) ? map_data(request, capacity)
                                                : realloc(request->data, capacity);
    if (data == NULL)
        return false;
    request->data = data;
    request->capacity = capacity;
    return true;
}

void rest_body_free(struct request *request)
{
    free_data(request);
    budget_give(request->rest->server->budget, (int64_t)request->capacity);
    request->data = NULL;
    request->size = request->capacity = 0;
}

/* Reserves `size` bytes of body and the padding. Charges the whole capacity. */
static struct status reserve_body(struct request *request, size_t size)
{
    if (size + JSON_PADDING <= request->capacity)
        return status_ok();
    size_t capacity = size + JSON_PADDING;
    if (capacity < 2 * request->capacity)
        capacity = 2 * request->capacity;
    size_t more = capacity - request->capacity;
    TRY(pay(request, more));
    if (grow_data(request, capacity))
        return status_ok();
    budget_give(request->rest->server->budget, (int64_t)more);
    return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a body of %zu bytes", size);
}

void rest_body_refuse(struct request *request, struct status status)
{
    request->dropped = true;
    rest_body_free(request);
    exchange_fail(&request->exchange, status);
}

static struct status too_large(const struct request *request, uint64_t size)
{
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "request body of %llu bytes is over --max_request_bytes=%lld",
                        (unsigned long long)size, (long long)request->rest->server->body_bytes_max);
}

/* Such a body cannot become complete, however long the client sends it. */
static struct status check_memory(const struct request *request, uint64_t size)
{
    const struct budget *budget = request->rest->server->budget;
    int64_t limit = budget->limit_bytes - budget->reserve_bytes - (int64_t)JSON_PADDING;
    if (limit > 0 && size <= (uint64_t)limit)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "request body of %llu bytes is over the %lld bytes that "
                        "--memory_budget_bytes=%lld leaves for one",
                        (unsigned long long)size, (long long)(limit > 0 ? limit : 0),
                        (long long)budget->limit_bytes);
}

/* TensorFlow Serving knows gzip only. Clients of the Open Inference Protocol also send deflate,
 * which means a zlib stream (RFC 9110). */
static void note_encoding(struct request *request, const char *encoding)
{
    bool gzip = encoding != NULL && strcasestr(encoding, "gzip") != NULL;
    bool deflate = encoding != NULL && strcasestr(encoding, "deflate") != NULL &&
                   route_is_v2(request->exchange.url);
    request->compressed = gzip || deflate;
    request->compression = gzip ? INFLATE_GZIP : INFLATE_ZLIB;
}

struct status rest_body_expect(struct request *request)
{
    const char *length = rest_header(request, MHD_HTTP_HEADER_CONTENT_LENGTH);
    const char *encoding = rest_header(request, MHD_HTTP_HEADER_CONTENT_ENCODING);
    uint64_t size = length != NULL ? strtoull(length, NULL, 10) : 0;
    int64_t limit = request->rest->server->body_bytes_max;
    note_encoding(request, encoding);
    if (limit > 0 && size > (uint64_t)limit)
        return too_large(request, size);
    TRY(check_memory(request, size));
    /* Trusts Content-Length up to PROMISE_BYTES_MAX. Beyond that, memory grows as bytes arrive. */
    return reserve_body(request, size < PROMISE_BYTES_MAX ? size : PROMISE_BYTES_MAX);
}

void rest_body_append(struct request *request, const char *data, size_t size)
{
    int64_t limit = request->rest->server->body_bytes_max;
    if (request->dropped)
        return;
    struct status status = status_ok();
    if (limit > 0 && request->size + size > (uint64_t)limit)
        status = too_large(request, request->size + size);
    else
        status = reserve_body(request, request->size + size);
    if (!status_is_ok(status)) {
        rest_body_refuse(request, status);
        return;
    }
    assert(request->size + size + JSON_PADDING <= request->capacity);
    memcpy(request->data + request->size, data, size);
    request->size += size;
}

/* Decompresses the body. A body over the operator's own limit is refused. A damaged one, or a zip
 * bomb, counts as empty under /v1, as in TensorFlow Serving. */
static struct status expand_body(struct request *request)
{
    if (!request->compressed || request->size == 0)
        return status_ok();
    struct inflated_body expanded;
    int64_t own_limit = request->rest->server->body_bytes_max;
    bool ours = own_limit > 0 && (uint64_t)own_limit < GUNZIP_BYTES_MAX;
    size_t limit = ours ? (size_t)own_limit : GUNZIP_BYTES_MAX;
    struct status status =
        body_inflate(request->compression, (struct bytes){ request->data, request->size }, limit,
                     JSON_PADDING, request->rest->server->budget, &expanded);
    if (status.code == STATUS_OUT_OF_RANGE && ours)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "request body expands to over --max_request_bytes=%lld",
                            (long long)own_limit);
    if (status.code == STATUS_RESOURCE_EXHAUSTED)
        return status;
    request->size = 0;
    if (!status_is_ok(status))
        return route_is_v2(request->exchange.url) ? status : status_ok();
    rest_body_free(request);
    request->data = expanded.data;
    request->size = expanded.size;
    request->capacity = (size_t)expanded.taken;
    return status_ok();
}

struct status rest_body_finish(struct request *request)
{
    TRY(expand_body(request));
    TRY(reserve_body(request, request->size));
    memset(request->data + request->size, 0, JSON_PADDING);
    return status_ok();
}
