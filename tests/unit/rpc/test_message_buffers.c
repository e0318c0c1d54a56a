#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "rpc/message_buffers.h"

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
    struct message_buffers *buffers;
};

static int set_up(void **state)
{
    static struct place place;

    assert_true(status_is_ok(loop_create(&place.loop)));
    place.mailbox = mailbox_create(place.loop);
    place.buffers = message_buffers_create(place.mailbox, eased, NULL);
    eased_count = 0;
    *state = &place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    message_buffers_close(place->buffers);
    mailbox_close(place->mailbox);
    mailbox_release(place->mailbox);
    loop_destroy(place->loop);
    return 0;
}

static bool is_one_of(const struct message_buffer *buffer, struct message_buffer *const *all,
                      int count)
{
    for (int i = 0; i < count; i++)
        if (all[i] == buffer)
            return true;
    return false;
}

static void as_many_small_ones_as_were_in_use_are_used_again(void **state)
{
    struct place *place = *state;
    struct message_buffer *first[MANY], *again[MANY];

    for (int i = 0; i < MANY; i++)
        first[i] = message_buffers_take(place->buffers, 1100);
    for (int i = 0; i < MANY; i++)
        message_buffer_release(first[i]);
    for (int i = 0; i < MANY; i++) {
        again[i] = message_buffers_take(place->buffers, 2000);
        assert_true(is_one_of(again[i], first, MANY));
        assert_true(again[i]->capacity >= 2000);
    }
    for (int i = 0; i < MANY; i++)
        message_buffer_release(again[i]);
}

static void what_is_small_does_not_take_what_is_large(void **state)
{
    struct place *place = *state;
    struct message_buffer *large = message_buffers_take(place->buffers, (size_t)1 << 20);

    message_buffer_release(large);
    struct message_buffer *small = message_buffers_take(place->buffers, 100);
    assert_true(small->capacity < 4096);
    struct message_buffer *second = message_buffers_take(place->buffers, (size_t)900 << 10);
    assert_ptr_equal(second, large);
    message_buffer_release(small);
    message_buffer_release(second);
}

static void a_block_that_grew_is_kept_as_what_it_is(void **state)
{
    struct place *place = *state;
    struct message_buffer *buffer = message_buffers_take(place->buffers, 100);

    memset(buffer->data, 'x', 100);
    assert_true(message_buffer_grow(buffer, 20000));
    assert_int_equal(buffer->data[99], 'x');
    assert_int_equal((uintptr_t)buffer->data % MESSAGE_BUFFER_ALIGNMENT, 0);
    message_buffer_release(buffer);
    struct message_buffer *small = message_buffers_take(place->buffers, 100), *as_large;
    as_large = message_buffers_take(place->buffers, 20000);
    assert_ptr_not_equal(small, buffer);
    assert_ptr_equal(as_large, buffer);
    message_buffer_release(small);
    message_buffer_release(as_large);
}

static void who_watches_is_told_once_when_enough_is_back(void **state)
{
    struct place *place = *state;
    struct message_buffer *a = message_buffers_take(place->buffers, 100),
                          *b = message_buffers_take(place->buffers, 100);

    message_buffer_count_held(a, 600);
    message_buffer_count_held(b, 600);
    assert_true(message_buffers_watch(place->buffers, 1000));
    assert_int_equal(message_buffers_held(place->buffers), 1200);
    message_buffer_release(a);
    message_buffer_release(b);
    loop_run_posted(place->loop);
    assert_int_equal(eased_count, 1);
    assert_int_equal(message_buffers_held(place->buffers), 0);
    assert_false(message_buffers_watch(place->buffers, 1000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void blocks_are_charged_to_a_budget(void **state)
{
    struct place *place = *state;
    static struct budget budget = { .limit_bytes = 1 << 20 }; /* outlives the blocks */

    message_buffers_charge(place->buffers, &budget);
    struct message_buffer *small = message_buffers_take(place->buffers, 1000);
    struct message_buffer *word =
        message_buffers_take_promised(place->buffers, (size_t)1 << 30, 100);
    assert_in_range(budget.used_bytes, 1000 + 100, 40000); /* a promise costs only a small block */
    struct message_buffer *large = message_buffers_take(place->buffers, 600000);
    assert_in_range(budget.used_bytes, 600000, 740000);
    assert_null(message_buffers_take(place->buffers, 600000));
    assert_false(message_buffer_grow(word, 600000));
    assert_true(message_buffer_grow(word, 300000));
    assert_true(budget.used_bytes <= budget.limit_bytes);
    message_buffer_release(large); /* not kept: more than half of the budget is used */
    assert_in_range(budget.used_bytes, 300000, 310000);
    message_buffer_release(word);
    assert_in_range(budget.used_bytes, 300000, 310000); /* kept, and still charged */
    assert_ptr_equal(message_buffers_take_promised(place->buffers, 300000, 1),
                     word); /* reuses the warm block */
    message_buffer_release(word);
    message_buffer_release(small);
    assert_int_equal(budget_take(&budget, 1 << 20).code, STATUS_OK); /* frees kept blocks */
    assert_int_equal(budget.used_bytes, 1 << 20);
    assert_null(message_buffers_take(place->buffers, 1000));
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
    return cmocka_run_group_tests_name("message_buffers", tests, NULL, NULL);
}
