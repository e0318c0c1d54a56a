/* Kernels keep to the memory and the time of a run, whatever sizes and texts they are given. */
#include <stdlib.h>
#include <unistd.h>

#include "graph/arguments.h"
#include "plan_fixture.h"
#include "runtime/kernels/plain/resize.h"

static struct endpoint integers(struct shape shape, const int64_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint text(const char *value)
{
    const struct bytes bytes = bytes_of(value);
    const struct shape shape = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_STRING, &shape, &bytes);
    return build_const(&b, NULL, &tensor);
}

static struct status run_text(struct endpoint x, struct endpoint y, const char *value)
{
    const struct bytes bytes = bytes_of(value);
    const struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, &bytes), out;
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct status status = plan_run(plan, run, &feed, &out);
    if (status_is_ok(status))
        tensor_release(&out);
    plan_destroy(plan);
    return status;
}

static struct endpoint texts(void)
{
    return build_placeholder(&b, "x", DT_STRING, shape_of(-1));
}

static char *repeated(const char *part, int count)
{
    struct buffer buffer = { 0 };
    for (int i = 0; i < count; i++)
        buffer_printf(&buffer, "%s", part);
    char *out = arena_memdup(arena, buffer.data, buffer.size);
    buffer_finish(&buffer);
    return out;
}

/* ---- ragged tensors ---- */

static struct status pad(int count, const char *const *types, const struct endpoint *partitions)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(1));
    struct endpoint inputs[5] = { integers(shape_of(2), (const int64_t[]){ 1, 1 }), x,
                                  build_const_float(&b, 0) };
    for (int i = 0; i < count; i++)
        inputs[3 + i] = partitions[i];
    struct endpoint y = build(
        &b, "RaggedTensorToTensor", NULL, 3 + count, inputs,
        (struct attr[]){ attr_texts(&b, "row_partition_types", count, types),
                         attr_int("num_row_partition_tensors", count), attr_type("T", DT_FLOAT),
                         attr_type("Tindex", DT_INT64), attr_type("Tshape", DT_INT64), ATTR_END });
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(1), VALUES(1)), out;
    struct status status = plan_run(plan, run, &feed, &out);
    plan_destroy(plan);
    return status;
}

/* The places of the rows would have 2^64 + 8 bytes. */
static void a_ragged_tensor_of_too_many_rows_is_refused(void **state)
{
    (void)state;
    const char *const types[] = { "FIRST_DIM_SIZE", "VALUE_ROWIDS" };
    const int64_t rows = (int64_t)1 << 61, row = 0;
    struct endpoint partitions[] = { integers(shape_scalar(), &rows), integers(shape_of(1), &row) };
    struct status status = pad(2, types, partitions);
    assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(status.message, "FIRST_DIM_SIZE is 2305843009213693952"));
}

static void splits_beyond_the_values_are_refused(void **state)
{
    (void)state;
    const char *const types[] = { "ROW_SPLITS" };
    struct endpoint splits = integers(shape_of(2), (const int64_t[]){ 0, (int64_t)1 << 61 });
    struct status status = pad(1, types, &splits);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(
        strstr(status.message, "have 2305843009213693952 values, but there are only 1"));
}

/* ---- models of tokenizers ---- */

/* A FlatBuffer: the places of its table's fields, the table with U+0000's value, and the pool "ab",
 * of which the value takes `size` bytes from `begin` on. */
#define REPLACED_BY(begin, size) (0x40000000 | (begin) << 6 | (size))
#define MODEL(value)                                                 \
    {                                                                \
        16, 12 | 12 << 16, 0, 4 | 8 << 16, 12, (value), 4, 2, 0x6261 \
    }
#define MODEL_BYTES 34

static struct status normalize_zero(const uint32_t *model, int64_t size)
{
    const struct bytes zero = { "", 1 };
    const struct shape one = shape_of(1), bytes = shape_of(size);
    void *copy = malloc((size_t)size + (size == 0)); /* a sanitizer sees what lies behind it */
    memcpy(copy, model, (size_t)size);
    struct tensor feeds[] = { tensor_borrow(DT_STRING, &one, &zero),
                              tensor_borrow(DT_UINT8, &bytes, copy) };
    struct endpoint x[] = { texts(), build_placeholder(&b, "model", DT_UINT8, shape_of(-1)) };
    struct endpoint y = build(&b, "FastBertNormalize", NULL, 2, x, (struct attr[]){ ATTR_END });
    struct plan *plan = plan_of(2, x, 1, &y, NULL);
    struct tensor out;
    struct status status = plan_run(plan, run, feeds, &out);
    if (status_is_ok(status)) {
        assert_true(bytes_equal(tensor_strings(&out)[0], bytes_of("ab")));
        tensor_release(&out);
    }
    plan_destroy(plan);
    free(copy);
    return status;
}

static void a_damaged_model_of_a_normalizer_is_refused(void **state)
{
    (void)state;
    const uint32_t whole[] = MODEL(REPLACED_BY(0, 2)), outside[] = MODEL(REPLACED_BY(1, 2));
    assert_ok(normalize_zero(whole, MODEL_BYTES));
    assert_int_equal(normalize_zero(outside, MODEL_BYTES).code, STATUS_DATA_LOSS);
    for (int64_t size = 0; size < MODEL_BYTES; size++)
        assert_int_equal(normalize_zero(whole, size).code, STATUS_DATA_LOSS);
}

/* A FlatBuffer with one field: the text that replaces unknown words. Its bits are inverted. */
#define UNKNOWN_MODEL_BYTES 55
static void make_unknown_model(int field, const char *text, uint8_t *model)
{
    const uint32_t table = 40, back = 36, distance = 4, size = 3;
    const uint16_t sizes[] = { 36, 8 }, place = 4;
    memset(model, 0, UNKNOWN_MODEL_BYTES);
    memcpy(model, &table, sizeof table);
    memcpy(model + 4, sizes, sizeof sizes);
    memcpy(model + 8 + 2 * field, &place, sizeof place);
    memcpy(model + 40, &back, sizeof back);
    memcpy(model + 44, &distance, sizeof distance);
    memcpy(model + 48, &size, sizeof size);
    memcpy(model + 52, text, size);
    for (int i = 0; i < UNKNOWN_MODEL_BYTES; i++)
        model[i] = (uint8_t)~model[i];
}

