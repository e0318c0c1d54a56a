#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "rpc/session_memory.h"

static void what_is_given_back_is_taken_again(void **state)
{
    struct session_memory *memory = session_memory_create();
    nghttp2_mem m = session_memory_functions(memory);
    char *first = m.malloc(100, m.mem_user_data);
    (void)state;

    assert_non_null(first);
    assert_int_equal((uintptr_t)first % _Alignof(max_align_t), 0);
    memset(first, 'x', 100);
    m.free(first, m.mem_user_data);
    char *second = m.calloc(10, 11, m.mem_user_data);
    for (int i = 0; i < 110; i++)
        assert_int_equal(second[i], 0);
    m.free(second, m.mem_user_data);
    m.free(NULL, m.mem_user_data);
    session_memory_destroy(memory);
    session_memory_destroy(NULL);
}

static void growing_keeps_what_was_there(void **state)
{
    struct session_memory *memory = session_memory_create();
    nghttp2_mem m = session_memory_functions(memory);
    size_t before = 0;
    char *data = NULL;
    (void)state;

    for (size_t size = 1; size < 100000; size = 3 * size + 1) { /* past the free lists' sizes */
        data = m.realloc(data, size, m.mem_user_data);
        assert_non_null(data);
        for (size_t i = 0; i < before; i++)
            assert_int_equal(data[i], 'x');
        memset(data, 'x', size);
        before = size;
    }
    assert_ptr_equal(m.realloc(data, 1, m.mem_user_data), data);
    m.free(data, m.mem_user_data);
    session_memory_destroy(memory);
}

static void sizes_that_nothing_has_are_refused(void **state)
{
    struct session_memory *memory = session_memory_create();
    nghttp2_mem m = session_memory_functions(memory);
    char *data = m.malloc(0, m.mem_user_data);
    (void)state;

    assert_non_null(data);
    assert_null(m.malloc(SIZE_MAX, m.mem_user_data));
    assert_null(m.calloc(SIZE_MAX / 2, 3, m.mem_user_data));
    assert_null(m.realloc(data, SIZE_MAX - 8, m.mem_user_data)); /* data stays valid */
    m.free(data, m.mem_user_data);
    session_memory_destroy(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_is_taken_again),
        cmocka_unit_test(growing_keeps_what_was_there),
        cmocka_unit_test(sizes_that_nothing_has_are_refused),
    };
    return cmocka_run_group_tests_name("session_memory", tests, NULL, NULL);
}
