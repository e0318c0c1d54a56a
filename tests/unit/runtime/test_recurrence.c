/* The loops of recurrent layers as one node (plan/fuse_recurrence.c): the plan without fusing,
 * which runs the loop, must give the same. */
#include "plan_fixture.h"
#include "support/test_group.h"

#include <math.h>

#include "base/parallel.h"
#include "graph/while_loop.h"
#include "runtime/recurrence.h"

#define INPUTS   3
#define CELLS    2
#define STEPS    5
#define ROWS_MAX 60

enum cell { LSTM, GRU, GRU_SLICED, SIMPLE };

/* What differs from the loop that Keras exports. */
enum oddity {
    NONE,
    NO_BIAS,
    SWAPPED,
    RELU,
    CHANGED_INPUT,
    SHIFTED,
    NEGATIVE_STEP,
    HALF_GATE,
    MASK,
    ZEROING_MASK,
    HALF_MASK,
    NO_PLACE
};

static const struct row {
    const char *label;
    enum cell cell;
    bool sequences; /* each step's h, not only the last one */
    enum oddity oddity;
    bool stays; /* a loop */
} rows[] = {
    { "lstm", LSTM, false, NONE, false },
    { "lstm, sequences", LSTM, true, NONE, false },
    { "lstm without bias", LSTM, false, NO_BIAS, false },
    { "lstm, operands in another order", LSTM, true, SWAPPED, false },
    { "gru", GRU, false, NONE, false },
    { "gru, sequences", GRU, true, NONE, false },
    { "gru of slices", GRU_SLICED, false, NONE, false },
    { "gru, operands in another order", GRU, true, SWAPPED, false },
    { "gru without bias", GRU, true, NO_BIAS, false },
    { "simple", SIMPLE, false, NONE, false },
    { "simple, sequences", SIMPLE, true, NONE, false },
    { "lstm with a mask", LSTM, false, MASK, false },
    { "lstm with a mask, sequences", LSTM, true, MASK, false },
    { "gru with a mask", GRU, true, MASK, false },
    { "simple with a mask", SIMPLE, false, MASK, false },
    { "gru with a mask that gives 0", GRU, true, ZEROING_MASK, false },
    { "simple with a mask that gives 0", SIMPLE, false, ZEROING_MASK, false },
    { "a mask of the output alone stays", GRU, false, HALF_MASK, true },
    { "another activation stays", LSTM, false, RELU, true },
    { "another activation stays (simple)", SIMPLE, false, RELU, true },
    { "an input that is changed first stays", SIMPLE, false, CHANGED_INPUT, true },
    { "gates in another order stay", LSTM, false, SHIFTED, true },
    { "slices of other columns stay", GRU_SLICED, false, SHIFTED, true },
    { "a time that falls stays", SIMPLE, false, NEGATIVE_STEP, true },
    { "a gru whose gate is not 1 - z stays", GRU, false, HALF_GATE, true },
};

/* ---- the body of the loop ---- */

struct body {
    struct builder *b;
    const struct row *row;
};

static struct endpoint weights(const struct body *body, int64_t rows_count, int64_t columns)
{
    struct shape shape = rows_count > 0 ? shape_of(rows_count, columns) : shape_of(columns);
    int64_t size = shape_size(&shape);
    float *values = ARENA_ARRAY(arena, float, size);
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 7 + columns) % 13) / 6 - 0.9f;
    struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, values);
    return build_const(body->b, NULL, &tensor);
}

static struct endpoint pair(const struct body *body, const char *op, struct endpoint x,
                            struct endpoint y)
{
    bool swap = body->row->oddity == SWAPPED && strcmp(op, "MatMul") != 0;
    return build_binary(body->b, op, NULL, swap ? y : x, swap ? x : y);
}

static struct endpoint unary(const struct body *body, const char *op, struct endpoint x)
{
    bool other = body->row->oddity == RELU && strcmp(op, "Tanh") == 0;
    return build_unary(body->b, other ? "Relu" : op, NULL, x);
}

static struct endpoint biased(const struct body *body, struct endpoint x, int gates)
{
    return body->row->oddity == NO_BIAS
               ? x
               : build_binary(body->b, "BiasAdd", NULL, x, weights(body, 0, gates * CELLS));
}

