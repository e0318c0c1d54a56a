/* Adapting layers to data: Keras' states, whatever the number of tasks that share the rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "layers/layer.h"
#include "support/status.h"
#include "trainer/adapt/adapt.h"
#include "trainer/adapt/exact_sum.h"
#include "unit/trainer/adapt_golden.h"

static struct arena *arena;

/* ---- rows in memory: reader w of n takes the rows w, w + n, … ---- */

struct rows_split {
    struct data_split split; /* first */
    struct data_column column;
    struct tensor rows; /* [rows, width] */
};

struct rows_source {
    struct batch_source source; /* first */
    const struct rows_split *split;
    struct batch_order order;
    int64_t next;
    struct batch_column column;
    void *values;
};

static struct status rows_next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct rows_source *source = (struct rows_source *)base;
    const struct tensor *rows = &source->split->rows;
    size_t row_bytes = (size_t)rows->shape.dims[1] * dtype_size(rows->dtype);
    int64_t count = 0;

    rows_max = rows_max < 7 ? rows_max : 7; /* batches of any size will do */
    source->values = xrealloc(source->values, (size_t)rows_max * row_bytes);
    for (; source->next < rows->shape.dims[0] && count < rows_max; count++) {
        memcpy((char *)source->values + (size_t)count * row_bytes,
               (const char *)rows->data + (size_t)source->next * row_bytes, row_bytes);
        source->next += source->order.workers;
    }
    const struct shape shape = shape_of(count, rows->shape.dims[1]);
    source->column.values = tensor_borrow(rows->dtype, &shape, source->values);
    *out = (struct batch){ .rows = count, .columns = &source->column };
    return status_ok();
}

static void rows_destroy(struct batch_source *base)
{
    free(((struct rows_source *)base)->values);
    free(base);
}

static struct status rows_open(const struct data_split *split, const struct batch_order *order,
                               struct batch_source **out)
{
    struct rows_source *source = zalloc(sizeof *source);

    source->source = (struct batch_source){ .next = rows_next, .destroy = rows_destroy };
    source->split = (const struct rows_split *)split;
    source->order = *order;
    source->next = order->worker;
    *out = &source->source;
    return status_ok();
}

static struct rows_split split_of(enum dtype dtype, const void *data, int64_t rows, int64_t width)
{
    const struct shape shape = shape_of(rows, width);
    struct rows_split split = {
        .split = { .columns_count = 1, .open = rows_open },
        .column = { .spec = { .name = "x", .dtype = dtype, .shape = shape_of(-1, width) } },
        .rows = tensor_borrow(dtype, &shape, data),
    };

    return split;
}

/* ---- models ---- */

static struct layers_model *model_of(const char *dtype, int width, const char *layers)
{
    struct layers_model *model;
    const char *json = arena_printf(
        arena,
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": "
        "\"InputLayer\", \"config\": {\"batch_shape\": [null, %d], \"dtype\": \"%s\", \"name\": "
        "\"in\"}}, %s]}}",
        width, dtype, layers);

    assert_ok(layers_parse(bytes_of(json), arena, &model));
    return model;
}

static const struct layers_state *state_of(const struct layers_model *model, const char *layer)
{
    for (int i = 0; i < model->layers_count; i++)
        if (strcmp(model->layers[i].name, layer) == 0)
            return model->layers[i].state;
    fail_msg("no layer '%s'", layer);
    return NULL;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

/* Adapts as `tasks` tasks would: each reads its share, and the last merges all. */
static struct bytes adapt(struct layers_model *model, struct rows_split *split, uint32_t tasks)
{
    struct buffer states = { 0 };

    split->split.columns = &split->column;
    while (adapt_needed(model)) {
        struct adapt_pass *whole = NULL;
        for (uint32_t t = 0; t < tasks; t++) {
            const struct batch_order share = { .worker = t, .workers = tasks };
            struct buffer summaries = { 0 };
            struct adapt_pass *pass;
            assert_ok(adapt_begin(model, &pass));
            assert_ok(adapt_read(pass, &split->split, &share, never, NULL));
            if (whole == NULL) {
                whole = pass;
                continue;
            }
            adapt_write(pass, &summaries);
            assert_ok(adapt_merge(whole, (struct bytes){ summaries.data, summaries.size }));
            buffer_finish(&summaries);
            adapt_destroy(pass);
        }
        assert_ok(adapt_end(whole, &states));
        adapt_destroy(whole);
    }
    const char *kept = arena_memdup(arena, states.data, states.size);
    struct bytes out = { kept, states.size };
    buffer_finish(&states);
    return out;
}

static void close_to(const float *got, const float *want, int64_t count, double tolerance)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * fabs((double)want[i])))
            fail_msg("element %d is %.9g, not %.9g", (int)i, (double)got[i], (double)want[i]);
}

/* ---- tests ---- */