/* The model is computed. Its memory is free after the op, and the second run takes it. */
static void check_unknown_word_stays(const char *op, int field)
{
    static const char *const words[] = { "<u>", "<v>" };
    const struct bytes word = bytes_of("b");
    const struct shape one = shape_of(1), size = shape_of(UNKNOWN_MODEL_BYTES);
    uint8_t model[UNKNOWN_MODEL_BYTES];
    struct tensor feeds[] = { tensor_borrow(DT_STRING, &one, &word),
                              tensor_borrow(DT_UINT8, &size, model) };
    struct endpoint x[] = { build_placeholder(&b, NULL, DT_STRING, one),
                            build_placeholder(&b, NULL, DT_UINT8, size) };
    struct endpoint inputs[] = { x[0], build_unary(&b, "Invert", NULL, x[1]) };
    struct endpoint y = build(&b, op, NULL, 2, inputs, NULL);
    struct plan *plan = plan_of(2, x, 1, &y, NULL);
    struct tensor out[2];
    for (int i = 0; i < 2; i++) {
        make_unknown_model(field, words[i], model);
        assert_ok(plan_run(plan, run, feeds, &out[i]));
    }
    for (int i = 0; i < 2; i++) {
        assert_true(bytes_equal(tensor_strings(&out[i])[0], bytes_of(words[i])));
        tensor_release(&out[i]);
    }
    plan_destroy(plan);
}

static void an_unknown_word_outlives_the_model(void **state)
{
    (void)state;
    check_unknown_word_stays("PhraseTokenize", 1);
    check_unknown_word_stays("FastWordpieceTokenizeWithOffsets", 6);
}

/* ---- n-grams ---- */

static struct endpoint ngrams(struct endpoint x, int count, const int64_t *widths)
{
    struct endpoint inputs[] = { x, integers(shape_of(2), (const int64_t[]){ 0, 1 }) };
    return build(&b, "StringNGrams", NULL, 2, inputs,
                 (struct attr[]){ attr_text("separator", ""), attr_text("left_pad", ""),
                                  attr_text("right_pad", ""), attr_int("pad_width", -1),
                                  attr_bool("preserve_short_sequences", false),
                                  attr_ints(&b, "ngram_widths", count, widths),
                                  attr_type("Tsplits", DT_INT64), ATTR_END });
}

/* 4000 n-grams of 4000 words without a character. */
static void empty_n_grams_end_at_the_deadline(void **state)
{
    (void)state;
    const int64_t width = 4000;
    struct endpoint x = texts();
    run_set_deadline(run, 1); /* in the past */
    struct status status = run_text(x, ngrams(x, 1, &width), "a");
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
}

static void the_lowest_maxsplit_is_no_limit(void **state)
{
    (void)state;
    struct endpoint x = texts(), inputs[] = { x, text("") };
    struct node *split = build_node(&b, "StringSplitV2", NULL, 2, inputs, 0, NULL,
                                    (struct attr[]){ attr_int("maxsplit", INT64_MIN), ATTR_END });
    assert_ok(run_text(x, (struct endpoint){ split, 1 }, "a b c"));
}

static void an_empty_part_at_the_end_is_written_nowhere(void **state)
{
    (void)state;
    struct endpoint x = texts(), inputs[] = { x, text(",") };
    struct node *split = build_node(&b, "StringSplit", NULL, 2, inputs, 0, NULL,
                                    (struct attr[]){ attr_bool("skip_empty", true), ATTR_END });
    assert_ok(run_text(x, (struct endpoint){ split, 1 }, "a,b,"));
}

/* ---- regular expressions ---- */

/* Every search for the next match reads the rest of the text. */
static void quadratic_searches_end_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint x = texts();
    struct endpoint y =
        build(&b, "StaticRegexReplace", NULL, 1, &x,
              (struct attr[]){ attr_text("pattern", "a(.*z)?"), attr_text("rewrite", "b"),
                               attr_bool("replace_global", true), ATTR_END });
    run_set_deadline(run, 1); /* in the past */
    struct status status = run_text(x, y, repeated("a", 4000));
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
}

static void a_long_pattern_is_refused(void **state)
{
    (void)state;
    struct endpoint x = texts(), inputs[] = { x, text(repeated("a", 16385)) };
    struct endpoint y = build(&b, "RegexFullMatch", NULL, 2, inputs, NULL);
    struct status status = run_text(x, y, "a");
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "it has 16385 bytes, at most 16384 are allowed"));
}

static struct endpoint zeros(struct shape shape)
{
    int64_t size = shape_size(&shape);
    float *values = arena_alloc(arena, (size_t)size * sizeof *values);
    memset(values, 0, (size_t)size * sizeof *values);
    return const_floats(NULL, shape, values);
}

static struct endpoint integers32(struct shape shape, const int32_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT32, &shape, values);
    return build_const(&b, NULL, &tensor);
}

/* ---- variables ---- */

static struct status stop_at_once(const void *context)
{
    (void)context;
    return status_error(STATUS_DEADLINE_EXCEEDED, "stopped");
}

