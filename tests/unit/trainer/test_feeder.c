/* A graph with a dense, a ragged and a sparse input and a class, and data that fit or do not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/arena.h"
#include "trainer/inputs/feeder.h"
#include "support/test_group.h"

enum { FEED_PIXELS, FEED_IDS, FEED_WORDS, FEED_CLASS, FEEDS_COUNT };

static struct training_feed feeds[FEEDS_COUNT] = {
    { .spec = { "pixels", TENSOR_DENSE, DT_FLOAT, { 3, { -1, 2, 2 } } }, .role = FEED_INPUT },
    { .spec = { "ids", TENSOR_RAGGED, DT_INT64, { 2, { -1, -1 } } }, .role = FEED_INPUT },
    { .spec = { "words", TENSOR_SPARSE, DT_FLOAT, { 2, { -1, 9 } } }, .role = FEED_INPUT },
    { .spec = { "class", TENSOR_DENSE, DT_INT32, { 1, { -1 } } },
      .role = FEED_LABEL,
      .classes = 3 },
};
static struct training_variable variables[] = {
    { .name = "w", .dtype = DT_FLOAT, .shape = { 1, { 5 } }, .update = UPDATE_GRADIENT },
};

enum { NODES_COUNT = 9 };

/* Nodes that are only compared by their addresses. */
static struct node nodes[NODES_COUNT];
static struct feed_endpoints endpoints[FEEDS_COUNT] = {
    { .values = { &nodes[0], 0 } },
    { .values = { &nodes[1], 0 }, .row_splits = { &nodes[2], 0 } },
    { .values = { &nodes[3], 0 }, .ids = { &nodes[4], 0 }, .row_splits = { &nodes[5], 0 } },
    { .values = { &nodes[6], 0 } },
};
static struct endpoint values[] = { { &nodes[8], 0 } };
static struct training_graph graph = {
    .name = "mixed",
    .feeds = feeds,
    .feeds_count = FEEDS_COUNT,
    .variables = variables,
    .variables_count = 1,
    .step = { .feeds = endpoints, .values = values, .batch = 2, .random_seed = { &nodes[7], 0 } },
};

/* The columns in another order than the feeds, and one that no feed names. */
enum { COLUMN_CLASS, COLUMN_NOTE, COLUMN_IDS, COLUMN_PIXELS, COLUMN_WORDS, COLUMNS_COUNT };

static const struct data_column fitting[COLUMNS_COUNT] = {
    { { "class", TENSOR_DENSE, DT_INT32, { 1, { -1 } } }, .classes = 3 },
    { { "note", TENSOR_DENSE, DT_STRING, { 1, { -1 } } }, .classes = 0 },
    { { "ids", TENSOR_RAGGED, DT_INT64, { 2, { -1, -1 } } }, .classes = 0 },
    { { "pixels", TENSOR_DENSE, DT_FLOAT, { 2, { -1, 4 } } }, .classes = 0 },
    { { "words", TENSOR_SPARSE, DT_FLOAT, { 2, { -1, 9 } } }, .classes = 0 },
};

static struct data_split split_of(const struct data_column *columns)
{
    return (struct data_split){ .columns = columns, .columns_count = COLUMNS_COUNT, .rows = 2 };
}

static const struct misfit {
    const char *label;
    int column;
    struct data_column instead;
    const char *said;
} misfits[] = {
    { "a missing column",
      COLUMN_IDS,
      { { "id", TENSOR_RAGGED, DT_INT64, { 2, { -1, -1 } } }, .classes = 0 },
      "the data have no column for the model's input 'ids' (ragged int64 [?,?]); they have 'class' "
      "(int32 [?]), 'note' (string [?]), 'id' (ragged int64 [?,?]), 'pixels' (float [?,4]), "
      "'words' (sparse float [?,9])" },
    { "another dtype",
      COLUMN_PIXELS,
      { { "pixels", TENSOR_DENSE, DT_INT64, { 2, { -1, 4 } } }, .classes = 0 },
      "the model's input 'pixels' is float [?,2,2], but the column of the data is int64 [?,4]" },
    { "another layout",
      COLUMN_IDS,
      { { "ids", TENSOR_DENSE, DT_INT64, { 2, { -1, 3 } } }, .classes = 0 },
      "the model's input 'ids' is ragged int64 [?,?], but the column of the data is int64 [?,3]" },
    { "another size",
      COLUMN_PIXELS,
      { { "pixels", TENSOR_DENSE, DT_FLOAT, { 2, { -1, 5 } } }, .classes = 0 },
      "the model's input 'pixels' is float [?,2,2] and takes 4 numbers per row, but the column of "
      "the data is float [?,5]" },
    { "a sparse column of another width",
      COLUMN_WORDS,
      { { "words", TENSOR_SPARSE, DT_FLOAT, { 2, { -1, 8 } } }, .classes = 0 },
      "the model's input 'words' is sparse float [?,9] and takes 9 numbers per row, but the column "
      "of the data is sparse float [?,8]" },
    { "numbers for classes",
      COLUMN_CLASS,
      { { "class", TENSOR_DENSE, DT_FLOAT, { 2, { -1, 1 } } }, .classes = 0 },
      "the model's label 'class' is int32 [?] of classes, but the column of the data is float "
      "[?,1]" },
    { "a class too many",
      COLUMN_CLASS,
      { { "class", TENSOR_DENSE, DT_INT32, { 1, { -1 } } }, .classes = 4 },
      "the model has 3 classes, but the data have the label 3 in the column 'class'; expected 0 to "
      "2" },
};