static struct endpoint product(const struct body *body, struct endpoint x, int64_t depth, int gates)
{
    return pair(body, "MatMul", x, weights(body, depth, (int64_t)gates * CELLS));
}

static void split(const struct body *body, struct endpoint sum, int count, struct endpoint *out)
{
    const struct endpoint inputs[] = { build_const_int(body->b, 1), sum };
    struct node *node = build_node(body->b, "Split", NULL, 2, inputs, 0, NULL,
                                   (struct attr[]){ attr_int("num_split", count), ATTR_END });
    for (int i = 0; i < count; i++)
        out[i] = (struct endpoint){ node, i };
}

static void slices(const struct body *body, struct endpoint sum, int count, struct endpoint *out)
{
    for (int i = 0; i < count; i++) {
        int part = body->row->oddity == SHIFTED ? (i + 1) % count : i;
        const int32_t from[] = { 0, part * CELLS }, end[] = { 0, (part + 1) * CELLS };
        const int32_t step[] = { 1, 1 };
        const struct endpoint inputs[] = { sum, build_const_ints(body->b, NULL, 2, from),
                                           build_const_ints(body->b, NULL, 2, end),
                                           build_const_ints(body->b, NULL, 2, step) };
        out[i] =
            build(body->b, "StridedSlice", NULL, 4, inputs,
                  (struct attr[]){ attr_int("begin_mask", 1), attr_int("end_mask", 1), ATTR_END });
    }
}

static struct endpoint lstm(const struct body *body, struct endpoint x, struct endpoint h,
                            struct endpoint *c)
{
    struct endpoint z[4];
    int f = body->row->oddity == SHIFTED ? 2 : 1, g = 3 - f;
    struct endpoint sum =
        pair(body, "AddV2", product(body, x, INPUTS, 4), product(body, h, CELLS, 4));
    split(body, biased(body, sum, 4), 4, z);
    struct endpoint kept = pair(body, "Mul", unary(body, "Sigmoid", z[f]), *c);
    struct endpoint added =
        pair(body, "Mul", unary(body, "Sigmoid", z[0]), unary(body, "Tanh", z[g]));
    *c = pair(body, "AddV2", kept, added);
    return pair(body, "Mul", unary(body, "Sigmoid", z[3]), unary(body, "Tanh", *c));
}

static struct endpoint gru(const struct body *body, struct endpoint x, struct endpoint h)
{
    struct endpoint of_x[3], of_h[3];
    split(body, biased(body, product(body, x, INPUTS, 3), 3), 3, of_x);
    (body->row->cell == GRU ? split : slices)(body, biased(body, product(body, h, CELLS, 3), 3), 3,
                                              of_h);
    struct endpoint z = unary(body, "Sigmoid", pair(body, "AddV2", of_x[0], of_h[0]));
    struct endpoint r = unary(body, "Sigmoid", pair(body, "AddV2", of_x[1], of_h[1]));
    struct endpoint candidate =
        unary(body, "Tanh", pair(body, "AddV2", of_x[2], pair(body, "Mul", r, of_h[2])));
    struct endpoint one = build_const_float(body->b, body->row->oddity == HALF_GATE ? 0.5f : 1);
    struct endpoint rest = build_binary(body->b, "Sub", NULL, one, z);
    return pair(body, "AddV2", pair(body, "Mul", z, h), pair(body, "Mul", rest, candidate));
}

static struct endpoint simple(const struct body *body, struct endpoint x, struct endpoint h)
{
    struct endpoint sum = biased(body, product(body, x, INPUTS, 1), 1);
    return unary(body, "Tanh", pair(body, "AddV2", sum, product(body, h, CELLS, 1)));
}

static struct endpoint cell(const struct body *body, struct endpoint x, struct endpoint h,
                            struct endpoint *c)
{
    if (body->row->cell == LSTM)
        return lstm(body, x, h, c);
    return body->row->cell == SIMPLE ? simple(body, x, h) : gru(body, x, h);
}

/* ---- the loop ---- */

enum { LIST, RESULTS, H, C, MASKS, ZEROS, OUTPUT, CARRIED };

static struct endpoint element_shape(struct builder *builder, int32_t columns)
{
    return build_const_ints(builder, NULL, 2, (const int32_t[]){ -1, columns });
}