static struct status run_target(struct node *node, struct run *in)
{
    struct flatten_request request = { .targets = &node, .targets_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_ok(plan_create(graph, &request, resources, NULL, NULL, &plan));
    struct status status = plan_run(plan, in, NULL, NULL);
    plan_destroy(plan);
    return status;
}

/* Adds 1 to a row of half a million zeros, `count` times, in a run that has no time. Returns the
 * sum of the first and the last element; *status: how it ended. */
static float add_to_row(int count, struct status *status)
{
    const int width = 1 << 19;
    const int32_t rows[8] = { 0 };
    struct endpoint handle = variable_handle("v", DT_FLOAT, shape_of(1, width));
    struct endpoint start[] = { handle, zeros(shape_of(1, width)) };
    assert_ok(run_target(build_node(&b, "AssignVariableOp", NULL, 2, start, 0, NULL, NULL), run));
    struct endpoint inputs[] = { handle, integers32(shape_of(count), rows),
                                 build_const_float(&b, 1) };
    struct node *add = build_node(&b, "ResourceScatterAdd", NULL, 3, inputs, 0, NULL,
                                  (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    run_set_check(run, stop_at_once, NULL);
    *status = run_target(add, run);
    run_set_check(run, NULL, NULL);
    struct endpoint value = read_variable(handle, DT_FLOAT);
    struct plan *plan = plan_of(0, NULL, 1, &value, NULL);
    struct tensor out;
    assert_ok(plan_run(plan, run, NULL, &out));
    float sum = tensor_floats(&out)[0] + tensor_floats(&out)[width - 1];
    tensor_release(&out);
    plan_destroy(plan);
    return sum;
}

static void a_long_update_that_ends_at_the_deadline_changes_nothing(void **state)
{
    struct status status;
    (void)state;
    assert_float_equal(add_to_row(8, &status), 0, 0);
    assert_int_equal(status.code, STATUS_DEADLINE_EXCEEDED);
}

/* ---- types ---- */

static void the_two_types_of_a_pool_gradient_must_be_float(void **state)
{
    (void)state;
    const struct shape shape = shape_of(1, 1, 1, 1, 1);
    const int64_t ones[] = { 1, 1, 1, 1, 1 };
    struct endpoint half = build_placeholder(&b, "x", DT_HALF, shape);
    struct endpoint dy = build_placeholder(&b, "dy", DT_FLOAT, shape);
    struct endpoint inputs[] = { half, half, dy };
    struct endpoint dx =
        build(&b, "MaxPool3DGrad", NULL, 3, inputs,
              (struct attr[]){ attr_ints(&b, "ksize", 5, ones), attr_ints(&b, "strides", 5, ones),
                               attr_text("padding", "SAME"), attr_type("T", DT_FLOAT),
                               attr_type("TInput", DT_HALF), ATTR_END });
    struct flatten_request request = { .feeds = (struct endpoint[]){ half, dy },
                                       .feeds_count = 2,
                                       .fetches = &dx,
                                       .fetches_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_non_null(strstr(status.message, "TInput is half"));
}

/* ---- images and lines of numbers ---- */

static struct status count_check(const void *context)
{
    ++*(int *)(uintptr_t)context;
    return status_ok();
}

/* Runs y, which needs no feed, and returns how often it looked at the deadline. */
static int checks_of(struct endpoint y)
{
    int checks = 0;
    struct tensor out;
    struct plan *plan = plan_of(0, NULL, 1, &y, &(struct plan_options){ .no_fold = true });
    run_set_check(run, count_check, &checks);
    assert_ok(plan_run(plan, run, NULL, &out));
    tensor_release(&out);
    plan_destroy(plan);
    return checks;
}

/* Each of 4000 channels needs the squares of all. */
static void a_wide_normalization_looks_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint x = zeros(shape_of(1, 1, 1, 4000));
    struct endpoint y =
        build(&b, "LRN", NULL, 1, &x, (struct attr[]){ attr_int("depth_radius", 4000), ATTR_END });
    assert_true(checks_of(y) >= 10);
}

/* Each of 300 rows needs up to 299 others, for each of 100 right-hand sides. */
static void a_system_of_many_bands_looks_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint y = build_binary(&b, "BandedTriangularSolve", NULL, zeros(shape_of(300, 300)),
                                     zeros(shape_of(300, 100)));
    assert_true(checks_of(y) >= 4);
}

static void a_negative_depth_radius_is_refused(void **state)
{
    (void)state;
    struct endpoint x = zeros(shape_of(1, 1, 1, 2));
    struct endpoint y = build(&b, "LRN", NULL, 1, &x,
                              (struct attr[]){ attr_int("depth_radius", INT64_MIN), ATTR_END });
    struct flatten_request request = { .fetches = &y, .fetches_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "depth_radius = -9223372036854775808"));
}

static void a_large_image_looks_at_the_deadline_between_lines(void **state)
{
    (void)state;
    struct endpoint inputs[] = { zeros(shape_of(512, 512)),
                                 integers32(shape_of(2), (const int32_t[]){ 512, 512 }) };
    assert_true(checks_of(build(&b, "RFFT2D", NULL, 2, inputs, NULL)) >= 5);
}

static struct endpoint zero_doubles(struct shape shape)
{
    int64_t size = shape_size(&shape);
    double *values = arena_alloc(arena, (size_t)size * sizeof *values);
    memset(values, 0, (size_t)size * sizeof *values);
    struct tensor tensor = tensor_borrow(DT_DOUBLE, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static void gradients_of_doubles_look_at_the_deadline_between_rows(void **state)
{
    (void)state;
    int64_t strides[] = { 1, 1, 1, 1 };
    struct attr attrs[] = { attr_ints(&b, "strides", 4, strides), attr_text("padding", "SAME"),
                            attr_type("T", DT_DOUBLE), ATTR_END };
    const int32_t sizes[] = { 1, 20, 3, 2 }, filter[] = { 3, 3, 2, 2 };
    struct endpoint image = zero_doubles(shape_of(1, 20, 3, 2));
    struct endpoint of_input[] = { integers32(shape_of(4), sizes),
                                   zero_doubles(shape_of(3, 3, 2, 2)), image };
    struct endpoint of_filter[] = { image, integers32(shape_of(4), filter), image };
    assert_true(checks_of(build(&b, "Conv2DBackpropInput", NULL, 3, of_input, attrs)) >= 20);
    assert_true(checks_of(build(&b, "Conv2DBackpropFilter", NULL, 3, of_filter, attrs)) >= 20);
}

static void many_draws_from_one_row_look_at_the_deadline(void **state)
{
    (void)state;
    const int32_t samples = 1000000;
    struct endpoint inputs[] = { zeros(shape_of(1, 2)), integers32(shape_scalar(), &samples) };
    struct endpoint y = build(&b, "Multinomial", NULL, 2, inputs,
                              (struct attr[]){ attr_type("T", DT_FLOAT), ATTR_END });
    assert_true(checks_of(y) >= 10);
}

static void many_random_bits_look_at_the_deadline(void **state)
{
    (void)state;
    static const uint64_t words[] = { 1, 2 };
    const int32_t threefry = 2, count = 1000000;
    struct shape two = shape_of(2);
    struct tensor key = tensor_borrow(DT_UINT64, &two, words);
    struct endpoint inputs[] = { integers32(shape_scalar(), &threefry), build_const(&b, NULL, &key),
                                 integers32(shape_of(1), &count) };
    static const enum dtype dtypes[] = { DT_UINT8, DT_UINT32, DT_UINT64 };
    for (size_t i = 0; i < COUNT(dtypes); i++)
        assert_true(checks_of(build(&b, "XlaRngBitGenerator", NULL, 3, inputs,
                                    (struct attr[]){ attr_type("dtype", dtypes[i]), ATTR_END })) >=
                    7);
}

/* The width less one is no float; the nearest float is one pixel beyond the image. */
#define WIDTH_ROUNDED_UP 16777220

static void a_crop_ends_at_the_last_pixel_of_a_wide_image(void **state)
{
    (void)state;
    const struct shape shape = shape_of(1, 1, WIDTH_ROUNDED_UP, 1);
    float *pixels = calloc(WIDTH_ROUNDED_UP, sizeof *pixels);
    assert_non_null(pixels);
    pixels[WIDTH_ROUNDED_UP - 1] = 7;
    static const char *const methods[] = { "bilinear", "nearest" };
    struct endpoint image = build_placeholder(&b, "image", DT_FLOAT, shape);
    const int32_t zero = 0;
    struct endpoint inputs[] = { image, const_floats(NULL, shape_of(1, 4), VALUES(0, 1, 0, 1)),
                                 integers32(shape_of(1), &zero),
                                 integers32(shape_of(2), (const int32_t[]){ 1, 1 }) };
    for (int i = 0; i < 2; i++) {
        struct endpoint y = build(
            &b, "CropAndResize", NULL, 4, inputs,
            (struct attr[]){ attr_type("T", DT_FLOAT), attr_text("method", methods[i]), ATTR_END });
        struct plan *plan = plan_of(1, &image, 1, &y, NULL);
        assert_runs(plan, floats(shape, pixels), 1, VALUES(7));
        plan_destroy(plan);
    }
    free(pixels);
}

static void a_resized_line_ends_at_the_last_pixel_of_a_wide_image(void **state)
{
    (void)state;
    struct resize_between places[2];
    resize_places(WIDTH_ROUNDED_UP, 2, true, false, places);
    assert_int_equal(places[1].low, WIDTH_ROUNDED_UP - 1);
    assert_int_equal(places[1].high, WIDTH_ROUNDED_UP - 1);
}

static void a_reflection_from_far_away_has_no_overflow(void **state)
{
    (void)state;
    struct endpoint inputs[] = { const_floats(NULL, shape_of(1, 2, 1, 1), VALUES(5, 6)),
                                 const_floats(NULL, shape_of(1, 8),
                                              VALUES(1, 0, 0, 0, 1, 1e19f, 0, 0)),
                                 integers32(shape_of(2), (const int32_t[]){ 1, 1 }),
                                 const_floats(NULL, shape_scalar(), VALUES(0)) };
    struct endpoint y =
        build(&b, "ImageProjectiveTransformV3", NULL, 4, inputs,
              (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_text("interpolation", "NEAREST"),
                               attr_text("fill_mode", "REFLECT"), ATTR_END });
    struct tensor out;
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    assert_ok(plan_run(plan, run, NULL, &out));
    assert_values(&out, 1, VALUES(5));
    tensor_release(&out);
    plan_destroy(plan);
}

static void a_scalar_has_no_dimension_for_a_transform(void **state)
{
    (void)state;
    const int32_t none = 0;
    struct endpoint inputs[] = { const_floats(NULL, shape_scalar(), VALUES(1)),
                                 integers32(shape_of(0), &none) };
    struct endpoint y = build(&b, "RFFT2D", NULL, 2, inputs, NULL);
    struct tensor out;
    struct plan *plan = plan_of(0, NULL, 1, &y, &(struct plan_options){ .no_fold = true });
    struct status status = plan_run(plan, run, NULL, &out);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "Input must have rank of at least 2"));
    plan_destroy(plan);
}

/* Rows of kernels are chosen by the type of the result; the elements are read as int32. */
static void requantizing_other_types_than_qint32_is_refused(void **state)
{
    static const char *const ops[] = { "Requantize", "QuantizeDownAndShrinkRange" };
    (void)state;
    for (size_t i = 0; i < COUNT(ops); i++) {
        struct endpoint x = build_placeholder(&b, NULL, DT_QINT16, shape_of(-1));
        const float one = 1;
        struct endpoint limit = const_floats(NULL, shape_scalar(), &one);
        struct endpoint y = build(&b, ops[i], NULL, i == 0 ? 5 : 3,
                                  (struct endpoint[]){ x, limit, limit, limit, limit },
                                  (struct attr[]){ attr_type("Tinput", DT_QINT16),
                                                   attr_type("out_type", DT_QUINT8), ATTR_END });
        struct flatten_request request = {
            .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
        };
        struct plan *plan;
        assert_ok(builder_status(&b));
        assert_int_equal(plan_create(graph, &request, resources, NULL, NULL, &plan).code,
                         STATUS_UNIMPLEMENTED);
    }
}

static void a_pool_without_its_attributes_is_refused(void **state)
{
    (void)state;
    struct node *node;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_unknown());
    const struct attr attrs[] = { attr_type("T", DT_FLOAT), attr_text("padding", "SAME") };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_ok(graph_add(graph, "AvgPool", "pool", &node));
    node_add_input(graph, node, x);
    for (size_t i = 0; i < COUNT(attrs); i++)
        node_set_attr(graph, node, &attrs[i]);
    assert_ok(node_fill_outputs(graph, node));
    const struct endpoint y = { node, 0 };
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    assert_false(status_is_ok(plan_create(graph, &request, resources, NULL, NULL, &plan)));
}