static void data_that_do_not_fit_are_refused(void **state)
{
    const struct misfit *misfit = *state;
    struct data_column columns[COLUMNS_COUNT];
    const struct data_split split = split_of(columns);
    struct feeder *feeder = NULL;

    memcpy(columns, fitting, sizeof columns);
    columns[misfit->column] = misfit->instead;
    struct status status = feeder_check(&graph, &graph.step, &split);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, misfit->said);
    assert_string_equal(feeder_create(&graph, &graph.step, &split, &feeder).message, misfit->said);
}

static struct feeder *open_feeder(void)
{
    const struct data_split split = split_of(fitting);
    struct feeder *feeder = NULL;

    assert_string_equal(feeder_check(&graph, &graph.step, &split).message, "");
    assert_string_equal(feeder_create(&graph, &graph.step, &split, &feeder).message, "");
    return feeder;
}

static void lists_the_feeds_of_a_plan(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct endpoint *list;

    assert_int_equal(feeder_endpoints(&graph, &graph.step, arena, &list), NODES_COUNT);
    for (int i = 0; i < NODES_COUNT; i++)
        assert_ptr_equal(list[i].node, &nodes[i]);
    arena_destroy(arena);
}

static void a_batch_goes_where_its_names_say(void **state)
{
    (void)state;
    static float pixels[8], counts[4], w[5];
    static int64_t ids[3], splits[3], words[4], word_splits[3];
    static int32_t classes[2];
    const struct shape two = { 1, { 2 } }, three = { 1, { 3 } }, four = { 1, { 4 } };
    const struct shape rows = { 2, { 2, 4 } };
    const struct batch_column columns[COLUMNS_COUNT] = {
        [COLUMN_CLASS] = { .values = tensor_borrow(DT_INT32, &two, classes) },
        [COLUMN_IDS] = { .values = tensor_borrow(DT_INT64, &three, ids),
                         .row_splits = tensor_borrow(DT_INT64, &three, splits) },
        [COLUMN_PIXELS] = { .values = tensor_borrow(DT_FLOAT, &rows, pixels) },
        [COLUMN_WORDS] = { .values = tensor_borrow(DT_FLOAT, &four, counts),
                           .ids = tensor_borrow(DT_INT64, &four, words),
                           .row_splits = tensor_borrow(DT_INT64, &three, word_splits) },
    };
    const struct batch batch = { .rows = 2, .columns = columns };
    const void *const values_of[] = { w };
    struct feeder *feeder = open_feeder();
    const void *const wanted[] = { pixels, ids,         splits,  counts,
                                   words,  word_splits, classes, feeder->random_seed,
                                   w };

    assert_string_equal(feeder_fill_data(feeder, &batch).message, "");
    feeder_fill_values(feeder, values_of);
    for (size_t i = 0; i < COUNT(wanted); i++)
        assert_ptr_equal(feeder->tensors[i].data, wanted[i]);
    assert_string_equal(shape_text(&feeder->tensors[0].shape), "[2,2,2]");
    assert_string_equal(shape_text(&feeder->tensors[1].shape), "[3]");
    assert_string_equal(shape_text(&feeder->tensors[2].shape), "[3]");
    assert_string_equal(shape_text(&feeder->tensors[3].shape), "[4]");
    feeder_destroy(feeder);
}

static void a_batch_of_another_size_is_refused(void **state)
{
    (void)state;
    const struct batch batch = { .rows = 1 };
    struct feeder *feeder = open_feeder();

    struct status status = feeder_fill_data(feeder, &batch);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "1 rows"));
    assert_non_null(strstr(status.message, "takes 2"));
    feeder_destroy(feeder);
}

/* Serving and evaluation may do without what a step is fed. */
static void a_pass_needs_only_what_it_is_fed(void **state)
{
    (void)state;
    struct feed_endpoints fewer[FEEDS_COUNT] = { endpoints[FEED_PIXELS] };
    const struct training_pass pass = { .feeds = fewer, .values = values };
    const struct data_split split = { .columns = &fitting[COLUMN_PIXELS], .columns_count = 1 };
    const struct shape rows = { 2, { 1, 4 } };
    const float pixels[4] = { 0 }, w[5] = { 0 };
    const struct batch_column column = { .values = tensor_borrow(DT_FLOAT, &rows, pixels) };
    const struct batch batch = { .rows = 1, .columns = &column };
    const void *const values_of[] = { w };
    struct feeder *feeder = NULL;

    assert_string_equal(feeder_create(&graph, &pass, &split, &feeder).message, "");
    assert_string_equal(feeder_fill_data(feeder, &batch).message, "");
    feeder_fill_values(feeder, values_of);
    assert_ptr_equal(feeder->tensors[0].data, pixels);
    assert_ptr_equal(feeder->tensors[1].data, w);
    feeder_destroy(feeder);
}