static struct endpoint reserve(const struct row *row)
{
    const struct endpoint inputs[] = { element_shape(&b, CELLS),
                                       build_const_int(&b, row->sequences ? STEPS : 1) };
    return build(&b, "TensorListReserve", NULL, 2, inputs,
                 (struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END });
}

static bool is_masked(const struct row *row)
{
    return row->oddity == MASK || row->oddity == ZEROING_MASK || row->oddity == HALF_MASK;
}

static struct endpoint item_of(struct builder *builder, struct endpoint list, struct endpoint time,
                               int32_t columns, enum dtype dtype)
{
    const struct endpoint item[] = { list, time, element_shape(builder, columns) };
    return build(builder, "TensorListGetItem", NULL, 3, item,
                 (struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

/* SelectV2, by the mask of this step. */
static struct endpoint choose(struct while_loop *loop, struct endpoint yes, struct endpoint no)
{
    struct builder *builder = &loop->builder;
    struct endpoint mask = item_of(builder, loop->values[MASKS], loop->time, 1, DT_BOOL);
    const int32_t times[] = { 1, 1 };
    mask = build_binary(builder, "Tile", NULL, mask, build_const_ints(builder, NULL, 2, times));
    return build(builder, "SelectV2", NULL, 3, (struct endpoint[]){ mask, yes, no }, NULL);
}

static void build_body(struct while_loop *loop, const struct row *row, struct endpoint *results)
{
    struct builder *builder = &loop->builder;
    struct body body = { builder, row };
    struct endpoint time = loop->time, h = loop->values[H], c = loop->values[C];
    if (row->oddity == NEGATIVE_STEP)
        time = build_binary(builder, "Sub", NULL, build_const_int(builder, STEPS - 1), time);
    struct endpoint x = item_of(builder, loop->values[LIST], time, INPUTS, DT_FLOAT);
    if (row->oddity == CHANGED_INPUT)
        x = build_unary(builder, "Abs", NULL, x);
    h = cell(&body, x, h, &c);
    struct endpoint output = h;
    if (is_masked(row)) {
        struct endpoint zeros = loop->values[row->oddity == ZEROING_MASK ? ZEROS : OUTPUT];
        output = choose(loop, h, zeros);
        h = row->oddity == HALF_MASK ? h : choose(loop, h, loop->values[H]);
        c = row->cell == LSTM ? choose(loop, c, loop->values[C]) : c;
    }
    struct endpoint last = row->oddity == NO_PLACE ? build_const_ints(builder, NULL, 0, NULL)
                                                   : build_const_int(builder, 0);
    const struct endpoint set[] = { loop->values[RESULTS], row->sequences ? loop->time : last,
                                    output };
    memcpy(results, loop->values, CARRIED * sizeof *results);
    results[RESULTS] = build(builder, "TensorListSetItem", NULL, 3, set, NULL);
    results[H] = h;
    results[C] = c;
    if (is_masked(row))
        results[OUTPUT] = output;
}

/* x [STEPS, ?, INPUTS], h and c [?, CELLS] -> h and c after the last step, and the stacked
 * results. */
static void build_loop(const struct row *row, const struct endpoint *feeds,
                       struct endpoint *fetches)
{
    struct while_loop loop;
    struct endpoint carried[CARRIED] = {
        [LIST] =
            build_binary(&b, "TensorListFromTensor", NULL, feeds[0], element_shape(&b, INPUTS)),
        [RESULTS] = reserve(row),
        [H] = feeds[1],
        [C] = feeds[2],
        [MASKS] = build(&b, "TensorListFromTensor", NULL, 2,
                        (struct endpoint[]){ feeds[3], element_shape(&b, 1) },
                        (struct attr[]){ attr_type("element_dtype", DT_BOOL), ATTR_END }),
        [ZEROS] = build_unary(&b, "ZerosLike", NULL, feeds[1]),
        [OUTPUT] = build_unary(&b, "Neg", NULL, feeds[1]),
    };
    struct endpoint results[CARRIED], outputs[CARRIED];
    assert_ok(while_loop_begin(&loop, &b, "loop", CARRIED, carried));
    build_body(&loop, row, results);
    assert_ok(while_loop_end(&loop, STEPS, results, outputs));
    const struct endpoint stack[] = { outputs[RESULTS], element_shape(&b, CELLS) };
    fetches[0] = build(&b, "TensorListStack", NULL, 2, stack,
                       (struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END });
    fetches[1] = outputs[H];
    fetches[2] = outputs[C];
}

/* ---- fusing on and off ---- */

struct feeds {
    float x[STEPS * ROWS_MAX * INPUTS], h[ROWS_MAX * CELLS], c[ROWS_MAX * CELLS];
    bool mask[STEPS * ROWS_MAX];
};

static void fill(struct feeds *feeds, float special)
{
    for (int i = 0; i < STEPS * ROWS_MAX * INPUTS; i++)
        feeds->x[i] = (float)((i * 5) % 17) / 8 - 1;
    for (int i = 0; i < ROWS_MAX * CELLS; i++) {
        feeds->h[i] = (float)((i * 3) % 7) / 4 - 0.8f;
        feeds->c[i] = (float)((i * 3) % 11) / 5 - 1;
    }
    for (int i = 0; i < STEPS * ROWS_MAX; i++)
        feeds->mask[i] = i % 3 != 0 && i % 7 != 5;
    feeds->x[4] = special;
}

static struct tensor masks(int64_t rows_count, const struct feeds *values)
{
    struct shape shape = shape_of(STEPS, rows_count, 1);
    return tensor_borrow(DT_BOOL, &shape, values->mask);
}

static void run_both(const struct plan *fused, const struct plan *loop, const struct feeds *values,
                     int64_t x_rows, int64_t rows_count)
{
    const struct tensor feeds[] = { floats(shape_of(STEPS, x_rows, INPUTS), values->x),
                                    floats(shape_of(rows_count, CELLS), values->h),
                                    floats(shape_of(rows_count, CELLS), values->c),
                                    masks(rows_count, values) };
    struct tensor got[3], want[3];
    assert_ok(plan_run(fused, run, feeds, got));
    assert_ok(plan_run(loop, run, feeds, want));
    for (int i = 0; i < 3; i++) {
        assert_string_equal(shape_text(&got[i].shape), shape_text(&want[i].shape));
        for (int64_t j = 0; j < want[i].size; j++) {
            float a = tensor_floats(&got[i])[j], z = tensor_floats(&want[i])[j];
            if (isnan(a) != isnan(z) || (!isnan(z) && fabsf(a - z) > 2e-6f))
                fail_msg("%lld rows: [%lld] of result %d is %.9g, not %.9g", (long long)rows_count,
                         (long long)j, i, (double)a, (double)z);
        }
        tensor_release(&got[i]);
        tensor_release(&want[i]);
    }
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
}

static void make_plans(const struct row *row, struct plan **fused, struct plan **loop)
{
    struct plan_options off = { .no_fuse = true };
    struct endpoint fetches[3];
    const struct endpoint feeds[] = {
        build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, -1, INPUTS)),
        build_placeholder(&b, "h", DT_FLOAT, shape_of(-1, CELLS)),
        build_placeholder(&b, "c", DT_FLOAT, shape_of(-1, CELLS)),
        build_placeholder(&b, "mask", DT_BOOL, shape_of(-1, -1, 1)),
    };
    build_loop(row, feeds, fetches);
    *fused = plan_of(4, feeds, 3, fetches, NULL);
    *loop = plan_of(4, feeds, 3, fetches, &off);
}

static void gives_what_the_loop_gives(void **state)
{
    static const float special[] = { 0, NAN, INFINITY, 1e30f };
    const struct row *row = *state;
    struct feeds values;
    struct plan *fused, *loop;
    setup(NULL);
    make_plans(row, &fused, &loop);
    assert_int_equal(plan_has(fused, "_Recurrence"), !row->stays);
    assert_false(plan_has(loop, "_Recurrence"));
    for (size_t i = 0; i < COUNT(special); i++) {
        fill(&values, special[i]);
        run_both(fused, loop, &values, 2, 2);
    }
    static const int64_t sizes[] = { 0, 1, 5, 12, 31, ROWS_MAX };
    for (size_t i = 0; i < COUNT(sizes); i++)
        run_both(fused, loop, &values, sizes[i], sizes[i]);
    run_both(fused, loop, &values, 1, 30); /* one input for all states */
    plan_destroy(fused);
    plan_destroy(loop);
    teardown(NULL);
}

/* ---- bits ---- */

static void run_once(const struct plan *plan, const struct feeds *values, int64_t rows_count,
                     struct tensor *out)
{
    const struct tensor feeds[] = { floats(shape_of(STEPS, rows_count, INPUTS), values->x),
                                    floats(shape_of(rows_count, CELLS), values->h),
                                    floats(shape_of(rows_count, CELLS), values->c),
                                    masks(rows_count, values) };
    assert_ok(plan_run(plan, run, feeds, out));
}

static void has_the_same_bits_for_any_width(void **state)
{
    const struct row *row = *state;
    struct feeds values;
    struct plan *fused, *loop;
    struct tensor want[3], got[3];
    setup(NULL);
    fill(&values, 0);
    make_plans(row, &fused, &loop);
    run_once(fused, &values, ROWS_MAX, want);
    parallel_set_part_ns(0);
    for (int width = 1; width <= 3; width++) {
        parallel_set_width(width);
        run_once(fused, &values, ROWS_MAX, got);
        for (int i = 0; i < 3; i++) {
            assert_memory_equal(got[i].data, want[i].data, tensor_bytes(&want[i]));
            tensor_release(&got[i]);
        }
    }
    parallel_set_width(1);
    tensors_release(3, want);
    plan_destroy(fused);
    plan_destroy(loop);
    teardown(NULL);
}

/* ---- errors ---- */

static void fails_as_the_loop_does(void **state)
{
    (void)state;
    struct feeds values;
    struct plan *fused, *loop;
    struct tensor out[3];
    make_plans(&rows[0], &fused, &loop);
    fill(&values, 0);
    static const struct {
        int64_t steps, rows, columns, h_rows, h_columns;
        const char *text;
    } wrong[] = {
        { STEPS - 1, 2, INPUTS, 2, CELLS, "Trying to access element 4 in a list with 4 elements." },
        { STEPS, 2, INPUTS + 1, 2, CELLS, "Matrix size-incompatible" },
        { STEPS, 2, INPUTS, 3, CELLS, "Incompatible shapes" },
        { STEPS, 2, INPUTS, 2, CELLS + 1, "Incompatible shapes" },
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const struct tensor feeds[] = {
            floats(shape_of(wrong[i].steps, wrong[i].rows, wrong[i].columns), values.x),
            floats(shape_of(wrong[i].h_rows, wrong[i].h_columns), values.h),
            floats(shape_of(wrong[i].rows, CELLS), values.c), masks(wrong[i].rows, &values)
        };
        struct status status = plan_run(fused, run, feeds, out);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, wrong[i].text));
        assert_int_equal(plan_run(loop, run, feeds, out).code, STATUS_INVALID_ARGUMENT);
        assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    }
    plan_destroy(fused);
    plan_destroy(loop);
}

