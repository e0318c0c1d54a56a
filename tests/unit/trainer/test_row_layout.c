#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "trainer/data/row_layout.h"

static const char schema_text[] =
    "{\"columns\": ["
    "{\"name\": \"a\", \"default\": 7}, {\"name\": \"n\", \"dtype\": \"int64\", \"mean\": 10, "
    "\"stddev\": 2}, {\"name\": \"pair\", \"shape\": [2]}, {\"name\": \"word\", \"dtype\": "
    "\"string\"}, {\"name\": \"answer\", \"dtype\": \"string\", \"classes\": [\"no\", \"yes\"]}, "
    "{\"name\": \"sign\", \"classes\": [-1, 1]}, {\"name\": \"f\", \"kind\": \"sparse\", "
    "\"index\": \"i\", \"value\": \"v\", \"first_index\": 1}, {\"name\": \"g\", \"kind\": "
    "\"sparse\", \"index\": \"i\", \"value\": \"v\", \"width\": 3}]}";

struct layout_fixture {
    struct arena *arena;
    struct schema schema;
    struct row_layout layout;
    struct columns columns;
};

/* A float tensor of `width` or, with `classes`, a class, made of the columns. */
static struct status make(struct layout_fixture *fixture, const char *const *names, int count,
                          int64_t width, int64_t classes)
{
    struct row_request *request = ARENA_NEW(fixture->arena, struct row_request);

    *request = (struct row_request){
        .spec = { .name = "x",
                  .dtype = classes > 0 ? DT_INT32 : DT_FLOAT,
                  .shape = classes > 0 ? shape_of(-1) : shape_of(-1, width) },
        .classes = classes,
        .names = names,
        .names_count = count,
    };
    return row_layout_make(&fixture->schema, request, 1, fixture->arena, &fixture->layout);
}

static struct layout_fixture begin(void)
{
    struct layout_fixture fixture = { .arena = arena_create(0) };

    assert_string_equal(schema_read(bytes_of(schema_text), fixture.arena, &fixture.schema).message,
                        "");
    return fixture;
}

static void end(struct layout_fixture *fixture)
{
    columns_finish(&fixture->columns);
    arena_destroy(fixture->arena);
}

static struct column *column_of(struct layout_fixture *fixture, const char *name)
{
    if (fixture->columns.list == NULL)
        columns_init(&fixture->columns, fixture->layout.specs, fixture->layout.specs_count);
    return columns_find(&fixture->columns, bytes_of(name));
}

static void columns_stand_side_by_side(void **state)
{
    (void)state;
    static const char *const names[] = { "pair", "n", "f", "a" };
    const uint32_t order[] = { 1, 0 };
    const float want[] = { 5, 6, -4, 0, 0, 8, 7, 3, 4, 1, 0.5f, 0, -2, 9 };
    struct layout_fixture fixture = begin();
    float got[14];

    assert_string_equal(make(&fixture, names, 4, 7, 0).message, "");
    struct column *pair = column_of(&fixture, "pair"), *n = column_of(&fixture, "n"),
                  *i = column_of(&fixture, "i"), *v = column_of(&fixture, "v"),
                  *a = column_of(&fixture, "a");
    column_add_float(pair, 3), column_add_float(pair, 4);
    column_add_int64(n, 12);
    column_add_int64(i, 3), column_add_int64(i, 1);
    column_add_float(v, -2), column_add_float(v, .5f);
    column_add_float(a, 9);
    columns_end_row(&fixture.columns);
    column_add_float(pair, 5), column_add_float(pair, 6);
    column_add_int64(n, 2);
    column_add_int64(i, 3), column_add_float(v, 8);
    columns_end_row(&fixture.columns); /* a is missing: 7 */
    for (size_t row = 0; row < 2; row++)
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, row).message, "");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 2, got);
    assert_memory_equal(got, want, sizeof want);
    end(&fixture);
}

static void classes_become_numbers(void **state)
{
    (void)state;
    static const char *const a[] = { "a" };
    static const char *const answer[] = { "answer" };
    static const char *const sign[] = { "sign" };
    static const struct {
        const char *const *names;
        float number; /* or a text */
        const char *text;
        int64_t classes;
        int32_t want; /* -1: it is no class */
    } cases[] = {
        { a, 1, NULL, 2, 1 },       { a, -1, NULL, 2, 0 },         { a, -1, NULL, 3, -1 },
        { a, 2, NULL, 2, -1 },      { a, .5f, NULL, 2, -1 },       { answer, 0, "no", 2, 0 },
        { answer, 0, "yes", 2, 1 }, { answer, 0, "maybe", 2, -1 }, { sign, -1, NULL, 2, 0 },
        { sign, 1, NULL, 2, 1 },    { sign, 0, NULL, 2, -1 },
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct layout_fixture fixture = begin();
        const uint32_t first = 0;
        int32_t got;
        assert_string_equal(make(&fixture, cases[c].names, 1, 1, cases[c].classes).message, "");
        struct column *column = column_of(&fixture, cases[c].names[0]);
        if (cases[c].text != NULL)
            column_add_bytes(column, bytes_of(cases[c].text));
        else
            column_add_float(column, cases[c].number);
        columns_end_row(&fixture.columns);
        struct status status = row_layout_check(&fixture.layout, &fixture.columns, 0);
        assert_int_equal(status.code, cases[c].want < 0 ? STATUS_INVALID_ARGUMENT : STATUS_OK);
        if (cases[c].want >= 0) {
            row_layout_gather(&fixture.layout, 0, &fixture.columns, &first, 1, &got);
            assert_int_equal(got, cases[c].want);
        } else {
            assert_non_null(strstr(status.message, cases[c].names[0]));
        }
        end(&fixture);
    }
}

