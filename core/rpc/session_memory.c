#include "rpc/session_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define STEP  ((size_t)64) /* kept are STEP, 2 STEP … SIZES STEP bytes */
#define SIZES 16

/* AddressSanitizer is to see each end. */
#ifdef __SANITIZE_ADDRESS__
#define KEPT_BYTES_MAX ((size_t)0)
#else
#define KEPT_BYTES_MAX ((size_t)1 << 20)
#endif

/* In front of each: its place in `kept`, or SIZES and a size of its own. */
struct piece {
    union {
        struct piece *next; /* while it is kept */
        size_t room;
    };
    size_t index;
    _Alignas(max_align_t) char data[];
};

struct session_memory {
    struct piece *kept[SIZES];
    size_t kept_bytes;
};

static struct piece *of_data(void *data)
{
    return (struct piece *)((char *)data - offsetof(struct piece, data));
}

static size_t room_of(const struct piece *piece)
{
    return piece->index < SIZES ? (piece->index + 1) * STEP : piece->room;
}

static void *take(size_t size, void *context)
{
    struct session_memory *memory = context;
    size_t index = size == 0 ? 0 : (size - 1) / STEP;

    if (index < SIZES) {
        struct piece *kept = memory->kept[index];
        size = (index + 1) * STEP;
        if (kept != NULL) {
            memory->kept[index] = kept->next;
            memory->kept_bytes -= size;
            return kept->data;
        }
    }
    if (size > SIZE_MAX - sizeof(struct piece))
        return NULL;
    struct piece *piece = malloc(sizeof *piece + size);
    if (piece == NULL)
        return NULL;
    piece->room = size;
    piece->index = index < SIZES ? index : SIZES;
    return piece->data;
}

static void give(void *data, void *context)
{
    struct session_memory *memory = context;

    if (data == NULL)
        return;
    struct piece *piece = of_data(data);
    if (piece->index == SIZES || memory->kept_bytes + room_of(piece) > KEPT_BYTES_MAX) {
        free(piece);
        return;
    }
    memory->kept_bytes += room_of(piece);
    piece->next = memory->kept[piece->index];
    memory->kept[piece->index] = piece;
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
            struct piece *next = memory->kept[i]->next;
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
