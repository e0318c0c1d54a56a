#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/fingerprint.h"

static size_t slot_count(const struct map *map)
{
    return map->capacity * 2; /* at most half full: probes stay short */
}

/* The slot of the key, or the empty slot at which the search ended. */
static uint32_t *find(const struct map *map, struct bytes key)
{
    size_t mask = slot_count(map) - 1;
    for (size_t at = siphash64(map->secret, key) & mask;; at = (at + 1) & mask) {
        uint32_t index = map->slots[at];
        if (index == 0)
            return &map->slots[at];
        const struct map_entry *entry = &map->entries[index - 1];
        if (entry->key.data != NULL && bytes_equal(entry->key, key))
            return &map->slots[at];
    }
}

static void *room(const struct map *map, size_t size)
{
    return map->arena != NULL ? arena_alloc(map->arena, size) : zalloc(size);
}

static void give_back(const struct map *map, void *data)
{
    if (map->arena == NULL)
        free(data);
}

static void grow(struct map *map)
{
    if (map->capacity == 0)
        fingerprint_secret(map->secret);
    struct map_entry *old = map->entries;
    size_t count = map->count;
    size_t capacity = map->live * 2 >= map->capacity ? map->capacity * 2 : map->capacity;
    if (capacity < 8)
        capacity = 8;
    assert(capacity < UINT32_MAX / 2);
    give_back(map, map->slots);
    map->entries = room(map, capacity * sizeof *map->entries);
    map->slots = room(map, capacity * 2 * sizeof *map->slots);
    map->capacity = capacity;
    map->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (old[i].key.data == NULL)
            continue;
        map->entries[map->count++] = old[i];
        *find(map, old[i].key) = (uint32_t)map->count;
    }
    give_back(map, old);
}

void *map_get(const struct map *map, struct bytes key)
{
    if (map->capacity == 0)
        return NULL;
    uint32_t index = *find(map, key);
    return index == 0 ? NULL : map->entries[index - 1].value;
}

bool map_has(const struct map *map, struct bytes key)
{
    return map->capacity != 0 && *find(map, key) != 0;
}

void map_put(struct map *map, struct bytes key, void *value)
{
    if (key.data == NULL)
        key.data = "";
    if (map->count == map->capacity)
        grow(map);
    uint32_t *slot = find(map, key);
    if (*slot == 0) {
        map->entries[map->count++] = (struct map_entry){ key, value };
        *slot = (uint32_t)map->count;
        map->live++;
    } else {
        map->entries[*slot - 1].value = value;
    }
}

void *map_remove(struct map *map, struct bytes key)
{
    if (map->capacity == 0)
        return NULL;
    uint32_t index = *find(map, key);
    if (index == 0)
        return NULL;
    struct map_entry *entry = &map->entries[index - 1];
    void *value = entry->value;
    entry->key = (struct bytes){ NULL, 0 }; /* the slot stays in use: probes continue past it */
    entry->value = NULL;
    map->live--;
    return value;
}

void map_finish(struct map *map)
{
    give_back(map, map->entries);
    give_back(map, map->slots);
    *map = (struct map){ .arena = map->arena };
}