/* A TensorProto has no field for their elements. */
static void serializing_a_type_without_a_field_is_refused(void **state)
{
    (void)state;
    const struct shape shape = shape_of(2);
    const struct tensor feed = tensor_borrow(DT_FLOAT4_E2M1FN, &shape, "ab");
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT4_E2M1FN, shape_of(-1));
    struct endpoint y = build(&b, "SerializeTensor", NULL, 1, &x, NULL);
    struct tensor out;
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_int_equal(plan_run(plan, run, &feed, &out).code, STATUS_UNIMPLEMENTED);
    plan_destroy(plan);

    const struct endpoint parts[] = { integers(shape_of(2, 1), (const int64_t[]){ 0, 1 }), x,
                                      integers(shape_of(1), (const int64_t[]){ 2 }) };
    y = build(&b, "SerializeSparse", NULL, 3, parts, NULL);
    plan = plan_of(1, &x, 1, &y, NULL);
    assert_int_equal(plan_run(plan, run, &feed, &out).code, STATUS_UNIMPLEMENTED);
    plan_destroy(plan);
}

/* ---- constants ---- */

/* A thousand times the text, which the run shares, would be a thousand copies in the plan. */
static void a_long_text_that_is_repeated_is_not_folded(void **state)
{
    (void)state;
    const int32_t times = 1000;
    struct endpoint line = build_binary(&b, "Reshape", NULL, text(repeated("a", 100000)),
                                        build_const_ints(&b, NULL, 1, (int32_t[]){ 1 }));
    struct endpoint y = build_binary(&b, "Tile", NULL, line, integers32(shape_of(1), &times));
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    assert_true(plan_has(plan, "= Tile("));
    plan_destroy(plan);
}

