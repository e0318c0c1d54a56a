/* Tests when the memory of a peak goes back to the system, and that the caller does not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/memory.h"
#include "server/trimmer.h"

#define BLOCK_BYTES ((size_t)64 << 10) /* smaller than what malloc maps by itself */
#define BLOCKS      3200               /* 200 MiB */
#define TRIMMED     ((int64_t)150 << 20)
#define CHECK_NS    (10 * (int64_t)NS_PER_S)

static struct budget budget;
static int64_t now_ns;

/* Leaves memory that is free, below a block that is not. Returns that block. */
static void *make_peak(void)
{
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(malloc(BLOCK_BYTES), 1, BLOCK_BYTES);
    void *last = malloc(BLOCK_BYTES);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return last;
}

static void check(struct trimmer *trimmer)
{
    now_ns += CHECK_NS;
    trimmer_check(trimmer, now_ns);
}

static void a_peak_goes_back_to_the_system(void **state)
{
    struct trimmer trimmer = { .budget = &budget };
    (void)state;
    check(&trimmer);
    check(&trimmer);
    assert_false(trimmer.has_thread);
    int64_t before = (int64_t)memory_in_use();
    void *last = make_peak();
    if ((int64_t)memory_in_use() - before < TRIMMED) {
        free(last); /* a sanitizer's malloc keeps less */
        skip();
    }
    trimmer_check(&trimmer, now_ns + 1); /* not due */
    assert_false(trimmer.has_thread);
    check(&trimmer);
    assert_true(trimmer.has_thread);
    trimmer_finish(&trimmer);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true((int64_t)memory_in_use() - before < TRIMMED / 4);
#endif
    free(last);
}

static void memory_in_use_by_requests_is_no_peak(void **state)
{
    struct trimmer trimmer = { .budget = &budget };
    (void)state;
    check(&trimmer);
    int64_t before = (int64_t)memory_in_use();
    void *last = make_peak();
    int64_t peak = (int64_t)memory_in_use() - before; /* a sanitizer's shadow counts as well */
    budget_charge(&budget, peak);
    check(&trimmer);
    assert_false(trimmer.has_thread);
    budget_give(&budget, peak);
    trimmer_finish(&trimmer);
    free(last);
}

static void it_does_not_happen_often(void **state)
{
    struct trimmer trimmer = { .budget = &budget };
    (void)state;
    check(&trimmer);
    trimmer.lowest_bytes -= (int64_t)1 << 30; /* as after a peak */
    check(&trimmer);
    assert_true(trimmer.has_thread);
    while (!atomic_load(&trimmer.ended))
        ;
    trimmer.lowest_bytes -= (int64_t)1 << 30;
    for (int i = 0; i < 5; i++)
        check(&trimmer);
    assert_true(trimmer.has_thread && atomic_load(&trimmer.ended)); /* still the first one */
    check(&trimmer);
    assert_true(trimmer.has_thread);
    trimmer_finish(&trimmer);
    assert_true(trimmer.lowest_bytes > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_in_use_by_requests_is_no_peak),
        cmocka_unit_test(a_peak_goes_back_to_the_system),
        cmocka_unit_test(it_does_not_happen_often),
    };
    return cmocka_run_group_tests_name("trimmer", tests, NULL, NULL);
}
