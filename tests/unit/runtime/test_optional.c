/* Optionals, whose texts of errors are TensorFlow's. */
#include "unit/runtime/plan_fixture.h"

#include "graph/gradient.h"

static struct endpoint optional_of(int count, const struct endpoint *components)
{
    return build(&b, "OptionalFromValue", "some", count, components, NULL);
}

static struct endpoint none(void)
{
    return build(&b, "OptionalNone", "none", 0, NULL, NULL);
}

static struct endpoint has_value(struct endpoint optional)
{
    return build(&b, "OptionalHasValue", "has", 1, &optional, NULL);
}

static struct node *get_values(struct endpoint optional, int count, const enum dtype *types,
                               const struct shape *shapes)
{
    const struct attr attrs[] = { attr_types(&b, "output_types", count, types),
                                  attr_shapes(&b, "output_shapes", count, shapes), ATTR_END };
    return build_node(&b, "OptionalGetValue", "get", 1, &optional, 0, NULL, attrs);
}

/* The first output of OptionalGetValue, for one component of floats. */
static struct endpoint get_floats(struct endpoint optional, struct shape shape)
{
    return (struct endpoint){ get_values(optional, 1, (enum dtype[]){ DT_FLOAT }, &shape), 0 };
}

static struct status run_floats(struct endpoint x, int count, const struct endpoint *fetches,
                                struct tensor *out)
{
    struct tensor feed = floats(shape_of(2), VALUES(1, 2));
    struct plan *plan = plan_of(1, &x, count, fetches, NULL);
    struct status status = plan_run(plan, run, &feed, out);
    plan_destroy(plan);
    return status;
}

static void gives_back_its_components(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2));
    struct endpoint some = optional_of(2, (struct endpoint[]){ build_const_int(&b, 3), x });
    struct node *values = get_values(some, 2, (enum dtype[]){ DT_INT32, DT_FLOAT },
                                     (struct shape[]){ shape_unknown(), shape_of(-1) });
    const struct endpoint fetches[] = {
        { values, 0 }, { values, 1 }, has_value(some), has_value(none())
    };
    struct tensor out[4];
    assert_ok(run_floats(x, 4, fetches, out));
    assert_int_equal(tensor_int32s(&out[0])[0], 3);
    assert_memory_equal(out[1].data, VALUES(1, 2), 2 * sizeof(float));
    assert_true(tensor_bools(&out[2])[0]);
    assert_false(tensor_bools(&out[3])[0]);
    tensors_release(4, out);
}

static void holds_an_optional(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2)), inside = none();
    struct shape scalar = shape_scalar();
    struct node *got =
        get_values(optional_of(1, &inside), 1, (enum dtype[]){ DT_VARIANT }, &scalar);
    const struct endpoint fetches[] = { x, has_value((struct endpoint){ got, 0 }) };
    struct tensor out[2];
    assert_ok(run_floats(x, 2, fetches, out));
    assert_false(tensor_bools(&out[1])[0]);
    tensor_release(&out[0]);
    tensor_release(&out[1]);
}

static void expect_failure(struct endpoint x, struct endpoint fetch, const char *text)
{
    struct tensor out = { 0 };
    assert_fails(run_floats(x, 1, &fetch, &out), STATUS_INVALID_ARGUMENT, text);
}

static void names_what_does_not_fit(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2));
    struct endpoint two = optional_of(2, (struct endpoint[]){ x, x }), one = optional_of(1, &x);
    struct endpoint number = build_const_int(&b, 3);
    struct endpoint pair = build(&b, "Pack", "pair", 2, (struct endpoint[]){ one, none() }, NULL);
    const struct attr list_attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    struct endpoint list =
        build(&b, "TensorListReserve", "list", 2,
              (struct endpoint[]){ build_const_int(&b, -1), number }, list_attrs);
    expect_failure(x, get_floats(none(), shape_unknown()),
                   "The given optional does not have a value.");
    expect_failure(x, get_floats(two, shape_unknown()),
                   "The given optional has 2 components, expected 1");
    expect_failure(x, get_floats(one, shape_of(3)),
                   "The given optional does not match the expected shape for component 0. "
                   "Expected: [3]. Actual: [2].");
    expect_failure(x, get_floats(optional_of(1, &number), shape_unknown()),
                   "The given optional does not match the expected type for component 0. "
                   "Expected: float. Actual: int32.");
    expect_failure(x, has_value(pair),
                   "Input to OptionalHasValue must be a scalar tensor containing an "
                   "OptionalVariant object.");
    expect_failure(x, get_floats(list, shape_unknown()),
                   "Input to OptionalGetValue must be an OptionalVariant object.");
}

static void refuses_shapes_of_another_number(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2)),
                    some = optional_of(1, &x);
    const struct attr attrs[] = {
        attr_types(&b, "output_types", 1, (enum dtype[]){ DT_FLOAT }),
        attr_shapes(&b, "output_shapes", 2, (struct shape[]){ shape_of(2), shape_of(2) }), ATTR_END
    };
    struct endpoint fetch = build(&b, "OptionalGetValue", "get", 1, &some, attrs);
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &fetch, .fetches_count = 1
    };
    struct plan_options options = { 0 };
    struct plan *plan = NULL;
    struct status status = plan_create(graph, &request, resources, NULL, &options, &plan);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "output_types and output_shapes must be same length"));
}

/* The second component has no gradient, which counts as zeros. */
static void passes_gradients(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2));
    struct endpoint y = const_floats("y", shape_of(2), VALUES(5, 7));
    struct endpoint some = optional_of(2, (struct endpoint[]){ x, y });
    struct node *values = get_values(some, 2, (enum dtype[]){ DT_FLOAT, DT_FLOAT },
                                     (struct shape[]){ shape_of(2), shape_of(2) });
    struct endpoint product = build_binary(&b, "Mul", "product", (struct endpoint){ values, 0 }, y);
    struct endpoint gradient;
    assert_ok(graph_gradients(&b, product, 1, &x, &gradient));
    struct tensor out;
    assert_ok(run_floats(x, 1, &gradient, &out));
    assert_memory_equal(out.data, VALUES(5, 7), 2 * sizeof(float));
    tensor_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gives_back_its_components, setup, teardown),
        cmocka_unit_test_setup_teardown(holds_an_optional, setup, teardown),
        cmocka_unit_test_setup_teardown(names_what_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_shapes_of_another_number, setup, teardown),
        cmocka_unit_test_setup_teardown(passes_gradients, setup, teardown),
    };
    return cmocka_run_group_tests_name("optional", tests, NULL, NULL);
}
