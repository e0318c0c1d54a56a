#include "function_fixture.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "graph/control_flow.h"

static const enum dtype float_type[] = { DT_FLOAT };

static struct tensor int_scalar(const int32_t *value)
{
    struct shape scalar = shape_scalar();
    return tensor_borrow(DT_INT32, &scalar, value);
}

/* ---- branches ---- */

static void add_branches(void)
{
    add_function("negate", 1, float_type, 1, float_type, TEXTS("n:y:0"), 1,
                 &(struct line){ "n", "Neg", { "a0" }, { T_FLOAT } });
    add_function("square", 1, float_type, 1, float_type, TEXTS("s:y:0"), 1,
                 &(struct line){ "s", "Square", { "a0" }, { T_FLOAT } });
    add_function("hand_on", 1, float_type, 1, float_type, TEXTS("a0"), 0, NULL);
}

static struct endpoint build_if(struct endpoint condition, struct endpoint x)
{
    enum dtype types[] = { DT_FLOAT };
    return build(&b, "If", "branch", 2, (struct endpoint[]){ condition, x },
                 (struct attr[]){ attr_types(&b, "Tout", 1, types),
                                  attr_func("then_branch", "negate"),
                                  attr_func("else_branch", "square"), ATTR_END });
}

static void an_if_takes_the_branch_that_its_condition_says(void **state)
{
    (void)state;
    add_branches();
    struct endpoint c = build_placeholder(&b, "c", DT_BOOL, shape_scalar());
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct endpoint y = build_if(c, x);
    struct plan *plan = plan_of(2, (struct endpoint[]){ c, x }, 1, &y, NULL);
    struct shape scalar = shape_scalar();
    for (int i = 0; i < 4; i++) {
        bool truth = i % 2 == 0;
        struct tensor feeds[] = { tensor_borrow(DT_BOOL, &scalar, &truth),
                                  floats(shape_of(2), VALUES(2, 3)) };
        struct tensor out;
        assert_ok(plan_run(plan, run, feeds, &out));
        assert_values(&out, 2, truth ? VALUES(-2, -3) : VALUES(4, 9));
        tensor_release(&out);
        assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    }
    plan_destroy(plan);
}

/* The rules of TensorFlow's ToBool (functional_ops.cc). */
static void conditions_follow_tensorflows_rules(void **state)
{
    (void)state;
    add_branches();
    struct shape scalar = shape_scalar(), empty = shape_of(0), one = shape_of(1);
    float zero = 0, minus_zero = -0.0f, half = 0.5f;
    int32_t none = 0, some = 256;
    struct bytes no_text = { "", 0 }, text = { "0", 1 };
    bool no = false;
    const struct {
        struct tensor condition;
        bool truth;
    } rows[] = {
        { tensor_borrow(DT_FLOAT, &scalar, &zero), false },
        { tensor_borrow(DT_FLOAT, &scalar, &minus_zero), false },
        { tensor_borrow(DT_FLOAT, &scalar, &half), true },
        { tensor_borrow(DT_INT32, &scalar, &none), false },
        { tensor_borrow(DT_INT32, &scalar, &some), true },
        { tensor_borrow(DT_STRING, &scalar, &no_text), false },
        { tensor_borrow(DT_STRING, &scalar, &text), true },
        { tensor_borrow(DT_BOOL, &one, &no), true },
        { tensor_borrow(DT_BOOL, &empty, &no), false },
    };
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct endpoint c = build_placeholder(&b, NULL, rows[i].condition.dtype, shape_unknown());
        struct endpoint y = build_if(c, x);
        struct plan *plan = plan_of(2, (struct endpoint[]){ c, x }, 1, &y, NULL);
        struct tensor feeds[] = { rows[i].condition, floats(shape_of(1), VALUES(3)) }, out;
        assert_ok(plan_run(plan, run, feeds, &out));
        assert_values(&out, 1, rows[i].truth ? VALUES(-3) : VALUES(9));
        tensor_release(&out);
        plan_destroy(plan);
    }
}

