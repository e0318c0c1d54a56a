#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "trainer/data/row_layout.h"

static const char schema_text[] =
    "{\"columns\": ["
    "{\"name\": \"a\", \"default\": 7}, {\"name\": \"n\", \"dtype\": \"int64\", \"mean\": 10, "
    "\"stddev\": 2}, {\"name\": \"id\", \"dtype\": \"int64\", \"default\": 3}, {\"name\": "
    "\"pair\", \"shape\": [2]}, {\"name\": \"word\", \"dtype\": "
    "\"string\"}, {\"name\": \"answer\", \"dtype\": \"string\", \"classes\": [\"no\", \"yes\"]}, "
    "{\"name\": \"sign\", \"classes\": [-1, 1]}, {\"name\": \"f\", \"kind\": \"sparse\", "
    "\"index\": \"i\", \"value\": \"v\", \"first_index\": 1}, {\"name\": \"g\", \"kind\": "
    "\"sparse\", \"index\": \"i\", \"value\": \"v\", \"width\": 3}, {\"name\": \"list\", \"kind\": "
    "\"ragged\", \"dtype\": \"int64\"}, {\"name\": \"site\", \"dtype\": \"string\", "
    "\"hash_buckets\": "
    "10}, {\"name\": \"tags\", \"kind\": \"ragged\", \"dtype\": \"int64\", \"hash_buckets\": 7}, "
    "{\"name\": \"parts\", \"kind\": \"ragged\"}, {\"name\": \"age\", \"boundaries\": [1, 2.5], "
    "\"default\": 2}]}";

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

/* The same of integers that are no classes, a value of each column. */
static struct status make_integers(struct layout_fixture *fixture, const char *const *names,
                                   int count, enum dtype dtype)
{
    struct row_request *request = ARENA_NEW(fixture->arena, struct row_request);

    *request = (struct row_request){
        .spec = { .name = "x", .dtype = dtype, .shape = shape_of(-1, count) },
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

/* A sparse tensor of this width, or a ragged one of this dtype. */
static struct status make_lists(struct layout_fixture *fixture, const char *const *names, int count,
                                int64_t width, enum dtype dtype)
{
    struct row_request *request = ARENA_NEW(fixture->arena, struct row_request);

    *request = (struct row_request){
        .spec = { .name = "x",
                  .layout = width > 0 ? TENSOR_SPARSE : TENSOR_RAGGED,
                  .dtype = dtype,
                  .shape = shape_of(-1, width > 0 ? width : -1) },
        .names = names,
        .names_count = count,
    };
    return row_layout_make(&fixture->schema, request, 1, fixture->arena, &fixture->layout);
}

/* The ids stay in the file's order, and as often as the file has them. */
static void a_sparse_tensor_has_only_the_values_of_the_file(void **state)
{
    (void)state;
    static const char *const names[] = { "pair", "f", "a" };
    const uint32_t order[] = { 1, 0, 2 };
    const float want[] = { 5, 8, 9, 3, 4, -2, .5f, 1, 7, 6, 6, 7 };
    const int64_t ids[] = { 0, 4, 6, 0, 1, 4, 2, 4, 6, 0, 1, 6 }, splits[] = { 0, 3, 9, 12 };
    struct layout_fixture fixture = begin();
    struct row_lists lists = { 0 };

    assert_string_equal(make_lists(&fixture, names, 3, 7, DT_FLOAT).message, "");
    struct column *pair = column_of(&fixture, "pair"), *i = column_of(&fixture, "i"),
                  *v = column_of(&fixture, "v"), *a = column_of(&fixture, "a");
    column_add_float(pair, 3), column_add_float(pair, 4);
    column_add_int64(i, 3), column_add_int64(i, 1), column_add_int64(i, 3);
    column_add_float(v, -2), column_add_float(v, .5f), column_add_float(v, 1);
    columns_end_row(&fixture.columns); /* a is missing: 7 */
    column_add_float(pair, 5), column_add_float(pair, 0);
    column_add_int64(i, 3), column_add_float(v, 8), column_add_float(a, 9);
    columns_end_row(&fixture.columns);
    column_add_float(pair, 6), column_add_float(pair, 6);
    columns_end_row(&fixture.columns); /* no index */
    for (size_t row = 0; row < 3; row++)
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, row).message, "");
    for (int again = 0; again < 2; again++) {
        row_lists_clear(&lists);
        row_layout_append(&fixture.layout, 0, &fixture.columns, order, 1, &lists);
        row_layout_append(&fixture.layout, 0, &fixture.columns, order + 1, 2, &lists);
        assert_int_equal(lists.rows, 3);
        assert_int_equal(lists.count, COUNT(want));
        assert_memory_equal(lists.floats, want, sizeof want);
        assert_memory_equal(lists.ids, ids, sizeof ids);
        assert_memory_equal(lists.row_splits, splits, sizeof splits);
    }
    row_lists_finish(&lists);
    end(&fixture);
}