static void a_result_without_a_place_stays(void **state)
{
    (void)state;
    const struct row row = { .cell = SIMPLE, .oddity = NO_PLACE };
    struct plan *fused, *loop;
    make_plans(&row, &fused, &loop);
    assert_false(plan_has(fused, "_Recurrence"));
    plan_destroy(fused);
    plan_destroy(loop);
}

/* ---- counters that limit nothing ---- */

enum { COUNTED_LIST, COUNTED_H, COUNTER, COUNTED };

/* A simple cell whose loop also counts in each element of feeds[2]. */
static void build_counting_loop(const struct endpoint *feeds, struct endpoint *fetches)
{
    struct while_loop loop;
    const struct row row = { .cell = SIMPLE };
    const struct endpoint carried[] = { build_binary(&b, "TensorListFromTensor", NULL, feeds[0],
                                                     element_shape(&b, INPUTS)),
                                        feeds[1], feeds[2] };
    struct endpoint results[COUNTED];
    assert_ok(while_loop_begin(&loop, &b, "counting", COUNTED, carried));
    struct builder *builder = &loop.builder;
    struct body body = { builder, &row };
    const struct endpoint item[] = { loop.values[COUNTED_LIST], loop.time,
                                     element_shape(builder, INPUTS) };
    struct endpoint x = build(builder, "TensorListGetItem", NULL, 3, item,
                              (struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END });
    results[COUNTED_LIST] = loop.values[COUNTED_LIST];
    results[COUNTED_H] = simple(&body, x, loop.values[COUNTED_H]);
    results[COUNTER] =
        build_binary(builder, "AddV2", NULL, loop.values[COUNTER], build_const_int(builder, 1));
    assert_ok(while_loop_end(&loop, STEPS, results, fetches));
}

