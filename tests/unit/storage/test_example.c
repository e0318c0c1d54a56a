#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "storage/example.h"
#include "storage/example_wire.h"

/* One case of tests/golden/example/cases.txt: its inputs and TensorFlow's outputs. */
#define MANY 16
struct example_case {
    char *label;
    bool single;
    struct bytes names[MANY], serialized[MANY];
    int names_count, serialized_count;
    struct example_feature features[MANY];
    int features_count;
    struct tensor defaults[MANY];
    int defaults_count;
    struct bytes error; /* data NULL: none */
    struct tensor outputs[MANY];
    int outputs_count;
};

static struct arena *arena;

static struct bytes unhex(const char *hex)
{
    size_t size = strlen(hex) / 2;
    char *data = arena_alloc(arena, size + 1);
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        data[i] = (char)byte;
    }
    return (struct bytes){ data, size };
}

static enum dtype dtype_of(const char *name)
{
    for (int i = 1; i < DTYPE_COUNT; i++)
        if (strcmp(dtype_name((enum dtype)i), name) == 0)
            return (enum dtype)i;
    fail_msg("no type '%s'", name);
    return DT_INVALID;
}

static struct shape shape_of_text(const char *text)
{
    struct shape shape = shape_scalar();
    for (const char *at = text + 1; *at != ']' && *at != '\0'; at += *at == ',') {
        char *end;
        shape_append(&shape, *at == '?' ? -1 : strtoll(at, &end, 10));
        at += strcspn(at, ",]");
    }
    return shape;
}

static struct tensor tensor_of(enum dtype dtype, const char *shape_words, char *values)
{
    struct shape shape = shape_of_text(shape_words);
    if (dtype != DT_STRING)
        return tensor_borrow(dtype, &shape, unhex(values).data);
    struct bytes *strings = ARENA_ARRAY(arena, struct bytes, shape_size(&shape) + 1);
    for (int64_t i = 0; i < shape_size(&shape); i++) {
        char *comma = strchr(values, ',');
        if (comma != NULL)
            *comma = '\0';
        strings[i] = unhex(values);
        values = comma == NULL ? values : comma + 1;
    }
    return tensor_borrow(dtype, &shape, strings);
}

static void read_line(struct example_case *c, char **words)
{
    const char *what = words[0];
    if (strcmp(what, "case") == 0)
        *c = (struct example_case){ .label = words[1] };
    else if (strcmp(what, "single") == 0)
        c->single = true;
    else if (strcmp(what, "name") == 0)
        c->names[c->names_count++] = unhex(words[1]);
    else if (strcmp(what, "serialized") == 0)
        c->serialized[c->serialized_count++] = unhex(words[1]);
    else if (strcmp(what, "error") == 0)
        c->error = words[1][0] == '*' ? bytes_of("*") : unhex(words[1]);
    else if (strcmp(what, "out") == 0)
        c->outputs[c->outputs_count++] = tensor_of(dtype_of(words[1]), words[2], words[3]);
    else if (strcmp(what, "batch") != 0) {
        struct example_feature *feature = &c->features[c->features_count++];
        feature->key = unhex(words[1]);
        feature->dtype = dtype_of(words[2]);
        feature->form = strcmp(what, "sparse") == 0  ? EXAMPLE_SPARSE
                        : strcmp(what, "dense") == 0 ? EXAMPLE_DENSE
                                                     : EXAMPLE_RAGGED;
        if (feature->form == EXAMPLE_RAGGED)
            feature->splits_type = dtype_of(words[3]);
        if (feature->form == EXAMPLE_DENSE) {
            feature->shape = shape_of_text(words[3]);
            c->defaults[c->defaults_count++] = tensor_of(feature->dtype, words[4], words[5]);
        }
    }
}

static void assert_same(const char *label, int index, const struct tensor *got,
                        const struct tensor *want)
{
    if (got->dtype != want->dtype || !shape_equal(&got->shape, &want->shape))
        fail_msg("%s: output %d is %s %s, TensorFlow's %s %s", label, index, dtype_name(got->dtype),
                 shape_text(&got->shape), dtype_name(want->dtype), shape_text(&want->shape));
    bool same = true;
    for (int64_t i = 0; want->dtype == DT_STRING && i < want->size; i++)
        same &= bytes_equal(tensor_strings(got)[i], tensor_strings(want)[i]);
    if (want->dtype != DT_STRING && want->size > 0)
        same = memcmp(got->data, want->data, tensor_bytes(want)) == 0;
    if (!same)
        fail_msg("%s: output %d has other values than TensorFlow's", label, index);
}

