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

/* A run may let tables grow by no more than it may hold; what it replaces does not count. */
static void a_table_grows_within_the_memory_of_the_run(void **state)
{
    (void)state;
    struct endpoint handle = table("MutableHashTableV2", "m");
    const char *keys[200];
    int64_t values[200] = { 0 };
    for (int i = 0; i < 200; i++)
        keys[i] = arena_printf(arena, "%1000d", i);
    run_destroy(run);
    run = run_create(256 << 10);
    for (int i = 0; i < 5; i++)
        assert_ok(
            run_node(fill("LookupTableInsertV2", handle, texts(50, keys), numbers(50, values))));
    struct status status =
        run_node(fill("LookupTableInsertV2", handle, texts(200, keys), numbers(200, values)));
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    for (int i = 0; i < 2; i++) /* the second table of this run is not allowed more */
        status = run_node(fill("LookupTableInsertV2", table("MutableHashTableV2", "n"),
                               texts(100, keys + 100 * i), numbers(100, values)));
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    run_reset(run);
    assert_ok(
        run_node(fill("LookupTableInsertV2", handle, texts(100, keys + 50), numbers(100, values))));
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

/* ---- tables from files ---- */

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

static void reads_numbers_with_white_space_around_them(void **state)
{
    (void)state;
    struct endpoint handle;
    struct tensor out;
    const char *const asked[] = { "dog" };
    assert_ok(from_file("cat\t7 \ndog\t 9\n", 0, 1, -1, &handle));
    assert_ok(find(handle, texts(1, asked), numbers(1, (int64_t[]){ -1 }), &out));
    assert_int_equal(tensor_int64s(&out)[0], 9);
    tensor_release(&out);
}

static void refuses_a_file_that_is_larger_than_the_run_may_hold(void **state)
{
    (void)state;
    struct endpoint handle;
    char *lines = arena_alloc(arena, 1 << 20);
    for (int i = 0; i < 1 << 18; i++)
        memcpy(lines + 2 * i, "a\n", 2);
    run_destroy(run);
    run = run_create(1 << 16);
    struct status status = from_file(lines, -2, -1, 1, &handle);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "a tensor of 524288 bytes wanted"));
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

/* ---- tables whose keys or values are tensors ---- */