static void the_normalisation_of_a_tensor_is_told(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "n", "pair" };
    struct layout_fixture fixture = begin();
    const struct data_column *column;

    assert_int_equal(make(&fixture, names, 3, 4, 0).code, STATUS_OK);
    column = &fixture.layout.tensors[0].column;
    for (int i = 0; i < 4; i++) {
        assert_true(column->mean[i] == (i == 1 ? 10 : 0));
        assert_true(column->stddev[i] == (i == 1 ? 2 : 1));
    }
    assert_int_equal(make(&fixture, names, 1, 1, 0).code, STATUS_OK);
    assert_null(fixture.layout.tensors[0].column.mean);
    end(&fixture);
}

static void a_row_of_steps_is_made_of_whole_steps(void **state)
{
    (void)state;
    static const char *const names[] = { "parts" };
    struct layout_fixture fixture = begin();
    const struct row_request request = { .spec = { .name = "x",
                                                   .layout = TENSOR_RAGGED,
                                                   .dtype = DT_FLOAT,
                                                   .shape = shape_of(-1, -1) },
                                         .step_size = 2,
                                         .names = names,
                                         .names_count = 1 };

    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    struct column *column = column_of(&fixture, "parts");
    columns_end_row(&fixture.columns);
    for (int i = 0; i < 3; i++)
        column_add_float(column, 1);
    columns_end_row(&fixture.columns);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message, "");
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 1).message,
                        "column 'parts': 3 values, expected a multiple of 2, the values of a step "
                        "of the model's 'x'");
    end(&fixture);
}

static void a_ragged_tensor_has_any_number_of_values(void **state)
{
    (void)state;
    static const char *const list[] = { "list" }, *const parts[] = { "parts" };
    const uint32_t order[] = { 2, 0, 1 };
    const int64_t ints[] = { 8, 5, 6 }, splits[] = { 0, 1, 3, 3 };
    const float floats[] = { 8, 5, 6 };

    for (int is_float = 0; is_float < 2; is_float++) {
        struct layout_fixture fixture = begin();
        struct row_lists lists = { 0 };
        const char *const *names = is_float ? parts : list;
        assert_string_equal(
            make_lists(&fixture, names, 1, 0, is_float ? DT_FLOAT : DT_INT64).message, "");
        struct column *column = column_of(&fixture, names[0]);
        for (int row = 0; row < 3; row++) {
            static const int first[] = { 5, 0, 8 }, end[] = { 7, 0, 9 };
            for (int value = first[row]; value < end[row]; value++)
                if (is_float)
                    column_add_float(column, (float)value);
                else
                    column_add_int64(column, value);
            columns_end_row(&fixture.columns);
            assert_string_equal(
                row_layout_check(&fixture.layout, &fixture.columns, (size_t)row).message, "");
        }
        row_layout_append(&fixture.layout, 0, &fixture.columns, order, 3, &lists);
        assert_int_equal(lists.count, 3);
        if (is_float)
            assert_memory_equal(lists.floats, floats, sizeof floats);
        else
            assert_memory_equal(lists.ints, ints, sizeof ints);
        assert_memory_equal(lists.row_splits, splits, sizeof splits);
        row_lists_finish(&lists);
        end(&fixture);
    }
}