/* TensorFlow makes Switches of such an If, whose condition is a bool. */
static void a_lowered_if_takes_no_numbers(void **state)
{
    (void)state;
    add_branches();
    enum dtype types[] = { DT_FLOAT };
    struct endpoint c = build_placeholder(&b, "c", DT_INT32, shape_scalar());
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct endpoint y =
        build(&b, "If", "branch", 2, (struct endpoint[]){ c, x },
              (struct attr[]){ attr_types(&b, "Tout", 1, types), attr_func("then_branch", "negate"),
                               attr_func("else_branch", "square"), attr_bool(ATTR_LOWERED, true),
                               ATTR_END });
    struct plan *plan = plan_of(2, (struct endpoint[]){ c, x }, 1, &y, NULL);
    int32_t one = 1;
    struct tensor feeds[] = { int_scalar(&one), floats(shape_of(1), VALUES(3)) }, out;
    assert_fails(plan_run(plan, run, feeds, &out), STATUS_INVALID_ARGUMENT,
                 "Input 'pred' passed int32 expected bool [node 'branch' (If)]");
    plan_destroy(plan);
}

static void a_constant_condition_leaves_one_branch(void **state)
{
    (void)state;
    add_branches();
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct endpoint y = build_if(const_bool("c", false), x);
    struct plan_options off = { .no_fold = true };
    struct plan *folded = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_int_equal(plan_steps_count(folded), 1);
    assert_true(plan_has(plain, "If("));
    assert_runs(folded, floats(shape_of(1), VALUES(5)), 1, VALUES(25));
    assert_runs(plain, floats(shape_of(1), VALUES(5)), 1, VALUES(25));
    plan_destroy(folded);
    plan_destroy(plain);
}

static void a_case_out_of_range_takes_the_last_branch(void **state)
{
    (void)state;
    add_branches();
    struct endpoint i = build_placeholder(&b, "i", DT_INT32, shape_scalar());
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    enum dtype types[] = { DT_FLOAT };
    struct attr_value branches[] = { attr_func("", "negate").value, attr_func("", "square").value,
                                     attr_func("", "hand_on").value };
    struct attr list = {
        "branches",
        { .kind = ATTR_LIST, .element_kind = ATTR_FUNC, .count = 3, .elements = branches }
    };
    struct endpoint y = build(&b, "Case", "case", 2, (struct endpoint[]){ i, x },
                              (struct attr[]){ attr_types(&b, "Tout", 1, types), list, ATTR_END });
    struct plan *plan = plan_of(2, (struct endpoint[]){ i, x }, 1, &y, NULL);
    const struct {
        int32_t index;
        float value;
    } rows[] = { { 0, -3 }, { 1, 9 }, { 2, 3 }, { 3, 3 }, { -1, 3 } };
    for (size_t r = 0; r < COUNT(rows); r++) {
        struct tensor feeds[] = { int_scalar(&rows[r].index), floats(shape_of(1), VALUES(3)) };
        struct tensor out;
        assert_ok(plan_run(plan, run, feeds, &out));
        assert_values(&out, 1, &rows[r].value);
        tensor_release(&out);
    }
    plan_destroy(plan);
}

/* ---- loops ---- */

/* while i < limit: i += 1, x = x · factor. limit and factor are loop-invariant. */
static void add_loop(void)
{
    const enum dtype types[] = { DT_INT32, DT_INT32, DT_FLOAT, DT_FLOAT };
    static const int32_t one_value = 1;
    struct tensor *one = ARENA_NEW(arena, struct tensor);
    *one = int_scalar(&one_value);
    add_function("cond", 4, types, 1, DTYPES_OF(DT_BOOL), TEXTS("l:z:0"), 1,
                 &(struct line){ "l", "Less", { "a0", "a1" }, { T_INT } });
    const struct line body[] = {
        { "one", "Const", { NULL }, { attr_type("dtype", DT_INT32), attr_tensor("value", one) } },
        { "add", "AddV2", { "a0", "one:output:0" }, { T_INT } },
        { "mul", "Mul", { "a2", "a3" }, { T_FLOAT } },
        { "limit", "Identity", { "a1" }, { T_INT } },
    };
    add_function("body", 4, types, 4, types, TEXTS("add:z:0", "limit:output:0", "mul:z:0", "a3"), 4,
                 body);
}