#define NORMALIZATION "{\"class_name\": \"Normalization\", \"config\": {\"name\": \"norm\"}}"

static void gives_the_exact_moments_for_any_number_of_tasks(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    struct bytes first = { 0 };

    for (uint32_t tasks = 1; tasks <= 5; tasks++) {
        struct layers_model *model = model_of("float32", 2, NORMALIZATION);
        struct bytes states = adapt(model, &split, tasks);
        const struct layers_state *got = state_of(model, "norm");
        close_to(tensor_floats(&got->tensors[0]), exact_mean, 2, 6e-8);
        close_to(tensor_floats(&got->tensors[1]), exact_variance, 2, 6e-8);
        close_to(tensor_floats(&got->tensors[0]), keras_mean, 2, 1e-6);
        close_to(tensor_floats(&got->tensors[1]), keras_variance, 2, 1e-5);
        if (tasks > 1)
            assert_true(bytes_equal(first, states));
        first = states;
    }
}

static void sums_exactly(void **state)
{
    (void)state;
    int64_t digits[EXACT_DIGITS] = { 0 }, squares[EXACT_DIGITS] = { 0 };
    const float huge = 3e38f, tiny = 1e-45f;

    exact_sum_add(digits, huge);
    exact_sum_add(digits, -tiny);
    exact_sum_add(digits, -huge);
    exact_sum_normalize(digits);
    assert_true(exact_sum_value(digits) == -(long double)tiny);
    for (int i = 0; i < 1000; i++)
        exact_sum_add_square(squares, huge);
    exact_sum_add_square(squares, tiny);
    exact_sum_normalize(squares);
    assert_true(fabsl(exact_sum_value(squares) / ((long double)huge * (long double)huge) - 1000) <
                1e-12L);
    assert_int_equal(squares[0], 1); /* the square of the least float is the unit */
}

static void gives_keras_boundaries(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(quantiles_rows); r++) {
        const struct quantiles_row *row = &quantiles_rows[r];
        const char *layer = arena_printf(arena,
                                         "{\"class_name\": \"Discretization\", \"config\": "
                                         "{\"name\": \"bins\", \"num_bins\": %d, \"epsilon\": %g}}",
                                         row->bins, row->epsilon);
        struct rows_split split = split_of(DT_FLOAT, quantiles_data, row->count, 1);
        for (uint32_t tasks = 1; tasks <= 3; tasks++) {
            struct layers_model *model = model_of("float32", 1, layer);
            adapt(model, &split, tasks);
            const struct tensor *got = &state_of(model, "bins")->tensors[0];
            assert_int_equal(got->size, row->boundaries_count);
            close_to(tensor_floats(got), row->boundaries, got->size, 0);
        }
    }
}

static void gives_keras_vocabulary(void **state)
{
    (void)state;
    struct bytes words[COUNT(tokens_data) + 1];

    for (size_t i = 0; i < COUNT(tokens_data); i++)
        words[i] = bytes_of(tokens_data[i]);
    words[COUNT(tokens_data)] = bytes_of("a");
    for (size_t r = 0; r < COUNT(tokens_rows); r++) {
        const struct tokens_row *row = &tokens_rows[r];
        const char *mask = row->mask != NULL ? arena_printf(arena, "\"%s\"", row->mask) : "null";
        const char *max = row->max_tokens > 0 ? arena_printf(arena, "%d", row->max_tokens) : "null";
        const char *layer = arena_printf(
            arena,
            "{\"class_name\": \"StringLookup\", \"config\": {\"name\": \"words\", \"max_tokens\": "
            "%s, \"mask_token\": %s, \"output_mode\": \"%s\"}}",
            max, mask, row->idf ? "tf_idf" : "int");
        int width = row->idf ? 2 : 1;
        struct rows_split split = split_of(DT_STRING, words, (int64_t)COUNT(words) / width, width);
        for (uint32_t tasks = 1; tasks <= 3; tasks++) {
            struct layers_model *model = model_of("string", width, layer);
            adapt(model, &split, tasks);
            const struct layers_state *got = state_of(model, "words");
            assert_int_equal(got->tensors[0].size, row->count);
            for (int i = 0; i < row->count; i++)
                assert_true(
                    bytes_equal(tensor_strings(&got->tensors[0])[i], bytes_of(row->vocabulary[i])));
            if (row->idf)
                close_to(tensor_floats(&got->tensors[1]), row->weights, row->count, 1e-7);
        }
    }
}

#define CHAIN                                                                                      \
    NORMALIZATION ", {\"class_name\": \"Discretization\", \"config\": {\"name\": \"bins\", "       \
                  "\"num_bins\": 4}}, {\"class_name\": \"IntegerLookup\", \"config\": {\"name\": " \
                  "\"ids\", \"num_oov_indices\": 0}}"