static void a_listed_class_may_be_a_float(void **state)
{
    (void)state;
    static const char *const sign[] = { "sign" };
    struct layout_fixture fixture = begin();
    const uint32_t rows[] = { 0, 1 };
    float got[2];

    assert_string_equal(make(&fixture, sign, 1, 1, 0).message, "");
    column_add_float(column_of(&fixture, "sign"), -1);
    columns_end_row(&fixture.columns);
    column_add_float(column_of(&fixture, "sign"), 1);
    columns_end_row(&fixture.columns);
    row_layout_gather(&fixture.layout, 0, &fixture.columns, rows, 2, got);
    assert_true(got[0] == 0 && got[1] == 1);
    end(&fixture);
}

static void a_binary_label_is_0_1_or_a_probability(void **state)
{
    (void)state;
    static const char *const names[] = { "pair" };
    const float labels[] = { -1, .25f };
    const uint32_t first = 0;
    struct layout_fixture fixture = begin();
    struct row_request request = {
        .spec = { .name = "y", .dtype = DT_FLOAT, .shape = shape_of(-1, 2) },
        .is_binary = true,
        .names = names,
        .names_count = 1
    };
    float got[2];

    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    for (int i = 0; i < 2; i++)
        column_add_float(column_of(&fixture, "pair"), labels[i]);
    columns_end_row(&fixture.columns);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message, "");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, &first, 1, got);
    assert_true(got[0] == 0 && got[1] == .25f);
    fixture.columns.list[0].floats[1] = 2;
    assert_non_null(
        strstr(row_layout_check(&fixture.layout, &fixture.columns, 0).message, "2 is not a class"));
    end(&fixture);
}

static void columns_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *names[2];
        int count;
        int64_t width;
        const char *error;
    } cases[] = {
        { { "z", NULL }, 1, 1, "no column 'z' for the model's 'x'; the data have 'a', 'n'" },
        { { "a", "pair" }, 2, 2, "takes 2 numbers per row, but the columns of the data have 3" },
        { { "a", "f" }, 2, 1, "takes 1 numbers per row" },
        { { "word", NULL }, 1, 1, "column 'word' holds text" },
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct layout_fixture fixture = begin();
        struct status status = make(&fixture, cases[c].names, cases[c].count, cases[c].width, 0);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        if (strstr(status.message, cases[c].error) == NULL)
            fail_msg("'%s' is not in '%s'", cases[c].error, status.message);
        arena_destroy(fixture.arena);
    }
}

static void a_row_that_does_not_fit_is_bad(void **state)
{
    (void)state;
    static const char *const names[] = { "n", "g" };
    static const struct {
        int numbers, indices, values;
        int64_t index;
        const char *error;
    } cases[] = {
        { 0, 1, 1, 0, "column 'n': no value" },
        { 2, 1, 1, 0, "column 'n': 2 values, expected 1" },
        { 1, 1, 1, 3, "column 'g': the index 3, expected 0 to 2" },
        { 1, 1, 1, -1, "column 'g': the index -1" },
        { 1, 1, 0, 0, "column 'g': 1 indices but 0 values" },
        { 1, 0, 0, 0, "" },
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct layout_fixture fixture = begin();
        assert_string_equal(make(&fixture, names, 2, 4, 0).message, "");
        for (int i = 0; i < cases[c].numbers; i++)
            column_add_int64(column_of(&fixture, "n"), 1);
        for (int i = 0; i < cases[c].indices; i++)
            column_add_int64(column_of(&fixture, "i"), cases[c].index);
        for (int i = 0; i < cases[c].values; i++)
            column_add_float(column_of(&fixture, "v"), 1);
        columns_end_row(&fixture.columns);
        struct status status = row_layout_check(&fixture.layout, &fixture.columns, 0);
        if (strstr(status.message, cases[c].error) == NULL)
            fail_msg("'%s' is not in '%s'", cases[c].error, status.message);
        end(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand_side_by_side),
        cmocka_unit_test(classes_become_numbers),
        cmocka_unit_test(a_listed_class_may_be_a_float),
        cmocka_unit_test(a_binary_label_is_0_1_or_a_probability),
        cmocka_unit_test(columns_that_do_not_fit_are_refused),
        cmocka_unit_test(a_row_that_does_not_fit_is_bad),
    };
    return cmocka_run_group_tests_name("row_layout", tests, NULL, NULL);
}
