/* Composite tensors in scalars: what tests/golden/datasets cannot hold. */
#include "unit/runtime/plan_fixture.h"

#include "graph/gradient.h"

static struct endpoint encode(int count, const struct endpoint *components)
{
    return build(&b, "CompositeTensorVariantFromComponents", "some", count, components,
                 (struct attr[]){ attr_text("metadata", ""), ATTR_END });
}

static struct node *decode(struct endpoint encoded, int count, const enum dtype *types)
{
    return build_node(&b, "CompositeTensorVariantToComponents", "parts", 1, &encoded, 0, NULL,
                      (struct attr[]){ attr_text("metadata", ""),
                                       attr_types(&b, "Tcomponents", count, types), ATTR_END });
}

static struct status run_floats(struct endpoint x, struct endpoint fetch, struct tensor *out)
{
    struct tensor feed = floats(shape_of(2), VALUES(1, 2));
    struct plan *plan = plan_of(1, &x, 1, &fetch, NULL);
    struct status status = plan_run(plan, run, &feed, out);
    plan_destroy(plan);
    return status;
}

/* The second component has no gradient, which counts as zeros; the third is an integer. */
static void passes_gradients(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2));
    struct endpoint y = const_floats("y", shape_of(2), VALUES(5, 7));
    struct endpoint encoded = encode(3, (struct endpoint[]){ build_binary(&b, "Mul", "twice", x, y),
                                                             x, build_const_int(&b, 3) });
    struct node *parts = decode(encoded, 3, (enum dtype[]){ DT_FLOAT, DT_FLOAT, DT_INT32 });
    struct endpoint product = build_binary(&b, "Mul", "product", (struct endpoint){ parts, 0 }, y);
    struct endpoint gradient;
    struct tensor out;
    assert_ok(graph_gradients(&b, product, 1, &x, &gradient));
    assert_ok(run_floats(x, gradient, &out));
    assert_memory_equal(out.data, VALUES(25, 49), 2 * sizeof(float));
    tensor_release(&out);
}

static void expect_failure(struct endpoint encoded)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2));
    struct tensor out;
    struct status status =
        run_floats(x, (struct endpoint){ decode(encoded, 1, (enum dtype[]){ DT_FLOAT }), 0 }, &out);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(
        strstr(status.message, "The input `encoded` is not a valid CompositeTensorVariant tensor"));
}

static void refuses_other_variants(void **state)
{
    (void)state;
    expect_failure(build(&b, "OptionalNone", "none", 0, NULL, NULL));
}

static void refuses_no_variants(void **state)
{
    (void)state;
    struct endpoint x = const_floats("y", shape_of(2), VALUES(5, 7));
    const struct endpoint none = build_const_ints(&b, "none", 1, (const int32_t[]){ 0 });
    expect_failure(build_binary(&b, "BroadcastTo", "no", encode(1, &x), none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(passes_gradients, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_variants, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_no_variants, setup, teardown),
    };
    return cmocka_run_group_tests_name("composite", tests, NULL, NULL);
}
