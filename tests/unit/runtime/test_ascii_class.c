/* Compares ascii_class with RE2, for random patterns and texts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/random.h"
#include "base/status.h"
#include "runtime/kernels/plain/ascii_class.h"
#include "runtime/kernels/plain/regex.h"

#define PATTERNS 3000
#define TEXTS    10
#define TEXT_MAX 300

static struct random random_state;

static int pick(int below)
{
    return (int)random_below(&random_state, (uint64_t)below);
}

static bool is_class(const char *pattern)
{
    struct ascii_class set;
    return ascii_class_read(pattern, strlen(pattern), &set);
}

static void reads_lists_of_characters(void **state)
{
    (void)state;
    static const char *const classes[] = {
        "[!\"#$%&()\\*\\+,-\\./:;<=>?@\\[\\\\\\]^_`{|}~\\']", /* of Keras' TextVectorization */
        "[a]",
        "[.?!,]",
        "[a-z0-9]",
        "[\\-a]",
        "[\\^]",
        "[a^]",
        "[ -~]",
    };
    static const char *const others[] = {
        "",        "[",      "[]",          "[^a]",       "[]a]",
        "[a-]",    "[-a]",   "[[:alpha:]]", "[\\d]",      "[\\]",
        "[a\\]",   "[z-a]",  "a",           "a]",         "[a",
        "[a]+",    "([a])",  "[a-\\]",      "[a]|b",      "[a-z",
        "[\\x41]", "[\\pL]", "[\t]",        "[\xc3\xbc]", "[acegikmoqsuwy13579]",
    };
    for (size_t i = 0; i < COUNT(classes); i++)
        assert_true(is_class(classes[i]));
    for (size_t i = 0; i < COUNT(others); i++)
        assert_false(is_class(others[i]));
}

/* A pattern in brackets, often a wrong one; the same in a group, which RE2 searches. */
static void draw_pattern(char *pattern, char *grouped)
{
    static const char characters[] = "abcxyzABZ019 !\"#-/[]^`{|}~,.:";
    size_t size = 0;
    pattern[size++] = '[';
    for (int i = pick(12); i >= 0; i--) {
        if (pick(4) == 0)
            pattern[size++] = '\\';
        pattern[size++] = characters[pick((int)sizeof characters - 1)];
        if (pick(6) == 0)
            pattern[size++] = '-';
    }
    pattern[size++] = ']';
    pattern[size] = '\0';
    strcat(strcat(strcpy(grouped, "(?:"), pattern), ")");
}

static struct regex *create(const char *pattern)
{
    char error[200];
    return regex_create(pattern, strlen(pattern), error, sizeof error);
}

/* A text of few kinds of characters, so that matches are far apart. */
static size_t draw_text(char *text)
{
    size_t size = (size_t)pick(TEXT_MAX);
    int kinds = 1 + pick(20), first = pick(256);
    for (size_t c = 0; c < size; c++)
        text[c] = (char)(pick(30) == 0 ? pick(128) : first + pick(kinds));
    return size;
}

static void compare(const struct regex *ours, const struct regex *theirs)
{
    char text[TEXT_MAX];
    for (int i = 0; i < TEXTS; i++) {
        size_t size = draw_text(text), at = (size_t)pick((int)size + 1);
        struct regex_span a = { 0 }, b = { 0 };
        assert_int_equal(regex_find(ours, text, size, at, &a, 1),
                         regex_find(theirs, text, size, at, &b, 1));
        assert_int_equal(a.begin, b.begin);
        assert_int_equal(a.end, b.end);
    }
}

static void finds_what_re2_finds(void **state)
{
    (void)state;
    int compared = 0;
    char pattern[64], grouped[80];
    random_init(&random_state, 1, 0);
    for (int i = 0; i < PATTERNS; i++) {
        draw_pattern(pattern, grouped);
        if (!is_class(pattern))
            continue;
        struct regex *ours = create(pattern), *theirs = create(grouped);
        assert_non_null(ours);
        assert_non_null(theirs);
        compare(ours, theirs);
        regex_destroy(ours);
        regex_destroy(theirs);
        compared++;
    }
    assert_in_range(compared, PATTERNS / 10, PATTERNS);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_lists_of_characters),
        cmocka_unit_test(finds_what_re2_finds),
    };
    return cmocka_run_group_tests_name("ascii_class", tests, NULL, NULL);
}
