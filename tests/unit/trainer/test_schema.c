#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/arena.h"
#include "support/memory_file.h"
#include "support/status.h"
#include "trainer/records/schema.h"
#include "support/test_group.h"

#define COLUMNS(text) "{\"columns\": [" text "]}"

static const struct schema_row {
    const char *label, *json, *error;
} rows[] = {
    { "an unknown key", COLUMNS("{\"name\": \"x\", \"vocabulary\": []}"),
      "column 'x': unknown key 'vocabulary'" },
    { "an unknown key of the schema", "{\"columns\": [], \"version\": 1}",
      "unknown key 'version'" },
    { "no columns", "{}", "no list 'columns'" },
    { "inputs in a list", "{\"columns\": [], \"inputs\": []}",
      "'inputs' is a list of 0, expected an object" },
    { "an input without columns", "{\"columns\": [], \"inputs\": {\"x\": []}}",
      "input 'x': a list of 0, expected a list of columns" },
    { "an input of a number", "{\"columns\": [], \"inputs\": {\"x\": [1]}}",
      "input 'x': 1, expected a column's name or a pattern" },
    { "an input of no column", "{\"columns\": [{\"name\": \"a1\"}], \"inputs\": {\"x\": [\"b*\"]}}",
      "input 'x': no column matches 'b*'" },
    { "an input with a column twice",
      "{\"columns\": [{\"name\": \"a1\"}], \"inputs\": {\"x\": [\"a1\", \"a*\"]}}",
      "input 'x': column 'a1' twice" },
    { "not an object", "[]", "a schema is an object" },
    { "not JSON", "{\"columns\"", "line 1" },
    { "no name", COLUMNS("{}"), "column 0: it has no 'name'" },
    { "two of a name", COLUMNS("{\"name\": \"x\"}, {\"name\": \"x\"}"), "two columns 'x'" },
    { "an empty text as a default",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"string\", \"default\": \"\"}"),
      "column 'x': 'default': '', expected a number, or a text that is not empty" },
    { "a default that is no class",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"string\", \"classes\": [\"a\"], \"default\": \"b\"}"),
      "'default' is not among the 'classes'" },
    { "a number as the default of texts",
      COLUMNS("{\"name\": \"x\", \"default\": 0, \"dtype\": \"string\"}"),
      "column 'x': 'default' is a number, but the dtype is 'string'" },
    { "another kind", COLUMNS("{\"name\": \"x\", \"kind\": \"lists\"}"),
      "'kind': 'lists', expected 'dense', 'sparse' or 'ragged'" },
    { "a ragged column of texts",
      COLUMNS("{\"name\": \"x\", \"kind\": \"ragged\", \"dtype\": \"string\"}"),
      "a ragged column has the dtype 'float32' or 'int64', or 'hash_buckets'" },
    { "buckets of floats", COLUMNS("{\"name\": \"x\", \"hash_buckets\": 3}"),
      "'hash_buckets' is for the dtypes 'int64' and 'string'" },
    { "buckets and a default",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"int64\", \"hash_buckets\": 3, \"default\": 1}"),
      "'hash_buckets' excludes" },
    { "boundaries of texts",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"string\", \"boundaries\": [1]}"),
      "'boundaries' is for the dtypes 'float32' and 'int64'" },
    { "boundaries and a mean", COLUMNS("{\"name\": \"x\", \"boundaries\": [1], \"mean\": 2}"),
      "'boundaries' excludes" },
    { "boundaries that fall", COLUMNS("{\"name\": \"x\", \"boundaries\": [2, 1]}"),
      "'boundaries': a list of 2, expected a list of numbers in rising order" },
    { "no boundaries", COLUMNS("{\"name\": \"x\", \"boundaries\": []}"),
      "expected a list of numbers in rising order" },
    { "no buckets", COLUMNS("{\"name\": \"x\", \"dtype\": \"int64\", \"hash_buckets\": 0}"),
      "a number of buckets, from 1 to 2147483647" },
    { "a ragged column with a shape",
      COLUMNS("{\"name\": \"x\", \"kind\": \"ragged\", \"shape\": [2]}"),
      "'shape' is not for a ragged column" },
    { "a sparse column that is too wide",
      COLUMNS("{\"name\": \"x\", \"kind\": \"sparse\", \"index\": \"i\", \"value\": \"v\", "
              "\"width\": 2147483648}"),
      "from 1 to 2147483647" },
    { "another dtype", COLUMNS("{\"name\": \"x\", \"dtype\": \"float64\"}"),
      "'dtype': 'float64', expected 'float32', 'int64' or 'string'" },
    { "a dimension of 0", COLUMNS("{\"name\": \"x\", \"shape\": [2, 0]}"), "dimension 0" },
    { "a shape beyond the limit", COLUMNS("{\"name\": \"x\", \"shape\": [4096, 4097]}"),
      "at most 16777216 values" },
    { "a deviation of 0", COLUMNS("{\"name\": \"x\", \"stddev\": 0}"),
      "'stddev': 0, expected a positive number" },
    { "a default that is no number", COLUMNS("{\"name\": \"x\", \"default\": \"a\"}"),
      "'default' is a text, but the dtype is 'float32'" },
    { "a default that is no integer, of integers",
      COLUMNS("{\"name\": \"x\", \"default\": 1.5, \"dtype\": \"int64\"}"),
      "'default': 1.5, expected an integer" },
    { "a default that no integer holds",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"int64\", \"default\": 1e30}"),
      "'default': 1e+30, expected an integer" },
    { "a key of sparse columns", COLUMNS("{\"name\": \"x\", \"first_index\": 1}"),
      "'first_index' is not for a dense column" },
    { "a key of dense columns",
      COLUMNS("{\"name\": \"x\", \"kind\": \"sparse\", \"index\": \"i\", \"value\": \"v\", "
              "\"mean\": 1}"),
      "'mean' is not for a sparse column" },
    { "a sparse column without values",
      COLUMNS("{\"name\": \"x\", \"kind\": \"sparse\", \"index\": \"i\"}"),
      "a sparse column needs 'index' and 'value'" },
    { "logarithms of texts", COLUMNS("{\"name\": \"x\", \"dtype\": \"string\", \"log\": true}"),
      "'log' is for the dtypes" },
    { "a log that is no truth", COLUMNS("{\"name\": \"x\", \"log\": 1}"),
      "'log': 1, expected true or false" },
    { "buckets of logarithms",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"int64\", \"hash_buckets\": 5, \"log\": true}"),
      "'hash_buckets' excludes" },
    { "classes with a mean", COLUMNS("{\"name\": \"x\", \"classes\": [1], \"mean\": 1}"),
      "'classes' excludes" },
    { "a separator that numbers may hold", COLUMNS("{\"name\": \"x\", \"separator\": \".\"}"),
      "'separator': '.', expected a character such as" },
    { "a separator of two characters", COLUMNS("{\"name\": \"x\", \"separator\": \"||\"}"),
      "'separator': '||', expected a character such as" },
    { "a separator of fields that numbers may hold", "{\"columns\": [], \"separator\": \"-\"}",
      "'separator': '-', expected a character such as ';'" },
    { "two separators of one field",
      COLUMNS("{\"name\": \"i\", \"dtype\": \"int64\", \"separator\": \";\"}, {\"name\": \"f\", "
              "\"kind\": \"sparse\", \"index\": \"i\", \"value\": \"v\", \"separator\": \"|\"}"),
      "'i' and 'f' read the same field with different separators" },
    { "a class twice",
      COLUMNS("{\"name\": \"x\", \"dtype\": \"string\", \"classes\": [\"b\", \"a\", \"b\"]}"),
      "'classes': 'b' is listed twice" },
    { "texts as classes of numbers", COLUMNS("{\"name\": \"x\", \"classes\": [1, \"F\"]}"),
      "'classes': 'F' is not a number; a column of texts needs the dtype 'string'" },
    { "no classes", COLUMNS("{\"name\": \"x\", \"classes\": []}"), "a list of the label's values" },
};