static void add_hashed_row(struct layout_fixture *fixture, const char *site, int tags)
{
    if (site != NULL)
        column_add_bytes(column_of(fixture, "site"), bytes_of(site));
    for (int tag = 0; tag < tags; tag++)
        column_add_int64(column_of(fixture, "tags"), 100 + tag);
    columns_end_row(&fixture->columns);
    assert_string_equal(
        row_layout_check(&fixture->layout, &fixture->columns, fixture->columns.rows - 1).message,
        "");
}

/* By tf.strings.to_hash_bucket_fast: "a" and "bb" of 10, "100" to "102" of 7. */
enum { SITE_A = 9, SITE_BB = 2, TAG_100 = 4, TAG_101 = 6, TAG_102 = 6 };

static void hashed_columns_become_buckets(void **state)
{
    (void)state;
    static const char *const names[] = { "site", "tags" };
    const uint32_t order[] = { 0, 1, 2 };
    const float ones[] = { 1, 1, 1, 1, 1 };
    const float dense[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 2 };
    const int64_t ids[] = { SITE_A, 10 + TAG_100, 10 + TAG_101, 10 + TAG_102, SITE_BB },
                  splits[] = { 0, 4, 4, 5 }, tags[] = { TAG_100, TAG_101, TAG_102 };
    struct layout_fixture fixture = begin();
    struct row_lists lists = { 0 };
    float got[COUNT(dense)];

    assert_string_equal(make_lists(&fixture, names, 2, 17, DT_FLOAT).message, "");
    add_hashed_row(&fixture, "a", 3);
    add_hashed_row(&fixture, NULL, 0); /* nothing */
    add_hashed_row(&fixture, "bb", 0);
    row_layout_append(&fixture.layout, 0, &fixture.columns, order, 3, &lists);
    assert_int_equal(lists.count, COUNT(ids));
    assert_memory_equal(lists.floats, ones, sizeof ones);
    assert_memory_equal(lists.ids, ids, sizeof ids);
    assert_memory_equal(lists.row_splits, splits, sizeof splits);
    columns_finish(&fixture.columns);
    assert_string_equal(make(&fixture, names, 2, 17, 0).message, "");
    add_hashed_row(&fixture, "a", 3);
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 1, got);
    assert_memory_equal(got, dense, sizeof dense);
    columns_finish(&fixture.columns);
    row_lists_clear(&lists);
    assert_string_equal(make_lists(&fixture, names + 1, 1, 0, DT_INT64).message, "");
    add_hashed_row(&fixture, NULL, 3);
    row_layout_append(&fixture.layout, 0, &fixture.columns, order, 1, &lists);
    assert_memory_equal(lists.ints, tags, sizeof tags);
    row_lists_finish(&lists);
    end(&fixture);
}

/* The empty text of a request's column has no bucket, as a value that is missing. */
static void an_empty_text_has_no_bucket(void **state)
{
    (void)state;
    static const char *const names[] = { "site" };
    const uint32_t order[] = { 0 };
    const float none[10] = { 0 };
    struct layout_fixture fixture = begin();
    float got[10];

    assert_string_equal(make(&fixture, names, 1, 10, 0).message, "");
    add_hashed_row(&fixture, "", 0);
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 1, got);
    assert_memory_equal(got, none, sizeof none);
    end(&fixture);
}

/* As tf.raw_ops.Bucketize: a boundary belongs to the range above it. */
static void boundaries_divide_numbers(void **state)
{
    (void)state;
    static const char *const names[] = { "age" };
    const float given[] = { 0.5f, 1, 2.5f, NAN };
    const uint32_t order[] = { 0, 1, 2, 3, 4 };
    const float hot[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0 };
    const int64_t numbers[] = { 0, 1, 2, 2, 1 }, splits[] = { 0, 1, 2, 3, 4, 5 };
    struct layout_fixture fixture = begin();
    struct row_lists lists = { 0 };
    float floats[COUNT(hot)];
    int64_t ints[COUNT(numbers)];

    assert_string_equal(make(&fixture, names, 1, 3, 0).message, "");
    for (size_t i = 0; i <= COUNT(given); i++) {
        struct column *age = column_of(&fixture, "age");
        if (i < COUNT(given))
            column_add_float(age, given[i]);
        columns_end_row(&fixture.columns); /* of the last row, the default */
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, i).message, "");
    }
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, COUNT(numbers), floats);
    assert_memory_equal(floats, hot, sizeof hot);
    assert_string_equal(make_integers(&fixture, names, 1, DT_INT64).message, "");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, COUNT(numbers), ints);
    assert_memory_equal(ints, numbers, sizeof numbers);
    assert_string_equal(make_lists(&fixture, names, 1, 3, DT_FLOAT).message, "");
    row_layout_append(&fixture.layout, 0, &fixture.columns, order, COUNT(numbers), &lists);
    assert_memory_equal(lists.ids, numbers, sizeof numbers);
    assert_memory_equal(lists.row_splits, splits, sizeof splits);
    row_lists_finish(&lists);
    assert_string_equal(make(&fixture, names, 1, 0, 3).message,
                        "column 'age' has 'boundaries', which a label cannot have");
    end(&fixture);
}