static void check(const struct example_case *c)
{
    struct shape shape = shape_of(c->serialized_count), names_shape = shape_of(c->names_count),
                 scalar = shape_scalar();
    struct tensor serialized =
        tensor_borrow(DT_STRING, c->single ? &scalar : &shape, c->serialized);
    struct tensor names = tensor_borrow(DT_STRING, &names_shape, c->names);
    const struct tensor *defaults[MANY];
    for (int i = 0; i < c->defaults_count; i++)
        defaults[i] = &c->defaults[i];

    struct example_spec *spec;
    struct tensor outputs[MANY];
    assert_string_equal(example_spec_create(c->features, c->features_count, &spec).message, "");
    struct status status = example_parse(spec, &serialized, &names, defaults, NULL, outputs);
    if (c->error.data != NULL) {
        if (status.code != STATUS_INVALID_ARGUMENT)
            fail_msg("%s: TensorFlow says '%.*s', this '%s'", c->label, (int)c->error.size,
                     c->error.data, status.message);
        if (!bytes_equal(c->error, bytes_of("*")) &&
            !bytes_equal(c->error, bytes_of(status.message)))
            fail_msg("%s: '%s' instead of '%.*s'", c->label, status.message, (int)c->error.size,
                     c->error.data);
    } else if (!status_is_ok(status)) {
        fail_msg("%s: %s", c->label, status.message);
    } else {
        assert_int_equal(c->outputs_count, example_spec_outputs_count(spec));
        for (int i = 0; i < c->outputs_count; i++) {
            assert_same(c->label, i, &outputs[i], &c->outputs[i]);
            tensor_release(&outputs[i]);
        }
    }
    example_spec_destroy(spec);
}

static void gives_what_tensorflow_gives(void **state)
{
    (void)state;
    struct buffer text = { 0 };
    struct example_case c = { 0 };
    int count = 0;
    arena = arena_create(0);
    assert_string_equal(file_read("tests/golden/example/cases.txt", 0, &text).message, "");
    buffer_append_char(&text, '\0');
    char *lines = NULL;
    for (char *line = strtok_r(text.data, "\n", &lines); line != NULL;
         line = strtok_r(NULL, "\n", &lines)) {
        char *words[8] = { 0 }, *rest = NULL;
        int words_count = 0;
        for (char *word = strtok_r(line, " ", &rest); word != NULL && words_count < 8;
             word = strtok_r(NULL, " ", &rest))
            words[words_count++] = word;
        if (strcmp(words[0], "end") == 0) {
            check(&c);
            count++;
        } else {
            read_line(&c, words);
        }
    }
    print_message("%d cases\n", count);
    assert_true(count > 400);
    buffer_finish(&text);
    arena_destroy(arena);
}

static void built_examples_have_the_known_bytes(void **state)
{
    (void)state;
    struct example_builder builder = { 0 };
    float one = 1;
    example_builder_add_floats(&builder, bytes_of("x"), &one, 1);
    struct bytes bytes = example_builder_end(&builder);
    static const char known[] = "\x0a\x0f\x0a\x0d\x0a\x01\x78\x12\x08\x12\x06\x0a\x04\0\0\x80\x3f";
    assert_int_equal(bytes.size, 17);
    assert_memory_equal(bytes.data, known, 17);
    assert_int_equal(example_builder_end(&builder).size, 2); /* an empty Features message */
    example_builder_finish(&builder);
}

static void built_examples_are_parsed_back(void **state)
{
    (void)state;
    struct example_builder builder = { 0 };
    int64_t numbers[] = { -1, 0, INT64_MAX };
    struct bytes strings[] = { { "a\0b", 3 }, { "", 0 } };
    example_builder_add_int64s(&builder, bytes_of("i"), numbers, 3);
    example_builder_add_strings(&builder, bytes_of("s"), strings, 2);
    example_builder_add_floats(&builder, bytes_of("none"), NULL, 0);
    struct bytes bytes = example_builder_end(&builder);

    const struct example_feature features[] = {
        { EXAMPLE_DENSE, bytes_of("i"), DT_INT64, shape_of(3), DT_INVALID },
        { EXAMPLE_RAGGED, bytes_of("s"), DT_STRING, shape_scalar(), DT_INT64 },
        { EXAMPLE_SPARSE, bytes_of("none"), DT_FLOAT, shape_scalar(), DT_INVALID },
    };
    struct shape none = shape_of(0), scalar = shape_scalar();
    struct tensor serialized = tensor_borrow(DT_STRING, &scalar, &bytes);
    struct tensor no_default = tensor_borrow(DT_INT64, &none, numbers), outputs[6];
    const struct tensor *defaults[] = { &no_default };
    struct example_spec *spec;
    assert_int_equal(example_spec_create(features, 3, &spec).code, STATUS_OK);
    assert_string_equal(example_parse(spec, &serialized, NULL, defaults, NULL, outputs).message,
                        "");
    assert_memory_equal(tensor_int64s(&outputs[3]), numbers, sizeof numbers);
    assert_true(bytes_equal(tensor_strings(&outputs[4])[0], strings[0]));
    assert_int_equal(outputs[0].size, 0);
    tensors_release(6, outputs);
    example_spec_destroy(spec);
    example_builder_finish(&builder);
}