static struct node *build_loop(struct endpoint i, struct endpoint limit, struct endpoint x,
                               struct endpoint factor)
{
    return build_node(
        &b, "While", "loop", 4, (struct endpoint[]){ i, limit, x, factor }, 0, NULL,
        (struct attr[]){ attr_func("cond", "cond"), attr_func("body", "body"), ATTR_END });
}

static void a_loop_runs_until_its_condition_ends_it(void **state)
{
    (void)state;
    add_loop();
    struct endpoint limit = build_placeholder(&b, "limit", DT_INT32, shape_scalar());
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct node *loop = build_loop(build_const_int(&b, 0), limit, x,
                                   const_floats("two", shape_scalar(), VALUES(2)));
    struct endpoint fetches[] = { { loop, 0 }, { loop, 2 }, { loop, 1 } };
    struct plan_options off = { .no_fold = true, .no_fuse = true };
    const struct plan_options *options[] = { NULL, &off };
    for (int o = 0; o < 2; o++) {
        struct plan *plan = plan_of(2, (struct endpoint[]){ limit, x }, 3, fetches, options[o]);
        for (int32_t rounds = 0; rounds < 4; rounds++) {
            struct tensor feeds[] = { int_scalar(&rounds), floats(shape_of(2), VALUES(1, 3)) };
            struct tensor out[3];
            float factor = (float)(1 << rounds);
            assert_ok(plan_run(plan, run, feeds, out));
            assert_int_equal(tensor_int32s(&out[0])[0], rounds);
            assert_values(&out[1], 2, VALUES(factor, 3 * factor));
            assert_int_equal(tensor_int32s(&out[2])[0], rounds);
            tensors_release(3, out);
            run_reset(run);
            assert_int_equal(tensor_pool_used(run_pool(run)), 0);
        }
        plan_destroy(plan);
    }
}

/* What a profile heard, by op. */
struct heard {
    struct run_profile profile;
    int loops, products;
    int64_t total_ns;
};

static void hear(struct run_profile *profile, const struct node *node, int64_t took_ns)
{
    struct heard *heard = (struct heard *)profile;
    assert_true(took_ns >= 0); /* not so if a loop's time were taken from its body */
    heard->total_ns += took_ns;
    heard->loops += strcmp(node->op_name, "While") == 0;
    heard->products += strcmp(node->op_name, "Mul") == 0;
}

static void a_profile_hears_each_step_with_its_own_time(void **state)
{
    (void)state;
    add_loop();
    struct endpoint limit = build_placeholder(&b, "limit", DT_INT32, shape_scalar());
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct endpoint out_x = { build_loop(build_const_int(&b, 0), limit, x,
                                         const_floats("two", shape_scalar(), VALUES(2))),
                              2 };
    struct plan *plan = plan_of(2, (struct endpoint[]){ limit, x }, 1, &out_x, NULL);
    struct heard heard = { .profile.step = hear };
    int32_t rounds = 5;
    struct tensor feeds[] = { int_scalar(&rounds), floats(shape_of(2), VALUES(1, 3)) };
    struct tensor out;
    for (int i = 0; i < 2; i++) {
        run_set_profile(run, i == 0 ? &heard.profile : NULL);
        int64_t began_ns = clock_now_ns(clock_monotonic());
        assert_ok(plan_run(plan, run, feeds, &out));
        int64_t took_ns = clock_now_ns(clock_monotonic()) - began_ns;
        assert_values(&out, 2, VALUES(32, 96));
        tensor_release(&out);
        run_reset(run);
        assert_int_equal(heard.loops, 1); /* the second run has no profile */
        assert_int_equal(heard.products, 5);
        if (i == 0)
            assert_true(heard.total_ns <= took_ns);
    }
    plan_destroy(plan);
}

