#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "base/memory.h"

#define HUGE_PAGE ((size_t)2 << 20)

static void maps_zeros_that_can_be_written(void **state)
{
    static const size_t sizes[] = {
        1, 4096, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 1, 2 * HUGE_PAGE + 4096, 5 * HUGE_PAGE + 123
    };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = memory_map(sizes[i]);
        assert_non_null(block);
        assert_true(sizes[i] < HUGE_PAGE || (uintptr_t)block % HUGE_PAGE == 0);
        for (size_t at = 0; at < sizes[i]; at++)
            assert_true(block[at] == 0);
        block[0] = block[sizes[i] - 1] = 1;
        memory_unmap(block, sizes[i]);
    }
}

static void refuses_more_than_there_is(void **state)
{
    (void)state;
    assert_null(memory_map(SIZE_MAX));
    assert_null(memory_map(SIZE_MAX - HUGE_PAGE));
    assert_null(memory_map(SIZE_MAX / 2));
}

static void begins_large_tables_at_huge_pages(void **state)
{
    static const size_t sizes[] = { 1, HUGE_PAGE - 1, HUGE_PAGE, HUGE_PAGE + 4, 5 * HUGE_PAGE };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = memory_alloc_table(sizes[i]);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (sizes[i] < HUGE_PAGE ? 64 : HUGE_PAGE), 0);
        block[0] = block[sizes[i] - 1] = 1;
        free(block);
    }
}

/* Page faults while buffers of 300 KB are allocated, written and freed. */
static long count_faults(int rounds)
{
    enum { BUFFERS = 8, SIZE = 300 << 10 };
    char *buffers[BUFFERS];
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < rounds; i++) {
        for (int b = 0; b < BUFFERS; b++) {
            buffers[b] = malloc(SIZE);
            assert_non_null(buffers[b]);
            memset(buffers[b], b, SIZE);
        }
        for (int b = 0; b < BUFFERS; b++)
            free(buffers[b]);
    }
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

static void keeps_the_memory_of_freed_buffers(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* has another malloc */
#endif
    memory_keep_freed();
    count_faults(1);
    assert_in_range(count_faults(20), 0, 1000); /* the default has 11,000; others may add some */
}

static void a_block_changes_its_size_and_keeps_its_bytes(void **state)
{
    static const size_t sizes[] = { 3 << 20, 8 << 20, (8 << 20) + 1, 5000 };
    const size_t count = sizeof sizes / sizeof sizes[0];
    size_t size = 100000;
    char *block = memory_resize(NULL, 0, size);
    (void)state;
    assert_non_null(block);
    for (size_t i = 0; i < count; i++) {
        size_t before = size;
        memset(block, (int)i + 1, size);
        block = memory_resize(block, before, sizes[i]);
        assert_non_null(block);
        size = sizes[i];
        for (size_t at = 0; at < size; at++)
            if (block[at] != (at < before ? (char)i + 1 : 0))
                fail_msg("byte %zu of %zu is %d", at, size, block[at]);
    }
    assert_null(memory_resize(block, size, SIZE_MAX / 4));
    assert_int_equal(block[size - 1], count);
    memory_unmap(block, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_memory_of_freed_buffers), /* before others free larger blocks */
        cmocka_unit_test(maps_zeros_that_can_be_written),
        cmocka_unit_test(a_block_changes_its_size_and_keeps_its_bytes),
        cmocka_unit_test(refuses_more_than_there_is),
        cmocka_unit_test(begins_large_tables_at_huge_pages),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