static void counts_in_any_shape(void **state)
{
    (void)state;
    static struct feeds values;
    static const int32_t counts[] = { 7, INT32_MAX, -2 };
    const struct endpoint feeds[] = { build_placeholder(&b, "x", DT_FLOAT,
                                                        shape_of(-1, -1, INPUTS)),
                                      build_placeholder(&b, "h", DT_FLOAT, shape_of(-1, CELLS)),
                                      build_placeholder(&b, "n", DT_INT32, shape_of(-1)) };
    struct endpoint fetches[COUNTED];
    build_counting_loop(feeds, fetches);
    struct plan *plan = plan_of(3, feeds, 1, &fetches[COUNTER], NULL);
    assert_true(plan_has(plan, "_Recurrence"));
    fill(&values, 0);
    for (int64_t size = 0; size <= 3; size++) {
        const struct shape shape = shape_of(size);
        const struct tensor given[] = { floats(shape_of(STEPS, 2, INPUTS), values.x),
                                        floats(shape_of(2, CELLS), values.h),
                                        tensor_borrow(DT_INT32, &shape, counts) };
        struct tensor got;
        assert_ok(plan_run(plan, run, given, &got));
        assert_string_equal(shape_text(&got.shape), shape_text(&shape));
        for (int64_t i = 0; i < size; i++)
            assert_int_equal(tensor_int32s(&got)[i],
                             (int32_t)((uint32_t)counts[i] + (uint32_t)STEPS));
        tensor_release(&got);
    }
    plan_destroy(plan);
}

