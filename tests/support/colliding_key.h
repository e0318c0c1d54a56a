/* A key of 16 bytes as a stranger chooses it, so that all of them have the same bytes_hash. */
#ifndef SUPPORT_COLLIDING_KEY_H
#define SUPPORT_COLLIDING_KEY_H

#include <stdint.h>

/* Two words that bytes_hash takes to the same state, whatever the first one is. */
static inline void colliding_key(uint64_t first, uint64_t key[2])
{
    uint64_t hash = (0xcbf29ce484222325u ^ 16 ^ first) * 0x9e3779b97f4a7c15u;

    key[0] = first;
    key[1] = hash ^ hash >> 29;
}

#endif
