/* Messages that a FileDescriptorSet describes. Their values are in golden/kernels/protos.rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/described.h"
#include "support/arena.h"

extern const unsigned char proto_local_descriptors[];
extern const size_t proto_local_descriptors_size;

static struct bytes local(void)
{
    return (struct bytes){ (const char *)proto_local_descriptors, proto_local_descriptors_size };
}

static void an_example_is_described(void **state)
{
    (void)state;
    const struct described_set *set;
    assert_int_equal(described_set_read(local(), arena, &set).code, STATUS_OK);
    const struct described_message *list =
        described_message_find(set, bytes_of("tensorflow.Int64List"));
    const struct described_field *value = described_field_find(list, bytes_of("value"));
    assert_int_equal(value->number, 1);
    assert_int_equal(value->type, DESCRIBED_INT64);
    assert_true(value->is_repeated && value->is_packed);
    assert_null(described_field_find(list, bytes_of("values")));
    assert_null(described_message_find(set, bytes_of("Int64List")));
}

static void a_set_that_is_cut_short_is_an_error_or_a_smaller_set(void **state)
{
    (void)state;
    const struct described_set *set;
    int errors = 0;
    for (size_t size = 0; size < local().size; size++) {
        struct bytes cut = { arena_memdup(arena, local().data, size), size };
        errors += !status_is_ok(described_set_read(cut, arena, &set));
    }
    assert_true(errors > 100);
}

static void a_set_with_one_byte_changed_is_no_crash(void **state)
{
    (void)state;
    for (size_t at = 0; at < local().size; at++) {
        char *changed = arena_memdup(arena, local().data, local().size);
        const struct described_set *set;
        const struct described_message *message;
        struct bytes out;
        changed[at] ^= (char)(1 << at % 8);
        struct bytes bytes = { changed, local().size };
        if (!status_is_ok(described_set_read(bytes, arena, &set)))
            continue;
        message = described_message_find(set, bytes_of("tensorflow.Feature"));
        if (message == NULL)
            continue;
        status_ignore(described_reserialize(message, DESCRIBED_BINARY,
                                            bytes_of("\x1a\x03\x0a\x01\x05"), arena, &out));
    }
}

static void a_message_is_put_in_order(void **state)
{
    (void)state;
    const struct described_set *set;
    struct bytes out;
    assert_int_equal(described_set_read(local(), arena, &set).code, STATUS_OK);
    const struct described_message *type =
        described_message_find(set, bytes_of("tensorflow.SequenceExample"));
    struct bytes mixed = { "\x12\x00\x28\x07\x0a\x00", 6 }; /* 2, unknown, 1 */
    struct status status = described_reserialize(type, DESCRIBED_BINARY, mixed, arena, &out);
    assert_int_equal(status.code, STATUS_OK);
    assert_int_equal(out.size, 6);
    assert_memory_equal(out.data, "\x0a\x00\x12\x00\x28\x07", 6);
    status = described_reserialize(type, DESCRIBED_TEXT, bytes_of("context {"), arena, &out);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_example_is_described, arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(a_set_that_is_cut_short_is_an_error_or_a_smaller_set,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(a_set_with_one_byte_changed_is_no_crash, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(a_message_is_put_in_order, arena_setup, arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
