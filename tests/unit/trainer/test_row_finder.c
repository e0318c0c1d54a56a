#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "trainer/protocol/row_finder.h"

static struct row_scratch scratch;

static void gives_each_row_once_and_in_order(void **state)
{
    (void)state;
    const int64_t first[] = { 9, 2, 9 }, second[] = { 5, 2 }, rows[] = { 2, 5, 9 },
                  places[] = { 2, 0, 2, 1, 0 };
    struct row_finder finder = { 0 };

    row_finder_begin(&finder, &scratch, 10);
    assert_int_equal(row_finder_add(&finder, first, 3).code, STATUS_OK);
    assert_int_equal(row_finder_add(&finder, second, 2).code, STATUS_OK);
    row_finder_finish(&finder);
    assert_int_equal(finder.rows.count, 3);
    assert_memory_equal(finder.rows.ids, rows, sizeof rows);
    assert_memory_equal(finder.places, places, sizeof places);
    row_finder_begin(&finder, &scratch, 1); /* a table of one row needs no sorting */
    assert_int_equal(row_finder_add(&finder, (int64_t[]){ 0, 0 }, 2).code, STATUS_OK);
    row_finder_finish(&finder);
    assert_int_equal(finder.rows.count, 1);
    assert_int_equal(finder.places[1], 0);
    row_finder_begin(&finder, &scratch, 5); /* nothing */
    row_finder_finish(&finder);
    assert_int_equal(finder.rows.count, 0);
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

/* The memory that a finder keeps for a batch is what counts for prefetching. */
static void finders_share_a_scratch_and_keep_their_rows(void **state)
{
    (void)state;
    const int64_t ids[][3] = { { 9, 2, 9 }, { 7, -1, -2 } }, rows[] = { 2, 9 },
                  keys[] = { -2, -1, 7 };
    struct row_finder first = { 0 }, second = { 0 };

    row_finder_begin(&first, &scratch, 10);
    assert_int_equal(row_finder_add(&first, ids[0], 3).code, STATUS_OK);
    row_finder_finish(&first);
    row_finder_begin_keys(&second, &scratch);
    assert_int_equal(row_finder_add(&second, ids[1], 1).code, STATUS_OK);
    assert_int_equal(row_finder_add(&second, ids[1] + 1, 2).code, STATUS_OK);
    row_finder_finish(&second);
    row_scratch_free(&scratch);
    assert_int_equal(first.rows.count, 2);
    assert_memory_equal(first.rows.ids, rows, sizeof rows);
    assert_int_equal(second.rows.count, 3);
    assert_memory_equal(second.rows.ids, keys, sizeof keys);
    assert_int_equal(row_finder_bytes(&first), 2 * sizeof ids[0]);
    row_finder_free(&first);
    row_finder_free(&second);
}

/* The first batch of a job may have no ids at all. */
static void finds_no_rows_before_it_has_room(void **state)
{
    (void)state;
    struct row_finder finder = { 0 };

    row_finder_begin(&finder, &scratch, 10);
    assert_int_equal(row_finder_add(&finder, NULL, 0).code, STATUS_OK);
    row_finder_finish(&finder);
    assert_int_equal(finder.rows.count, 0);
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

#define MANY 50000

/* By a bit for each row, by sorting 64 bits for each id, of which its index takes 16, and by
 * sorting more; a batch leaves nothing behind for the next. */
static void finds_the_rows_of_large_tables(void **state)
{
    (void)state;
    static const int64_t sizes[] = {
        1 << 11,          (1 << 11) + 1,          1 << 22,  1 << 25, (int64_t)1 << 40,
        (int64_t)1 << 48, ((int64_t)1 << 48) + 1, INT64_MAX
    };
    static int64_t ids[MANY];
    struct row_finder finder = { 0 };

    for (size_t s = 0; s < COUNT(sizes); s++) {
        struct random random;
        random_init(&random, s, 0);
        for (int i = 0; i < MANY; i++)
            ids[i] = (int64_t)random_below(&random, (uint64_t)sizes[s]);
        ids[0] = ids[MANY / 2] = sizes[s] - 1;
        row_finder_begin(&finder, &scratch, sizes[s]);
        assert_int_equal(row_finder_add(&finder, ids, MANY).code, STATUS_OK);
        row_finder_finish(&finder);
        assert_int_equal(row_ids_check(&finder.rows, sizes[s]).code, STATUS_OK);
        for (int i = 0; i < MANY; i++)
            assert_true(finder.rows.ids[finder.places[i]] == ids[i]);
    }
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

/* The third lookup needs more room than the first two. */
static void joins_the_ids_of_several_lookups(void **state)
{
    (void)state;
    static int64_t ids[MANY];
    struct row_finder finder = { 0 };

    for (int i = 0; i < MANY; i++)
        ids[i] = i;
    row_finder_begin(&finder, &scratch, MANY);
    assert_int_equal(row_finder_add(&finder, ids, 2).code, STATUS_OK);
    assert_int_equal(row_finder_add(&finder, ids + 2, 2).code, STATUS_OK);
    assert_int_equal(row_finder_add(&finder, ids + 4, MANY - 4).code, STATUS_OK);
    row_finder_finish(&finder);
    assert_int_equal(finder.rows.count, MANY);
    assert_memory_equal(finder.rows.ids, ids, sizeof ids);
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

static void names_an_id_that_is_out_of_range(void **state)
{
    (void)state;
    struct row_finder finder = { 0 };

    row_finder_begin(&finder, &scratch, 10);
    struct status status = row_finder_add(&finder, (int64_t[]){ 3, 10 }, 2);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, "the id 10 is out of range; expected 0 to 9");
    assert_int_equal(row_finder_add(&finder, (int64_t[]){ -1 }, 1).code, STATUS_INVALID_ARGUMENT);
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

static int compare_keys(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* Compares with qsort. */
static void check_keys(struct row_finder *finder, const int64_t *keys, size_t count)
{
    static int64_t sorted[MANY];
    size_t unique = 0;

    memcpy(sorted, keys, count * sizeof *keys);
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != sorted[unique - 1])
            sorted[unique++] = sorted[i];
    row_finder_begin_keys(finder, &scratch);
    assert_int_equal(row_finder_add(finder, keys, count / 2).code, STATUS_OK);
    assert_int_equal(row_finder_add(finder, keys + count / 2, count - count / 2).code, STATUS_OK);
    row_finder_finish(finder);
    assert_int_equal(finder->rows.count, unique);
    assert_memory_equal(finder->rows.ids, sorted, unique * sizeof *sorted);
    for (size_t i = 0; i < count; i++)
        assert_true(finder->rows.ids[finder->places[i]] == keys[i]);
}

/* Keys of all 64 bits, of few, with repeats, and with the bits that differ at either end. */
static void finds_the_keys_of_hash_tables(void **state)
{
    (void)state;
    static const uint64_t masks[] = { UINT64_MAX, 0xff, UINT64_C(0xff) << 56, UINT64_C(1) << 63,
                                      0 };
    static int64_t keys[MANY];
    struct row_finder finder = { 0 };

    check_keys(&finder, (int64_t[]){ 1, -1, INT64_MAX, INT64_MIN, 0, -1 }, 6);
    for (size_t m = 0; m < COUNT(masks); m++) {
        struct random random;
        random_init(&random, m, 0);
        for (int i = 0; i < MANY; i++)
            keys[i] = (int64_t)(random_u64(&random) & masks[m]);
        check_keys(&finder, keys, MANY);
    }
    check_keys(&finder, keys, 0);
    row_finder_begin(&finder, &scratch, 10); /* rows again */
    assert_int_equal(row_finder_add(&finder, (int64_t[]){ 10 }, 1).code, STATUS_INVALID_ARGUMENT);
    row_finder_free(&finder);
    row_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_each_row_once_and_in_order),
        cmocka_unit_test(finders_share_a_scratch_and_keep_their_rows),
        cmocka_unit_test(finds_no_rows_before_it_has_room),
        cmocka_unit_test(finds_the_rows_of_large_tables),
        cmocka_unit_test(finds_the_keys_of_hash_tables),
        cmocka_unit_test(joins_the_ids_of_several_lookups),
        cmocka_unit_test(names_an_id_that_is_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