/* Of an input that the exported graph prepares. */
static void raw_texts_stay_in_lists(void **state)
{
    (void)state;
    static const char *const names[] = { "words" };
    static const char schema[] = "{\"columns\": [{\"name\": \"words\", \"kind\": \"ragged\", "
                                 "\"dtype\": \"string\", \"hash_buckets\": 9}]}";
    const struct row_request request = { .spec = { .name = "words",
                                                   .layout = TENSOR_RAGGED,
                                                   .dtype = DT_STRING,
                                                   .shape = shape_of(-1, -1) },
                                         .raw = RAW_COLUMN,
                                         .names = names,
                                         .names_count = 1 };
    const uint32_t order[] = { 1, 0 };
    const int64_t splits[] = { 0, 0, 2 };
    struct layout_fixture fixture = { .arena = arena_create(0) };
    struct row_lists lists = { 0 };

    assert_string_equal(schema_read(bytes_of(schema), fixture.arena, &fixture.schema).message, "");
    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    column_add_bytes(column_of(&fixture, "words"), bytes_of("a"));
    column_add_bytes(column_of(&fixture, "words"), bytes_of("bb"));
    columns_end_row(&fixture.columns);
    columns_end_row(&fixture.columns);
    row_layout_append(&fixture.layout, 0, &fixture.columns, order, 2, &lists);
    assert_memory_equal(lists.row_splits, splits, sizeof splits);
    assert_true(bytes_equal(lists.texts[0], bytes_of("a")));
    assert_true(bytes_equal(lists.texts[1], bytes_of("bb")));
    row_lists_finish(&lists);
    end(&fixture);
}

/* The same of a dense column: training counts the texts of a row that are there. */
static void raw_texts_that_are_missing_are_empty(void **state)
{
    (void)state;
    static const char *const names[] = { "words" };
    static const char schema[] = "{\"columns\": [{\"name\": \"words\", \"shape\": [3], "
                                 "\"dtype\": \"string\", \"hash_buckets\": 9}]}";
    const struct row_request request = {
        .spec = { .name = "words", .dtype = DT_STRING, .shape = shape_of(-1, 3) },
        .raw = RAW_COLUMN,
        .names = names,
        .names_count = 1
    };
    static const char *const want[] = { "a", "b", "", "", "", "" };
    const uint32_t order[] = { 0, 1 };
    struct layout_fixture fixture = { .arena = arena_create(0) };
    struct bytes got[COUNT(want)];

    assert_string_equal(schema_read(bytes_of(schema), fixture.arena, &fixture.schema).message, "");
    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    struct column *words = column_of(&fixture, "words");
    column_add_bytes(words, bytes_of("a"));
    column_add_bytes(words, bytes_of("b"));
    columns_end_row(&fixture.columns);
    columns_end_row(&fixture.columns);
    for (int i = 0; i < 4; i++)
        column_add_bytes(words, bytes_of("c"));
    columns_end_row(&fixture.columns);
    for (size_t row = 0; row < 2; row++)
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, row).message, "");
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 2).message,
                        "column 'words': 4 values, expected 3");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 2, got);
    for (size_t i = 0; i < COUNT(want); i++)
        assert_true(bytes_equal(got[i], bytes_of(want[i])));
    end(&fixture);
}