static void a_wrong_schema_is_refused_by_name(void **state)
{
    const struct schema_row *row = *state;
    struct arena *arena = arena_create(0);
    struct schema schema;

    struct status status = schema_read(bytes_of(row->json), arena, &schema);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    if (strstr(status.message, row->error) == NULL)
        fail_msg("'%s' is not in '%s'", row->error, status.message);
    arena_destroy(arena);
}

static void a_schema_is_read(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct schema schema;

    assert_string_equal(
        schema_read(bytes_of(COLUMNS(
                        "{\"name\": \"x\", \"shape\": [2, 3], \"default\": 0.1, \"mean\": 2.5, "
                        "\"stddev\": 4}, {\"name\": \"y\", \"dtype\": \"string\", \"classes\": "
                        "[\"no\", -1, 1.5]}, {\"name\": \"f\", \"kind\": \"sparse\", \"index\": "
                        "\"i\", \"value\": \"v\", \"first_index\": 1, \"width\": 9, "
                        "\"separator\": \" \"}")),
                    arena, &schema)
            .message,
        "");
    assert_int_equal(schema.count, 3);
    const struct schema_column *x = schema_find(&schema, "x"), *y = schema_find(&schema, "y"),
                               *f = schema_find(&schema, "f");
    assert_int_equal(x->width, 6);
    assert_true(x->has_default && x->default_value == 0.1f && x->mean == 2.5 && x->stddev == 4);
    assert_int_equal(y->dtype, COLUMN_BYTES);
    assert_int_equal(y->classes_count, 3);
    assert_true(bytes_equal(y->classes[1], bytes_of("-1")));
    assert_int_equal(f->kind, SCHEMA_SPARSE);
    assert_string_equal(f->value, "v");
    assert_int_equal(f->width, 9);
    assert_int_equal(f->separator, ' ');
    assert_null(schema_find(&schema, "z"));
    arena_destroy(arena);
}

