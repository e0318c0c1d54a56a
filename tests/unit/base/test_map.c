/* Tests that strangers cannot choose keys that collide. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"
#include "support/colliding_key.h"

/* With one chain for all of them, the test would take minutes. */
#define KEYS_COUNT 300000

static void keys_that_were_chosen_to_collide_do_not(void **state)
{
    (void)state;
    struct map map = { 0 };
    uint64_t(*keys)[2] = malloc(KEYS_COUNT * sizeof *keys);
    struct bytes first = { (const char *)keys[0], sizeof keys[0] };
    assert_non_null(keys);
    for (uint64_t i = 0; i < KEYS_COUNT; i++) {
        struct bytes key = { (const char *)keys[i], sizeof keys[i] };
        colliding_key(i, keys[i]);
        assert_int_equal(bytes_hash(key), bytes_hash(first));
        map_put(&map, key, keys[i]);
    }
    assert_int_equal(map.count, KEYS_COUNT);
    for (size_t i = 0; i < KEYS_COUNT; i++)
        assert_ptr_equal(map_get(&map, (struct bytes){ (const char *)keys[i], sizeof keys[i] }),
                         keys[i]);
    map_finish(&map);
    free(keys);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_were_chosen_to_collide_do_not),
    };
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
