#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tensor/shell_value.h"
#include "support/test_group.h"

static const struct row {
    const char *label;
    struct shape shape;
    const char *want;
} rows[] = {
    { "a scalar", { 0 }, "0.5" },
    { "few numbers are written out", { 2, { -1, 3 } }, "[[0.5,0.5,0.5]]" },
    { "a long list", { 2, { -1, 784 } }, "[[$(yes 0.5 | head -n 784 | paste -sd, -)]]" },
    { "an image",
      { 4, { -1, 28, 28, 1 } },
      "[[$(yes \"[$(yes \"[0.5]\" | head -n 28 | paste -sd, -)]\" | head -n 28 | paste -sd, -)]]" },
    { "unknown dimensions are 1", { 3, { -1, -1, 2 } }, "[[[0.5,0.5]]]" },
    { "an empty dimension is 1", { 1, { 0 } }, "[0.5]" },
};

/* Checks that sh expands the text to all elements of the shape and nothing else. */
static void check_expansion(const struct shape *shape, const char *text)
{
    char command[1024];
    static char got[1 << 20];
    snprintf(command, sizeof command, "echo \"%s\"", text);
    FILE *shell = popen(command, "r");
    assert_non_null(shell);
    size_t size = fread(got, 1, sizeof got - 1, shell), numbers = 0, want = 1;
    assert_int_equal(pclose(shell), 0);
    got[size] = '\0';
    for (const char *at = got; (at = strstr(at, "0.5")) != NULL; at++)
        numbers++;
    for (int i = 0; i < shape->rank; i++)
        want *= shape->dims[i] < 1 ? 1 : (size_t)shape->dims[i];
    assert_int_equal(numbers, want);
    assert_null(strchr(got, '$'));
    assert_null(strchr(got, '"'));
    assert_true(size <= shell_value_expanded(shape, "0.5") + 1); /* 1: the newline */
}

static void prints_and_expands(void **state)
{
    const struct row *row = *state;
    struct buffer out = { 0 };
    shell_value_print(&row->shape, "0.5", &out);
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, row->want);
    check_expansion(&row->shape, out.data);
    buffer_finish(&out);
}

static void what_no_argument_can_carry_goes_through_standard_input(void **state)
{
    (void)state;
    struct buffer out = { 0 };
    shell_command_print(bytes_of("{}"), 2, "URL", &out);
    buffer_append_char(&out, ' ');
    shell_command_print(bytes_of("{}"), 200000, "URL", &out);
    assert_true(bytes_equal((struct bytes){ out.data, out.size },
                            bytes_of("curl -d \"{}\" URL echo \"{}\" | curl -d @- URL")));
    buffer_finish(&out);
    const struct shape huge = { 3, { INT64_MAX, INT64_MAX, 2 } };
    assert_true(shell_value_expanded(&huge, "0") == UINT64_MAX);
}

static void a_word_is_quoted_where_the_shell_would_take_it_for_more(void **state)
{
    (void)state;
    struct buffer out = { 0 };
    shell_word_print("./model/1", &out);
    buffer_append_char(&out, ' ');
    shell_word_print("it's $(mine)", &out);
    buffer_append_char(&out, ' ');
    shell_word_print("", &out);
    assert_true(bytes_equal((struct bytes){ out.data, out.size },
                            bytes_of("./model/1 'it'\\''s $(mine)' ''")));
    buffer_finish(&out);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(what_no_argument_can_carry_goes_through_standard_input),
        cmocka_unit_test(a_word_is_quoted_where_the_shell_would_take_it_for_more),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, prints_and_expands);
    return test_group_run(&group, "shell value", NULL, NULL);
}
