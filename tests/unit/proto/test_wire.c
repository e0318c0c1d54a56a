#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/wire.h"

static const char message[] = "\x08\x96\x01"                         /* 1: 150 */
                              "\x12\x03"                             /* 2: "a\0b" */
                              "a\0b\x1d\x01\x02\x03\x04"             /* 3: fixed32 */
                              "\x21\x01\x00\x00\x00\x00\x00\x00\x80" /* 4: fixed64 */
                              "\xf8\xff\xff\xff\x0f\x01";            /* 2^29 - 1: 1 */

static void reads_one_field_after_the_other(void **state)
{
    (void)state;
    struct wire wire = wire_of((struct bytes){ message, sizeof message - 1 });
    struct wire_field field;
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 1, WIRE_VARINT) && field.value == 150);
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 2, WIRE_BYTES));
    assert_true(bytes_equal(field.bytes, (struct bytes){ "a\0b", 3 }));
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 3, WIRE_FIXED32) && field.value == 0x04030201);
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 4, WIRE_FIXED64) && field.value == 0x8000000000000001);
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 0x1fffffff, WIRE_VARINT));
    assert_false(wire_next(&wire, &field));
    assert_false(wire.damaged);
}

static void a_group_is_skipped_or_given_whole(void **state)
{
    (void)state;
    static const char grouped[] = "\x0b\x10\x05\x0c\x18\x07"; /* 1 { 2: 5 } 3: 7 */
    struct wire wire = wire_of((struct bytes){ grouped, sizeof grouped - 1 });
    struct wire_field field;
    assert_true(wire_next_any(&wire, &field));
    assert_true(wire_is(&field, 1, WIRE_GROUP));
    assert_true(bytes_equal(field.bytes, (struct bytes){ grouped, 4 }));
    assert_true(wire_next_any(&wire, &field));
    assert_true(wire_is(&field, 3, WIRE_VARINT) && field.value == 7);
    assert_false(wire_next_any(&wire, &field));
    wire = wire_of((struct bytes){ grouped, sizeof grouped - 1 });
    assert_true(wire_next(&wire, &field));
    assert_true(wire_is(&field, 3, WIRE_VARINT));
    wire = wire_of((struct bytes){ grouped, 3 });
    assert_false(wire_next_any(&wire, &field));
    assert_true(wire.damaged);
}

/* A message that is cut between two fields is valid. */
static void a_cut_within_a_field_is_damage(void **state)
{
    (void)state;
    static const size_t whole[] = { 0, 3, 8, 13, 22, 28 };
    for (size_t size = 0, next = 0; size < sizeof message; size++) {
        bool want = next < COUNT(whole) && whole[next] == size;
        next += want;
        assert_int_equal(wire_is_whole((struct bytes){ message, size }), want);
    }
}

static void refuses_what_is_no_field(void **state)
{
    (void)state;
    assert_false(wire_is_whole(bytes_of("\x0c")));                     /* ends no group */
    assert_false(wire_is_whole((struct bytes){ "\x00\x01", 2 }));      /* number 0 */
    assert_false(wire_is_whole(bytes_of("\x0e\x01")));                 /* type 6 */
    assert_false(wire_is_whole(bytes_of("\x88\x80\x80\x80\x10\x01"))); /* number 2^29 */
    assert_false(wire_is_whole(bytes_of("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
}

/* 1: 5, group 2 { 1: bytes, 3: fixed32, group 4 { } }, 3: 7 */
static void skips_groups(void **state)
{
    (void)state;
    struct wire wire = wire_of(bytes_of("\x08\x05\x13\x0a\x01x\x1d"
                                        "abcd"
                                        "\x23\x24\x14\x18\x07"));
    struct wire_field field;
    assert_true(wire_next(&wire, &field) && wire_is(&field, 1, WIRE_VARINT));
    assert_true(wire_next(&wire, &field) && wire_is(&field, 3, WIRE_VARINT) && field.value == 7);
    assert_false(wire_next(&wire, &field));
    assert_false(wire.damaged);
    assert_true(wire_is_whole(bytes_of("\x13\x14")));
    assert_false(wire_is_whole(bytes_of("\x13")));             /* unterminated */
    assert_false(wire_is_whole(bytes_of("\x13\x1c")));         /* another group's end */
    assert_false(wire_is_whole(bytes_of("\x13\x1b\x14\x1c"))); /* overlapping groups */
    assert_false(wire_is_whole(bytes_of("\x13\x0a\x05x\x14")));
}

static void groups_nest_a_hundred_deep(void **state)
{
    (void)state;
    char groups[2 * 101];
    for (int depth = 99; depth <= 101; depth++) {
        memset(groups, 0x13, (size_t)depth);
        memset(groups + depth, 0x14, (size_t)depth);
        assert_int_equal(wire_is_whole((struct bytes){ groups, 2 * (size_t)depth }), depth <= 100);
    }
}

static void closing_makes_room_for_a_long_length(void **state)
{
    (void)state;
    for (size_t size = 0; size < 40000; size = size * 2 + 1) {
        struct buffer out = { 0 };
        size_t outer = wire_open(&out, 7);
        size_t inner = wire_open(&out, 1);
        for (size_t i = 0; i < size; i++)
            buffer_append_char(&out, (char)i);
        wire_close(&out, inner);
        wire_put_varint(&out, 2, 0); /* 0 is omitted */
        wire_put_varint(&out, 2, 9);
        wire_close(&out, outer);

        struct wire wire = wire_of((struct bytes){ out.data, out.size });
        struct wire_field field;
        assert_true(wire_next(&wire, &field) && wire_is(&field, 7, WIRE_BYTES));
        assert_int_equal(out.size, wire_head_size(7, field.bytes.size) + field.bytes.size);
        assert_false(wire_next(&wire, &(struct wire_field){ 0 }));
        wire = wire_of(field.bytes);
        assert_true(wire_next(&wire, &field) && wire_is(&field, 1, WIRE_BYTES));
        assert_int_equal(field.bytes.size, size);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(field.bytes.data[i], (char)i);
        assert_true(wire_next(&wire, &field) && field.value == 9);
        buffer_finish(&out);
    }
}

static void numbers_of_zero_are_left_out_but_not_a_negative_one(void **state)
{
    (void)state;
    struct buffer out = { 0 };
    wire_put_float(&out, 1, 0.0F);
    assert_int_equal(out.size, 0);
    wire_put_float(&out, 1, -0.0F);
    assert_int_equal(out.size, 5);
    assert_memory_equal(out.data, "\x0d\x00\x00\x00\x80", 5);
    buffer_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_field_after_the_other),
        cmocka_unit_test(a_group_is_skipped_or_given_whole),
        cmocka_unit_test(a_cut_within_a_field_is_damage),
        cmocka_unit_test(refuses_what_is_no_field),
        cmocka_unit_test(skips_groups),
        cmocka_unit_test(groups_nest_a_hundred_deep),
        cmocka_unit_test(closing_makes_room_for_a_long_length),
        cmocka_unit_test(numbers_of_zero_are_left_out_but_not_a_negative_one),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