/* 18 MB of constants, more than the plan's own run may take. */
static void a_fold_of_large_constants_looks_at_the_deadline(void **state)
{
    (void)state;
    int checks = 0;
    const struct work_limits limits = { .check = count_check, .context = &checks };
    const struct plan_options options = { .limits = &limits };
    struct endpoint x = zeros(shape_of(1, 1, 1100, 4096));
    struct endpoint y =
        build(&b, "LRN", NULL, 1, &x, (struct attr[]){ attr_int("depth_radius", 1), ATTR_END });
    struct plan *plan = plan_of(0, NULL, 1, &y, &options);
    assert_true(checks >= 10); /* each node is one */
    plan_destroy(plan);
}

/* ---- windows and gradients ---- */

#define RUN_SECONDS 15 /* a run takes microseconds */

static enum status_code run_node(const char *op, int count, const struct tensor *feeds,
                                 const struct attr *attrs)
{
    struct endpoint inputs[8];
    struct tensor out;
    for (int i = 0; i < count; i++)
        inputs[i] = build_placeholder(&b, "in", feeds[i].dtype, shape_unknown());
    struct endpoint y = build(&b, op, NULL, count, inputs, attrs);
    struct plan *plan = plan_of(count, inputs, 1, &y, NULL);
    alarm(RUN_SECONDS);
    struct status status = plan_run(plan, run, feeds, &out);
    alarm(0);
    if (status_is_ok(status))
        tensor_release(&out);
    plan_destroy(plan);
    return status.code;
}

static void a_window_ends_with_the_image(void **state)
{
    (void)state;
    const int64_t ksize[] = { 1, INT32_MAX, INT32_MAX, 1 }, strides[] = { 1, 1, 1, 1 };
    const struct shape shape = shape_of(1, 1, 1, 1);
    const int32_t value = 7;
    const struct tensor x = tensor_borrow(DT_INT32, &shape, &value);
    const struct attr attrs[] = { attr_ints(&b, "ksize", 4, ksize),
                                  attr_ints(&b, "strides", 4, strides),
                                  attr_text("padding", "SAME"), ATTR_END };
    assert_int_equal(run_node("MaxPool", 1, &x, attrs), STATUS_OK);
}

/* Of lines without pixels, a client may send as many as it likes. */
static void gradients_of_empty_lines_end_at_once(void **state)
{
    (void)state;
    static const int32_t two[] = { 2, 2 }, first[] = { 0 };
    static const int64_t ones[] = { 1, 1, 1, 1 };
    const int64_t many = (int64_t)1 << 40;
    const struct shape pair = shape_of(2), one = shape_of(1);
    const struct tensor lines = floats(shape_of(1, many, 0, 1), NULL);
    const struct tensor nearest[] = { lines, tensor_borrow(DT_INT32, &pair, two) };
    assert_int_equal(run_node("ResizeNearestNeighborGrad", 2, nearest, NULL), STATUS_OK);

    const struct tensor dilation[] = { lines, floats(shape_of(1, 1, 1), VALUES(1)), lines };
    const struct attr attrs[] = { attr_ints(&b, "strides", 4, ones),
                                  attr_ints(&b, "rates", 4, ones), attr_text("padding", "SAME"),
                                  ATTR_END };
    assert_int_equal(run_node("Dilation2DBackpropFilter", 3, dilation, attrs), STATUS_OK);

    const struct tensor crops[] = { floats(shape_of(1, many, 4, 0), NULL),
                                    floats(shape_of(1, 2, 2, 0), NULL),
                                    floats(shape_of(1, 4), VALUES(0, 0, 1, 1)),
                                    tensor_borrow(DT_INT32, &one, first) };
    assert_int_equal(run_node("CropAndResizeGradBoxes", 4, crops, NULL), STATUS_OK);

    const int64_t ends[] = { 0, 1 };
    const struct tensor images = floats(shape_of(many, 1, 1, 0), NULL),
                        borders = tensor_borrow(DT_INT64, &pair, ends);
    const struct tensor windows[] = { images, images, images, borders, borders };
    assert_int_equal(run_node("FractionalMaxPoolGrad", 5, windows, NULL), STATUS_OK);
}

