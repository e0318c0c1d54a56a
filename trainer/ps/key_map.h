/*
 * key_map: the keys of a hash table on one ps: finds the entry of a key, adds and removes entries,
 * and tracks the least recently used ones.
 *
 * Entries are in blocks that never move, and are chained in buckets by linear hashing: each added
 * entry splits at most one bucket. Therefore no update waits for the map to grow, and growing
 * copies only a list of blocks, 8 bytes for each 4096 entries. The hash has a secret seed, so that
 * nobody can choose colliding keys.
 *
 * The entries of a shard (row_keys.h) form a list from the least to the most recently used.
 */
#ifndef TRAINER_PS_KEY_MAP_H
#define TRAINER_PS_KEY_MAP_H

#include "base/budget.h"
#include "trainer/protocol/row_keys.h"

#define KEY_NONE    UINT32_MAX
#define KEY_WAITING (UINT32_C(1) << 31)

/* 32 bytes, two to a cache line. */
struct key_entry {
    int64_t key;
    uint64_t used;         /* the step of the key's last update */
    uint32_t next;         /* in its bucket, or in the free list */
    uint32_t row;          /* before it has a row: KEY_WAITING | the number of updates so far */
    uint32_t older, newer; /* in the LRU list of its shard */
};

struct key_list {
    uint32_t oldest, newest;
    uint64_t bytes; /* of the entries and their rows */
};

/* Memory in blocks, charged to a budget. */
struct key_blocks {
    struct budget *budget; /* NULL: no limit */
    int64_t paid_bytes;
    size_t block_bytes;
    void **blocks; /* [count] */
    size_t count, capacity;
};

/* Adds a zeroed block. Returns false if it does not fit in the budget or the machine's memory. */
bool key_blocks_add(struct key_blocks *blocks);
void key_blocks_finish(struct key_blocks *blocks);

struct key_map {
    struct key_blocks entries, buckets;
    uint32_t entries_end;  /* entries from here on have never been used */
    uint32_t free_entries; /* a list; KEY_NONE: empty */
    uint32_t count;        /* of keys */
    uint32_t base;         /* a power of 2: the buckets before the current doubling began */
    uint32_t buckets_count;
    uint64_t hash_seed;
    struct key_list shards[KEY_SHARDS];
};

/* Makes an empty map. Returns false without memory. Owner: key_map_finish, in any case. */
bool key_map_init(struct key_map *map, struct budget *budget, uint64_t hash_seed);
void key_map_finish(struct key_map *map);

#define KEY_BLOCK_ENTRIES 4096 /* also buckets */

static inline struct key_entry *key_map_at(const struct key_map *map, uint32_t index)
{
    return (struct key_entry *)map->entries.blocks[index / KEY_BLOCK_ENTRIES] +
           index % KEY_BLOCK_ENTRIES;
}

/* A lookup in three steps, so that each can be prefetched: the address of the key's bucket; the
 * bucket's first entry; the entry of the key, or KEY_NONE. A bucket stays in place until an
 * entry is added. */
const uint32_t *key_map_bucket(const struct key_map *map, int64_t key);
uint32_t key_map_find_from(const struct key_map *map, uint32_t first, int64_t key);

static inline uint32_t key_map_find(const struct key_map *map, int64_t key)
{
    return key_map_find_from(map, *key_map_bucket(map, key), key);
}

/* The hash of the key, with the secret seed. */
uint64_t key_map_hash(const struct key_map *map, int64_t key);

/* Adds a key that is absent, as the most recently used of its shard. KEY_NONE: no memory. */
uint32_t key_map_add(struct key_map *map, int64_t key, uint64_t used);
void key_map_remove(struct key_map *map, uint32_t index);

/* Makes an entry the most recently used of its shard. */
void key_map_touch(struct key_map *map, uint32_t index, uint64_t used);

#endif