static void a_long_loop_runs_in_flat_memory(void **state)
{
    (void)state;
    add_loop();
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct node *loop = build_loop(build_const_int(&b, 0), build_const_int(&b, 10000), x,
                                   const_floats("one", shape_scalar(), VALUES(1)));
    struct endpoint y = { loop, 2 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct run *small = run_create(30000); /* room for seven values of 4000 bytes */
    static float values[1000];
    struct tensor feed = floats(shape_of(1000), values), out;
    assert_ok(plan_run(plan, small, &feed, &out));
    tensor_release(&out);
    run_destroy(small);
    plan_destroy(plan);
}

static void the_deadline_ends_a_loop(void **state)
{
    (void)state;
    add_loop();
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct node *loop = build_loop(build_const_int(&b, 0), build_const_int(&b, 0x7fffffff), x,
                                   const_floats("one", shape_scalar(), VALUES(1)));
    struct endpoint y = { loop, 2 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(1), VALUES(1)), out;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    run_set_deadline(run, (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec + 20000000U);
    assert_int_equal(plan_run(plan, run, &feed, &out).code, STATUS_DEADLINE_EXCEEDED);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
}

/* a, b = b, a for n iterations. Neither result may overwrite the other before it is read. */
static void a_loop_can_swap_its_values(void **state)
{
    (void)state;
    const enum dtype types[] = { DT_FLOAT, DT_FLOAT, DT_FLOAT };
    add_function("cond", 3, types, 1, DTYPES_OF(DT_BOOL), TEXTS("l:z:0"), 1,
                 &(struct line){ "l", "Less", { "a2", "a0" }, { T_FLOAT } });
    add_function("body", 3, types, 3, types, TEXTS("a1", "a0", "a2"), 0, NULL);
    struct endpoint args[3];
    for (int i = 0; i < 3; i++)
        args[i] = build_placeholder(&b, NULL, DT_FLOAT, shape_scalar());
    struct node *loop = build_node(
        &b, "StatelessWhile", "loop", 3, args, 0, NULL,
        (struct attr[]){ attr_func("cond", "cond"), attr_func("body", "body"), ATTR_END });
    struct endpoint fetches[] = { { loop, 0 }, { loop, 1 }, { loop, 2 } };
    struct plan *plan = plan_of(3, args, 3, fetches, NULL);
    struct tensor feeds[] = { floats(shape_scalar(), VALUES(9)), floats(shape_scalar(), VALUES(1)),
                              floats(shape_scalar(), VALUES(5)) };
    struct tensor out[3];
    assert_ok(plan_run(plan, run, feeds, out));
    assert_values(&out[0], 1, VALUES(1));
    assert_values(&out[1], 1, VALUES(9));
    assert_values(&out[2], 1, VALUES(5));
    tensors_release(3, out);
    plan_destroy(plan);
}

static void constants_reach_into_loops(void **state)
{
    (void)state;
    add_loop();
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct endpoint factor =
        build_unary(&b, "Neg", NULL, const_floats("two", shape_scalar(), VALUES(2)));
    struct node *loop = build_loop(build_const_int(&b, 0), build_const_int(&b, 3), x, factor);
    struct endpoint y = { loop, 2 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_true(plan_has(plan, ", #")); /* Mul(%x, #factor) in the body */
    assert_runs(plan, floats(shape_of(1), VALUES(1)), 1, VALUES(-8));
    plan_destroy(plan);
}

static void a_body_of_other_types_is_refused(void **state)
{
    (void)state;
    add_branches();
    struct endpoint c = build_placeholder(&b, "c", DT_INT32, shape_scalar());
    enum dtype types[] = { DT_INT32 };
    struct endpoint y = build(&b, "If", "branch", 2, (struct endpoint[]){ c, c },
                              (struct attr[]){ attr_types(&b, "Tout", 1, types),
                                               attr_func("then_branch", "hand_on"),
                                               attr_func("else_branch", "negate"), ATTR_END });
    assert_ok(builder_status(&b));
    struct flatten_request request = {
        .feeds = &c, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan),
                 STATUS_INVALID_ARGUMENT,
                 "node 'branch' (If): argument 0 of function 'hand_on' is float, should be int32");
}

/* An unknown op has no known output type. The error must name the op, not the type. */
static void an_unknown_op_in_a_body_is_named(void **state)
{
    (void)state;
    add_branches();
    add_function("strange", 1, float_type, 1, float_type, TEXTS("s:y:0"), 1,
                 &(struct line){ "s", "Strange", { "a0" }, { T_FLOAT } });
    struct endpoint c = build_placeholder(&b, "c", DT_FLOAT, shape_scalar());
    enum dtype types[] = { DT_FLOAT };
    struct endpoint y[2];
    y[0] = build(&b, "If", "branch", 2, (struct endpoint[]){ c, c },
                 (struct attr[]){ attr_types(&b, "Tout", 1, types),
                                  attr_func("then_branch", "strange"),
                                  attr_func("else_branch", "negate"), ATTR_END });
    y[1] = build(
        &b, "While", "loop", 1, &c,
        (struct attr[]){ attr_func("cond", "hand_on"), attr_func("body", "strange"), ATTR_END });
    assert_ok(builder_status(&b));
    for (int i = 0; i < 2; i++) {
        struct flatten_request request = {
            .feeds = &c, .feeds_count = 1, .fetches = &y[i], .fetches_count = 1
        };
        struct plan *plan;
        assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan),
                     STATUS_UNIMPLEMENTED, "op 'Strange' of node 's' is not implemented");
    }
}