static void a_new_axis_before_too_many_dimensions_is_refused(void **state)
{
    (void)state;
    static const int64_t ones[SHAPE_RANK_MAX] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    static const int32_t zero[] = { 0 }, step[] = { 1 };
    const struct shape one = shape_of(1);
    const struct tensor feeds[] = { floats(shape_make(SHAPE_RANK_MAX, ones), VALUES(1)),
                                    tensor_borrow(DT_INT32, &one, zero),
                                    tensor_borrow(DT_INT32, &one, zero),
                                    tensor_borrow(DT_INT32, &one, step) };
    const struct attr attrs[] = { attr_int("new_axis_mask", 1), ATTR_END };
    assert_int_equal(run_node("StridedSlice", 4, feeds, attrs), STATUS_UNIMPLEMENTED);
}

/* A list is no ragged tensor: its gradient is as many zeros as the splits say. */
static void a_ragged_gradient_of_too_many_zeros_is_refused(void **state)
{
    (void)state;
    const int32_t sizes[] = { 1, 4 };
    const struct endpoint list[] = { build_const_int(&b, -1), build_const_int(&b, -1) };
    const struct endpoint inputs[] = {
        build(&b, "EmptyTensorList", NULL, 2, list,
              (struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END }),
        integers(shape_of(2), (const int64_t[]){ 0, (int64_t)1 << 62 }),
        build_const_ints(&b, NULL, 2, sizes),
    };
    struct endpoint y = build(&b, "RaggedTensorToVariantGradient", NULL, 3, inputs,
                              (struct attr[]){ attr_type("Tvalues", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(0, NULL, 1, &y, &(struct plan_options){ .no_fold = true });
    struct tensor out;
    assert_int_equal(plan_run(plan, run, NULL, &out).code, STATUS_INVALID_ARGUMENT);
    plan_destroy(plan);
}

/* The number of rows is 0 in the type of the elements, and a division by 0 ends the process. */
static void a_mean_of_more_rows_than_the_type_can_count_is_computed(void **state)
{
    (void)state;
    static const struct {
        enum dtype dtype;
        int64_t rows;
    } cases[] = { { DT_INT8, 256 }, { DT_UINT8, 512 }, { DT_INT16, 65536 }, { DT_UINT16, 65536 } };
    static const int16_t data[65536];
    static const int32_t ids[65536];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct shape vector = shape_of(cases[i].rows);
        const struct tensor feeds[] = { tensor_borrow(cases[i].dtype, &vector, data),
                                        tensor_borrow(DT_INT32, &vector, ids) };
        assert_int_equal(run_node("SegmentMean", 2, feeds, NULL), STATUS_OK);
    }
}

/* The row of the kernel is chosen by the type of the result. */
static void an_xla_product_of_quantized_integers_is_refused(void **state)
{
    static const uint16_t data[2];
    const struct shape vector = shape_of(2);
    const struct tensor feeds[] = { tensor_borrow(DT_QUINT16, &vector, data),
                                    tensor_borrow(DT_UINT16, &vector, data) };
    const struct attr attrs[] = { attr_text("dimension_numbers", ""),
                                  attr_text("precision_config", ""),
                                  attr_type("preferred_element_type", DT_UINT16), ATTR_END };
    (void)state;
    assert_int_equal(run_node("XlaDotV2", 2, feeds, attrs), STATUS_UNIMPLEMENTED);
    assert_int_equal(run_node("XlaDotV2", 2, (struct tensor[]){ feeds[1], feeds[1] }, attrs),
                     STATUS_OK);
}

/* ---- objects ---- */

static struct endpoint empty_list(void)
{
    const struct endpoint inputs[] = { build_const_int(&b, -1), build_const_int(&b, -1) };
    return build(&b, "EmptyTensorList", NULL, 2, inputs,
                 (struct attr[]){ attr_type("element_dtype", DT_VARIANT), ATTR_END });
}

/* The lists end one in the other, which must not take a call for each. */
static void lists_within_lists_end_one_by_one(void **state)
{
    (void)state;
    struct endpoint list = empty_list(), empty = list;
    for (int i = 0; i < 100000; i++)
        list = build_binary(&b, "TensorListPushBack", "push", empty, list);
    struct endpoint length = build_unary(&b, "TensorListLength", NULL, list);
    struct plan *plan =
        plan_of(0, NULL, 1, &length, &(struct plan_options){ .no_fold = true, .no_fuse = true });
    struct tensor out;
    assert_ok(plan_run(plan, run, NULL, &out));
    assert_int_equal(tensor_int32s(&out)[0], 1);
    tensor_release(&out);
    plan_destroy(plan);
}

/* The memory of a list is the run's, and a variable lives longer. */
static void a_variable_of_lists_is_refused(void **state)
{
    (void)state;
    const struct attr attrs[] = { attr_type("dtype", DT_VARIANT),
                                  attr_shape("shape", &(struct shape){ 0 }), ATTR_END };
    struct endpoint handle = build(&b, "VarHandleOp", "v", 0, NULL, attrs);
    const struct endpoint inputs[] = { handle, empty_list() };
    struct node *assign = build_node(&b, "AssignVariableOp", "assign", 2, inputs, 0, NULL, NULL);
    struct flatten_request request = { .targets = &assign, .targets_count = 1 };
    struct plan *plan;
    assert_ok(builder_status(&b));
    struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
    if (status_is_ok(status)) {
        struct run *first = run_create(0);
        status = plan_run(plan, first, NULL, NULL);
        run_destroy(first);
        plan_destroy(plan);
    }
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
}

/* ---- one long value ---- */

static struct status count_call(const void *context)
{
    ++*(int *)(uintptr_t)context;
    return status_ok();
}

/* How often the run is asked whether it may go on while y is computed. */
static int count_looks(struct endpoint x, const struct tensor *feed, struct endpoint y)
{
    int looks = 0;
    struct tensor out;
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    run_set_check(run, count_call, &looks);
    assert_ok(plan_run(plan, run, feed, &out));
    run_set_check(run, NULL, NULL);
    tensor_release(&out);
    plan_destroy(plan);
    return looks;
}

static void one_long_record_looks_at_the_deadline(void **state)
{
    (void)state;
    struct endpoint x = texts(), inputs[] = { x, text("-") };
    const int64_t chosen = 60000;
    const struct bytes record = bytes_of(repeated(",", 70000));
    const struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, &record);
    struct endpoint y =
        build(&b, "DecodeCSV", NULL, 2, inputs,
              (struct attr[]){ attr_ints(&b, "select_cols", 1, &chosen), ATTR_END });
    assert_true(count_looks(x, &feed, y) > 10);
}

/* Each byte is a part of its own. The run looks once for 512 of them, and does not read the whole
 * text again for each part. */
static void parts_of_one_byte_look_at_the_deadline(void **state)
{
    (void)state;
    const int size = 256 << 10;
    struct endpoint x = texts();
    const struct bytes wrong = bytes_of(repeated("\xff", size));
    const struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, &wrong);
    struct endpoint y = build(&b, "NormalizeUTF8", NULL, 1, &x,
                              (struct attr[]){ attr_text("normalization_form", "NFC"), ATTR_END });
    assert_true(count_looks(x, &feed, y) >= 2 * size / 1024);
}