static void adapts_layers_that_depend_on_each_other_in_passes(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    struct layers_model *model = model_of("float32", 2, CHAIN),
                        *other = model_of("float32", 2, CHAIN);

    struct bytes states = adapt(model, &split, 2);
    assert_int_equal(state_of(model, "ids")->tensors[0].size, 4);
    assert_ok(adapt_load(other, states));
    assert_false(adapt_needed(other));
    for (int i = 0; i < 4; i++)
        assert_int_equal(tensor_int64s(&state_of(other, "ids")->tensors[0])[i],
                         tensor_int64s(&state_of(model, "ids")->tensors[0])[i]);
    assert_memory_equal(tensor_floats(&state_of(other, "bins")->tensors[0]),
                        tensor_floats(&state_of(model, "bins")->tensors[0]), 3 * sizeof(float));
}

static void adapts_a_layer_inside_another_one(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    struct layers_model *model = model_of(
        "float32", 2,
        "{\"class_name\": \"Reshape\", \"config\": {\"target_shape\": [1, 2]}}, {\"class_name\": "
        "\"TimeDistributed\", \"config\": {\"layer\": " NORMALIZATION "}}");

    adapt(model, &split, 2);
    const struct layers_state *got = layer_inner(&model->layers[2], 0)->state;
    close_to(tensor_floats(&got->tensors[0]), exact_mean, 2, 6e-8);
}

static void refuses_what_is_no_state(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    struct bytes states = adapt(model_of("float32", 2, NORMALIZATION), &split, 1);

    struct status status = adapt_load(model_of("float32", 3, NORMALIZATION), states);
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    assert_non_null(strstr(status.message, "layer 'norm' has 2 values 'mean'; expected 3"));
    status = adapt_load(model_of("float32", 2, NORMALIZATION), bytes_of(""));
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    for (size_t size = 0; size < states.size; size++)
        assert_false(status_is_ok(adapt_load(model_of("float32", 2, NORMALIZATION),
                                             (struct bytes){ states.data, size })));
}

static void refuses_summaries_that_do_not_fit(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    const struct batch_order all = { .workers = 1 };
    struct buffer summaries = { 0 };
    struct adapt_pass *pass, *other;

    split.split.columns = &split.column;
    assert_ok(adapt_begin(model_of("float32", 2, NORMALIZATION), &pass));
    assert_ok(adapt_read(pass, &split.split, &all, never, NULL));
    adapt_write(pass, &summaries);
    assert_ok(adapt_begin(model_of("float32", 3, NORMALIZATION), &other));
    struct status status = adapt_merge(other, (struct bytes){ summaries.data, summaries.size });
    assert_int_equal(status.code, STATUS_DATA_LOSS);
    adapt_destroy(other);
    adapt_destroy(pass);
    buffer_finish(&summaries);
}

static void refuses_values_that_are_not_finite(void **state)
{
    (void)state;
    const float values[] = { 1, NAN };
    struct rows_split split = split_of(DT_FLOAT, values, 2, 1);
    const struct batch_order all = { .workers = 1 };
    struct adapt_pass *pass;

    split.split.columns = &split.column;
    assert_ok(adapt_begin(model_of("float32", 1, NORMALIZATION), &pass));
    struct status status = adapt_read(pass, &split.split, &all, never, NULL);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "adapting layer 'norm': the data have the value"));
    adapt_destroy(pass);
}

/* A batch pads lists to its longest one, so that the result would depend on the batches. */
static void refuses_lists_that_are_padded(void **state)
{
    (void)state;
    struct rows_split split = split_of(DT_FLOAT, moments_data, 300, 2);
    const struct batch_order all = { .workers = 1 };
    struct adapt_pass *pass;

    split.column.spec.layout = TENSOR_RAGGED;
    split.split.columns = &split.column;
    assert_ok(adapt_begin(model_of("float32", 2, NORMALIZATION), &pass));
    struct status status = adapt_read(pass, &split.split, &all, never, NULL);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(status.message, "count the padding of the lists of the input 'in'"));
    adapt_destroy(pass);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_exact_moments_for_any_number_of_tasks),
        cmocka_unit_test(sums_exactly),
        cmocka_unit_test(gives_keras_boundaries),
        cmocka_unit_test(gives_keras_vocabulary),
        cmocka_unit_test(adapts_layers_that_depend_on_each_other_in_passes),
        cmocka_unit_test(adapts_a_layer_inside_another_one),
        cmocka_unit_test(refuses_what_is_no_state),
        cmocka_unit_test(refuses_summaries_that_do_not_fit),
        cmocka_unit_test(refuses_values_that_are_not_finite),
        cmocka_unit_test(refuses_lists_that_are_padded),
    };

    arena = arena_create(0);
    int failed = cmocka_run_group_tests_name("adapt", tests, NULL, NULL);
    arena_destroy(arena);
    return failed;
}
