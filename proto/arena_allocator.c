#include "proto/arena_allocator.h"

#define CHUNK_MIN ((size_t)1024)
#define CHUNK_MAX ((size_t)64 * 1024)

static void *allocate(void *context, size_t size_bytes)
{
    struct arena_allocator *allocator = context;
    size_t size = (size_bytes + 7) & ~(size_t)7;
    if (size < size_bytes)
        size = SIZE_MAX; /* refused by the arena */
    if (size <= (size_t)(allocator->end - allocator->at)) {
        void *data = allocator->at;
        allocator->at += size;
        return data;
    }

    bool alone = size > allocator->chunk_bytes / 4;
    void *data;
    struct status status =
        arena_reserve(allocator->arena, alone ? size : allocator->chunk_bytes, &data);
    if (!status_is_ok(status)) {
        allocator->failure = status;
        return NULL;
    }
    if (!alone) {
        allocator->at = (char *)data + size;
        allocator->end = (char *)data + allocator->chunk_bytes;
    }
    if (allocator->chunk_bytes < CHUNK_MAX)
        allocator->chunk_bytes *= 2;
    return data;
}

static void forget(void *context, void *data)
{
    (void)context;
    (void)data;
}

void arena_allocator_init(struct arena_allocator *allocator, struct arena *arena)
{
    *allocator = (struct arena_allocator){
        .base = { allocate, forget, allocator },
        .arena = arena,
        .chunk_bytes = CHUNK_MIN,
        .failure = status_ok(),
    };
}