/* A FlatBuffer with one field: a table of one field, a double array in which "a a a" never ends. */
#define ENDLESS_WORDS       19
#define ENDLESS_UNITS       0x62
#define ENDLESS_MODEL_WORDS (ENDLESS_WORDS + ENDLESS_UNITS)
static struct endpoint endless_model(int field)
{
    uint32_t *model = arena_array(arena, sizeof *model, ENDLESS_MODEL_WORDS);
    const uint32_t words[ENDLESS_WORDS] = {
        [0] = 40, [1] = 36 | 8 << 16, [10] = 36, [11] = 12,           [12] = 6 | 8 << 16,
        [13] = 4, [14] = 8,           [15] = 12, [18] = ENDLESS_UNITS
    };
    const uint16_t place = 4;
    const struct shape shape = shape_of(ENDLESS_MODEL_WORDS * 4);
    memcpy(model, words, sizeof words);
    memcpy((char *)model + 8 + 2 * field, &place, sizeof place);
    model[ENDLESS_WORDS + 'a'] = 'a' << 10 | 'a';
    model[ENDLESS_WORDS + ' '] = ' ' << 10 | ' ';
    struct tensor tensor = tensor_borrow(DT_UINT8, &shape, model);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint flag(bool value)
{
    const struct shape shape = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_BOOL, &shape, &value);
    return build_const(&b, NULL, &tensor);
}

static void an_endless_search_in_a_model_looks_at_the_deadline(void **state)
{
    (void)state;
    const struct bytes words = bytes_of(repeated("a ", 2000));
    const struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, &words);
    struct endpoint x = texts(), phrases[] = { x, endless_model(5) };
    assert_true(count_looks(x, &feed, build(&b, "PhraseTokenize", NULL, 2, phrases, NULL)) > 40);
    struct endpoint pieces[] = { endless_model(11),
                                 x,
                                 build_const_int(&b, 0),
                                 build_const_float(&b, 0),
                                 flag(false),
                                 flag(false),
                                 flag(false) };
    struct endpoint y = build(&b, "TFText>FastSentencepieceTokenize", NULL, 7, pieces, NULL);
    assert_true(count_looks(x, &feed, y) > 80);
}

static void long_texts_without_a_difference_look_at_the_deadline(void **state)
{
    (void)state;
    enum { COUNT_OF_TEXTS = 200, TEXT_BYTES = 16 << 10 };
    struct bytes long_texts[COUNT_OF_TEXTS];
    const struct shape shape = shape_of(COUNT_OF_TEXTS);
    const int64_t rows[] = { 0, COUNT_OF_TEXTS };
    for (int i = 0; i < COUNT_OF_TEXTS; i++)
        long_texts[i] = bytes_of(i == 0 ? repeated("a", TEXT_BYTES) : long_texts[0].data);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, long_texts);
    struct endpoint x = texts(), splits = integers(shape_of(2), rows);
    struct endpoint inputs[] = { x, splits, x, splits, build_const_float(&b, 0.5f) };
    struct endpoint y = build(&b, "RougeL", NULL, 5, inputs, NULL);
    assert_true(count_looks(x, &feed, y) > 8);
}

/* One acronym, and faces that end one sentence. */
static void a_long_text_of_marks_looks_at_the_deadline(void **state)
{
    (void)state;
    const struct bytes long_texts[] = { bytes_of(repeated("A.", 400000)),
                                        bytes_of(repeated(":)!", 200000)) };
    const struct shape shape = shape_of(COUNT(long_texts));
    struct tensor feed = tensor_borrow(DT_STRING, &shape, long_texts);
    struct endpoint x = texts();
    assert_true(count_looks(x, &feed, build(&b, "SentenceFragmentsV2", NULL, 1, &x, NULL)) > 10);
}

static void a_wide_row_of_windows_looks_at_the_deadline(void **state)
{
    (void)state;
    const struct shape shape = shape_of(1, 1, 400000, 1);
    struct endpoint x = build_placeholder(&b, "x", DT_INT32, shape);
    const int64_t size[] = { 1, 1, 100, 1 }, strides[] = { 1, 1, 1, 1 };
    struct endpoint y = build(&b, "MaxPool", NULL, 1, &x,
                              (struct attr[]){ attr_ints(&b, "ksize", 4, size),
                                               attr_ints(&b, "strides", 4, strides),
                                               attr_text("padding", "VALID"), ATTR_END });
    struct tensor feed = tensor_borrow(DT_INT32, &shape, arena_array(arena, 4, 400000));
    assert_true(count_looks(x, &feed, y) > 8);
}

/* A SequenceExample whose list "k" has 20000 features of one number. */
static struct bytes long_sequence(void)
{
    const size_t size = 20000 * 7;
    const size_t sizes[] = { size + 11, size + 7, size }; /* of lists, an entry, and its value */
    struct buffer out = { 0 };
    for (int i = 0; i < 3; i++) {
        if (i == 2)
            buffer_append(&out, "\x0a\x01k", 3);
        buffer_printf(&out, "%c%c%c%c", i == 1 ? 0x0a : 0x12, (int)(sizes[i] & 0x7f) | 0x80,
                      (int)(sizes[i] >> 7 & 0x7f) | 0x80, (int)(sizes[i] >> 14));
    }
    for (int i = 0; i < 20000; i++)
        buffer_append(&out, "\x0a\x05\x1a\x03\x0a\x01\x07", 7); /* int64_list { value: 7 } */
    struct bytes kept = { arena_memdup(arena, out.data, out.size), out.size };
    buffer_finish(&out);
    return kept;
}