static void a_long_text_that_is_no_class_is_shown_in_part(void **state)
{
    (void)state;
    static const char *const answer[] = { "answer" };
    struct layout_fixture fixture = begin();
    char text[201], want[200];

    memset(text, 'm', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    snprintf(want, sizeof want, "column 'answer': '%.100s' is not among the \"classes\"", text);
    assert_string_equal(make(&fixture, answer, 1, 1, 2).message, "");
    column_add_bytes(column_of(&fixture, "answer"), bytes_of(text));
    columns_end_row(&fixture.columns);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message, want);
    end(&fixture);
}

static void lists_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const a[] = { "a" }, *const f[] = { "f" }, *const n[] = { "n" };
    static const char *const both[] = { "f", "list" }, *const two[] = { "list", "list" };
    static const struct {
        const char *const *names;
        int count;
        int64_t width;
        enum dtype dtype;
        const char *error;
    } cases[] = {
        { both, 2, 9, DT_FLOAT, "column 'list' is ragged, but the model's 'x' is not" },
        { two, 2, 0, DT_INT64, "the model's 'x' is ragged and takes one column, not 2" },
        { f, 1, 0, DT_INT64, "expected a column of kind 'ragged' with dtype 'int64'" },
        { a, 1, 0, DT_INT64, "expected a column of kind 'ragged' with dtype 'int64'" },
        { n, 1, 0, DT_INT64, "column 'n' has 'classes', 'boundaries', 'log', 'mean' or 'stddev'" },
        { a, 1, 2, DT_FLOAT, "takes 2 numbers per row, but the columns of the data have 1" },
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct layout_fixture fixture = begin();
        struct status status =
            make_lists(&fixture, cases[c].names, cases[c].count, cases[c].width, cases[c].dtype);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, cases[c].error));
        end(&fixture);
    }
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

/* A row of two steps, of which each has one of three classes. */
static void a_row_has_a_class_for_each_step(void **state)
{
    (void)state;
    static const char *const by_step[] = { "sign", "answer" };
    static const char *const hot[] = { "pair", "a", "n", "pair" };
    static const struct {
        float pair[2], a;
        int64_t n;
        int32_t want[2]; /* -1: they are no classes */
    } rows[] = {
        { { 0, 1 }, 0, 10, { 1, 2 } }, { { 1, 0 }, 0, 10, { 0, 1 } }, { { 0, 1 }, 1, 10, { -1 } },
        { { 0, 0 }, 0, 10, { -1 } },   { { 1, 0 }, 0, 12, { -1 } },
    };
    const uint32_t order[] = { 0, 1, 2, 3, 4 };
    int32_t got[4];
    struct layout_fixture fixture = begin();
    struct row_request request = {
        .spec = { .name = "x", .dtype = DT_INT32, .shape = shape_of(-1, 2) },
        .classes = 3,
        .names = by_step,
        .names_count = 2
    };

    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    column_add_float(column_of(&fixture, "sign"), 1);
    column_add_bytes(column_of(&fixture, "answer"), bytes_of("no"));
    columns_end_row(&fixture.columns);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message, "");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 1, got);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[1], 0);
    columns_finish(&fixture.columns);
    fixture.columns = (struct columns){ 0 };

    request.names = hot; /* n is (n - 10) / 2 */
    request.names_count = 4;
    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct column *pair = column_of(&fixture, "pair");
        column_add_float(pair, rows[r].pair[0]), column_add_float(pair, rows[r].pair[1]);
        column_add_float(column_of(&fixture, "a"), rows[r].a);
        column_add_int64(column_of(&fixture, "n"), rows[r].n);
        columns_end_row(&fixture.columns);
        struct status status = row_layout_check(&fixture.layout, &fixture.columns, r);
        assert_int_equal(status.code, rows[r].want[0] < 0 ? STATUS_INVALID_ARGUMENT : STATUS_OK);
    }
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 2, got);
    for (size_t i = 0; i < COUNT(got); i++)
        assert_int_equal(got[i], rows[i / 2].want[i % 2]);
    end(&fixture);
}

