/* Finding, adding and removing keys. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/ps/key_map.h"

#define KEYS 50000

static int64_t key_of(uint32_t i)
{
    return (int64_t)i * 3 - KEYS;
}

/* Beyond eleven divisions of all buckets' first block. */
static void finds_every_key_while_it_grows(void **state)
{
    static uint32_t entries[KEYS];
    struct key_map map;

    (void)state;
    assert_true(key_map_init(&map, NULL, 42));
    for (uint32_t i = 0; i < KEYS; i++) {
        assert_int_equal(key_map_find(&map, key_of(i)), KEY_NONE);
        entries[i] = key_map_add(&map, key_of(i), i);
        for (uint32_t k = i % 97; k <= i; k += 9973)
            assert_int_equal(key_map_find(&map, key_of(k)), entries[k]);
    }
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(key_map_find(&map, key_of(i)), entries[i]);
    assert_int_equal(key_map_find(&map, key_of(0) + 1), KEY_NONE);
    assert_true(map.buckets_count >= KEYS);
    key_map_finish(&map);
}

static void uses_the_entries_of_removed_keys_again(void **state)
{
    struct key_map map;

    (void)state;
    assert_true(key_map_init(&map, NULL, 1));
    for (uint32_t i = 0; i < KEYS; i++)
        key_map_add(&map, key_of(i), 1);
    uint32_t end = map.entries_end;
    for (uint32_t i = 0; i < KEYS; i += 2)
        key_map_remove(&map, key_map_find(&map, key_of(i)));
    assert_int_equal(map.count, KEYS / 2);
    for (uint32_t i = 0; i < KEYS; i++)
        assert_int_equal(key_map_find(&map, key_of(i)) != KEY_NONE, i % 2);
    for (uint32_t i = 0; i < KEYS; i += 2)
        key_map_add(&map, -key_of(i) - 1000000, 2);
    assert_int_equal(map.entries_end, end);
    key_map_finish(&map);
}

static void keeps_the_keys_of_a_shard_in_the_order_of_use(void **state)
{
    struct key_map map;
    uint32_t entries[3], found = 0;
    int64_t key = 0;

    (void)state;
    assert_true(key_map_init(&map, NULL, 1));
    for (; found < 3; key++) /* three keys of one shard */
        if (key_shard(key) == 5)
            entries[found++] = key_map_add(&map, key, 1);
    key_map_touch(&map, entries[0], 2);
    key_map_touch(&map, entries[0], 3);
    assert_int_equal(map.shards[5].oldest, entries[1]);
    assert_int_equal(map.shards[5].newest, entries[0]);
    assert_int_equal(key_map_at(&map, entries[0])->used, 3);
    key_map_remove(&map, entries[2]);
    assert_int_equal(key_map_at(&map, entries[1])->newer, entries[0]);
    key_map_remove(&map, entries[1]);
    key_map_remove(&map, entries[0]);
    assert_int_equal(map.shards[5].oldest, KEY_NONE);
    assert_int_equal(map.shards[5].newest, KEY_NONE);
    key_map_finish(&map);
}

static void charges_its_blocks(void **state)
{
    struct budget budget = { .limit_bytes = 200000, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct key_map map;
    uint32_t i = 0;

    (void)state;
    assert_true(key_map_init(&map, &budget, 1)); /* 16 KiB, then 128 KiB for entries */
    while (i < KEYS && key_map_add(&map, key_of(i), 1) != KEY_NONE)
        i++;
    assert_int_equal(i, KEY_BLOCK_ENTRIES); /* no second block of entries */
    assert_int_equal(key_map_find(&map, key_of(i)), KEY_NONE);
    assert_int_not_equal(key_map_find(&map, key_of(i - 1)), KEY_NONE);
    assert_int_equal(budget.used_bytes, KEY_BLOCK_ENTRIES * (4 + 32));
    key_map_finish(&map);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_key_while_it_grows),
        cmocka_unit_test(uses_the_entries_of_removed_keys_again),
        cmocka_unit_test(keeps_the_keys_of_a_shard_in_the_order_of_use),
        cmocka_unit_test(charges_its_blocks),
    };

    return cmocka_run_group_tests_name("key map", tests, NULL, NULL);
}
