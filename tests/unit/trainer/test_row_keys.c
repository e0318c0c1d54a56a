/* The rules of hash tables: shards, first values, admission by chance, limits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "trainer/protocol/row_keys.h"

static struct row_keys_spec uniform(uint64_t seed)
{
    return (struct row_keys_spec){
        .seed = seed, .initializer = KEY_UNIFORM, .a = -0.5, .b = 0.5, .probability = 1
    };
}

static void keeps_the_order_of_keys_in_messages(void **state)
{
    static const int64_t keys[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX };

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        assert_true(key_from_wire(key_to_wire(keys[i])) == keys[i]);
        assert_true(i == 0 || key_to_wire(keys[i - 1]) < key_to_wire(keys[i]));
    }
    assert_true(key_to_wire(INT64_MIN) == 0 && key_to_wire(INT64_MAX) == UINT64_MAX);
}

/* 65,536 keys in 1,024 shards: 64 each, with a deviation of 8. */
static void spreads_neighbouring_keys_over_all_shards(void **state)
{
    static int counts[KEY_SHARDS];

    (void)state;
    for (int64_t key = -32768; key < 32768; key++) {
        assert_true(key_shard(key) < KEY_SHARDS);
        counts[key_shard(key)]++;
    }
    for (int s = 0; s < KEY_SHARDS; s++)
        assert_in_range(counts[s], 64 - 6 * 8, 64 + 6 * 8);
}

static void gives_each_key_a_ps(void **state)
{
    (void)state;
    for (int64_t key = 0; key < 100; key++) {
        assert_int_equal(key_ps(key, 1), 0);
        assert_int_equal(key_ps(key, 5), key_shard(key) % 5);
    }
}

static void draws_first_values_from_the_seed_and_the_key(void **state)
{
    struct row_keys_spec spec = uniform(7), other = uniform(8);
    float a[4], b[4], c[4], d[4];

    (void)state;
    key_initial_value(&spec, -3, a, 4);
    key_initial_value(&spec, -3, b, 4);
    key_initial_value(&spec, -4, c, 4);
    key_initial_value(&other, -3, d, 4);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    assert_memory_not_equal(a, d, sizeof a);
    for (int i = 0; i < 4; i++)
        assert_true(a[i] >= -0.5F && a[i] < 0.5F);
}

/* The mean of 10,000 first values has a deviation of 0.02 or less here. */
static void draws_first_values_with_the_mean_of_the_default(void **state)
{
    static const struct row_keys_spec specs[] = {
        { .initializer = KEY_CONSTANT, .a = 0.25, .probability = 1 },
        { .initializer = KEY_UNIFORM, .a = 1, .b = 3, .probability = 1 },
        { .initializer = KEY_NORMAL, .a = -1, .b = 2, .probability = 1 },
        { .initializer = KEY_TRUNCATED_NORMAL, .a = 5, .b = 1, .probability = 1 },
    };

    (void)state;
    for (size_t s = 0; s < COUNT(specs); s++) {
        double sum = 0;
        for (int64_t key = 0; key < 10000; key++) {
            float value;
            key_initial_value(&specs[s], key, &value, 1);
            sum += (double)value;
        }
        assert_true(fabs(sum / 10000 - (double)key_default_value(&specs[s])) < 0.1);
    }
}

static void admits_a_part_of_the_keys_by_chance(void **state)
{
    struct row_keys_spec spec = uniform(7);
    int admitted = 0;

    (void)state;
    for (int64_t key = 0; key < 1000; key++)
        assert_true(key_has_chance(&spec, key));
    spec.probability = 0.25;
    for (int64_t key = 0; key < 10000; key++)
        admitted += key_has_chance(&spec, key);
    assert_in_range(admitted, 2500 - 6 * 43, 2500 + 6 * 43); /* a deviation of 43 */
}

static const struct refusal {
    const char *text;
    struct row_keys_spec spec;
} refusals[] = {
    { "initializer 4, must be 0 to 3", { .initializer = KEY_INITIALIZERS, .probability = 1 } },
    { "must be finite", { .a = (double)INFINITY, .probability = 1 } },
    { "from low to high", { .initializer = KEY_UNIFORM, .a = 1, .probability = 1 } },
    { "deviation of at least 0", { .initializer = KEY_NORMAL, .b = -1, .probability = 1 } },
    { "probability 0,", { .probability = 0 } },
    { "probability 1.5,", { .probability = 1.5 } },
    { "min_count 4294967295,", { .min_count = UINT32_MAX, .probability = 1 } },
    { "bytes_max 1000, must be at least 69632", { .bytes_max = 1000, .probability = 1 } },
};

static void refuses_rules_out_of_range(void **state)
{
    struct row_keys_spec good = uniform(1);

    (void)state;
    good.bytes_max = 69632;
    assert_int_equal(row_keys_check(&good, 32).code, STATUS_OK);
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct status status = row_keys_check(&refusals[i].spec, 32);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, refusals[i].text) == NULL)
            fail_msg("'%s' lacks '%s'", status.message, refusals[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_keys_in_messages),
        cmocka_unit_test(spreads_neighbouring_keys_over_all_shards),
        cmocka_unit_test(gives_each_key_a_ps),
        cmocka_unit_test(draws_first_values_from_the_seed_and_the_key),
        cmocka_unit_test(draws_first_values_with_the_mean_of_the_default),
        cmocka_unit_test(admits_a_part_of_the_keys_by_chance),
        cmocka_unit_test(refuses_rules_out_of_range),
    };

    return cmocka_run_group_tests_name("row keys", tests, NULL, NULL);
}
