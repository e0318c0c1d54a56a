#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "trainer/data/batch_buffer.h"

/* As malloc does without a sanitizer. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void a_batch_beyond_the_memory_is_an_error(void **state)
{
    (void)state;
    static const char *const names[] = { "y", "x" };
    static const char schema_text[] = "{\"columns\": [{\"name\": \"y\"}, {\"name\": \"x\", "
                                      "\"dtype\": \"int64\", \"hash_buckets\": 2147483647}]}";
    const struct row_request requests[] = {
        { .spec = { .name = "y", .dtype = DT_FLOAT, .shape = shape_of(-1, 1) },
          .names = &names[0],
          .names_count = 1 },
        { .spec = { .name = "x", .dtype = DT_FLOAT, .shape = shape_of(-1, INT32_MAX) },
          .names = &names[1],
          .names_count = 1 },
    };
    struct arena *arena = arena_create(0);
    struct batch_buffer batch = { 0 };
    struct row_layout layout;
    struct schema schema;

    assert_string_equal(schema_read(bytes_of(schema_text), arena, &schema).message, "");
    assert_string_equal(row_layout_make(&schema, requests, 2, arena, &layout).message, "");
    struct status status = batch_buffer_begin(&batch, &layout, 1 << 20); /* 2^53 bytes */
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_string_equal(status.message, "no memory for a batch of 1048576 rows of 'x', 8589934588 "
                                        "bytes each: take a smaller --batch_size");
    assert_int_equal(batch.capacity, 0);
    batch_buffer_finish(&batch, &layout);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_beyond_the_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("batch_buffer", tests, NULL, NULL);
}
