#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/poison.h"

#define LARGE     ((size_t)1 << 20) /* larger than the arena's regular blocks */
#define HUGE_PAGE ((size_t)2 << 20)

static int create(void **state)
{
    *state = arena_create(0);
    return 0;
}

static int destroy(void **state)
{
    arena_destroy(*state);
    return 0;
}

static bool is_zero(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] != 0)
            return false;
    return true;
}

static bool is_aligned(const void *data, size_t alignment)
{
    return (uintptr_t)data % alignment == 0;
}

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    struct arena *arena = *state;
    char *all[400];
    for (int round = 0; round < 2; round++) { /* round 1 reuses dirty memory */
        for (size_t i = 0; i < COUNT(all); i++) {
            all[i] = arena_alloc(arena, i);
            assert_true(is_aligned(all[i], 16));
            assert_true(is_zero(all[i], i));
            memset(all[i], (int)i, i);
        }
        for (size_t i = 0; i < COUNT(all); i++)
            for (size_t k = 0; k < i; k++)
                assert_int_equal((unsigned char)all[i][k], i & 255);
        arena_reset(arena);
    }
}

static void a_reserve_is_aligned_for_vectors(void **state)
{
    struct arena *arena = *state;
    for (size_t size = 0; size < 3 * LARGE; size = 3 * size + 1) {
        void *data;
        assert_true(status_is_ok(arena_reserve(arena, size, &data)));
        assert_true(is_aligned(data, 64));
        memset(data, 1, size);
        arena_alloc(arena, 1); /* breaks the alignment */
    }
}

static void the_limit_is_for_reserves(void **state)
{
    (void)state;
    struct arena *arena = arena_create(1000);
    void *data;
    assert_true(status_is_ok(arena_reserve(arena, 1000, &data)));
    struct status status = arena_reserve(arena, 1, &data);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(status.message, "1 bytes wanted, 1000 of the limit of 1000 are in use");
    assert_non_null(arena_alloc(arena, 500)); /* ignores the limit */
    assert_int_equal(arena_used(arena), 1500);
    assert_int_equal(arena_reserve(arena, 0, &data).code, STATUS_RESOURCE_EXHAUSTED);
    arena_reset(arena);
    assert_true(status_is_ok(arena_reserve(arena, 1000, &data)));
    assert_int_equal(arena_reserve(arena, SIZE_MAX, &data).code, STATUS_RESOURCE_EXHAUSTED);
    arena_destroy(arena);
}

static void a_size_beyond_all_memory_is_a_failure(void **state)
{
    struct arena *arena = *state;
    void *data;
    assert_int_equal(arena_reserve(arena, SIZE_MAX, &data).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(arena_reserve(arena, SIZE_MAX - 64, &data).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(arena_held(arena), 0);
}

static void a_reset_keeps_the_blocks_and_a_trim_frees_them(void **state)
{
    struct arena *arena = *state;
    for (int i = 0; i < 100; i++)
        arena_alloc(arena, 1000);
    arena_alloc(arena, LARGE);
    size_t held = arena_held(arena);
    assert_true(held >= 100 * 1000 + LARGE);
    for (int round = 0; round < 3; round++) { /* reuses the blocks */
        arena_reset(arena);
        assert_int_equal(arena_used(arena), 0);
        for (int i = 0; i < 100; i++)
            arena_alloc(arena, 1000);
        arena_alloc(arena, LARGE);
        assert_int_equal(arena_held(arena), held);
    }
    arena_trim(arena);
    assert_int_equal(arena_used(arena), 0);
    assert_int_equal(arena_held(arena), 0);
    assert_non_null(arena_alloc(arena, 1));
}

static void blocks_are_paid_for_while_they_are_held(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 2 * (int64_t)LARGE, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct arena *arena = arena_create(0);
    void *data;
    arena_charge(arena, &budget);
    assert_true(status_is_ok(arena_reserve(arena, LARGE, &data)));
    assert_int_equal(budget.used_bytes, arena_held(arena));
    assert_int_equal(arena_reserve(arena, LARGE, &data).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget.used_bytes, arena_held(arena));
    arena_reset(arena); /* kept blocks stay charged and are reused */
    assert_int_equal(budget.used_bytes, arena_held(arena));
    assert_true(status_is_ok(arena_reserve(arena, LARGE, &data)));
    assert_non_null(arena_alloc(arena, 2 * LARGE)); /* exceeds the limit, but is counted */
    assert_int_equal(budget.used_bytes, arena_held(arena));
    assert_true(budget.used_bytes > budget.limit_bytes);
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
}

static bool begins_a_huge_page(const char *data)
{
    size_t place = (uintptr_t)data % HUGE_PAGE;
    return place > 0 && place <= 64; /* behind what the arena keeps of the block */
}

static void a_large_arena_grows_by_huge_pages(void **state)
{
    (void)state;
    struct budget budget = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct arena *arena = arena_create(0);
    char *all[12000];
    int huge_blocks = 0;
    arena_charge(arena, &budget);
    for (size_t i = 0; i < COUNT(all); i++) {
        size_t held = arena_held(arena);
        all[i] = arena_alloc(arena, 1000);
        assert_true(is_zero(all[i], 1000));
        memset(all[i], (int)i, 1000);
        if (arena_held(arena) - held == HUGE_PAGE) {
            huge_blocks++;
            assert_true(POISON_WORKS || begins_a_huge_page(all[i]));
        }
    }
    for (size_t i = 0; i < COUNT(all); i++)
        assert_int_equal((unsigned char)all[i][999], i & 255);
    assert_in_range(huge_blocks, 3, 5);
    assert_int_equal(budget.used_bytes, arena_held(arena));
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
}

static void a_large_piece_leaves_the_block_of_small_ones(void **state)
{
    struct arena *arena = *state;
    for (int i = 0; i < 5; i++)
        arena_alloc(arena, LARGE);
    char *small = arena_alloc(arena, 16);
    size_t held = arena_held(arena);
    assert_non_null(arena_alloc(arena, 2 * LARGE));
    assert_in_range(arena_held(arena) - held, 2 * LARGE, 2 * LARGE + 128);
    assert_ptr_equal(arena_alloc(arena, 16), small + 16);
}

static void a_reset_arena_holds_no_more_for_the_same_pieces(void **state)
{
    struct arena *arena = *state;
    size_t held = 0;
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < 3000; i++)
            arena_alloc(arena, i % 100 == 0 ? LARGE + i * 100 : 16 + i % 30 * 100);
        if (round == 0)
            held = arena_held(arena);
        arena_reset(arena);
    }
    assert_int_equal(arena_held(arena), held);
}

