/*
 * map: bytes to pointers, open addressing. Keys are borrowed: they must live as long as the map
 * (names in an arena do). Iteration is in order of insertion, so that whatever is made from a map
 * is made the same way each time.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/bytes.h"

struct map_entry {
    struct bytes key;
    void *value;
};

struct arena;

/* Zero-initialise; with an arena the table lives there. entries[0 .. count) in order of insertion;
 * a removed entry has key.data NULL. */
struct map {
    struct map_entry *entries;
    uint32_t *slots; /* index + 1 into entries; 0 = empty */
    size_t count, capacity, live;
    struct arena *arena; /* NULL: the heap */
};

void *map_get(const struct map *map, struct bytes key); /* NULL: not there */
bool map_has(const struct map *map, struct bytes key);
void map_put(struct map *map, struct bytes key, void *value); /* replaces */
void *map_remove(struct map *map, struct bytes key); /* the value that was there, or NULL */
void map_finish(struct map *map);                    /* frees the table, not the values */

static inline void *map_get_text(const struct map *map, const char *key)
{
    return map_get(map, bytes_of(key));
}

static inline void map_put_text(struct map *map, const char *key, void *value)
{
    map_put(map, bytes_of(key), value);
}

#endif
