/* Lookup tables. The error texts are TensorFlow's. */
#include "unit/runtime/plan_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tensor text_vector(int count, const char *const *texts)
{
    struct bytes *data = ARENA_ARRAY(arena, struct bytes, count + 1);
    struct shape shape = shape_of(count);
    for (int i = 0; i < count; i++)
        data[i] = bytes_of(texts[i]);
    return tensor_borrow(DT_STRING, &shape, data);
}

static struct endpoint texts(int count, const char *const *values)
{
    struct tensor tensor = text_vector(count, values);
    return build_const(&b, "texts", &tensor);
}

static struct endpoint numbers(int count, const int64_t *values)
{
    struct shape shape = shape_of(count);
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, "numbers", &tensor);
}

static struct endpoint table(const char *op, const char *name)
{
    struct attr attrs[] = { attr_type("key_dtype", DT_STRING), attr_type("value_dtype", DT_INT64),
                            attr_text("shared_name", name), ATTR_END };
    return build(&b, op, "table", 0, NULL, attrs);
}

static struct node *fill(const char *op, struct endpoint handle, struct endpoint keys,
                         struct endpoint values)
{
    return build_node(&b, op, "fill", 3, (struct endpoint[]){ handle, keys, values }, 0, NULL,
                      NULL);
}