/* The ids of an embedding: int64s of a file are not rounded, floats have to be whole. */
static void integers_stay_exact(void **state)
{
    (void)state;
    static const char *const names[] = { "id", "a", "answer" };
    const int64_t large = ((int64_t)1 << 60) + 1, want[] = { 3, 7, 0, large, 5, 1 };
    const uint32_t order[] = { 1, 0 };
    struct layout_fixture fixture = begin();
    int64_t got[6];

    assert_string_equal(make_integers(&fixture, names, 3, DT_INT64).message, "");
    struct column *id = column_of(&fixture, "id"), *a = column_of(&fixture, "a"),
                  *answer = column_of(&fixture, "answer");
    column_add_int64(id, large);
    column_add_float(a, 5);
    column_add_bytes(answer, bytes_of("yes"));
    columns_end_row(&fixture.columns);
    column_add_bytes(answer, bytes_of("no"));
    columns_end_row(&fixture.columns); /* the defaults of the others */
    column_add_float(a, 5.5f);
    column_add_bytes(answer, bytes_of("no"));
    columns_end_row(&fixture.columns);
    for (size_t row = 0; row < 2; row++)
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, row).message, "");
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 2).message,
                        "column 'a': 5.5 is no integer of type int64, as the model takes");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 2, got);
    assert_memory_equal(got, want, sizeof want);
    end(&fixture);
}

static void integers_have_limits(void **state)
{
    (void)state;
    static const char *const id[] = { "id" }, *const n[] = { "n" }, *const f[] = { "f" };
    const uint32_t first = 0;
    struct layout_fixture fixture = begin();
    int32_t got;

    assert_string_equal(make_integers(&fixture, id, 1, DT_INT32).message, "");
    column_add_int64(column_of(&fixture, "id"), INT32_MIN);
    columns_end_row(&fixture.columns);
    column_add_int64(column_of(&fixture, "id"), (int64_t)INT32_MAX + 1);
    columns_end_row(&fixture.columns);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message, "");
    row_layout_gather(&fixture.layout, 0, &fixture.columns, &first, 1, &got);
    assert_int_equal(got, INT32_MIN);
    assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 1).message,
                        "column 'id': 2.14748e+09 is no integer of type int32, as the model takes");
    assert_non_null(strstr(make_integers(&fixture, n, 1, DT_INT64).message, "normalised"));
    assert_non_null(strstr(make_integers(&fixture, f, 1, DT_INT64).message, "sparse"));
    end(&fixture);
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
        { { "a", "pair" },
          2,
          2,
          "takes 2 numbers per row, but the columns of the data have 3: 'a', 'pair'" },
        { { "a", "f" }, 2, 1, "takes 1 number per row, but" },
        { { "word", NULL }, 1, 1, "column 'word' holds text, and the model's 'x' takes numbers: " },
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

/* A sparse column without a width has that of the model, so the error says what would change it. */
static void an_index_beyond_the_model_is_bad(void **state)
{
    (void)state;
    static const char *const names[] = { "f" };
    static const struct {
        enum tensor_layout layout;
        bool any_width;
        int64_t index;
        const char *error;
    } cases[] = {
        { TENSOR_DENSE, false, 5,
          "column 'f': the index 5, expected 1 to 4, by the width of the model's 'x'" },
        { TENSOR_DENSE, true, 5,
          "column 'f': the index 5, expected 1 to 4, by the width of the model's 'x'; give the "
          "column its \"width\" in --schema, or choose a model with a sparse input, such as "
          "--model=sparse_logistic" },
        { TENSOR_SPARSE, true, 5,
          "column 'f': the index 5, expected 1 to 4, by the width of the model's 'x'; give the "
          "column its \"width\" in --schema" },
        { TENSOR_DENSE, true, 0,
          "column 'f': the index 0, expected 1 to 4 (see \"first_index\" and \"width\" in "
          "--schema)" },
        { TENSOR_DENSE, true, 4, "" },
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        struct layout_fixture fixture = begin();
        const struct row_request request = { .spec = { .name = "x",
                                                       .layout = cases[c].layout,
                                                       .dtype = DT_FLOAT,
                                                       .shape = shape_of(-1, 4) },
                                             .any_width = cases[c].any_width,
                                             .names = names,
                                             .names_count = 1 };
        assert_string_equal(
            row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message,
            "");
        column_add_int64(column_of(&fixture, "i"), cases[c].index);
        column_add_float(column_of(&fixture, "v"), 1);
        columns_end_row(&fixture.columns);
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, 0).message,
                            cases[c].error);
        end(&fixture);
    }
}

