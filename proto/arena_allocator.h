/*
 * arena_allocator: lets protobuf-c build messages in an arena, within its limit. Nothing is freed
 * one by one.
 *
 * Messages are many small pieces: they are cut out of chunks, and only what is large takes the
 * arena's alignment of 64.
 */
#ifndef PROTO_ARENA_ALLOCATOR_H
#define PROTO_ARENA_ALLOCATOR_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"

struct arena_allocator {
    ProtobufCAllocator base; /* pass &allocator.base */
    struct arena *arena;
    char *at, *end;        /* the rest of the current chunk */
    size_t chunk_bytes;    /* of the next one */
    struct status failure; /* why an allocation failed; OK while none did */
};

void arena_allocator_init(struct arena_allocator *allocator, struct arena *arena);

/* NULL: the arena refused, see `failure`. Aligned to 8; not zeroed. */
void *arena_allocator_take(struct arena_allocator *allocator, size_t size_bytes);

#endif