static void an_unknown_op_before_a_body_is_named(void **state)
{
    (void)state;
    add_branches();
    struct endpoint c = build_placeholder(&b, "c", DT_FLOAT, shape_scalar());
    struct endpoint strange = build_unary(&b, "Neg", "s", c);
    strange.node->op_name = "Strange";
    strange.node->op = NULL;
    enum dtype types[] = { DT_FLOAT };
    struct endpoint y = build(&b, "If", "branch", 2, (struct endpoint[]){ c, strange },
                              (struct attr[]){ attr_types(&b, "Tout", 1, types),
                                               attr_func("then_branch", "hand_on"),
                                               attr_func("else_branch", "negate"), ATTR_END });
    assert_ok(builder_status(&b));
    strange.node->outputs[0].dtype = DT_INVALID;
    struct flatten_request request = {
        .feeds = &c, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan), STATUS_UNIMPLEMENTED,
                 "op 'Strange' of node 's' is not implemented");
}

static void a_function_that_calls_itself_is_refused(void **state)
{
    (void)state;
    add_branches();
    enum dtype types[] = { DT_FLOAT };
    struct endpoint c = build_placeholder(&b, "c", DT_FLOAT, shape_scalar());
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, 4);
    attrs[0] = attr_func("then_branch", "endless");
    attrs[1] = attr_func("else_branch", "negate");
    attrs[2] = attr_types(&b, "Tin", 1, types);
    struct line line = { "i", "If", { "a0", "a0" }, { attrs[0], attrs[1], attrs[2] } };
    add_function("endless", 1, float_type, 1, float_type, TEXTS("i:output:0"), 1, &line);
    struct body_node *node = &graph->library->functions[3].nodes[0];
    node->attrs = ARENA_ARRAY(arena, struct attr, 5);
    for (int i = 0; i < 3; i++)
        node->attrs[i] = attrs[i];
    node->attrs[3] = attr_types(&b, "Tout", 1, types);
    node->attrs[4] = attr_type("Tcond", DT_FLOAT);
    node->attrs_count = 5;

    struct endpoint y = build(&b, "If", "top", 2, (struct endpoint[]){ c, c },
                              (struct attr[]){ attr_types(&b, "Tout", 1, types),
                                               attr_func("then_branch", "endless"),
                                               attr_func("else_branch", "negate"), ATTR_END });
    assert_ok(builder_status(&b));
    struct flatten_request request = {
        .feeds = &c, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan), STATUS_UNIMPLEMENTED,
                 "function 'endless' calls itself");
}

/* The call's consumers have been checked against the types that it declares. */
static void a_call_whose_function_returns_another_type_is_refused(void **state)
{
    (void)state;
    const struct line body[] = { { "y", "Identity", { "a0" }, { T_FLOAT } } };
    add_function("f", 1, DTYPES_OF(DT_FLOAT), 1, DTYPES_OF(DT_INT32), TEXTS("y:output:0"), 1, body);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    struct node *call = build_node(&b, "PartitionedCall", "call", 1, &x, 0, NULL,
                                   (struct attr[]){ attr_types(&b, "Tout", 1, DTYPES_OF(DT_INT32)),
                                                    attr_func("f", "f"), ATTR_END });
    assert_ok(builder_status(&b));
    struct endpoint y = build_unary(&b, "InvertPermutation", "y", (struct endpoint){ call, 0 });
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan),
                 STATUS_INVALID_ARGUMENT,
                 "node 'call' (PartitionedCall): output 0 is int32, the function returns float");
}

/* ---- limits ---- */

