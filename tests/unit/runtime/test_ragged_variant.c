/* Ragged tensors in variants: what goes in comes out, as TensorFlow stacks it. The values and
 * texts are those of TensorFlow 2.21. */
#include "plan_fixture.h"

#define INTS(...)  ((const int64_t[]){ __VA_ARGS__ })
#define SPLITS_MAX 2

/* Splits with the number of their elements in front. */
struct variant_case {
    int rank; /* of the ragged tensor that goes in */
    const int64_t *splits[SPLITS_MAX];
    struct shape values;
    bool batched;
    int input_rank, output_rank;
    const int64_t *want[SPLITS_MAX]; /* splits that come out */
    struct shape want_values;
    const char *error; /* NULL: none */
};

static const float numbers[] = { 1, 2, 3, 4, 5, 6 };

static struct endpoint splits_of(const int64_t *counted)
{
    struct shape shape = shape_of(counted[0]);
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, counted + 1);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint to_variant(const struct variant_case *c, struct endpoint values)
{
    struct endpoint inputs[SPLITS_MAX + 1];
    for (int i = 0; i < c->rank; i++)
        inputs[i] = splits_of(c->splits[i]);
    inputs[c->rank] = values;
    return build(&b, "RaggedTensorToVariant", NULL, c->rank + 1, inputs,
                 (struct attr[]){ attr_int("RAGGED_RANK", c->rank), attr_type("Tvalues", DT_FLOAT),
                                  attr_type("Tsplits", DT_INT64),
                                  attr_bool("batched_input", c->batched), ATTR_END });
}

static struct node *from_variant(struct endpoint encoded, int input_rank, int output_rank,
                                 enum dtype dtype)
{
    return build_node(&b, "RaggedTensorFromVariant", NULL, 1, &encoded, 0, NULL,
                      (struct attr[]){ attr_int("input_ragged_rank", input_rank),
                                       attr_int("output_ragged_rank", output_rank),
                                       attr_type("Tvalues", dtype), attr_type("Tsplits", DT_INT64),
                                       ATTR_END });
}

static void check_splits(const struct tensor *got, const int64_t *counted)
{
    assert_int_equal(got->size, counted[0]);
    for (int64_t i = 0; i < got->size; i++)
        assert_int_equal(tensor_int64s(got)[i], counted[i + 1]);
}

static void comes_out_as_tensorflow_stacks_it(void **state)
{
    const struct variant_case *c = *state;
    struct tensor got[SPLITS_MAX + 1] = { 0 };
    struct endpoint fetches[SPLITS_MAX + 1];
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_unknown());
    struct node *node = from_variant(to_variant(c, x), c->input_rank, c->output_rank, DT_FLOAT);
    for (int i = 0; i <= c->output_rank; i++)
        fetches[i] = (struct endpoint){ node, i };
    struct plan *plan = plan_of(1, &x, c->output_rank + 1, fetches, NULL);
    struct tensor feed = floats(c->values, numbers);
    struct status status = plan_run(plan, run, &feed, got);
    if (c->error != NULL) {
        assert_fails(status, STATUS_INVALID_ARGUMENT, c->error);
    } else {
        assert_ok(status);
        for (int i = 0; i < c->output_rank; i++)
            check_splits(&got[i], c->want[i]);
        assert_true(shape_equal(&got[c->output_rank].shape, &c->want_values));
        assert_values(&got[c->output_rank], (int)got[c->output_rank].size, numbers);
    }
    for (int i = 0; i <= SPLITS_MAX; i++)
        tensor_release(&got[i]);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
    teardown(NULL);
}

/* ---- other elements, and the gradient ---- */

static void another_variant_is_refused(void **state)
{
    (void)state;
    const int32_t shape = -1, count = 2;
    struct endpoint inputs[] = { build_const_int(&b, shape), build_const_int(&b, count) };
    struct endpoint list = build(&b, "TensorListReserve", NULL, 2, inputs,
                                 (struct attr[]){ attr_type("element_dtype", DT_FLOAT),
                                                  attr_type("shape_type", DT_INT32), ATTR_END });
    struct endpoint y = { from_variant(list, 0, 0, DT_FLOAT), 0 };
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    struct tensor out;
    assert_fails(
        plan_run(plan, run, NULL, &out), STATUS_INVALID_ARGUMENT,
        "Input Variant element at index 0 doesn't hold a RaggedTensorVariant: tensor list");
    plan_destroy(plan);
}

static void another_type_of_values_is_refused(void **state)
{
    (void)state;
    const struct variant_case c = { .rank = 1, .splits = { INTS(2, 0, 3) }, .batched = true };
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_unknown());
    struct node *node = from_variant(to_variant(&c, x), 0, 1, DT_INT32);
    struct endpoint y = { node, 1 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(3), numbers), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "Expected values Tensor dtype: int32, found: float");
    plan_destroy(plan);
}

static struct endpoint gradient_of(struct endpoint encoded, const int64_t *splits, int32_t rows)
{
    struct shape one = shape_of(1);
    struct tensor dims = tensor_borrow(DT_INT32, &one, &rows);
    const struct endpoint inputs[] = { encoded, splits_of(splits), build_const(&b, NULL, &dims) };
    return build(&b, "RaggedTensorToVariantGradient", NULL, 3, inputs,
                 (struct attr[]){ attr_type("Tvalues", DT_FLOAT), attr_type("Tsplits", DT_INT64),
                                  ATTR_END });
}

static void the_gradient_joins_the_values(void **state)
{
    (void)state;
    const struct variant_case c = { .rank = 1, .splits = { INTS(4, 0, 2, 2, 5) }, .batched = true };
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_unknown());
    struct endpoint y = gradient_of(to_variant(&c, x), INTS(4, 0, 2, 2, 5), 5);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_runs(plan, floats(shape_of(5), numbers), 5, numbers);
    plan_destroy(plan);
}

