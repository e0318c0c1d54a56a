/*
 * map: from bytes to pointers, by open addressing. Strangers may choose the keys: which of them
 * collide depends on a secret of the process. Keys are borrowed and must live as long as the
 * map, as names in an arena do. Iteration is in order of insertion, so results that are made from a
 * map are reproducible.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/bytes.h"

struct map_entry {
    struct bytes key;
    void *value;
};

struct arena;

/* Zero-initialise it. With an arena, the table lives there. entries[0 .. count) are in order of
 * insertion; a removed entry has key.data NULL. */
struct map {
    struct map_entry *entries;
    uint32_t *slots; /* index + 1 into entries; 0 = empty */
    size_t count, capacity, live;
    uint64_t secret[2];  /* of the hash */
    struct arena *arena; /* NULL: the heap */
};

void *map_get(const struct map *map, struct bytes key); /* NULL: no such key */
bool map_has(const struct map *map, struct bytes key);
void map_put(struct map *map, struct bytes key, void *value); /* replaces */
void *map_remove(struct map *map, struct bytes key);          /* its value, or NULL */
void map_finish(struct map *map);                             /* frees the table, not the values */

static inline void *map_get_text(const struct map *map, const char *key)
{
    return map_get(map, bytes_of(key));
}

static inline void map_put_text(struct map *map, const char *key, void *value)
{
    map_put(map, bytes_of(key), value);
}

#endif