static void impossible_specifications_are_refused(void **state)
{
    (void)state;
    struct example_spec *spec;
    struct example_feature features[] = {
        { EXAMPLE_DENSE, bytes_of("a"), DT_FLOAT, shape_of(2, -1), DT_INVALID },
        { EXAMPLE_SPARSE, bytes_of("a"), DT_FLOAT, shape_scalar(), DT_INVALID },
        { EXAMPLE_SPARSE, bytes_of("b"), DT_INT32, shape_scalar(), DT_INVALID },
        { EXAMPLE_RAGGED, bytes_of("c"), DT_FLOAT, shape_scalar(), DT_FLOAT },
    };
    assert_int_equal(example_spec_create(features + 3, 1, &spec).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(example_spec_create(features, 1, &spec).code, STATUS_INVALID_ARGUMENT);
    assert_int_equal(example_spec_create(features + 2, 1, &spec).code, STATUS_INVALID_ARGUMENT);
    features[0].shape = shape_of(2);
    assert_int_equal(example_spec_create(features, 2, &spec).code, STATUS_INTERNAL);
}

/* Empty examples make a small request, but need a count for each example and column. */
static void a_batch_is_paid_from_the_pool(void **state)
{
    (void)state;
    enum { COLUMNS = 64, BATCH = 4096 };
    struct example_feature features[COLUMNS];
    struct arena *keys = arena_create(0);
    struct bytes *examples = ARENA_ARRAY(keys, struct bytes, BATCH);
    struct shape batch = shape_of(BATCH);
    struct tensor serialized = tensor_borrow(DT_STRING, &batch, examples), outputs[3 * COLUMNS];
    struct tensor_pool *pool = tensor_pool_create(COLUMNS * BATCH * sizeof(int64_t) / 2);
    struct example_spec *spec;
    for (int i = 0; i < COLUMNS; i++)
        features[i] =
            (struct example_feature){ EXAMPLE_SPARSE, bytes_of(arena_printf(keys, "%d", i)),
                                      DT_FLOAT, shape_scalar(), DT_INVALID };
    assert_int_equal(example_spec_create(features, COLUMNS, &spec).code, STATUS_OK);
    assert_int_equal(example_parse(spec, &serialized, NULL, NULL, pool, outputs).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_pool_used(pool), 0);
    example_spec_destroy(spec);
    tensor_pool_destroy(pool);
    arena_destroy(keys);
}

/* Numbers of all sizes, alone, first, in the middle and last: some are read four bytes at a time,
 * and those at the end of a list one by one. */
static void integers_of_all_sizes_are_read(void **state)
{
    static const int64_t sizes[] = { 0,         1,         127,       128,       16383,     16384,
                                     2097151,   2097152,   268435455, 268435456, INT32_MAX, -1,
                                     INT64_MAX, INT64_MIN, 5000,      (1 << 20) };
    (void)state;

    for (size_t c = 0; c < 3 * COUNT(sizes) * COUNT(sizes); c++) {
        size_t count = 1 + c % 3;
        int64_t wanted[3] = { sizes[c / 3 % COUNT(sizes)], sizes[c / 3 / COUNT(sizes)], 9 }, got[3];
        char feature[2 + 2 + 3 * VARINT_MAX];
        char *at = feature + 4;
        for (size_t i = 0; i < count; i++)
            at += varint_put(at, (uint64_t)wanted[(i + c) % 3]);
        feature[0] = 3 << 3 | 2; /* int64_list */
        feature[1] = (char)(at - feature - 2);
        feature[2] = 1 << 3 | 2; /* packed */
        feature[3] = (char)(at - feature - 4);
        char *exact = malloc((size_t)(at - feature)); /* its end is where the number's is */
        memcpy(exact, feature, (size_t)(at - feature));
        size_t read = 0;
        assert_true(example_wire_list((struct bytes){ exact, (size_t)(at - feature) }, DT_INT64,
                                      got, 3, &read));
        assert_int_equal(read, count);
        free(exact);
        for (size_t i = 0; i < count; i++)
            assert_true(got[i] == wanted[(i + c) % 3]);
        feature[3]++; /* a list that is cut short ends at the end, and its last number is damaged */
        at[-1] = (char)(at[-1] | 0x80);
        assert_false(example_wire_list((struct bytes){ feature, (size_t)(at - feature) }, DT_INT64,
                                       got, 3, &read));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_of_all_sizes_are_read),
        cmocka_unit_test(gives_what_tensorflow_gives),
        cmocka_unit_test(built_examples_have_the_known_bytes),
        cmocka_unit_test(built_examples_are_parsed_back),
        cmocka_unit_test(impossible_specifications_are_refused),
        cmocka_unit_test(a_batch_is_paid_from_the_pool),
    };
    return cmocka_run_group_tests_name("example", tests, NULL, NULL);
}