/* Of two classes, the label -1 is the first one, unless the loss ignores it. */
static void keeps_the_ignored_class(void **state)
{
    (void)state;
    static const char *const names[] = { "id" };
    const int64_t ignored = -1;
    const struct row_request request = {
        .spec = { .name = "labels", .dtype = DT_INT32, .shape = shape_of(-1) },
        .classes = 2,
        .ignored_class = &ignored,
        .names = names,
        .names_count = 1
    };
    const int64_t labels[] = { 1, -1, 0, 2 };
    const uint32_t order[] = { 0, 1, 2 };
    const int32_t want[] = { 1, -1, 0 };
    struct layout_fixture fixture = begin();
    int32_t got[3];

    assert_string_equal(
        row_layout_make(&fixture.schema, &request, 1, fixture.arena, &fixture.layout).message, "");
    for (size_t i = 0; i < COUNT(labels); i++) {
        column_add_int64(column_of(&fixture, "id"), labels[i]);
        columns_end_row(&fixture.columns);
    }
    for (size_t row = 0; row < 3; row++)
        assert_string_equal(row_layout_check(&fixture.layout, &fixture.columns, row).message, "");
    assert_int_equal(row_layout_check(&fixture.layout, &fixture.columns, 3).code,
                     STATUS_INVALID_ARGUMENT);
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 3, got);
    assert_memory_equal(got, want, sizeof want);
    end(&fixture);
}

/* The number of a file for a tensor of integers. NAN: it is none of them. */
static const struct integer_case {
    enum dtype dtype;
    float given;
    bool truncates;
    double want;
} integer_cases[] = {
    { DT_BOOL, 0, false, 0 },
    { DT_BOOL, 1, false, 1 },
    { DT_BOOL, 2, false, NAN },
    { DT_BOOL, -1, false, NAN },
    { DT_UINT8, 255, false, 255 },
    { DT_UINT8, 256, false, NAN },
    { DT_UINT8, -1, false, NAN },
    { DT_UINT8, 1.5f, false, NAN },
    { DT_UINT8, 254.9f, true, 254 },
    { DT_UINT8, 255.9f, true, 255 },
    { DT_UINT8, 256, true, NAN },
    { DT_UINT8, NAN, true, NAN },
    { DT_INT8, -128, false, -128 },
    { DT_INT8, 127, false, 127 },
    { DT_INT8, 128, false, NAN },
    { DT_INT8, -1.9f, true, -1 },
    { DT_INT16, -32768, false, -32768 },
    { DT_INT16, 32768, false, NAN },
    { DT_UINT16, 65535, false, 65535 },
    { DT_UINT16, -1, false, NAN },
    { DT_UINT32, 4294967040, false, 4294967040 },
    { DT_UINT32, 4294967296, false, NAN },
    { DT_UINT64, 1e18f, false, (double)1e18f },
    { DT_UINT64, -1, false, NAN },
};

static double integer_at(enum dtype dtype, const void *data)
{
    switch (dtype) {
    case DT_BOOL:
        return *(const bool *)data;
    case DT_UINT8:
        return *(const uint8_t *)data;
    case DT_INT8:
        return *(const int8_t *)data;
    case DT_INT16:
        return *(const int16_t *)data;
    case DT_UINT16:
        return *(const uint16_t *)data;
    case DT_UINT32:
        return *(const uint32_t *)data;
    default:
        return (double)*(const uint64_t *)data;
    }
}

static void integers_have_the_limits_of_their_type(void **state)
{
    (void)state;
    static const char *const names[] = { "a" };
    const uint32_t order[] = { 0 };

    for (size_t i = 0; i < COUNT(integer_cases); i++) {
        const struct integer_case *one = &integer_cases[i];
        struct layout_fixture fixture = begin();
        uint64_t got;
        assert_string_equal(make_integers(&fixture, names, 1, one->dtype).message, "");
        fixture.layout.tensors[0].truncates = one->truncates;
        column_add_float(column_of(&fixture, "a"), one->given);
        columns_end_row(&fixture.columns);
        struct status status = row_layout_check(&fixture.layout, &fixture.columns, 0);
        assert_int_equal(status.code, isnan(one->want) ? STATUS_INVALID_ARGUMENT : STATUS_OK);
        if (status_is_ok(status)) {
            row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 1, &got);
            assert_true(integer_at(one->dtype, &got) == one->want);
        }
        end(&fixture);
    }
}

