#include "rpc/session_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/container.h"

#define STEP  ((size_t)64) /* the free lists hold sizes of STEP, 2 STEP, … SIZES STEP bytes */
#define SIZES 16

/* AddressSanitizer must see each free. */
#ifdef __SANITIZE_ADDRESS__
#define KEPT_BYTES_MAX ((size_t)0)
#else
#define KEPT_BYTES_MAX ((size_t)1 << 20)
#endif

/* Precedes each allocation. index: of its free list; SIZES: too large for one. */
struct allocation {
    union {
        struct allocation *next; /* while it is kept */
        size_t room;
    };
    size_t index;
    _Alignas(max_align_t) char data[];
};

struct session_memory {
    struct allocation *kept[SIZES];
    size_t kept_bytes;
};

static struct allocation *of_data(void *data)
{
    return CONTAINER_OF(data, struct allocation, data);
}

static size_t room_of(const struct allocation *allocation)
{
    return allocation->index < SIZES ? (allocation->index + 1) * STEP : allocation->room;
}

static void *take(size_t size, void *context)
{
    struct session_memory *memory = context;
    size_t index = size == 0 ? 0 : (size - 1) / STEP;

    if (index < SIZES) {
        struct allocation *kept = memory->kept[index];
        size = (index + 1) * STEP;
        if (kept != NULL) {
            memory->kept[index] = kept->next;
            memory->kept_bytes -= size;
            return kept->data;
        }
    }
    if (size > SIZE_MAX - sizeof(struct allocation))
        return NULL;
    struct allocation *allocation = malloc(sizeof *allocation + size);
    if (allocation == NULL)
        return NULL;
    allocation->room = size;
    allocation->index = index < SIZES ? index : SIZES;
    return allocation->data;
}

static void give(void *data, void *context)
{
    struct session_memory *memory = context;

    if (data == NULL)
        return;
    struct allocation *allocation = of_data(data);
    if (allocation->index == SIZES || memory->kept_bytes + room_of(allocation) > KEPT_BYTES_MAX) {
        free(allocation);
        return;
    }
    memory->kept_bytes += room_of(allocation);
    allocation->next = memory->kept[allocation->index];
    memory->kept[allocation->index] = allocation;
}

static void *take_zeroed(size_t count, size_t size, void *context)
{
    if (size != 0 && count > SIZE_MAX / size)
        return NULL;
    void *data = take(count * size, context);
    return data == NULL ? NULL : memset(data, 0, count * size);
}

static void *take_more(void *data, size_t size, void *context)
{
    size_t room = data == NULL ? 0 : room_of(of_data(data));

    if (data != NULL && size <= room)
        return data;
    void *more = take(size, context);
    if (more != NULL && data != NULL) {
        memcpy(more, data, room);
        give(data, context);
    }
    return more;
}

struct session_memory *session_memory_create(void)
{
    return zalloc(sizeof(struct session_memory));
}

void session_memory_destroy(struct session_memory *memory)
{
    for (int i = 0; memory != NULL && i < SIZES; i++)
        while (memory->kept[i] != NULL) {
            struct allocation *next = memory->kept[i]->next;
            free(memory->kept[i]);
            memory->kept[i] = next;
        }
    free(memory);
}

nghttp2_mem session_memory_functions(struct session_memory *memory)
{
    return (nghttp2_mem){ .mem_user_data = memory,
                          .malloc = take,
                          .free = give,
                          .calloc = take_zeroed,
                          .realloc = take_more };
}