/* One op with 65536 outputs, and others that take the list of them four times. */
static void add_wide_function(const char *name, int takers)
{
    struct line *lines = ARENA_ARRAY(arena, struct line, takers + 2);
    lines[0] = (struct line){
        "many", "Unpack", { "a0" }, { attr_int("num", 65536), T_FLOAT, attr_int("axis", 0) }
    };
    lines[1] = (struct line){ "n", "Neg", { "a0" }, { T_FLOAT } };
    for (int i = 0; i < takers; i++)
        lines[2 + i] =
            (struct line){ arena_printf(arena, "takes%d", i),
                           "Frobnicate",
                           { "many:output", "many:output", "many:output", "many:output" },
                           { { 0 } } };
    add_function(name, 1, float_type, 1, float_type, TEXTS("n:y:0"), takers + 2, lines);
}

static struct endpoint call(const char *function, struct endpoint x)
{
    return build(&b, "PartitionedCall", NULL, 1, &x,
                 (struct attr[]){ attr_types(&b, "Tout", 1, float_type), attr_func("f", function),
                                  ATTR_END });
}

static void assert_refused(struct endpoint x, struct endpoint y, const char *text)
{
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_fails_naming(plan_create(graph, &request, resources, NULL, NULL, &plan),
                        STATUS_RESOURCE_EXHAUSTED, text);
}

static void a_function_of_too_many_inputs_is_refused(void **state)
{
    (void)state;
    add_wide_function("f", 8);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1));
    assert_refused(x, call("f", x), "has over 2097152 inputs");
}

static void calls_that_unfold_to_too_many_inputs_are_refused(void **state)
{
    (void)state;
    add_wide_function("f", 4);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1)), y = x;
    for (int i = 0; i < 4; i++)
        y = call("f", y);
    assert_refused(x, y, "unfold to over 4194304 inputs and outputs");
}

static void bodies_of_too_many_inputs_are_refused(void **state)
{
    (void)state;
    add_wide_function("f", 4);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1)), y = x;
    for (int i = 0; i < 2; i++)
        y = build(&b, "If", NULL, 2, (struct endpoint[]){ build_unary(&b, "Size", NULL, y), y },
                  (struct attr[]){ attr_types(&b, "Tout", 1, float_type),
                                   attr_func("then_branch", "f"), attr_func("else_branch", "f"),
                                   ATTR_END });
    assert_refused(x, y, "have more than 4194304 inputs and outputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_FUNCTIONS(a_call_whose_function_returns_another_type_is_refused),
        TEST_WITH_FUNCTIONS(an_if_takes_the_branch_that_its_condition_says),
        TEST_WITH_FUNCTIONS(conditions_follow_tensorflows_rules),
        TEST_WITH_FUNCTIONS(a_lowered_if_takes_no_numbers),
        TEST_WITH_FUNCTIONS(a_constant_condition_leaves_one_branch),
        TEST_WITH_FUNCTIONS(a_case_out_of_range_takes_the_last_branch),
        TEST_WITH_FUNCTIONS(a_loop_runs_until_its_condition_ends_it),
        TEST_WITH_FUNCTIONS(a_profile_hears_each_step_with_its_own_time),
        TEST_WITH_FUNCTIONS(a_long_loop_runs_in_flat_memory),
        TEST_WITH_FUNCTIONS(the_deadline_ends_a_loop),
        TEST_WITH_FUNCTIONS(a_loop_can_swap_its_values),
        TEST_WITH_FUNCTIONS(constants_reach_into_loops),
        TEST_WITH_FUNCTIONS(a_body_of_other_types_is_refused),
        TEST_WITH_FUNCTIONS(an_unknown_op_in_a_body_is_named),
        TEST_WITH_FUNCTIONS(an_unknown_op_before_a_body_is_named),
        TEST_WITH_FUNCTIONS(a_function_that_calls_itself_is_refused),
        TEST_WITH_FUNCTIONS(a_function_of_too_many_inputs_is_refused),
        TEST_WITH_FUNCTIONS(calls_that_unfold_to_too_many_inputs_are_refused),
        TEST_WITH_FUNCTIONS(bodies_of_too_many_inputs_are_refused),
    };
    return cmocka_run_group_tests_name("regions", tests, NULL, NULL);
}
