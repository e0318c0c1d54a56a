#include "trainer/ps/key_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* ---- blocks ---- */

bool key_blocks_add(struct key_blocks *blocks)
{
    int64_t bytes = (int64_t)blocks->block_bytes;

    if (blocks->budget != NULL && !status_is_ok(budget_take(blocks->budget, bytes)))
        return false;
    void *block = calloc(1, blocks->block_bytes);
    if (block == NULL) {
        if (blocks->budget != NULL)
            budget_give(blocks->budget, bytes);
        return false;
    }
    if (blocks->count == blocks->capacity) {
        blocks->capacity = blocks->capacity * 2 + 16;
        blocks->blocks = xrealloc(blocks->blocks, blocks->capacity * sizeof *blocks->blocks);
    }
    blocks->blocks[blocks->count++] = block;
    blocks->paid_bytes += bytes;
    return true;
}

void key_blocks_finish(struct key_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        free(blocks->blocks[i]);
    if (blocks->budget != NULL)
        budget_give(blocks->budget, blocks->paid_bytes);
    free(blocks->blocks);
    *blocks = (struct key_blocks){ 0 };
}

/* ---- buckets ---- */

static uint32_t *bucket_at(const struct key_map *map, uint32_t index)
{
    return (uint32_t *)map->buckets.blocks[index / KEY_BLOCK_ENTRIES] + index % KEY_BLOCK_ENTRIES;
}

static bool add_bucket_block(struct key_map *map)
{
    if (!key_blocks_add(&map->buckets))
        return false;
    memset(map->buckets.blocks[map->buckets.count - 1], 0xff, map->buckets.block_bytes);
    return true;
}

uint64_t key_map_hash(const struct key_map *map, int64_t key)
{
    uint64_t hash = ((uint64_t)key ^ map->hash_seed) * UINT64_C(0x9e3779b97f4a7c15);

    hash = (hash ^ (hash >> 32) ^ map->hash_seed) * UINT64_C(0xd1342543de82ef95);
    return hash ^ (hash >> 32);
}

static uint32_t bucket_of(const struct key_map *map, int64_t key)
{
    uint32_t bucket = (uint32_t)key_map_hash(map, key) & (2 * map->base - 1);
    return bucket < map->buckets_count ? bucket : bucket & (map->base - 1);
}

const uint32_t *key_map_bucket(const struct key_map *map, int64_t key)
{
    return bucket_at(map, bucket_of(map, key));
}

uint32_t key_map_find_from(const struct key_map *map, uint32_t first, int64_t key)
{
    uint32_t index = first;

    while (index != KEY_NONE && key_map_at(map, index)->key != key)
        index = key_map_at(map, index)->next;
    return index;
}

/* Splits the next bucket in order. Without memory, the chains get longer, which is slower but
 * correct. */
static void divide_bucket(struct key_map *map)
{
    uint32_t added = map->buckets_count;

    if (added == KEY_WAITING || (added % KEY_BLOCK_ENTRIES == 0 && !add_bucket_block(map)))
        return;
    uint32_t *old = bucket_at(map, added - map->base), *new = bucket_at(map, added);
    uint32_t index = *old;
    if (++map->buckets_count == 2 * map->base)
        map->base *= 2;
    *old = KEY_NONE;
    while (index != KEY_NONE) {
        struct key_entry *entry = key_map_at(map, index);
        uint32_t next = entry->next;
        uint32_t *to = bucket_of(map, entry->key) == added ? new : old;
        entry->next = *to;
        *to = index;
        index = next;
    }
}

bool key_map_init(struct key_map *map, struct budget *budget, uint64_t hash_seed)
{
    *map = (struct key_map){ .free_entries = KEY_NONE,
                             .base = KEY_BLOCK_ENTRIES,
                             .buckets_count = KEY_BLOCK_ENTRIES,
                             .hash_seed = hash_seed };
    map->entries.budget = map->buckets.budget = budget;
    map->entries.block_bytes = KEY_BLOCK_ENTRIES * sizeof(struct key_entry);
    map->buckets.block_bytes = KEY_BLOCK_ENTRIES * sizeof(uint32_t);
    for (int s = 0; s < KEY_SHARDS; s++)
        map->shards[s] = (struct key_list){ KEY_NONE, KEY_NONE, 0 };
    return add_bucket_block(map);
}

void key_map_finish(struct key_map *map)
{
    key_blocks_finish(&map->entries);
    key_blocks_finish(&map->buckets);
}

/* ---- the list of a shard ---- */

static void link_newest(struct key_map *map, uint32_t index)
{
    struct key_entry *entry = key_map_at(map, index);
    struct key_list *list = &map->shards[key_shard(entry->key)];

    entry->older = list->newest;
    entry->newer = KEY_NONE;
    if (list->newest == KEY_NONE)
        list->oldest = index;
    else
        key_map_at(map, list->newest)->newer = index;
    list->newest = index;
}

static void unlink_entry(struct key_map *map, uint32_t index)
{
    struct key_entry *entry = key_map_at(map, index);
    struct key_list *list = &map->shards[key_shard(entry->key)];

    if (entry->older == KEY_NONE)
        list->oldest = entry->newer;
    else
        key_map_at(map, entry->older)->newer = entry->newer;
    if (entry->newer == KEY_NONE)
        list->newest = entry->older;
    else
        key_map_at(map, entry->newer)->older = entry->older;
}

void key_map_touch(struct key_map *map, uint32_t index, uint64_t used)
{
    struct key_entry *entry = key_map_at(map, index);

    entry->used = used;
    if (entry->newer == KEY_NONE)
        return;
    unlink_entry(map, index);
    link_newest(map, index);
}

/* ---- entries ---- */

/* KEY_NONE: no memory. Row numbers have 31 bits, and so more entries would be useless. */
static uint32_t take_entry(struct key_map *map)
{
    uint32_t index = map->free_entries;

    if (index != KEY_NONE) {
        map->free_entries = key_map_at(map, index)->next;
        return index;
    }
    if (map->entries_end == KEY_WAITING - 1 ||
        (map->entries_end % KEY_BLOCK_ENTRIES == 0 && !key_blocks_add(&map->entries)))
        return KEY_NONE;
    return map->entries_end++;
}

uint32_t key_map_add(struct key_map *map, int64_t key, uint64_t used)
{
    uint32_t index = take_entry(map);

    if (index == KEY_NONE)
        return KEY_NONE;
    if (++map->count > map->buckets_count)
        divide_bucket(map);
    uint32_t *bucket = bucket_at(map, bucket_of(map, key));
    *key_map_at(map, index) =
        (struct key_entry){ .key = key, .used = used, .next = *bucket, .row = KEY_WAITING };
    *bucket = index;
    link_newest(map, index);
    return index;
}

void key_map_remove(struct key_map *map, uint32_t index)
{
    struct key_entry *entry = key_map_at(map, index);
    uint32_t *at = bucket_at(map, bucket_of(map, entry->key));

    unlink_entry(map, index);
    while (*at != index)
        at = &key_map_at(map, *at)->next;
    *at = entry->next;
    entry->next = map->free_entries;
    map->free_entries = index;
    map->count--;
}