/* ---- nodes that a graph has already ---- */

/* h is float in a result and uint8 before the first step: too short for its rows. */
static void refuses_a_state_of_another_type(void **state)
{
    (void)state;
    const struct row row = { .cell = SIMPLE };
    const struct body body = { &b, &row };
    const struct endpoint inputs[] = { build_placeholder(&b, "x", DT_FLOAT,
                                                         shape_of(-1, -1, INPUTS)),
                                       weights(&body, INPUTS, CELLS),
                                       weights(&body, CELLS, CELLS),
                                       weights(&body, 0, CELLS),
                                       build_const_int(&b, STEPS),
                                       build_const_int(&b, 0),
                                       build_placeholder(&b, "h", DT_UINT8, shape_of(-1, CELLS)) };
    static const int64_t limited[] = { 0 }, roles[] = { RECURRENCE_TIME, RECURRENCE_H };
    static const enum dtype given[] = { DT_INT32, DT_UINT8 }, made[] = { DT_INT32, DT_FLOAT };
    const struct attr attrs[] = { attr_text("cell", "simple"),
                                  attr_int("at", -1),
                                  attr_text("masked", ""),
                                  attr_int("M", 1),
                                  attr_int("N", 0),
                                  attr_ints(&b, "limited", 1, limited),
                                  attr_ints(&b, "roles", 2, roles),
                                  attr_types(&b, "Tcarried", 2, given),
                                  attr_types(&b, "Tresults", 2, made),
                                  ATTR_END };
    struct node *node = build_node(&b, "_Recurrence", NULL, 7, inputs, 0, NULL, attrs);
    const struct endpoint feeds[] = { inputs[0], inputs[6] }, fetch = { node, 1 };
    struct flatten_request request = {
        .feeds = feeds, .feeds_count = 2, .fetches = &fetch, .fetches_count = 1
    };
    struct plan *plan;
    assert_ok(builder_status(&b));
    struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        TEST(fails_as_the_loop_does),
        TEST(a_result_without_a_place_stays),
        TEST(counts_in_any_shape),
        TEST(refuses_a_state_of_another_type),
    };
    static const int wide[] = { 1, 5, 10, 12 };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, gives_what_the_loop_gives);
    for (size_t i = 0; i < COUNT(wide); i++)
        test_group_add(&group,
                       (struct CMUnitTest){ .name = "has_the_same_bits_for_any_width",
                                            .test_func = has_the_same_bits_for_any_width,
                                            .initial_state = (void *)(uintptr_t)&rows[wide[i]] });
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "recurrence", NULL, NULL);
}
