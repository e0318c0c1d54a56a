#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "rpc/blocks.h"

#define MANY 64

static int eased_count;

static void eased(void *context)
{
    (void)context;
    eased_count++;
}

struct place {
    struct loop *loop;
    struct mailbox *mailbox;
    struct blocks *blocks;
};

static int set_up(void **state)
{
    static struct place place;

    assert_true(status_is_ok(loop_create(&place.loop)));
    place.mailbox = mailbox_create(place.loop);
    place.blocks = blocks_create(place.mailbox, eased, NULL);
    eased_count = 0;
    *state = &place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    blocks_close(place->blocks);
    mailbox_close(place->mailbox);
    mailbox_release(place->mailbox);
    loop_destroy(place->loop);
    return 0;
}

static bool is_one_of(const struct block *block, struct block *const *all, int count)
{
    for (int i = 0; i < count; i++)
        if (all[i] == block)
            return true;
    return false;
}

static void as_many_small_ones_as_were_in_use_are_used_again(void **state)
{
    struct place *place = *state;
    struct block *first[MANY], *again[MANY];

    for (int i = 0; i < MANY; i++)
        first[i] = blocks_take(place->blocks, 1100);
    for (int i = 0; i < MANY; i++)
        block_release(first[i]);
    for (int i = 0; i < MANY; i++) {
        again[i] = blocks_take(place->blocks, 2000);
        assert_true(is_one_of(again[i], first, MANY));
        assert_true(again[i]->capacity >= 2000);
    }
    for (int i = 0; i < MANY; i++)
        block_release(again[i]);
}

static void what_is_small_does_not_take_what_is_large(void **state)
{
    struct place *place = *state;
    struct block *large = blocks_take(place->blocks, (size_t)1 << 20);

    block_release(large);
    struct block *small = blocks_take(place->blocks, 100);
    assert_true(small->capacity < 4096);
    struct block *second = blocks_take(place->blocks, (size_t)900 << 10);
    assert_ptr_equal(second, large);
    block_release(small);
    block_release(second);
}

static void a_block_that_grew_is_kept_as_what_it_is(void **state)
{
    struct place *place = *state;
    struct block *block = blocks_take(place->blocks, 100);

    memset(block->data, 'x', 100);
    assert_true(block_grow(block, 20000));
    assert_int_equal(block->data[99], 'x');
    assert_int_equal((uintptr_t)block->data % BLOCK_ALIGNMENT, 0);
    block_release(block);
    struct block *small = blocks_take(place->blocks, 100), *as_large;
    as_large = blocks_take(place->blocks, 20000);
    assert_ptr_not_equal(small, block);
    assert_ptr_equal(as_large, block);
    block_release(small);
    block_release(as_large);
}

static void who_watches_is_told_once_when_enough_is_back(void **state)
{
    struct place *place = *state;
    struct block *a = blocks_take(place->blocks, 100), *b = blocks_take(place->blocks, 100);

    block_count(a, 600);
    block_count(b, 600);
    assert_true(blocks_watch(place->blocks, 1000));
    assert_int_equal(blocks_held(place->blocks), 1200);
    block_release(a);
    block_release(b);
    loop_run_posted(place->loop);
    assert_int_equal(eased_count, 1);
    assert_int_equal(blocks_held(place->blocks), 0);
    assert_false(blocks_watch(place->blocks, 1000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void blocks_are_charged_to_a_budget(void **state)
{
    struct place *place = *state;
    static struct budget budget = { .limit_bytes = 1 << 20 }; /* outlives the blocks */

    blocks_charge(place->blocks, &budget);
    struct block *small = blocks_take(place->blocks, 1000);
    struct block *word = blocks_take_some(place->blocks, (size_t)1 << 30, 100);
    assert_in_range(budget.used_bytes, 1000 + 100, 40000); /* the word costs a small block */
    struct block *large = blocks_take(place->blocks, 600000);
    assert_in_range(budget.used_bytes, 600000, 740000);
    assert_null(blocks_take(place->blocks, 600000));
    assert_false(block_grow(word, 600000));
    assert_true(block_grow(word, 300000));
    assert_true(budget.used_bytes <= budget.limit_bytes);
    block_release(large); /* more than half is in use: not kept */
    assert_in_range(budget.used_bytes, 300000, 310000);
    block_release(word);
    assert_in_range(budget.used_bytes, 300000, 310000);                 /* kept, and paid for */
    assert_ptr_equal(blocks_take_some(place->blocks, 300000, 1), word); /* a warm one is better */
    block_release(word);
    block_release(small);
    assert_int_equal(budget_take(&budget, 1 << 20).code, STATUS_OK); /* frees what is kept */
    assert_int_equal(budget.used_bytes, 1 << 20);
    assert_null(blocks_take(place->blocks, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(as_many_small_ones_as_were_in_use_are_used_again),
        TEST(what_is_small_does_not_take_what_is_large),
        TEST(a_block_that_grew_is_kept_as_what_it_is),
        TEST(blocks_are_charged_to_a_budget),
        TEST(who_watches_is_told_once_when_enough_is_back),
    };
    return cmocka_run_group_tests_name("blocks", tests, NULL, NULL);
}
