#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "server/grpc/predict_form.h"

/* Writes a message of three parts to `room`. */
static struct bytes message(char *room, const char *before, const char *numbers, const char *behind)
{
    int size = sprintf(room, "%s%s%s", before, numbers, behind);

    return (struct bytes){ room, (size_t)size };
}

static void the_same_message_with_other_numbers_matches(void **state)
{
    static const struct {
        const char *before, *numbers, *behind;
        bool matches;
    } others[] = {
        { "abc", "9999", "xy", true },  { "abd", "1234", "xy", false },
        { "abc", "1234", "xz", false }, { "abc", "12345", "xy", false },
        { "abc", "123", "xy", false },  { "ab", "c1234", "xy", true }, /* the same bytes */
        { "", "", "", false },
    };
    struct predict_bytes bytes;
    char room[64];
    (void)state;

    struct bytes first = message(room, "abc", "1234", "xy");
    assert_true(predict_bytes_learn(&bytes, first, room + 3, 4));
    for (size_t i = 0; i < COUNT(others); i++) {
        char other[64];
        struct bytes got = message(other, others[i].before, others[i].numbers, others[i].behind);
        assert_int_equal(predict_bytes_match(&bytes, got), others[i].matches);
    }
}

static void the_learnt_message_is_written_with_room_for_numbers(void **state)
{
    struct predict_bytes bytes;
    struct buffer out = { 0 };
    char room[64];
    (void)state;

    assert_true(predict_bytes_learn(&bytes, message(room, "abc", "1234", "xy"), room + 3, 4));
    memcpy(predict_bytes_put(&bytes, &out), "5678", 4);
    assert_true(bytes_equal((struct bytes){ out.data, out.size }, bytes_of("abc5678xy")));
    buffer_finish(&out);
}

static void parts_on_both_sides_are_found_in_the_copy(void **state)
{
    struct predict_bytes bytes;
    char room[64];
    (void)state;

    struct bytes all = message(room, "abc", "1234", "xyz");
    assert_true(predict_bytes_learn(&bytes, all, room + 3, 4));
    struct bytes before = predict_bytes_moved(&bytes, all, (struct bytes){ room + 1, 2 });
    struct bytes behind = predict_bytes_moved(&bytes, all, (struct bytes){ room + 8, 2 });
    struct bytes none = predict_bytes_moved(&bytes, all, (struct bytes){ NULL, 0 });
    memset(room, 0, sizeof room);
    assert_true(bytes_equal(before, bytes_of("bc")));
    assert_true(bytes_equal(behind, bytes_of("yz")));
    assert_int_equal(none.size, 0);

    char other[64];
    struct bytes got = message(other, "abc", "5678", "xyz");
    assert_ptr_equal(predict_bytes_find(&bytes, got, before).data, other + 1);
    assert_ptr_equal(predict_bytes_find(&bytes, got, behind).data, other + 8);
    assert_int_equal(predict_bytes_find(&bytes, got, none).size, 0);
}

static void messages_with_numbers_elsewhere_or_large_parts_are_not_learnt(void **state)
{
    static char room[2 * PREDICT_AROUND_MAX], elsewhere[4];
    struct predict_bytes bytes;
    struct bytes all = { room, PREDICT_AROUND_MAX + 4 };
    const void *before = (const void *)((uintptr_t)room - 1);
    (void)state;

    assert_true(predict_bytes_learn(&bytes, all, room + 10, 4));
    assert_false(predict_bytes_learn(&bytes, all, elsewhere, 4));
    assert_false(predict_bytes_learn(&bytes, all, room + all.size - 3, 4));
    assert_false(predict_bytes_learn(&bytes, all, before, 4));
    assert_false(predict_bytes_learn(&bytes, all, room, all.size + 1));
    all.size++;
    assert_false(predict_bytes_learn(&bytes, all, room + 10, 4));
}

static void a_form_is_found_while_it_is_known(void **state)
{
    struct predict_forms *forms = predict_forms_create();
    char room[64], other[64];
    (void)state;

    struct bytes request = message(room, "abc", "1234", "xy");
    assert_null(predict_forms_find(forms, request));
    struct predict_form *form = predict_forms_place(forms, request);
    assert_true(predict_bytes_learn(&form->request, request, room + 3, 4));
    assert_null(predict_forms_find(forms, request));
    form->serial = 7;
    assert_ptr_equal(predict_forms_find(forms, message(other, "abc", "9876", "xy")), form);
    assert_null(predict_forms_find(forms, message(other, "abd", "9876", "xy")));
    predict_forms_destroy(forms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_message_with_other_numbers_matches),
        cmocka_unit_test(the_learnt_message_is_written_with_room_for_numbers),
        cmocka_unit_test(parts_on_both_sides_are_found_in_the_copy),
        cmocka_unit_test(messages_with_numbers_elsewhere_or_large_parts_are_not_learnt),
        cmocka_unit_test(a_form_is_found_while_it_is_known),
    };
    return cmocka_run_group_tests_name("predict form", tests, NULL, NULL);
}