/* TensorFlow 2.21 cuts the values instead. */
static void a_gradient_of_another_size_is_refused(void **state)
{
    (void)state;
    const struct variant_case c = { .rank = 1, .splits = { INTS(4, 0, 2, 2, 5) }, .batched = true };
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_unknown());
    struct endpoint y = gradient_of(to_variant(&c, x), INTS(4, 0, 2, 2, 4), 4);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(5), numbers), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "the gradients of the variants do not fit shape [4]");
    plan_destroy(plan);
}

#define SPLITS "Invalid ragged splits: "
#define CASE(label, ...)                                               \
    {                                                                  \
        .name = label, .test_func = comes_out_as_tensorflow_stacks_it, \
        .initial_state = &(struct variant_case)                        \
        {                                                              \
            __VA_ARGS__                                                \
        }                                                              \
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE("rows", 1, { INTS(4, 0, 2, 2, 5) }, shape_of(5), true, 0, 1, { INTS(4, 0, 2, 2, 5) },
             shape_of(5), NULL),
        CASE("rows of an inferred rank", 1, { INTS(4, 0, 2, 2, 5) }, shape_of(5), true, -1, 1,
             { INTS(4, 0, 2, 2, 5) }, shape_of(5), NULL),
        CASE("all at once", 1, { INTS(4, 0, 2, 2, 5) }, shape_of(5), false, 1, 1,
             { INTS(4, 0, 2, 2, 5) }, shape_of(5), NULL),
        CASE("rows of rows", 2, { INTS(3, 0, 2, 3), INTS(4, 0, 1, 1, 5) }, shape_of(5), true, 1, 2,
             { INTS(3, 0, 2, 3), INTS(4, 0, 1, 1, 5) }, shape_of(5), NULL),
        CASE("values of rank 2", 1, { INTS(3, 0, 1, 3) }, shape_of(3, 2), true, 0, 1,
             { INTS(3, 0, 1, 3) }, shape_of(3, 2), NULL),
        CASE("rows of a matrix as ragged rows", 0, { NULL }, shape_of(2, 2), true, 0, 1,
             { INTS(3, 0, 2, 4) }, shape_of(4), NULL),
        CASE("numbers of a vector", 0, { NULL }, shape_of(5), true, -1, 0, { NULL }, shape_of(5),
             NULL),
        CASE("rows of a matrix", 0, { NULL }, shape_of(2, 3), true, -1, 0, { NULL }, shape_of(2, 3),
             NULL),
        CASE("a tensor", 0, { NULL }, shape_of(5), false, 0, 0, { NULL }, shape_of(5), NULL),
        CASE("no rows", 1, { INTS(1, 0) }, shape_of(0), true, 0, 1, { INTS(1, 0) }, shape_of(0),
             NULL),
        CASE("no rows, of rank 1", 1, { INTS(1, 0) }, shape_of(0), true, 1, 2,
             { INTS(1, 0), INTS(1, 0) }, shape_of(0), NULL),
        CASE("another rank inside", 1, { INTS(4, 0, 2, 2, 5) }, shape_of(5), true, 1, 2, { NULL },
             shape_of(0),
             "Encoded input RaggedTensorVariant has ragged_rank=0.  Expected ragged_rank=1."),
        CASE("another rank outside", 1, { INTS(4, 0, 2, 2, 5) }, shape_of(5), true, 0, 2, { NULL },
             shape_of(0),
             "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
             "output_ragged_rank: 2, input_ragged_rank: 0, encoded_variant.dims(): 1."),
        CASE("rows of different lengths", 1, { INTS(3, 0, 2, 5) }, shape_of(5), true, -1, 0,
             { NULL }, shape_of(0),
             "All flat_values must have compatible shapes.  Shape at index 0: [2].  Shape at "
             "index 1: [3].  If you are using tf.map_fn, then you may need to specify an explicit "
             "fn_output_signature with appropriate ragged_rank, and/or convert output tensors to "
             "RaggedTensors."),
        CASE("splits past the values", 1, { INTS(3, 0, 2, 9) }, shape_of(5), true, 0, 1, { NULL },
             shape_of(0),
             SPLITS "last element of ragged splits must be the number of ragged values(5) but is "
                    "9"),
        CASE("splits that fall", 1, { INTS(4, 0, 3, 2, 5) }, shape_of(5), true, 0, 1, { NULL },
             shape_of(0),
             SPLITS "ragged splits must be monotonically increasing, but ragged_splits[2]=2 is "
                    "smaller than row_splits[1]=3"),
        CASE("splits past other splits", 2, { INTS(3, 0, 2, 3), INTS(3, 0, 1, 5) }, shape_of(5),
             true, 1, 2, { NULL }, shape_of(0),
             SPLITS "last element of ragged splits must be the number of ragged values(2) but is "
                    "3"),
        CASE("no splits", 1, { INTS(0) }, shape_of(5), false, 1, 1, { NULL }, shape_of(0),
             SPLITS "ragged splits must have at least one splits, but is empty"),
        CASE("a row of a scalar", 0, { NULL }, shape_scalar(), true, 0, 1, { NULL }, shape_of(0),
             "Can't unbatch rank-0 tensor."),
        TEST(another_variant_is_refused),
        TEST(another_type_of_values_is_refused),
        TEST(the_gradient_joins_the_values),
        TEST(a_gradient_of_another_size_is_refused),
    };
    return cmocka_run_group_tests_name("ragged_variant", tests, NULL, NULL);
}