static void one_long_sequence_looks_at_the_deadline(void **state)
{
    (void)state;
    const struct shape none = shape_of(0), one = shape_of(1);
    const struct bytes key = bytes_of("k"), record = long_sequence();
    const bool may_be_missing = false;
    const enum dtype type = DT_INT64;
    struct tensor nothing = tensor_borrow(DT_STRING, &none, "");
    struct tensor keys = tensor_borrow(DT_STRING, &one, &key);
    struct tensor missing = tensor_borrow(DT_BOOL, &one, &may_be_missing);
    struct tensor feed = tensor_borrow(DT_STRING, &one, &record);
    struct endpoint x = texts(), no_keys = build_const(&b, NULL, &nothing);
    const struct endpoint inputs[] = { x,
                                       no_keys,
                                       no_keys,
                                       no_keys,
                                       no_keys,
                                       no_keys,
                                       build_const(&b, NULL, &keys),
                                       no_keys,
                                       build_const(&b, NULL, &missing) };
    struct node *node = build_node(
        &b, "ParseSequenceExampleV2", NULL, 9, inputs, 0, NULL,
        (struct attr[]){ attr_int("Nfeature_list_dense", 1),
                         attr_types(&b, "feature_list_dense_types", 1, &type),
                         attr_shapes(&b, "feature_list_dense_shapes", 1, &one), ATTR_END });
    assert_ok(builder_status(&b));
    assert_true(count_looks(x, &feed, (struct endpoint){ node, 0 }) > 5);
}

/* The parsed form is larger than the text. */
static void the_run_is_charged_for_parsed_json(void **state)
{
    (void)state;
    struct endpoint x = texts(), y = build_unary(&b, "DecodeJSONExample", NULL, x);
    char *json = repeated(" ", 100000);
    memcpy(json, "{}", 2);
    assert_ok(run_text(x, y, json));
    run_destroy(run);
    run = run_create(1 << 20);
    assert_int_equal(run_text(x, y, json).code, STATUS_RESOURCE_EXHAUSTED);
}

/* They have one byte, and all other floats two or more. */
static void eight_bits_that_no_kernel_knows_are_shown(void **state)
{
    (void)state;
    const struct shape vector = shape_of(64); /* a whole buffer: a sanitizer sees a read beyond */
    struct tensor x, out;
    assert_ok(tensor_create(DT_FLOAT8_E4M3FNUZ, &vector, &x));
    memset(x.data, 0, tensor_bytes(&x));
    struct endpoint feed = build_placeholder(&b, NULL, DT_FLOAT8_E4M3FNUZ, vector);
    struct attr attrs[] = { attr_int("summarize", 2), ATTR_END };
    struct endpoint y = build(&b, "StringFormat", NULL, 1, &feed, attrs);
    struct plan *plan = plan_of(1, &feed, 1, &y, NULL);
    assert_ok(plan_run(plan, run, &x, &out));
    assert_true(bytes_equal(tensor_strings(&out)[0], bytes_of("[? ? ... ? ?]")));
    tensor_release(&out);
    tensor_release(&x);
    plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_ragged_tensor_of_too_many_rows_is_refused),
        TEST(splits_beyond_the_values_are_refused),
        TEST(empty_n_grams_end_at_the_deadline),
        TEST(the_lowest_maxsplit_is_no_limit),
        TEST(an_empty_part_at_the_end_is_written_nowhere),
        TEST(quadratic_searches_end_at_the_deadline),
        TEST(a_damaged_model_of_a_normalizer_is_refused),
        TEST(an_unknown_word_outlives_the_model),
        TEST(a_long_pattern_is_refused),
        TEST(a_long_update_that_ends_at_the_deadline_changes_nothing),
        TEST(the_two_types_of_a_pool_gradient_must_be_float),
        TEST(a_wide_normalization_looks_at_the_deadline),
        TEST(a_system_of_many_bands_looks_at_the_deadline),
        TEST(a_negative_depth_radius_is_refused),
        TEST(one_long_record_looks_at_the_deadline),
        TEST(parts_of_one_byte_look_at_the_deadline),
        TEST(an_endless_search_in_a_model_looks_at_the_deadline),
        TEST(long_texts_without_a_difference_look_at_the_deadline),
        TEST(a_long_text_of_marks_looks_at_the_deadline),
        TEST(a_wide_row_of_windows_looks_at_the_deadline),
        TEST(one_long_sequence_looks_at_the_deadline),
        TEST(the_run_is_charged_for_parsed_json),
        TEST(a_large_image_looks_at_the_deadline_between_lines),
        TEST(gradients_of_doubles_look_at_the_deadline_between_rows),
        TEST(many_draws_from_one_row_look_at_the_deadline),
        TEST(many_random_bits_look_at_the_deadline),
        TEST(a_crop_ends_at_the_last_pixel_of_a_wide_image),
        TEST(a_resized_line_ends_at_the_last_pixel_of_a_wide_image),
        TEST(a_reflection_from_far_away_has_no_overflow),
        TEST(a_scalar_has_no_dimension_for_a_transform),
        TEST(requantizing_other_types_than_qint32_is_refused),
        TEST(a_pool_without_its_attributes_is_refused),
        TEST(serializing_a_type_without_a_field_is_refused),
        TEST(a_window_ends_with_the_image),
        TEST(gradients_of_empty_lines_end_at_once),
        TEST(a_new_axis_before_too_many_dimensions_is_refused),
        TEST(a_ragged_gradient_of_too_many_zeros_is_refused),
        TEST(a_mean_of_more_rows_than_the_type_can_count_is_computed),
        TEST(an_xla_product_of_quantized_integers_is_refused),
        TEST(a_variable_of_lists_is_refused),
        TEST(lists_within_lists_end_one_by_one),
        TEST(eight_bits_that_no_kernel_knows_are_shown),
        TEST(a_long_text_that_is_repeated_is_not_folded),
        TEST(a_fold_of_large_constants_looks_at_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
