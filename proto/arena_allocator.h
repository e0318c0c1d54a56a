/*
 * arena_allocator: lets protobuf-c build messages in an arena, within its limit. Nothing is freed
 * one by one.
 *
 * Messages consist of many small pieces. They are cut from chunks; only large pieces are reserved
 * by themselves, with the arena's alignment of 64.
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
    struct status failure; /* of the last allocation that failed; OK: none did */
};

/* Allocations are aligned to 8 and not zeroed. */
void arena_allocator_init(struct arena_allocator *allocator, struct arena *arena);

#endif
