/* Tests that a run with zeros fills the cost table, and that it asks nothing of a model that it
 * cannot know. */

#include "../runtime/plan_fixture.h"
#include "server/inference/zero_warmup.h"

static struct budget budget;
static struct signature_tensor input, output = { .key = "y", .tensor_name = "y:0" };
static struct signature signature;
static struct callable callable;
static struct servable servable;
static int checks;

static struct status check(const void *context)
{
    (void)context;
    checks++;
    return status_ok();
}

static const struct work_limits limits = { .check = check };

/* x -> tanh(x), where the signature declares this shape of x. */
static void begin(struct shape shape)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, -1));
    struct endpoint y = build_unary(&b, "Tanh", NULL, x);
    input = (struct signature_tensor){ .key = "x", .dtype = DT_FLOAT, .shape = shape };
    signature = (struct signature){ .name = "serving_default",
                                    .inputs = &input,
                                    .inputs_count = 1,
                                    .outputs = &output,
                                    .outputs_count = 1 };
    callable = (struct callable){ .servable = &servable,
                                  .signature = &signature,
                                  .plan = plan_of(1, &x, 1, &y, NULL) };
    callable.predictable = plan_cost_is_predictable(callable.plan);
    assert_true(callable.predictable);
    callable_init(&callable, &servable, &signature);
    servable = (struct servable){
        .name = "m", .version = 1, .callables = &callable, .callables_count = 1
    };
    budget = (struct budget){ .limit_bytes = 1 << 20 };
    checks = 0;
}

static void end(void)
{
    assert_int_equal(budget.used_bytes, 0);
    callable_finish(&callable);
    plan_destroy((struct plan *)(uintptr_t)callable.plan);
}

/* What the table knows about one row of so many columns. */
static int64_t cost_of(int64_t columns)
{
    struct tensor one = floats(shape_of(1, columns), NULL);
    return cost_find(&callable.costs, cost_key_of(&one, 1, cost_bytes(&one, 1), 1));
}

static void an_unknown_dimension_is_one(void **state)
{
    (void)state;
    begin(shape_of(-1, 4));
    assert_int_equal(cost_of(4), 0);
    zero_warmup(&servable, &budget, &limits);
    assert_true(cost_of(4) > 0);
    assert_true(checks > 0);
    end();
}

static void a_plan_that_may_have_side_effects_does_not_run(void **state)
{
    (void)state;
    begin(shape_of(-1, 4));
    callable.predictable = false;
    zero_warmup(&servable, &budget, &limits);
    assert_int_equal(cost_of(4), 0);
    end();
}

static void inputs_that_cannot_be_made_up_are_left_alone(void **state)
{
    static const struct shape unknown = { .rank = SHAPE_UNKNOWN_RANK };
    const struct shape shapes[] = { unknown, shape_of(-1, 1 << 30), shape_of(INT64_MAX, INT64_MAX),
                                    shape_of(1, 1 << 19) /* over the budget */ };
    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        begin(shapes[i]);
        zero_warmup(&servable, &budget, &limits);
        assert_null(callable.idle.first); /* nothing ran */
        end();
        teardown(NULL);
        setup(NULL);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_dimension_is_one),
        TEST(a_plan_that_may_have_side_effects_does_not_run),
        TEST(inputs_that_cannot_be_made_up_are_left_alone),
    };
    return cmocka_run_group_tests_name("zero_warmup", tests, NULL, NULL);
}