static void stopped_it_gives_only_what_it_has(void **state)
{
    struct arena *arena = *state;
    _Atomic bool stop = true;
    void *data;
    assert_non_null(arena_alloc(arena, 1));
    arena_set_stop(arena, &stop);
    assert_true(status_is_ok(arena_reserve(arena, 1, &data)));
    assert_int_equal(arena_reserve(arena, LARGE, &data).code, STATUS_CANCELLED);
    stop = false;
    assert_true(status_is_ok(arena_reserve(arena, LARGE, &data)));
}

static void a_list_keeps_its_elements_when_it_grows(void **state)
{
    struct arena *arena = *state;
    int *list = NULL;
    for (int i = 0; i < 1000; i++) {
        int *before = list;
        list = ARENA_ROOM(arena, list, i);
        assert_true((list == before) == ((i & (i - 1)) != 0));
        list[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(list[i], i);
}

static void texts_end_with_a_nul(void **state)
{
    struct arena *arena = *state;
    char *long_text = arena_printf(arena, "%0*d", 10000, 7);
    assert_int_equal(strlen(long_text), 10000);
    assert_int_equal(long_text[9999], '7');
    assert_string_equal(arena_printf(arena, "%s %d", "a", 1), "a 1");
    assert_string_equal(arena_printf(arena, "%s", ""), "");
    for (int length = 250; length < 260;
         length++) { /* about as long as the buffer for short ones */
        const char *text = arena_printf(arena, "%0*d", length, 7);
        assert_int_equal(strlen(text), length);
        assert_int_equal(text[length - 1], '7');
    }
    assert_string_equal(arena_strdup(arena, "b"), "b");
    assert_memory_equal(arena_memdup(arena, "c\0d", 3), "c\0d", 4);
    assert_string_equal(arena_memdup(arena, NULL, 0), "");
}

static void the_sanitizer_reports_the_use_of_what_was_not_handed_out(void **state)
{
    struct arena *arena = *state;
    if (!POISON_WORKS)
        skip();
    char *data = arena_alloc(arena, 16);
    assert_false(IS_POISONED(data + 15));
    assert_true(IS_POISONED(data + 16));
    arena_reset(arena);
    assert_true(IS_POISONED(data));
    assert_ptr_equal(arena_alloc(arena, 8), data);
    assert_false(IS_POISONED(data + 7));
    assert_true(IS_POISONED(data + 8));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
    const struct CMUnitTest tests[] = {
        TEST(memory_is_zeroed_aligned_and_apart),
        TEST(a_reserve_is_aligned_for_vectors),
        cmocka_unit_test(the_limit_is_for_reserves),
        TEST(a_size_beyond_all_memory_is_a_failure),
        TEST(a_reset_keeps_the_blocks_and_a_trim_frees_them),
        cmocka_unit_test(blocks_are_paid_for_while_they_are_held),
        cmocka_unit_test(a_large_arena_grows_by_huge_pages),
        TEST(a_large_piece_leaves_the_block_of_small_ones),
        TEST(a_reset_arena_holds_no_more_for_the_same_pieces),
        TEST(stopped_it_gives_only_what_it_has),
        TEST(a_list_keeps_its_elements_when_it_grows),
        TEST(texts_end_with_a_nul),
        TEST(the_sanitizer_reports_the_use_of_what_was_not_handed_out),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