static struct endpoint integers(struct shape shape, const int64_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint table_of_pairs(const char *op)
{
    struct shape pair = shape_of(2);
    return build(&b, op, "pairs", 0, NULL,
                 (struct attr[]){ attr_type("key_dtype", DT_INT64),
                                  attr_type("value_dtype", DT_STRING),
                                  attr_shape("value_shape", &pair), ATTR_END });
}

static struct endpoint dense_table(const char *op, struct endpoint empty, struct endpoint deleted,
                                   int64_t buckets)
{
    return build(&b, op, "dense", 2, (struct endpoint[]){ empty, deleted },
                 (struct attr[]){ attr_type("value_dtype", DT_INT64),
                                  attr_int("initial_num_buckets", buckets), ATTR_END });
}

static int64_t size_of(struct endpoint handle)
{
    struct endpoint fetch = build(&b, "LookupTableSizeV2", "size", 1, &handle, NULL);
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor out;
    assert_ok(plan_run(plan, run, NULL, &out));
    int64_t size = tensor_int64s(&out)[0];
    tensor_release(&out);
    plan_destroy(plan);
    return size;
}

static struct tensor text_pairs(int count, const char *const *values)
{
    struct tensor tensor = text_vector(2 * count, values);
    tensor.shape = shape_of(count, 2);
    return tensor;
}

static void finds_values_that_are_vectors(void **state)
{
    (void)state;
    static const char *const put_in[] = { "a", "", "c", "a longer text" };
    static const char *const default_pair[] = { "none", "?" };
    struct endpoint handle = table_of_pairs("MutableHashTableOfTensorsV2");
    struct tensor values = text_pairs(2, put_in), out;
    struct endpoint keys = integers(shape_of(2), (int64_t[]){ 1, 2 });
    assert_ok(run_node(fill("LookupTableInsertV2", handle, keys, build_const(&b, NULL, &values))));
    struct endpoint asked[] = { handle, integers(shape_of(2, 1), (int64_t[]){ 2, 5 }),
                                texts(2, default_pair) };
    struct endpoint fetch = build(&b, "LookupTableFindV2", "find", 3, asked, NULL);
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    assert_ok(plan_run(plan, run, NULL, &out));
    const struct shape wanted = shape_of(2, 1, 2);
    assert_true(shape_equal(&out.shape, &wanted));
    for (int i = 0; i < 4; i++)
        assert_true(bytes_equal(tensor_strings(&out)[i],
                                bytes_of(i < 2 ? put_in[2 + i] : default_pair[i - 2])));
    tensor_release(&out);
    plan_destroy(plan); /* the texts of the default are its constants */
    run_reset(run);
    assert_fails(find(handle, keys, texts(1, default_pair), &out), STATUS_INVALID_ARGUMENT,
                 "Expected shape [2] or [2,2] for default value, got [1]");
    assert_fails(run_node(fill("LookupTableInsertV2", handle, keys, texts(2, default_pair))),
                 STATUS_INVALID_ARGUMENT, "Expected shape [2,2] for value, got [2]");
}

static void exports_values_that_are_vectors(void **state)
{
    (void)state;
    static const char *const put_in[] = { "a", "b" };
    struct endpoint handle = table_of_pairs("MutableHashTableOfTensorsV2");
    struct tensor values = text_pairs(1, put_in), out[2];
    assert_ok(run_node(fill("LookupTableInsertV2", handle, integers(shape_of(1), (int64_t[]){ 7 }),
                            build_const(&b, NULL, &values))));
    struct node *node = build_node(
        &b, "LookupTableExportV2", "export", 1, &handle, 0, NULL,
        (struct attr[]){ attr_type("Tkeys", DT_INT64), attr_type("Tvalues", DT_STRING), ATTR_END });
    const struct endpoint fetches[] = { { node, 0 }, { node, 1 } };
    struct plan *plan = plan_of(0, NULL, 2, fetches, NULL);
    assert_ok(plan_run(plan, run, NULL, out));
    const struct shape wanted = shape_of(1, 2);
    assert_int_equal(tensor_int64s(&out[0])[0], 7);
    assert_true(shape_equal(&out[1].shape, &wanted));
    assert_true(bytes_equal(tensor_strings(&out[1])[1], bytes_of("b")));
    tensor_release(&out[0]);
    tensor_release(&out[1]);
    plan_destroy(plan);
}

static void a_dense_table_has_vectors_as_keys(void **state)
{
    (void)state;
    static const int64_t pairs[] = { 1, 2, 3, 4 }, asked[] = { 3, 4, 1, 1 }, minus[] = { -9 };
    struct endpoint handle =
        dense_table("MutableDenseHashTableV2", integers(shape_of(2), (int64_t[]){ 0, 0 }),
                    integers(shape_of(2), (int64_t[]){ -1, -1 }), 4);
    struct endpoint defaults = integers(shape_scalar(), minus);
    struct tensor out;
    assert_ok(run_node(fill("LookupTableInsertV2", handle, integers(shape_of(2, 2), pairs),
                            numbers(2, (int64_t[]){ 5, 6 }))));
    assert_ok(find(handle, integers(shape_of(2, 2), asked), defaults, &out));
    assert_int_equal(out.shape.rank, 1);
    assert_int_equal(tensor_int64s(&out)[0], 6);
    assert_int_equal(tensor_int64s(&out)[1], -9);
    tensor_release(&out);
    run_reset(run);
    assert_fails(find(handle, integers(shape_of(1, 2), (int64_t[]){ 0, 0 }), defaults, &out),
                 STATUS_INVALID_ARGUMENT, "Using the empty_key as a table key is not allowed");
    assert_fails(run_node(fill("LookupTableInsertV2", handle,
                               integers(shape_of(1, 2), (int64_t[]){ -1, -1 }),
                               numbers(1, (int64_t[]){ 5 }))),
                 STATUS_INVALID_ARGUMENT, "Using the deleted_key as a table key is not allowed");
    assert_fails(find(handle, integers(shape_of(1, 3), pairs), defaults, &out),
                 STATUS_INVALID_ARGUMENT,
                 "Input key shape [1,3] must end with the table's key shape [2]");
    struct endpoint gone[] = { handle, integers(shape_of(1, 2), pairs) };
    assert_ok(run_node(build_node(&b, "LookupTableRemoveV2", "remove", 2, gone, 0, NULL, NULL)));
    assert_int_equal(size_of(handle), 1);
}

/* As TensorFlow exports it: [buckets, 1], with the empty buckets. */
static void a_dense_table_imports_its_buckets(void **state)
{
    (void)state;
    static const int64_t empty = -1, deleted = -2, missing = 9;
    struct endpoint handle =
        dense_table("MutableDenseHashTableV2", integers(shape_scalar(), &empty),
                    integers(shape_scalar(), &deleted), 4);
    struct tensor out;
    assert_ok(run_node(fill("LookupTableImportV2", handle,
                            integers(shape_of(4, 1), (int64_t[]){ -1, 5, -2, 6 }),
                            integers(shape_of(4, 1), (int64_t[]){ 0, 50, 1, 60 }))));
    assert_ok(
        find(handle, numbers(3, (int64_t[]){ 5, 6, 7 }), integers(shape_scalar(), &missing), &out));
    assert_memory_equal(out.data, ((int64_t[]){ 50, 60, 9 }), 3 * sizeof(int64_t));
    assert_int_equal(size_of(handle), 2);
    tensor_release(&out);
}

static void a_dense_table_is_refused(void **state)
{
    static const int64_t zero = 0, one = 1;
    (void)state;
    const char *op = "AnonymousMutableDenseHashTable";
    struct endpoint a = integers(shape_scalar(), &zero), c = integers(shape_scalar(), &one);
    assert_fails(run_node(dense_table(op, a, a, 4).node), STATUS_INVALID_ARGUMENT,
                 "Empty and deleted keys cannot be equal [node 'dense' (AnonymousMutableDenseHash"
                 "Table)]");
    assert_fails(run_node(dense_table(op, a, c, 3).node), STATUS_INVALID_ARGUMENT,
                 "Number of buckets must be at least 4 and a power of 2, got: 3");
    struct endpoint nothing = integers(shape_of(0), &zero);
    struct attr attrs[] = { attr_type("value_dtype", DT_INT64), ATTR_END };
    struct endpoint of_empty_keys = build(&b, "MutableDenseHashTable", "old", 1, &nothing, attrs);
    assert_fails(
        run_node(of_empty_keys.node), STATUS_INVALID_ARGUMENT,
        "Empty key must have elements, got shape [0] [node 'old' (MutableDenseHashTable)]");
}

static void an_anonymous_table_lives_as_long_as_a_run(void **state)
{
    (void)state;
    struct attr attrs[] = { attr_type("key_dtype", DT_STRING), attr_type("value_dtype", DT_INT64),
                            ATTR_END };
    struct endpoint handle = build(&b, "AnonymousMutableHashTable", "table", 0, NULL, attrs);
    struct endpoint other = build(&b, "AnonymousMutableHashTable", "table", 0, NULL, attrs);
    struct node *add =
        fill("LookupTableInsertV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }));
    struct node *sizes[] = {
        build_node(&b, "LookupTableSizeV2", "size", 1, &handle, 1, &add, NULL),
        build_node(&b, "LookupTableSizeV2", "size", 1, &other, 1, &add, NULL),
    };
    const struct endpoint fetches[] = { { sizes[0], 0 }, { sizes[1], 0 } };
    struct plan *plan = plan_of(0, NULL, 2, fetches, NULL);
    for (int i = 0; i < 2; i++) {
        struct tensor out[2];
        assert_ok(plan_run(plan, run, NULL, out));
        assert_int_equal(tensor_int64s(&out[0])[0], 2);
        assert_int_equal(tensor_int64s(&out[1])[0], 0);
        tensor_release(&out[0]);
        tensor_release(&out[1]);
        run_reset(run);
    }
    plan_destroy(plan);
}

/* The table ends with its handle, before the texts are fetched. */
static void texts_of_an_anonymous_table_live_as_long_as_a_run(void **state)
{
    (void)state;
    static const char *const values[] = { "a text", "another text" }, *const none[] = { "none" };
    struct attr attrs[] = { attr_type("key_dtype", DT_STRING), attr_type("value_dtype", DT_STRING),
                            ATTR_END };
    struct endpoint handle = build(&b, "AnonymousHashTable", "table", 0, NULL, attrs);
    struct node *add = fill("InitializeTableV2", handle, texts(2, ab), texts(2, values));
    const struct endpoint inputs[] = { handle, texts(2, ab), texts(1, none) };
    struct node *found = build_node(&b, "LookupTableFindV2", "find", 3, inputs, 1, &add, NULL);
    const struct endpoint fetch = { found, 0 };
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor out;
    assert_ok(plan_run(plan, run, NULL, &out));
    for (int i = 0; i < 2; i++)
        assert_true(bytes_equal(tensor_strings(&out)[i], bytes_of(values[i])));
    tensor_release(&out);
    plan_destroy(plan);
}

static struct status count_look(const void *context)
{
    ++*(int *)(uintptr_t)context;
    return status_ok();
}

/* Each of its beginnings is looked up. */
static void a_long_word_looks_at_the_deadline(void **state)
{
    (void)state;
    enum { SIZE = 4096 };
    char word[SIZE + 1];
    memset(word, 'x', SIZE);
    word[SIZE] = '\0';
    struct endpoint handle = table("HashTableV2", "t");
    assert_ok(
        run_node(fill("InitializeTableV2", handle, texts(2, ab), numbers(2, (int64_t[]){ 1, 2 }))));
    struct endpoint inputs[] = { texts(1, (const char *[]){ word }), handle };
    struct node *pieces = build_node(
        &b, "WordpieceTokenizeWithOffsets", "pieces", 2, inputs, 0, NULL,
        (struct attr[]){ attr_text("suffix_indicator", "##"), attr_int("max_bytes_per_word", SIZE),
                         attr_bool("use_unknown_token", true), attr_text("unknown_token", "[UNK]"),
                         ATTR_END });
    int looks = 0;
    run_set_check(run, count_look, &looks);
    assert_ok(run_node(pieces));
    run_set_check(run, NULL, NULL);
    assert_true(looks >= SIZE - 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_what_was_put_in_and_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(says_that_a_table_is_not_initialized, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_two_values_for_one_key, setup, teardown),
        cmocka_unit_test_setup_teardown(ignores_a_second_initialisation, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_default_of_another_shape, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_grows_within_the_memory_of_the_run, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_long_word_looks_at_the_deadline, setup, teardown),
        cmocka_unit_test_setup_teardown(overwrites_in_a_mutable_table, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_words_and_line_numbers_of_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_numbers_with_white_space_around_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(refuses_a_file_that_is_larger_than_the_run_may_hold, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(names_what_is_wrong_in_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_types_that_it_cannot_hold, setup, teardown),
        TEST(finds_values_that_are_vectors),
        TEST(exports_values_that_are_vectors),
        TEST(a_dense_table_has_vectors_as_keys),
        TEST(a_dense_table_imports_its_buckets),
        TEST(a_dense_table_is_refused),
        TEST(an_anonymous_table_lives_as_long_as_a_run),
        TEST(texts_of_an_anonymous_table_live_as_long_as_a_run),
    };
    return cmocka_run_group_tests_name("lookup", tests, NULL, NULL);
}
