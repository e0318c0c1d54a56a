#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rpc/socket_buffers.h"

static void what_nobody_keeps_is_read_to_again(void **state)
{
    struct socket_buffers *buffers = socket_buffers_create();
    struct socket_buffer *first = socket_buffers_next(buffers);
    (void)state;

    assert_ptr_equal(socket_buffers_next(buffers), first);
    assert_true(socket_buffer_keep(first));
    assert_true(socket_buffer_keep(first));
    socket_buffer_release(first);
    socket_buffer_release(first);
    assert_ptr_equal(socket_buffers_next(buffers), first);
    socket_buffers_destroy(buffers);
}

static void what_somebody_keeps_is_left_alone(void **state)
{
    struct socket_buffers *buffers = socket_buffers_create();
    struct socket_buffer *kept[SOCKET_BUFFERS_MAX - 1], *last;
    int count = SOCKET_BUFFERS_MAX - 1;
    (void)state;

    for (int i = 0; i < count; i++) {
        kept[i] = socket_buffers_next(buffers);
        memset(socket_buffer_data(kept[i]), i, SOCKET_BUFFER_BYTES);
        assert_true(socket_buffer_keep(kept[i]));
        assert_true(socket_buffer_keep(kept[i])); /* once for each message in it */
    }
    last = socket_buffers_next(buffers);
    memset(socket_buffer_data(last), 'x', SOCKET_BUFFER_BYTES);
    assert_false(socket_buffer_keep(last));
    assert_ptr_equal(socket_buffers_next(buffers), last);
    for (int i = 0; i < count; i++) {
        assert_int_equal(socket_buffer_data(kept[i])[0], i);
        assert_int_equal(socket_buffer_data(kept[i])[SOCKET_BUFFER_BYTES - 1], i);
    }
    assert_true(socket_buffer_keep(kept[0]));
    for (int n = 0; n < 3; n++)
        socket_buffer_release(kept[0]);
    assert_true(socket_buffer_keep(last));
    assert_ptr_equal(socket_buffers_next(buffers), kept[0]);
    socket_buffer_release(last);
    for (int i = 1; i < count; i++)
        for (int n = 0; n < 2; n++)
            socket_buffer_release(kept[i]);
    socket_buffers_destroy(buffers);
}

static void what_is_kept_outlives_the_rest(void **state)
{
    struct socket_buffers *buffers = socket_buffers_create();
    struct socket_buffer *kept = socket_buffers_next(buffers);
    (void)state;

    assert_true(socket_buffer_keep(kept));
    memset(socket_buffer_data(kept), 'x', SOCKET_BUFFER_BYTES);
    socket_buffers_destroy(buffers);
    assert_int_equal(socket_buffer_data(kept)[SOCKET_BUFFER_BYTES - 1], 'x');
    socket_buffer_release(kept);
}

static void a_piece_knows_its_own_bytes(void **state)
{
    struct socket_buffers *buffers = socket_buffers_create();
    struct socket_buffer *buffer = socket_buffers_next(buffers);
    char elsewhere;
    (void)state;

    assert_true(socket_buffer_holds(buffer, socket_buffer_data(buffer)));
    assert_true(socket_buffer_holds(buffer, socket_buffer_data(buffer) + SOCKET_BUFFER_BYTES - 1));
    assert_false(socket_buffer_holds(buffer, socket_buffer_data(buffer) + SOCKET_BUFFER_BYTES));
    assert_false(socket_buffer_holds(buffer, socket_buffer_data(buffer) - 1));
    assert_false(socket_buffer_holds(buffer, &elsewhere));
    assert_false(socket_buffer_holds(NULL, &elsewhere));
    socket_buffers_destroy(buffers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_keeps_is_read_to_again),
        cmocka_unit_test(what_somebody_keeps_is_left_alone),
        cmocka_unit_test(what_is_kept_outlives_the_rest),
        cmocka_unit_test(a_piece_knows_its_own_bytes),
    };
    return cmocka_run_group_tests_name("socket_buffers", tests, NULL, NULL);
}