/* A dense input whose rows may have any number of values. */
static struct training_feed open_feeds[] = {
    { .spec = { "ids", TENSOR_DENSE, DT_INT32, { 2, { -1, -1 } } }, .role = FEED_INPUT },
};
static const struct data_column lists[] = {
    { .spec = { "ids", TENSOR_RAGGED, DT_INT64, { 2, { -1, -1 } } } },
};
static struct training_graph open_graph = {
    .feeds = open_feeds,
    .feeds_count = 1,
    .step = { .feeds = &endpoints[FEED_PIXELS] },
};

static struct status fill_lists(struct feeder *feeder, const int64_t *ids, int64_t ids_count,
                                const int64_t *splits, int64_t rows)
{
    const struct shape values_shape = { 1, { ids_count } }, splits_shape = { 1, { rows + 1 } };
    const struct batch_column column = { .values = tensor_borrow(DT_INT64, &values_shape, ids),
                                         .row_splits =
                                             tensor_borrow(DT_INT64, &splits_shape, splits) };
    const struct batch batch = { .rows = rows, .columns = &column };

    return feeder_fill_data(feeder, &batch);
}

static void lists_are_padded_to_the_longest_row(void **state)
{
    (void)state;
    const struct data_split split = { .columns = lists, .columns_count = 1 };
    const int64_t ids[] = { 7, 8, 9, 1, 2 }, splits[] = { 0, 1, 1, 4 }, none[] = { 0 },
                  others[] = { 0, 0, 2 };
    const int64_t large[] = { 1, INT64_C(1) << 31 };
    const int32_t padded[] = { 7, 0, 0, 0, 0, 0, 8, 9, 1 }, shorter[] = { 0, 0, 1, 2 };
    struct feeder *feeder = NULL;

    assert_string_equal(feeder_create(&open_graph, &open_graph.step, &split, &feeder).message, "");
    assert_string_equal(fill_lists(feeder, ids, 4, splits, 3).message, "");
    assert_string_equal(shape_text(&feeder->tensors[0].shape), "[3,3]");
    assert_memory_equal(feeder->tensors[0].data, padded, sizeof padded);
    assert_string_equal(fill_lists(feeder, ids + 3, 2, others, 2).message, "");
    assert_string_equal(shape_text(&feeder->tensors[0].shape), "[2,2]");
    assert_memory_equal(feeder->tensors[0].data, shorter, sizeof shorter);
    assert_string_equal(fill_lists(feeder, ids, 0, none, 0).message, "");
    struct status status = fill_lists(feeder, large, 2, others, 2);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "2147483648 is no integer of type int32"));
    const int64_t endless[] = { 0, 0, INT64_C(1) << 40 };
    status = fill_lists(feeder, large, 2, endless, 2);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "'ids': a list has 1099511627776 values, and all 2"));
    feeder_destroy(feeder);
}

static void steps_of_several_values_are_padded(void **state)
{
    (void)state;
    const struct data_split split = { .columns = lists, .columns_count = 1 };
    const int64_t ids[] = { 7, 8, 1, 2, 3, 4 }, splits[] = { 0, 2, 6 }, odd[] = { 0, 3, 6 };
    const int32_t padded[] = { 7, 8, 0, 0, 1, 2, 3, 4 };
    struct training_feed feed = open_feeds[0];
    struct training_graph steps = open_graph;
    struct feeder *feeder = NULL;

    feed.spec.shape = shape_of(-1, -1, 2);
    steps.feeds = &feed;
    assert_string_equal(feeder_create(&steps, &steps.step, &split, &feeder).message, "");
    assert_string_equal(fill_lists(feeder, ids, 6, splits, 2).message, "");
    assert_string_equal(shape_text(&feeder->tensors[0].shape), "[2,2,2]");
    assert_memory_equal(feeder->tensors[0].data, padded, sizeof padded);
    struct status status = fill_lists(feeder, ids, 6, odd, 2);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message,
                        "a list of 3 values; the model's 'ids' is int32 [?,?,2] and "
                        "takes steps of 2");
    feeder_destroy(feeder);
    /* Steps of an open size have no place in a list. */
    feed.spec.shape = shape_of(-1, -1, -1);
    assert_int_equal(feeder_create(&steps, &steps.step, &split, &feeder).code,
                     STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(lists_the_feeds_of_a_plan),
        cmocka_unit_test(a_batch_goes_where_its_names_say),
        cmocka_unit_test(a_batch_of_another_size_is_refused),
        cmocka_unit_test(a_pass_needs_only_what_it_is_fed),
        cmocka_unit_test(lists_are_padded_to_the_longest_row),
        cmocka_unit_test(steps_of_several_values_are_padded),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, misfits, label, data_that_do_not_fit_are_refused);
    return test_group_run(&group, "feeder", NULL, NULL);
}