static void categories_need_a_type_that_numbers_them(void **state)
{
    (void)state;
    static const char *const names[] = { "site" };
    struct layout_fixture fixture = begin();

    assert_string_equal(make_integers(&fixture, names, 1, DT_UINT8).message, "");
    assert_non_null(strstr(make_integers(&fixture, names, 1, DT_BOOL).message,
                           "type bool, which cannot number the 10 categories of column 'site'"));
    end(&fixture);
}

static void a_double_has_the_value_of_a_float(void **state)
{
    (void)state;
    static const char *const names[] = { "pair", "site" };
    const uint32_t order[] = { 1, 0 };
    struct layout_fixture fixture = begin();
    double got[24];

    struct row_request *request = ARENA_NEW(fixture.arena, struct row_request);
    *request = (struct row_request){
        .spec = { .name = "x", .dtype = DT_DOUBLE, .shape = shape_of(-1, 12) },
        .names = names,
        .names_count = 2,
    };
    assert_string_equal(
        row_layout_make(&fixture.schema, request, 1, fixture.arena, &fixture.layout).message, "");
    for (int row = 0; row < 2; row++) {
        column_add_float(column_of(&fixture, "pair"), .1f + (float)row);
        column_add_float(column_of(&fixture, "pair"), -3);
        column_add_bytes(column_of(&fixture, "site"), bytes_of(row == 0 ? "a" : "bb"));
        columns_end_row(&fixture.columns);
        assert_string_equal(
            row_layout_check(&fixture.layout, &fixture.columns, (size_t)row).message, "");
    }
    row_layout_gather(&fixture.layout, 0, &fixture.columns, order, 2, got);
    for (int i = 0; i < 24; i++) {
        int row = 1 - i / 12, at = i % 12, bucket = row == 0 ? SITE_A : SITE_BB;
        double want = at == 0 ? (double)(.1f + (float)row) : at == 1 ? -3 : at - 2 == bucket;
        assert_true(got[i] == want);
    }
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_ignored_class),
        cmocka_unit_test(columns_stand_side_by_side),
        cmocka_unit_test(a_sparse_tensor_has_only_the_values_of_the_file),
        cmocka_unit_test(a_ragged_tensor_has_any_number_of_values),
        cmocka_unit_test(a_row_of_steps_is_made_of_whole_steps),
        cmocka_unit_test(the_normalisation_of_a_tensor_is_told),
        cmocka_unit_test(hashed_columns_become_buckets),
        cmocka_unit_test(an_empty_text_has_no_bucket),
        cmocka_unit_test(boundaries_divide_numbers),
        cmocka_unit_test(raw_texts_stay_in_lists),
        cmocka_unit_test(raw_texts_that_are_missing_are_empty),
        cmocka_unit_test(a_long_text_that_is_no_class_is_shown_in_part),
        cmocka_unit_test(lists_that_do_not_fit_are_refused),
        cmocka_unit_test(classes_become_numbers),
        cmocka_unit_test(a_row_has_a_class_for_each_step),
        cmocka_unit_test(integers_stay_exact),
        cmocka_unit_test(integers_have_the_limits_of_their_type),
        cmocka_unit_test(categories_need_a_type_that_numbers_them),
        cmocka_unit_test(a_double_has_the_value_of_a_float),
        cmocka_unit_test(integers_have_limits),
        cmocka_unit_test(a_listed_class_may_be_a_float),
        cmocka_unit_test(a_binary_label_is_0_1_or_a_probability),
        cmocka_unit_test(columns_that_do_not_fit_are_refused),
        cmocka_unit_test(a_row_that_does_not_fit_is_bad),
        cmocka_unit_test(an_index_beyond_the_model_is_bad),
    };
    return cmocka_run_group_tests_name("row_layout", tests, NULL, NULL);
}
