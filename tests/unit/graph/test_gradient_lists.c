/* Gradients of ops that move several elements of a list at once, compared with difference
 * quotients. An element that is gathered twice gets one of the two gradients, as in TensorFlow. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph/gradient.h"
#include "runtime/plan.h"
#include "support/status.h"
#include "support/test_group.h"

static struct endpoint ints(struct builder *b, int count, const int32_t *values)
{
    return build_const_ints(b, NULL, count, values);
}

static struct endpoint of_floats(struct builder *b, const char *op, int count,
                                 const struct endpoint *inputs)
{
    return build(b, op, NULL, count, inputs,
                 (const struct attr[]){ attr_type("element_dtype", DT_FLOAT), ATTR_END });
}

/* The rows of x, [2, 3], as a list. */
static struct endpoint as_list(struct builder *b, struct endpoint x)
{
    return build_binary(b, "TensorListFromTensor", NULL, x, ints(b, 1, (int32_t[]){ 3 }));
}

static struct endpoint rows_of_list(struct builder *b, struct endpoint list, int count,
                                    const int32_t *rows)
{
    const struct endpoint inputs[] = { list, ints(b, count, rows), ints(b, 1, (int32_t[]){ 3 }) };

    return of_floats(b, "TensorListGather", 3, inputs);
}

static struct endpoint joined(struct builder *b, struct endpoint list, int rank,
                              const int32_t *shape)
{
    const struct shape none = shape_of(0);
    const struct tensor empty = tensor_borrow(DT_INT64, &none, "");
    const struct endpoint inputs[] = { list, ints(b, rank, shape), build_const(b, NULL, &empty) };

    return of_floats(b, "TensorListConcatV2", 3, inputs);
}

static struct endpoint gathered(struct builder *b, struct endpoint x, struct endpoint w)
{
    (void)w;
    return rows_of_list(b, as_list(b, x), 1, (int32_t[]){ 1 });
}

static struct endpoint scattered(struct builder *b, struct endpoint x, struct endpoint w)
{
    (void)w;
    const struct endpoint inputs[] = { x, ints(b, 2, (int32_t[]){ 2, 0 }),
                                       ints(b, 1, (int32_t[]){ 3 }), build_const_int(b, 3) };
    struct endpoint list = build(b, "TensorListScatterV2", NULL, 4, inputs, NULL);

    return rows_of_list(b, list, 2, (int32_t[]){ 0, 2 });
}

static struct endpoint scattered_v1(struct builder *b, struct endpoint x, struct endpoint w)
{
    (void)w;
    const struct endpoint inputs[] = { x, ints(b, 2, (int32_t[]){ 1, 0 }),
                                       ints(b, 1, (int32_t[]){ 3 }) };

    return rows_of_list(b, build(b, "TensorListScatter", NULL, 3, inputs, NULL), 2,
                        (int32_t[]){ 0, 1 });
}

/* Row 0 of x becomes row 1 of w. */
static struct endpoint scattered_into(struct builder *b, struct endpoint x, struct endpoint w)
{
    struct endpoint row =
        build_slice(b, NULL, x, 2, (const int32_t[]){ 0, 0 }, (const int32_t[]){ 1, 3 });
    const struct endpoint inputs[] = { as_list(b, w), row, ints(b, 1, (int32_t[]){ 1 }) };

    return rows_of_list(b, build(b, "TensorListScatterIntoExistingList", NULL, 3, inputs, NULL), 2,
                        (int32_t[]){ 0, 1 });
}

static struct endpoint concatenated(struct builder *b, struct endpoint x, struct endpoint w)
{
    (void)w;
    return joined(b, as_list(b, x), 1, (int32_t[]){ -1 });
}

/* Columns of unequal number, the last of them first. */
static struct endpoint split(struct builder *b, struct endpoint x, struct endpoint w)
{
    const int64_t lengths[] = { 1, 2 };
    const struct shape two = shape_of(2);
    const struct tensor sizes = tensor_borrow(DT_INT64, &two, lengths);
    struct endpoint columns = build_binary(b, "Transpose", NULL, build_binary(b, "Mul", NULL, x, w),
                                           ints(b, 2, (int32_t[]){ 1, 0 }));
    const struct endpoint inputs[] = { columns, ints(b, 2, (int32_t[]){ -1, 2 }),
                                       build_const(b, NULL, &sizes) };
    struct endpoint list = build(b, "TensorListSplit", NULL, 3, inputs, NULL);
    const struct endpoint item[] = { list, build_const_int(b, 1), ints(b, 2, (int32_t[]){ 2, 2 }) };

    return of_floats(b, "TensorListGetItem", 3, item);
}