static struct status run_node(struct node *node)
{
    struct flatten_request request = { .targets = &node, .targets_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
    if (!status_is_ok(status))
        return status;
    status = plan_run(plan, run, NULL, NULL);
    plan_destroy(plan);
    return status;
}

static struct status find(struct endpoint handle, struct endpoint keys, struct endpoint defaults,
                          struct tensor *out)
{
    struct endpoint fetch = build(&b, "LookupTableFindV2", "find", 3,
                                  (struct endpoint[]){ handle, keys, defaults }, NULL);
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct status status = plan_run(plan, run, NULL, out);
    plan_destroy(plan);
    return status;
}

static const char *const ab[] = { "a", "b" };

static void finds_what_was_put_in_and_the_default(void **state)
{
    (void)state;
    struct endpoint handle = table("HashTableV2", "t");
    struct tensor out;
    assert_ok(run_node(
        fill("LookupTableImportV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }))));
    const char *const asked[] = { "b", "zzz", "a" };
    assert_ok(find(handle, texts(3, asked), numbers(1, (int64_t[]){ -1 }), &out));
    const int64_t want[] = { 2, -1, 1 };
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);
}

static void says_that_a_table_is_not_initialized(void **state)
{
    (void)state;
    struct tensor out;
    assert_fails(find(table("HashTableV2", "t"), texts(2, ab), numbers(1, (int64_t[]){ -1 }), &out),
                 STATUS_FAILED_PRECONDITION, "Table not initialized.");
}

static void refuses_two_values_for_one_key(void **state)
{
    (void)state;
    const char *const twice[] = { "a", "a" };
    struct endpoint handle = table("HashTableV2", "t");
    assert_fails(
        run_node(
            fill("InitializeTableV2", handle, texts(2, twice), numbers(2, (int64_t[]){ 1, 2 }))),
        STATUS_FAILED_PRECONDITION,
        "HashTable has different value for same key. Key a has 1 and trying to add value 2");
    assert_ok(run_node(
        fill("InitializeTableV2", handle, texts(2, twice), numbers(2, (int64_t[]){ 3, 3 }))));
}

static void ignores_a_second_initialisation(void **state)
{
    (void)state;
    struct endpoint handle = table("HashTableV2", "t");
    struct tensor out;
    assert_ok(
        run_node(fill("InitializeTableV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }))));
    assert_ok(
        run_node(fill("InitializeTableV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 8, 9 }))));
    assert_ok(find(handle, texts(1, ab), numbers(1, (int64_t[]){ -1 }), &out));
    assert_int_equal(tensor_int64s(&out)[0], 1);
    tensor_release(&out);
}

static void refuses_a_default_of_another_shape(void **state)
{
    (void)state;
    struct endpoint handle = table("HashTableV2", "t");
    struct tensor out;
    assert_ok(
        run_node(fill("InitializeTableV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }))));
    assert_fails(find(handle, texts(2, ab), numbers(3, (int64_t[]){ 1, 2, 3 }), &out),
                 STATUS_INVALID_ARGUMENT, "Expected shape [] or [2] for default value, got [3]");
}

static void overwrites_in_a_mutable_table(void **state)
{
    (void)state;
    struct endpoint handle = table("MutableHashTableV2", "m");
    struct tensor out;
    assert_ok(run_node(
        fill("LookupTableInsertV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }))));
    assert_ok(
        run_node(fill("LookupTableInsertV2", handle, texts(1, ab), numbers(1, (int64_t[]){ 7 }))));
    struct node *gone = build_node(&b, "LookupTableRemoveV2", "remove", 2,
                                   (struct endpoint[]){ handle, texts(1, &ab[1]) }, 0, NULL, NULL);
    assert_ok(run_node(gone));
    assert_ok(find(handle, texts(2, ab), numbers(1, (int64_t[]){ -1 }), &out));
    const int64_t want[] = { 7, -1 };
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);
    assert_fails(run_node(fill("LookupTableInsertV2", table("HashTableV2", "t"), texts(2, ab),
                               numbers(2, (int64_t[]){ 1, 2 }))),
                 STATUS_UNIMPLEMENTED,
                 "Insert not supported by InitializableLookupTable implementations");
}

/* ---- Tables from files. ---- */

static struct status from_file(const char *content, int64_t key, int64_t value, int64_t vocab_size,
                               struct endpoint *handle)
{
    char path[] = "/tmp/slipway_lookup_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    close(fd);
    const char *const name[] = { path };
    struct tensor tensor = text_vector(1, name);
    tensor.shape = shape_scalar();
    struct attr attrs[] = { attr_int("key_index", key), attr_int("value_index", value),
                            attr_int("vocab_size", vocab_size), ATTR_END };
    static int tables;
    *handle = table("HashTableV2", arena_printf(arena, "file%d", tables++));
    struct endpoint in[] = { *handle, build_const(&b, "path", &tensor) };
    struct status status =
        run_node(build_node(&b, "InitializeTableFromTextFileV2", "fill", 2, in, 0, NULL, attrs));
    unlink(path);
    return status;
}

static void reads_words_and_line_numbers_of_a_file(void **state)
{
    (void)state;
    struct endpoint handle;
    struct tensor out;
    const char *const asked[] = { "dog", "cat", "cow" };
    assert_ok(from_file("cat\r\ndog\ncow", -2, -1, -1, &handle));
    assert_ok(find(handle, texts(3, asked), numbers(1, (int64_t[]){ -1 }), &out));
    const int64_t want[] = { 1, 0, 2 };
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);

    assert_ok(from_file("cat\t7\ndog\t9\n", 0, 1, -1, &handle));
    assert_ok(find(handle, texts(2, asked), numbers(1, (int64_t[]){ -1 }), &out));
    const int64_t columns[] = { 9, 7 };
    assert_memory_equal(out.data, columns, sizeof columns);
    tensor_release(&out);

    assert_ok(from_file("cat\ndog\ncow\n", -2, -1, 1, &handle));
    assert_ok(find(handle, texts(2, asked), numbers(1, (int64_t[]){ -1 }), &out));
    const int64_t first[] = { -1, 0 };
    assert_memory_equal(out.data, first, sizeof first);
    tensor_release(&out);
}

static void names_what_is_wrong_in_a_file(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        int64_t key, value, vocab_size;
        enum status_code code;
        const char *text;
    } rows[] = {
        { "a\n\nb\n", -2, -1, -1, STATUS_INVALID_ARGUMENT, "empty line found at position 1." },
        { "a\t1\nb\n", 0, 1, -1, STATUS_INVALID_ARGUMENT,
          "line 1 (b) : expected at least 2 got 1" },
        { "a\tq\n", 0, 1, -1, STATUS_INVALID_ARGUMENT, "Field q in line 0 is not a valid int64." },
        { "a\nb\nc\n", -2, -1, 5, STATUS_INVALID_ARGUMENT, "expected 5 but got 3" },
        { "", -2, -1, -1, STATUS_OUT_OF_RANGE, "is empty" },
        { "a\n", -2, -1, 0, STATUS_OUT_OF_RANGE, "no line of it is wanted" },
        { "a\t1\na\t2\n", 0, 1, -1, STATUS_FAILED_PRECONDITION,
          "Key a has 1 and trying to add value 2" },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct endpoint handle;
        struct status status =
            from_file(rows[i].content, rows[i].key, rows[i].value, rows[i].vocab_size, &handle);
        if (status.code != rows[i].code || strstr(status.message, rows[i].text) == NULL)
            fail_msg("row %zu: %s: %s", i, status_code_name(status.code), status.message);
    }
}

/* A complex128 has 16 bytes, but a table has 8 per element. It cannot hold counted objects. */
static void refuses_types_that_it_cannot_hold(void **state)
{
    (void)state;
    static const enum dtype types[] = { DT_COMPLEX128, DT_RESOURCE, DT_VARIANT };
    for (size_t i = 0; i < COUNT(types); i++) {
        struct attr attrs[] = { attr_type("key_dtype", DT_STRING),
                                attr_type("value_dtype", types[i]), ATTR_END };
        struct endpoint handle = build(&b, "HashTableV2", NULL, 0, NULL, attrs);
        assert_fails(run_node(handle.node), STATUS_UNIMPLEMENTED,
                     arena_printf(arena, "lookup tables of string to %s", dtype_name(types[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_what_was_put_in_and_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(says_that_a_table_is_not_initialized, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_two_values_for_one_key, setup, teardown),
        cmocka_unit_test_setup_teardown(ignores_a_second_initialisation, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_default_of_another_shape, setup, teardown),
        cmocka_unit_test_setup_teardown(overwrites_in_a_mutable_table, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_words_and_line_numbers_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(names_what_is_wrong_in_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_types_that_it_cannot_hold, setup, teardown),
    };
    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
