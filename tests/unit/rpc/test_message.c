#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "rpc/message.h"

static const struct bytes pieces[] = { { "abcd", 4 }, { "", 0 }, { "ef", 2 }, { "ghi", 3 } };

static void payload_is_borrowed_within_a_piece_and_copied_across(void **state)
{
    (void)state;
    struct message message = { .pieces = pieces, .pieces_count = 4 };
    struct payload_cursor payload = { .message = &message };
    char copy[8];

    assert_int_equal(message_payload_size(&message), 9);
    assert_ptr_equal(payload_borrow(&payload, 2), pieces[0].data);
    assert_null(payload_borrow(&payload, 4)); /* "cdef" spans two pieces */
    payload_copy(&payload, copy, 4);
    assert_memory_equal(copy, "cdef", 4);
    assert_ptr_equal(payload_borrow(&payload, 3), pieces[3].data);
    assert_non_null(payload_borrow(&payload, 0));
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void a_moved_message_is_released_once(void **state)
{
    (void)state;
    int released = 0;
    struct message message = { .release = count_release, .owner = &released };
    struct message moved = message_move(&message);

    message_release(&message);
    assert_int_equal(released, 0);
    message_release(&moved);
    message_release(&moved);
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_is_borrowed_within_a_piece_and_copied_across),
        cmocka_unit_test(a_moved_message_is_released_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
