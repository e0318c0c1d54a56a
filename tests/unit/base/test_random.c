#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"

/* The expected numbers are from random_reference.py, a transcription of the authors' definition. */
static void draws_the_numbers_of_its_definition(void **state)
{
    (void)state;
    static const uint64_t expected[] = { 0xf1e8e70c151bddd1u, 0x9f4158c275c54ccbu,
                                         0x89d8f36093faf792u, 0x135664816fa79eb7u };
    struct random random;

    random_init(&random, 42, 7);
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_true(random_u64(&random) == expected[i]);
}

static void uniform_numbers_fill_their_interval_evenly(void **state)
{
    (void)state;
    struct random random;
    int counts[10] = { 0 };

    random_init(&random, 1, 0);
    for (int i = 0; i < 100000; i++) {
        float x = random_float(&random);
        assert_true(x >= 0 && x < 1);
        counts[(int)(x * 10)]++;
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(counts[i], 9600, 10400); /* 10 000 ± 4.2 standard deviations */
}

static void normal_numbers_have_mean_0_and_deviation_1(void **state)
{
    (void)state;
    struct random random;
    double sum = 0, squares = 0, fourth = 0;
    const int count = 200000;

    random_init(&random, 2, 0);
    for (int i = 0; i < count; i++) {
        double x = random_normal(&random);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    assert_true(fabs(sum / count) < 0.01);
    assert_true(fabs(squares / count - 1) < 0.015);
    assert_true(fabs(fourth / count - 3) < 0.1);
}

static void truncated_normals_stay_within_two_deviations(void **state)
{
    (void)state;
    struct random random;
    double squares = 0;
    const int count = 100000;

    random_init(&random, 3, 0);
    for (int i = 0; i < count; i++) {
        double x = random_truncated_normal(&random);
        assert_true(fabs(x) <= 2);
        squares += x * x;
    }
    /* The standard deviation of a standard normal distribution truncated at ±2. */
    assert_true(fabs(sqrt(squares / count) - 0.87962566) < 0.01);
}

static void a_permutation_has_every_number_once(void **state)
{
    (void)state;
    struct random random;
    uint32_t order[1000], again[1000];
    unsigned char seen[1000] = { 0 };
    int moved = 0;

    random_init(&random, 4, 0);
    random_permutation(&random, order, 1000);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(order[i] < 1000 && !seen[order[i]]);
        seen[order[i]] = 1;
        moved += order[i] != i;
    }
    assert_true(moved > 900);
    random_init(&random, 4, 0);
    random_permutation(&random, again, 1000);
    assert_memory_equal(order, again, sizeof order);
}

static void streams_of_a_seed_differ(void **state)
{
    (void)state;
    struct random a, b, c;

    random_init(&a, 5, 0);
    random_init(&b, 5, 1);
    random_init(&c, 6, 0);
    uint64_t first = random_u64(&a);
    assert_true(first != random_u64(&b) && first != random_u64(&c));
}

static void bounded_numbers_stay_below_their_bound(void **state)
{
    (void)state;
    struct random random;
    int counts[3] = { 0 };

    random_init(&random, 7, 0);
    for (int i = 0; i < 30000; i++)
        counts[random_below(&random, 3)]++;
    for (int i = 0; i < 3; i++)
        assert_in_range(counts[i], 9600, 10400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_the_numbers_of_its_definition),
        cmocka_unit_test(uniform_numbers_fill_their_interval_evenly),
        cmocka_unit_test(normal_numbers_have_mean_0_and_deviation_1),
        cmocka_unit_test(truncated_normals_stay_within_two_deviations),
        cmocka_unit_test(a_permutation_has_every_number_once),
        cmocka_unit_test(streams_of_a_seed_differ),
        cmocka_unit_test(bounded_numbers_stay_below_their_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
