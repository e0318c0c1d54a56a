#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/container.h"
#include "base/list.h"

struct item {
    char name;
    struct list_link link;
};

static const char *names(const struct list_link *list, char *out)
{
    char *to = out;
    for (const struct list_link *at = list; at != NULL; at = at->next)
        *to++ = CONTAINER_OF(at, struct item, link)->name;
    *to = 0;
    return out;
}

static void any_item_can_leave_and_come_back(void **state)
{
    struct item a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' };
    struct list_link *list = NULL;
    char text[4];
    (void)state;

    list_push(&list, &a.link);
    list_push(&list, &b.link);
    list_push(&list, &c.link);
    assert_string_equal(names(list, text), "cba");
    list_remove(&b.link);
    assert_string_equal(names(list, text), "ca");
    assert_false(list_holds(&b.link));
    list_remove(&a.link); /* its neighbour has changed */
    assert_string_equal(names(list, text), "c");
    list_push(&list, &b.link);
    list_remove(&c.link);
    assert_string_equal(names(list, text), "b");
    assert_true(list_holds(&b.link));
    list_remove(&b.link);
    assert_null(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(any_item_can_leave_and_come_back) };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