static struct endpoint resized(struct builder *b, struct endpoint x, struct endpoint w)
{
    (void)w;
    struct endpoint list =
        build_binary(b, "TensorListResize", NULL, as_list(b, x), build_const_int(b, 1));

    return rows_of_list(b, list, 1, (int32_t[]){ 0 });
}

/* ---- comparing ---- */

struct small_run {
    struct plan *plan;
    struct run *run;
    float values[2][6];
    struct tensor feeds[2];
};

static double run_once(struct small_run *r, double slopes[2][6])
{
    struct tensor got[3] = { { 0 } };

    run_reset(r->run);
    assert_ok(plan_run(r->plan, r->run, r->feeds, got));
    for (int k = 0; k < 2 && slopes != NULL; k++)
        for (int i = 0; i < 6; i++)
            slopes[k][i] = (double)tensor_floats(&got[1 + k])[i];
    double loss = (double)tensor_floats(&got[0])[0];
    tensors_release(3, got);
    return loss;
}

static void compare_with_quotients(struct small_run *r)
{
    const float h = 1e-2f;
    double slopes[2][6];

    run_once(r, slopes);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 6; i++) {
            float kept = r->values[k][i];
            r->values[k][i] = kept + h;
            double above = run_once(r, NULL);
            r->values[k][i] = kept - h;
            double below = run_once(r, NULL);
            r->values[k][i] = kept;
            assert_true(fabs(slopes[k][i] - (above - below) / (2 * (double)h)) < 1e-2);
        }
}

/* loss = Σy², + 0·Σxw so that both have a gradient */
static void check(struct endpoint (*make)(struct builder *, struct endpoint, struct endpoint))
{
    const struct shape shape = shape_of(2, 3);
    struct arena *arena = arena_create(0);
    struct builder b = builder_init(graph_create(arena));
    struct endpoint xs[] = { build_placeholder(&b, "x", DT_FLOAT, shape),
                             build_placeholder(&b, "w", DT_FLOAT, shape) };
    struct endpoint flat = ints(&b, 1, (int32_t[]){ -1 }), first = build_const_int(&b, 0);
    struct endpoint y = build_binary(&b, "Reshape", NULL, make(&b, xs[0], xs[1]), flat);
    struct endpoint nothing = build_binary(
        &b, "Mul", NULL, build_binary(&b, "Mul", NULL, xs[0], xs[1]), build_const_float(&b, 0));
    nothing = build_binary(&b, "Reshape", NULL, nothing, flat);
    struct endpoint loss = build_binary(
        &b, "AddV2", NULL, build_binary(&b, "Sum", NULL, build_unary(&b, "Square", NULL, y), first),
        build_binary(&b, "Sum", NULL, nothing, first));
    struct endpoint fetches[3] = { loss };
    struct small_run r = { .run = run_create(0),
                           .values = { { .5f, -1, .25f, 2, -.75f, 1.5f },
                                       { 1, -2, .5f, .75f, -1.25f, 2 } } };

    for (int k = 0; k < 2; k++)
        r.feeds[k] = tensor_borrow(DT_FLOAT, &shape, r.values[k]);
    assert_ok(builder_status(&b));
    assert_ok(graph_gradients(&b, loss, 2, xs, fetches + 1));
    const struct flatten_request request = {
        .feeds = xs, .feeds_count = 2, .fetches = fetches, .fetches_count = 3
    };
    assert_ok(plan_create(b.graph, &request, NULL, NULL, NULL, &r.plan));
    compare_with_quotients(&r);
    run_destroy(r.run);
    plan_destroy(r.plan);
    graph_finish(b.graph);
    arena_destroy(arena);
}

#define TEST(name, make)           \
    static void name(void **state) \
    {                              \
        (void)state;               \
        check(make);               \
    }
TEST(an_element_that_is_not_gathered_gets_no_gradient, gathered)
TEST(scattered_rows_get_the_gradients_of_their_places, scattered)
TEST(so_do_rows_of_a_list_as_long_as_its_indices, scattered_v1)
TEST(replaced_elements_get_no_gradient, scattered_into)
TEST(the_gradient_of_joined_elements_is_cut_apart, concatenated)
TEST(the_gradients_of_parts_are_joined, split)
TEST(elements_that_were_cut_off_get_no_gradient, resized)
#undef TEST

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_that_is_not_gathered_gets_no_gradient),
        cmocka_unit_test(scattered_rows_get_the_gradients_of_their_places),
        cmocka_unit_test(so_do_rows_of_a_list_as_long_as_its_indices),
        cmocka_unit_test(replaced_elements_get_no_gradient),
        cmocka_unit_test(the_gradient_of_joined_elements_is_cut_apart),
        cmocka_unit_test(the_gradients_of_parts_are_joined),
        cmocka_unit_test(elements_that_were_cut_off_get_no_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