/* ---- guesses ---- */

static const struct guess_row {
    const char *label, *format, *text, *want; /* name:dtype:width, … */
    const char *notes;
} guesses[] = {
    { "kinds of columns", "csv", "a,b,c,d\n1,1.5,x,\n-2,3,4,\n", "a:1:1 b:0:1 c:2:1 d:0:1 ", "" },
    { "missing values do not count", "csv", "a,b\n,x\n1,\n", "a:1:1 b:2:1 ", "" },
    { "one wrong value in 20 is a bad record later", "csv",
      "a,b\n1,x\n2,x\n3,3\n4,4\n5,5\n6,6\n7,7\n8,8\n9,9\nten,10\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n7,"
      "7\n8,8"
      "\n9,9\n1,1\n",
      "a:1:1 b:2:1 ", "" },
    { "lists of numbers", "csv", "a,b,c\n1|2,3;4.5,1 2 3\n3|4,5,\n5|6,6;7,7 8 9\n",
      "a:1:2 b:0:0 c:1:3 ", "" },
    { "texts that are no lists", "csv", "a,b,c\n1|x,12:30,\"1,234\"\n2|y,13:40,\"5,678\"\n",
      "a:2:1 b:2:1 c:2:1 ", "" },
    { "a bad record is passed", "csv", "a,b\n1\n1,2\n", "a:1:1 b:1:1 ", "" },
    { "pairs count from 1", "libsvm", "1 3:1 4:1\n-1 2:1\n", "label:0:1 features[index,value,1] ",
      "" },
    { "pairs of fields count from 0", "libffm", "1 0:3:1 1:4:1\n0 0:2:1\n",
      "label:0:1 features[index,value,0] field:1:0 ", "" },
};

