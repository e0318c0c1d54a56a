#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "trainer/job/host_list.h"
#include "support/test_group.h"
#include "support/arena.h"

/* The hosts as `scontrol show hostnames` prints them, by its documentation and Slurm's tests of
 * hostlists, but with spaces between them. */
static const struct row {
    const char *list, *hosts;
} rows[] = {
    { "gpu1", "gpu1" },
    { "tux[1-3]", "tux1 tux2 tux3" },
    { "node[01-03,7],gpu1", "node01 node02 node03 node7 gpu1" },
    { "linux[00-02,05]", "linux00 linux01 linux02 linux05" },
    { "n[8-11]", "n8 n9 n10 n11" },
    { "n[098-101]", "n098 n099 n100 n101" },
    { "n[9-9]", "n9" },
    { "n[2,1,2]", "n2 n1 n2" },
    { "rack[0-1]node[08-09]", "rack0node08 rack0node09 rack1node08 rack1node09" },
    { "a[1-2]-ib0,b", "a1-ib0 a2-ib0 b" },
    { "x-[1-2].example.org", "x-1.example.org x-2.example.org" },
    { "n[1-2],m5,o[3-4,6,7-9]", "n1 n2 m5 o3 o4 o6 o7 o8 o9" },
    { "a:2,b", "a a b" },
    { "n[1-2]:2,c:1", "n1 n1 n2 n2 c" },
    { "me@host", "me@host" },
};

static const char *join(const struct host_list *list)
{
    const char *text = "";

    for (int i = 0; i < list->count; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "", list->hosts[i]);
    return text;
}

static void expands(void **state)
{
    const struct row *row = *state;
    struct host_list list;

    assert_string_equal(host_list_expand(row->list, arena, &list).message, "");
    assert_string_equal(join(&list), row->hosts);
}

static const struct refusal {
    const char *list, *words;
} refusals[] = {
    { "", "a name is missing" },
    { "a,,b", "a name is missing" },
    { "a,", "a name is missing" },
    { "n[1-3", "a bracket has no end at '[1-3'" },
    { "n1-3]", "a bracket has no beginning" },
    { "n[]", "a number is missing" },
    { "n[a]", "a number is missing" },
    { "n[1-]", "a number is missing" },
    { "n[1,]", "a number is missing" },
    { "n[3-1]", "a range ends before it begins" },
    { "n[1-2-3]", "expected a comma or ]" },
    { "n[1;2]", "a character that no host's name has" },
    { "n[1[2]]", "expected a comma or ]" },
    { "n[0-4096]", "more than 4096 hosts" },
    { "n[0-999999999]", "more than 4096 hosts" },
    { "n[1-99][1-99]", "more than 4096 hosts" },
    { "n[1000000000]", "a number is too long" },
    { "a:0", "a count of 0" },
    { "a:4097", "more than 4096 hosts" },
    { "a:", "a number is missing" },
    { "a:2x", "expected a comma" },
    { "a b", "a character that no host's name has" },
    { "http://a", "a character that no host's name has" },
};

static void refuses(void **state)
{
    const struct refusal *row = *state;
    struct host_list list;
    struct status status = host_list_expand(row->list, arena, &list);

    if (status.code != STATUS_INVALID_ARGUMENT || strstr(status.message, row->words) == NULL)
        fail_msg("'%s': '%s' does not say '%s'", row->list, status.message, row->words);
}

static void expands_counts(void **state)
{
    static const struct {
        const char *text;
        int count, list[5];
    } counts[] = {
        { "4", 1, { 4 } },
        { "2(x3),1", 4, { 2, 2, 2, 1 } },
        { "1,12(x1),3", 3, { 1, 12, 3 } },
    };
    static const char *const wrong[] = { "", "x", "2(x", "2(x3", "2(3)", "2,", "2;1", "1(x4097)" };
    struct task_counts list;

    (void)state;
    for (size_t i = 0; i < COUNT(counts); i++) {
        assert_string_equal(task_counts_expand(counts[i].text, arena, &list).message, "");
        assert_int_equal(list.count, counts[i].count);
        assert_memory_equal(list.list, counts[i].list, (size_t)list.count * sizeof(int));
    }
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(task_counts_expand(wrong[i], arena, &list).code, STATUS_INVALID_ARGUMENT);
}

static void a_deep_list_is_refused(void **state)
{
    (void)state;
    struct buffer text = { 0 };
    struct host_list list;

    for (int i = 0; i < 30000; i++)
        buffer_append(&text, "[1]", 3);
    buffer_append_char(&text, '\0');
    assert_int_equal(host_list_expand(text.data, arena, &list).code, STATUS_INVALID_ARGUMENT);
    buffer_finish(&text);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(expands_counts),
        cmocka_unit_test(a_deep_list_is_refused),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, list, expands);
    ADD_ROWS(&group, refusals, list, refuses);
    return test_group_run(&group, "host list", arena_setup, arena_teardown);
}
