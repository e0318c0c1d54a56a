/* Keys as a stranger chooses them, so that bytes_hash does not tell them apart. */
#ifndef SUPPORT_COLLIDING_KEY_H
#define SUPPORT_COLLIDING_KEY_H

#include <stdint.h>

/* A key of 16 bytes: two words that bytes_hash takes to the same state, whatever the first is. */
static inline void colliding_key(uint64_t first, uint64_t key[2])
{
    uint64_t hash = (0xcbf29ce484222325u ^ 16 ^ first) * 0x9e3779b97f4a7c15u;

    key[0] = first;
    key[1] = hash ^ hash >> 29;
}

/* A key of 8 bytes: its bytes_hash is `number`, shifted by 24 bits. Each step of the hash is
 * undone; the factors are the inverses of those of bytes_hash. */
static inline uint64_t colliding_word(uint64_t number)
{
    uint64_t hash = number << 24;

    hash = (hash ^ hash >> 32) * 0xcfee444d8b59a89bu;
    hash ^= hash >> 32;
    hash = (hash ^ hash >> 29 ^ hash >> 58) * 0xf1de83e19937733du;
    return hash ^ 0xcbf29ce484222325u ^ 8;
}

#endif