static void the_first_rows_give_a_guess(void **state)
{
    const struct guess_row *row = *state;
    struct arena *arena = arena_create(0);
    struct memory_file file = memory_file_make(row->text, strlen(row->text));
    struct record_options options = { 0 };
    const struct schema_hints hints = { .label = "", .lists = true };
    struct buffer notes = { 0 }, got = { 0 }, json = { 0 };
    struct schema schema, again;

    assert_string_equal(schema_guess(file.path, record_format_find(row->format), &options, &hints,
                                     arena, &notes, &schema)
                            .message,
                        "");
    for (int i = 0; i < schema.count; i++) {
        const struct schema_column *column = &schema.columns[i];
        if (column->kind == SCHEMA_SPARSE)
            buffer_printf(&got, "%s[%s,%s,%d] ", column->name, column->index, column->value,
                          (int)column->first_index);
        else
            buffer_printf(&got, "%s:%d:%d ", column->name, (int)column->dtype, (int)column->width);
    }
    buffer_append_char(&got, '\0');
    buffer_append_char(&notes, '\0');
    assert_string_equal(got.data, row->want);
    assert_string_equal(notes.data, row->notes);
    schema_print(&schema, &json);
    assert_string_equal(schema_read((struct bytes){ json.data, json.size }, arena, &again).message,
                        "");
    assert_int_equal(again.count, schema.count);
    buffer_finish(&notes);
    buffer_finish(&got);
    buffer_finish(&json);
    memory_file_close(&file);
    arena_destroy(arena);
}

static const struct class_row {
    const char *label, *text, *name; /* the label column; "": none */
    const char *want, *notes;
} class_rows[] = {
    { "the texts of the label", "a,y\n1,b\n2,a\n3,b\n", "y", "|a|b", "" },
    { "numbers", "a,y\n1,5\n2,6\n", "y", "", "" },
    { "no label, but a column without a name", ",a\nr1,1\nr2,2\n", "", "", "" },
    { "texts that JSON cannot hold", "a,y\n1,b\n2,\xe9\n", "y", "",
      "column 'y' has no classes: a text is not UTF-8\n" },
};

static void the_label_may_get_classes(void **state)
{
    const struct class_row *row = *state;
    struct arena *arena = arena_create(0);
    struct memory_file file = memory_file_make(row->text, strlen(row->text));
    const struct record_options options = { 0 };
    const struct schema_hints hints = { .label = row->name };
    struct buffer notes = { 0 }, got = { 0 };
    struct schema schema;

    assert_ok(schema_guess(file.path, record_format_find("csv"), &options, &hints, arena, &notes,
                           &schema));
    for (int i = 0; i < schema.count; i++)
        for (int k = 0; k < schema.columns[i].classes_count; k++)
            buffer_printf(&got, "|%.*s", (int)schema.columns[i].classes[k].size,
                          schema.columns[i].classes[k].data);
    buffer_append_char(&got, '\0');
    buffer_append_char(&notes, '\0');
    assert_string_equal(got.data, row->want);
    assert_string_equal(notes.data, row->notes);
    buffer_finish(&notes);
    buffer_finish(&got);
    memory_file_close(&file);
    arena_destroy(arena);
}

static void lists_get_the_mean_of_their_numbers(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    const char *text = "a,b,y\n1|2,7,5\n3|4,9,6\n";
    struct memory_file file = memory_file_make(text, strlen(text));
    const struct record_options options = { 0 };
    const struct schema_hints hints = { .label = "y", .normalize = true, .lists = true };
    struct buffer notes = { 0 };
    struct schema schema;

    assert_ok(schema_guess(file.path, record_format_find("csv"), &options, &hints, arena, &notes,
                           &schema));
    const struct schema_column *a = schema_find(&schema, "a"), *b = schema_find(&schema, "b");
    assert_int_equal(a->separator, '|');
    assert_true(a->mean == 2.5 && fabs(a->stddev * a->stddev - 1.25) < 1e-12);
    assert_true(b->mean == 8 && b->stddev == 1);
    buffer_finish(&notes);
    memory_file_close(&file);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_schema_is_read),
        cmocka_unit_test(lists_get_the_mean_of_their_numbers),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, a_wrong_schema_is_refused_by_name);
    ADD_ROWS(&group, guesses, label, the_first_rows_give_a_guess);
    ADD_ROWS(&group, class_rows, label, the_label_may_get_classes);
    return test_group_run(&group, "schema", NULL, NULL);
}
