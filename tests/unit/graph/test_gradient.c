/* Compares gradients with TensorFlow's and with difference quotients, with and without known
 * shapes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph/gradient.h"
#include "graph/gradients/gradients.h"
#include "graph/while_loop.h"
#include "runtime/plan.h"
#include "support/status.h"
#include "unit/graph/gradient_cases.h"
#include "support/test_group.h"

#define CASES "tests/golden/gradients/gradients.txt"

static struct arena *arena; /* of the cases */
static struct gradient_case *cases;
static int cases_count;

/* The graph of one case: loss = Σ weights · outputs, and its gradients. */
struct graph_of_case {
    struct arena *arena;
    struct graph *graph;
    struct plan *plan;
    struct run *run;
    struct tensor feeds[CASE_INPUTS];
    int feeds_count, feed_of[CASE_INPUTS]; /* an input's index in feeds, or -1 */
    int fetch_of[CASE_INPUTS];             /* its gradient's index in the fetches, or 0 */
    int fetches_count;
};

static struct endpoint build_input(struct builder *b, const struct gradient_case *c, int i,
                                   bool known)
{
    struct shape shape = c->inputs[i].shape;

    if (c->roles[i] == 'c')
        return build_const(b, NULL, &c->inputs[i]);
    for (int k = 0; k < shape.rank && !known; k++)
        shape.dims[k] = -1;
    return build_placeholder(b, NULL, c->inputs[i].dtype, shape);
}

static struct endpoint build_loss(struct builder *b, const struct gradient_case *c,
                                  struct node *node)
{
    struct endpoint terms[CASE_OUTPUTS];
    int count = 0;

    for (int i = 0; i < CASE_OUTPUTS && node != NULL; i++) {
        if (c->weights[i].dtype == DT_INVALID)
            continue;
        int32_t axes[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
        struct endpoint y = { node, i };
        bool is_complex = endpoint_dtype(y) == DT_COMPLEX64;
        if (endpoint_dtype(y) != DT_FLOAT && !is_complex)
            y = build(b, "Cast", NULL, 1, &y,
                      (const struct attr[]){ attr_type("DstT", DT_FLOAT), ATTR_END });
        y = build_binary(b, "Mul", NULL, y, build_const(b, NULL, &c->weights[i]));
        if (is_complex)
            y = build_unary(b, "Real", NULL, y);
        terms[count++] = build_binary(b, "Sum", NULL, y,
                                      build_const_ints(b, NULL, c->weights[i].shape.rank, axes));
    }
    return build(b, "AddN", NULL, count, terms, NULL);
}

static struct status build_case(const struct gradient_case *c, bool known,
                                struct graph_of_case *out)
{
    struct endpoint inputs[CASE_INPUTS], xs[CASE_INPUTS], gradients[CASE_INPUTS] = { { 0 } };
    struct endpoint feeds[CASE_INPUTS], fetches[CASE_INPUTS + 1];
    struct attr attrs[CASE_ATTRS + 1] = { 0 };
    int xs_count = 0;

    out->graph = graph_create(out->arena);
    struct builder b = builder_init(out->graph);
    for (int i = 0; i < c->inputs_count; i++) {
        inputs[i] = build_input(&b, c, i, known);
        if (c->roles[i] == 'x')
            xs[xs_count++] = inputs[i];
        out->feed_of[i] = c->roles[i] == 'c' ? -1 : out->feeds_count;
        if (c->roles[i] == 'c')
            continue;
        out->feeds[out->feeds_count] = c->inputs[i];
        feeds[out->feeds_count++] = inputs[i];
    }
    for (int i = 0; i < c->attrs_count; i++)
        attrs[i] = case_attr_value(&b, &c->attrs[i]);
    struct node *node = build_node(&b, c->op, NULL, c->inputs_count, inputs, 0, NULL, attrs);
    fetches[0] = build_loss(&b, c, node);
    TRY(builder_status(&b));
    TRY(graph_gradients(&b, fetches[0], xs_count, xs, gradients));
    out->fetches_count = 1;
    for (int i = 0, k = 0; i < c->inputs_count; i++) {
        if (c->roles[i] != 'x')
            continue;
        if (gradients[k].node != NULL) {
            out->fetch_of[i] = out->fetches_count;
            fetches[out->fetches_count++] = gradients[k];
        }
        k++;
    }
    const struct flatten_request request = { .feeds = feeds,
                                             .feeds_count = out->feeds_count,
                                             .fetches = fetches,
                                             .fetches_count = out->fetches_count };
    return plan_create(out->graph, &request, NULL, NULL, NULL, &out->plan);
}

static void finish_case(struct graph_of_case *g)
{
    run_destroy(g->run);
    plan_destroy(g->plan);
    graph_finish(g->graph);
    arena_destroy(g->arena);
}

/* A complex number counts as two. */
static int64_t numbers_of(const struct tensor *x)
{
    return x->dtype == DT_COMPLEX64 ? 2 * x->size : x->size;
}

static double number_at(const struct tensor *x, int64_t i)
{
    return (double)((const float *)x->data)[i];
}

static void compare(const struct tensor *got, const struct tensor *want, int input)
{
    double scale = 1;

    assert_int_equal(got->dtype, want->dtype);
    assert_string_equal(shape_text(&got->shape), shape_text(&want->shape));
    for (int64_t i = 0; i < numbers_of(want); i++)
        scale = fmax(scale, fabs(number_at(want, i)));
    for (int64_t i = 0; i < numbers_of(want); i++) {
        double a = number_at(got, i), b = number_at(want, i);
        if (!(fabs(a - b) <= 1e-5 * scale)) /* the order of float sums differs */
            fail_msg("gradient of input %d, element %d: %g, TensorFlow says %g", input, (int)i, a,
                     b);
    }
}

/* If we have no gradient for an input, TensorFlow's must be zero. */
static void compare_none(const struct tensor *want, int input)
{
    for (int64_t i = 0; i < numbers_of(want); i++)
        if (number_at(want, i) != 0)
            fail_msg("no gradient of input %d, TensorFlow says %g", input, number_at(want, i));
}

static double loss_of(struct graph_of_case *g)
{
    struct tensor fetches[CASE_INPUTS + 1];

    assert_ok(plan_run(g->plan, g->run, g->feeds, fetches));
    double loss = (double)tensor_floats(&fetches[0])[0];
    tensors_release(g->fetches_count, fetches);
    run_reset(g->run);
    return loss;
}

/* Compares each element with (loss(x + h) - loss(x - h)) / 2h. Single precision and curvature leave
 * the quotient 3 digits. */
static void compare_quotients(const struct gradient_case *c, struct graph_of_case *g, int input)
{
    const float h = 1e-2f;
    struct tensor *feed = &g->feeds[g->feed_of[input]];
    float *x = arena_array(g->arena, sizeof *x, (size_t)feed->size + 1);
    const float *gradient = tensor_floats(&c->gradients[input]);

    memcpy(x, feed->data, tensor_bytes(feed));
    feed->data = x;
    for (int64_t i = 0; i < feed->size; i++) {
        float kept = x[i];
        x[i] = kept + h;
        double above = loss_of(g);
        x[i] = kept - h;
        double below = loss_of(g);
        x[i] = kept;
        double quotient = (above - below) / (2 * (double)h);
        if (fabs(quotient - (double)gradient[i]) > 1e-2 * (1 + fabs(quotient)))
            fail_msg("gradient of input %d, element %d: %g, the difference quotient is %g", input,
                     (int)i, (double)gradient[i], quotient);
    }
}

static void check_case(const struct gradient_case *c, bool known)
{
    struct graph_of_case g = { .arena = arena_create(0), .run = run_create(0) };
    struct tensor fetches[CASE_INPUTS + 1];
    struct status status = build_case(c, known, &g);

    if (status.code == STATUS_UNIMPLEMENTED && strstr(status.message, "is not implemented")) {
        print_message("%s\n", status.message); /* the gradient needs a missing kernel */
        finish_case(&g);
        skip();
    }
    if (status.code == STATUS_UNIMPLEMENTED && !known) { /* the gradient may need shapes */
        assert_non_null(strstr(status.message, "known before running"));
        finish_case(&g);
        return;
    }
    assert_ok(status);
    assert_ok(plan_run(g.plan, g.run, g.feeds, fetches));
    for (int i = 0; i < c->inputs_count; i++)
        if (c->roles[i] == 'x' && g.fetch_of[i] > 0)
            compare(&fetches[g.fetch_of[i]], &c->gradients[i], i);
        else if (c->roles[i] == 'x')
            compare_none(&c->gradients[i], i);
    tensors_release(g.fetches_count, fetches);
    run_reset(g.run);
    for (int i = 0; i < c->inputs_count && !c->kink; i++)
        if (c->roles[i] == 'x')
            compare_quotients(c, &g, i);
    finish_case(&g);
}

static void agrees_with_tensorflow(void **state)
{
    check_case(*state, true);
}

static void agrees_with_tensorflow_where_shapes_are_unknown(void **state)
{
    check_case(*state, false);
}

/* Lists and arrays of tensors, optionals, composite and ragged tensors in variants, loops and
 * branches: the tests below, test_gradient_lists.c, test_gradient_graphs.c,
 * unit/runtime/test_optional.c and test_composite.c, and unit/layers/test_keras.c, where recurrent
 * layers are loops. */
static bool is_of_loops(const struct op *op)
{
    static const char *const families[] = {
        "TensorList",      "TensorArray",           "Optional",
        "CompositeTensor", "RaggedTensorToVariant", "RaggedTensorFromVariant"
    };

    for (size_t i = 0; i < COUNT(families); i++)
        if (strncmp(op->name, families[i], strlen(families[i])) == 0)
            return true;
    return op_has(op, OP_LOOP | OP_IF | OP_CASE);
}

static void every_gradient_has_a_case(void **state)
{
    (void)state;
    int missing = 0;

    for (int i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        bool found =
            op->gradient == gradient_none || op->gradient == gradient_stop || is_of_loops(op);
        for (int k = 0; k < cases_count && !found; k++)
            found = strcmp(cases[k].op, op->name) == 0;
        if (!found)
            print_error("%s has a gradient but no case in " CASES "\n", op->name);
        missing += !found;
    }
    assert_int_equal(missing, 0);
}

static struct endpoint x, w;

static struct builder small_graph(struct arena *of)
{
    struct builder b = builder_init(graph_create(of));

    x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2, 3));
    w = build_placeholder(&b, "w", DT_FLOAT, shape_of(2, 3));
    return b;
}

static struct endpoint sum(struct builder *b, struct endpoint y)
{
    return build_binary(b, "Sum", NULL, y, build_const_ints(b, NULL, 2, (int32_t[]){ 0, 1 }));
}

static void uses_of_a_value_are_added_up(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint both = build_binary(&b, "AddV2", NULL, build_unary(&b, "Tanh", NULL, x),
                                        build_unary(&b, "Exp", NULL, x));
    struct endpoint gradients[2];

    assert_ok(graph_gradients(&b, sum(&b, both), 2, (struct endpoint[]){ x, w }, gradients));
    assert_string_equal(gradients[0].node->op_name, "AddN");
    assert_int_equal(gradients[0].node->inputs_count, 2);
    assert_null(gradients[1].node); /* nothing depends on w */
    graph_finish(b.graph);
    arena_destroy(of);
}

static void nothing_is_emitted_for_inputs_nobody_asks_for(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint loss = sum(&b, build_binary(&b, "Mul", NULL, x, w)), gradient;
    int products = 0;

    assert_ok(graph_gradients(&b, loss, 1, &w, &gradient));
    for (int i = 0; i < b.graph->count; i++)
        products += strcmp(b.graph->nodes[i]->op_name, "Mul") == 0;
    assert_int_equal(products, 2); /* the forward product, and dy · x */
    graph_finish(b.graph);
    arena_destroy(of);
}

/* The second output of CTCLoss, its own gradient, passes nothing on. */
static void a_gradient_of_the_second_output_alone_ends(void **state)
{
    (void)state;
    static const int64_t place[] = { 0, 0 };
    static const int32_t one[] = { 1 };
    const struct shape pair = shape_of(1, 2), vector = shape_of(1);
    const struct tensor tensors[] = { tensor_borrow(DT_INT64, &pair, place),
                                      tensor_borrow(DT_INT32, &vector, one) };
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint logits = build_placeholder(&b, "logits", DT_FLOAT, shape_of(2, 1, 3)), gradient;
    struct endpoint labels = build_const(&b, NULL, &tensors[1]);
    const struct endpoint inputs[] = { logits, build_const(&b, NULL, &tensors[0]), labels, labels };
    struct endpoint slope = build(&b, "CTCLoss", NULL, 4, inputs, NULL);

    slope.index = 1;
    assert_ok(graph_gradients(&b, sum(&b, slope), 1, &logits, &gradient));
    assert_null(gradient.node);
    graph_finish(b.graph);
    arena_destroy(of);
}

static void an_op_without_a_gradient_is_named(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint loss = sum(&b, build_unary(&b, "PreventGradient", "wall", x)), gradient;
    struct status status = graph_gradients(&b, loss, 1, &x, &gradient);

    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message, "node 'wall': the op 'PreventGradient' has no gradient");
    graph_finish(b.graph);
    arena_destroy(of);
}

/* ---- loops ---- */

/* `turns` times v = tanh(v · w) · 1.25, in loops `depth` deep or written out. */
static struct endpoint turn(struct builder *b, struct endpoint v, struct endpoint factor, int depth,
                            int turns, bool loops)
{
    struct endpoint carried[] = { v, factor }, results[2], outputs[2];
    struct while_loop loop;

    if (depth == 0) {
        v = build_unary(b, "Tanh", NULL, build_binary(b, "Mul", NULL, v, factor));
        return build_binary(b, "Mul", NULL, v, build_const_float(b, 1.25f));
    }
    if (!loops) {
        for (int i = 0; i < turns; i++)
            v = turn(b, v, factor, depth - 1, turns, false);
        return v;
    }
    assert_ok(while_loop_begin(&loop, b, "turns", 2, carried));
    results[0] = turn(&loop.builder, loop.values[0], loop.values[1], depth - 1, turns, true);
    results[1] = loop.values[1];
    assert_ok(while_loop_end(&loop, turns, results, outputs));
    return outputs[0];
}

/* The gradients of x and w, as loops or written out. */
static void run_turns(int depth, int turns, bool loops, struct tensor *out)
{
    static const float values[] = { .5f, -1, .25f, 2, -.75f, 1.5f },
                       factors[] = { 1.5f, -.5f, 1, .75f, 2, -1 };
    const struct shape shape = shape_of(2, 3);
    const struct tensor given[] = { tensor_borrow(DT_FLOAT, &shape, values),
                                    tensor_borrow(DT_FLOAT, &shape, factors) };
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint xs[] = { x, w }, gradients[2];
    struct plan *plan;

    assert_ok(graph_gradients(&b, sum(&b, turn(&b, x, w, depth, turns, loops)), 2, xs, gradients));
    const struct flatten_request request = {
        .feeds = xs, .feeds_count = 2, .fetches = gradients, .fetches_count = 2
    };
    assert_ok(plan_create(b.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    for (int i = 0; i < 2; i++) { /* twice: nothing stays from the first run */
        struct tensor got[2] = { 0 };
        run_reset(run);
        assert_ok(plan_run(plan, run, given, got));
        for (int k = 0; k < 2; k++) {
            for (int64_t e = 0; e < got[k].size; e++)
                tensor_floats_mut(&out[k])[e] = tensor_floats(&got[k])[e];
            tensor_release(&got[k]);
        }
    }
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(b.graph);
    arena_destroy(of);
}

static void check_turns(int depth, int turns)
{
    const struct shape shape = shape_of(2, 3);
    float numbers[4][6] = { 0 };
    struct tensor as_loops[2], written_out[2];

    for (int k = 0; k < 2; k++) {
        as_loops[k] = tensor_borrow(DT_FLOAT, &shape, numbers[k]);
        written_out[k] = tensor_borrow(DT_FLOAT, &shape, numbers[2 + k]);
    }
    run_turns(depth, turns, true, as_loops);
    run_turns(depth, turns, false, written_out);
    for (int k = 0; k < 2; k++)
        compare(&as_loops[k], &written_out[k], k);
}

static void a_loop_has_the_gradient_of_its_iterations(void **state)
{
    (void)state;
    check_turns(1, 4);
}

static void a_loop_that_never_runs_passes_the_gradient_on(void **state)
{
    (void)state;
    const struct shape shape = shape_of(2, 3);
    float numbers[2][6] = { { 0 } };
    struct tensor got[] = { tensor_borrow(DT_FLOAT, &shape, numbers[0]),
                            tensor_borrow(DT_FLOAT, &shape, numbers[1]) };

    run_turns(1, 0, true, got);
    for (int i = 0; i < 6; i++) {
        assert_float_equal(numbers[0][i], 1, 0);
        assert_float_equal(numbers[1][i], 0, 0);
    }
}

static void loops_in_loops_have_gradients(void **state)
{
    (void)state;
    check_turns(2, 3);
}

/* A function of two arguments: tanh of the first, or the product of both. */
static const char *add_branch(struct builder *b, bool product)
{
    struct function_body body = { .graph = graph_create(b->graph->arena) };
    struct builder inner = builder_init(body.graph);
    struct endpoint args[2];
    const char *name;

    body.args = args;
    for (int i = 0; i < 2; i++)
        function_add_arg(&inner, &body, DT_FLOAT, endpoint_shape(x));
    struct endpoint result = product ? build_binary(&inner, "Mul", NULL, args[0], args[1])
                                     : build_unary(&inner, "Tanh", NULL, args[0]);
    assert_ok(builder_status(&inner));
    body.results = &result;
    body.results_count = 1;
    assert_ok(function_add(b->graph, product ? "product" : "tanh", &body, &name));
    return name;
}

static struct attr case_branches(struct builder *b)
{
    struct attr_value *list = ARENA_ARRAY(b->graph->arena, struct attr_value, 2);
    struct attr branches = { "branches", { .kind = ATTR_LIST, .element_kind = ATTR_FUNC } };

    for (int i = 0; i < 2; i++)
        list[i] = attr_function(b, "branches", add_branch(b, i == 1)).value;
    branches.value.count = 2;
    branches.value.elements = list;
    return branches;
}

/* If, or Case with the branches in the order of If's conditions. */
static struct endpoint choose(struct builder *b, bool is_case, struct endpoint condition)
{
    const struct shape shape = shape_of(2, 3);
    const enum dtype type = DT_FLOAT;
    const struct endpoint inputs[] = { is_case ? build_cast(b, NULL, condition, DT_INT32)
                                               : condition,
                                       x, w };
    const struct attr types = attr_types(b, "Tout", 1, &type),
                      shapes = attr_shapes(b, "output_shapes", 1, &shape);

    if (is_case)
        return build(b, "StatelessCase", NULL, 3, inputs,
                     (const struct attr[]){ types, shapes, case_branches(b), ATTR_END });
    return build(
        b, "StatelessIf", NULL, 3, inputs,
        (const struct attr[]){ types, shapes, attr_function(b, "then_branch", add_branch(b, true)),
                               attr_function(b, "else_branch", add_branch(b, false)), ATTR_END });
}

/* The gradients of x and w through If or Case, of which `truth` is the condition. */
static void run_branch(bool is_case, bool truth, struct tensor *out)
{
    static const float values[] = { .5f, -1, .25f, 2, -.75f, 1.5f },
                       factors[] = { 1, 2, 3, 4, 5, 6 };
    const struct shape shape = shape_of(2, 3), scalar = shape_scalar();
    const struct tensor given[] = { tensor_borrow(DT_FLOAT, &shape, values),
                                    tensor_borrow(DT_FLOAT, &shape, factors),
                                    tensor_borrow(DT_BOOL, &scalar, &truth) };
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint condition = build_placeholder(&b, "truth", DT_BOOL, shape_scalar()),
                    gradients[2];
    struct endpoint feeds[] = { x, w, condition };
    struct endpoint y = choose(&b, is_case, condition);
    struct plan *plan;

    assert_ok(builder_status(&b));
    assert_ok(graph_gradients(&b, sum(&b, y), 2, feeds, gradients));
    const struct flatten_request request = {
        .feeds = feeds, .feeds_count = 3, .fetches = gradients, .fetches_count = 2
    };
    assert_ok(plan_create(b.graph, &request, NULL, NULL, NULL, &plan));
    struct run *run = run_create(0);
    struct tensor got[2] = { { 0 } };
    run_reset(run);
    assert_ok(plan_run(plan, run, given, got));
    for (int k = 0; k < 2; k++) {
        for (int64_t e = 0; e < 6; e++)
            tensor_floats_mut(&out[k])[e] = tensor_floats(&got[k])[e];
        tensor_release(&got[k]);
    }
    run_destroy(run);
    plan_destroy(plan);
    graph_finish(b.graph);
    arena_destroy(of);
}

static void the_branch_that_runs_gives_the_gradient(void **state)
{
    (void)state;
    const struct shape shape = shape_of(2, 3);
    float numbers[2][6];
    struct tensor got[] = { tensor_borrow(DT_FLOAT, &shape, numbers[0]),
                            tensor_borrow(DT_FLOAT, &shape, numbers[1]) };

    for (int is_case = 0; is_case < 2; is_case++) {
        run_branch(is_case, true, got); /* d(x · w) */
        assert_float_equal(numbers[0][1], 2, 0);
        assert_float_equal(numbers[1][1], -1, 0);
        run_branch(is_case, false, got); /* d tanh(x) */
        assert_float_equal(numbers[0][1], 0.419974342f, 1e-6f);
        assert_float_equal(numbers[1][1], 0, 0);
    }
}

static void an_op_without_a_gradient_in_a_loop_is_named(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint result, y, gradient;
    struct while_loop loop;

    assert_ok(while_loop_begin(&loop, &b, "turns", 1, &x));
    result = build_unary(&loop.builder, "PreventGradient", "wall", loop.values[0]);
    assert_ok(while_loop_end(&loop, 3, &result, &y));
    struct status status = graph_gradients(&b, sum(&b, y), 1, &x, &gradient);
    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message, "node 'wall': the op 'PreventGradient' has no gradient");
    graph_finish(b.graph);
    arena_destroy(of);
}

/* All of them at once, but not what the gradient does not pass. */
static void all_ops_without_a_gradient_are_named(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint arc = build_unary(&b, "PreventGradient", "arc",
                                      build_unary(&b, "Snapshot", "inner", x)),
                    cut = build_unary(&b, "StopGradient", "cut",
                                      build_unary(&b, "PreventGradient", "no", x));
    struct endpoint loss = sum(&b, build_binary(&b, "AddV2", NULL, arc, cut)), gradient;
    struct status status = graph_gradients(&b, loss, 1, &x, &gradient);

    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message, "node 'arc': the op 'PreventGradient' has no gradient; "
                                        "node 'inner': the op 'Snapshot' has no gradient");
    graph_finish(b.graph);
    arena_destroy(of);
}

/* Its type is known from its user alone, and its outputs from nobody. */
static void an_unknown_op_has_no_gradient(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct node *unknown;
    struct endpoint gradient;

    assert_ok(graph_add(b.graph, "Frobnicate", "strange", &unknown));
    node_add_input(b.graph, unknown, x);
    struct endpoint y = build(&b, "Neg", NULL, 1, (struct endpoint[]){ { unknown, 3 } },
                              (const struct attr[]){ attr_type("T", DT_FLOAT), ATTR_END });
    assert_ok(builder_status(&b));
    assert_fails(graph_gradients(&b, sum(&b, y), 1, &x, &gradient), STATUS_UNIMPLEMENTED,
                 "node 'strange': the op 'Frobnicate' has no gradient");
    graph_finish(b.graph);
    arena_destroy(of);
}

#define BODY_NODES 100000 /* with a call for each, the stack would end */

static void a_loop_with_a_long_body_has_a_gradient(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct while_loop loop;
    struct endpoint y, gradient;

    assert_ok(while_loop_begin(&loop, &b, "turns", 1, &x));
    struct endpoint result = loop.values[0];
    for (int i = 0; i < BODY_NODES; i++)
        result = build_unary(&loop.builder, "Neg", NULL, result);
    assert_ok(while_loop_end(&loop, 3, &result, &y));
    assert_ok(graph_gradients(&b, sum(&b, y), 1, &x, &gradient));
    assert_non_null(gradient.node);
    graph_finish(b.graph);
    arena_destroy(of);
}

/* An If in a function of the library, whose branches may be that function itself. */
static struct endpoint build_if_of(struct builder *b, struct endpoint condition,
                                   struct endpoint value, const char *branch)
{
    const enum dtype type = DT_FLOAT;
    const struct endpoint inputs[] = { condition, value, condition };
    return build(b, "StatelessIf", NULL, 3, inputs,
                 (const struct attr[]){ attr_types(b, "Tout", 1, &type),
                                        attr_function(b, "then_branch", branch),
                                        attr_function(b, "else_branch", branch), ATTR_END });
}

static const char *add_if_function(struct builder *outer, const char *name, const char *branch)
{
    struct arena *of = outer->graph->arena;
    const struct shape shape = shape_of(2, 3), scalar = shape_scalar();
    function_share_library(outer->graph);
    struct function_body body = { .graph = graph_create(of) };
    struct builder b = builder_init(body.graph);
    const char *added;

    body.graph->library = outer->graph->library;
    body.args = ARENA_ARRAY(of, struct endpoint, 2);
    struct endpoint value = function_add_arg(&b, &body, DT_FLOAT, &shape);
    struct endpoint condition = function_add_arg(&b, &body, DT_BOOL, &scalar);
    struct endpoint result = branch == NULL ? build_unary(&b, "Tanh", NULL, value)
                                            : build_if_of(&b, condition, value, branch);
    assert_ok(builder_status(&b));
    body.results = &result;
    body.results_count = 1;
    assert_ok(function_add(outer->graph, name, &body, &added));
    return added;
}

static void assert_refused(const char *(*add)(struct builder *b), enum status_code code,
                           const char *text)
{
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint gradient;
    struct endpoint condition = build_placeholder(&b, NULL, DT_BOOL, shape_scalar());
    struct endpoint y = build_if_of(&b, condition, x, add(&b));
    assert_ok(builder_status(&b));
    assert_fails_naming(graph_gradients(&b, sum(&b, y), 1, &x, &gradient), code, text);
    graph_finish(b.graph);
    arena_destroy(of);
}

static const char *add_itself(struct builder *b)
{
    return add_if_function(b, "itself", "itself");
}

/* Each function is both branches of the next one. */
static const char *add_many(struct builder *b)
{
    const char *name = add_if_function(b, "inner", NULL);
    for (int i = 0; i < 40; i++)
        name = add_if_function(b, "outer", name);
    return name;
}

static void a_branch_that_takes_itself_has_no_gradient(void **state)
{
    (void)state;
    assert_refused(add_itself, STATUS_INVALID_ARGUMENT, "nested deeper than 64 levels");
}

static void gradients_of_branches_without_end_are_refused(void **state)
{
    (void)state;
    assert_refused(add_many, STATUS_RESOURCE_EXHAUSTED, "have over 1048576 nodes");
}

/* The shape that a file declares need not fit in memory. */
static void a_mean_of_countless_elements_counts_when_it_runs(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint gradient;
    struct endpoint many =
        build_placeholder(&b, NULL, DT_FLOAT, shape_of(INT64_C(1) << 40, INT64_C(1) << 40));
    struct endpoint axes = build_const_ints(&b, NULL, 2, (const int32_t[]){ 0, 1 });
    struct endpoint mean = build_binary(&b, "Mean", NULL, many, axes);
    int sizes = 0;

    assert_ok(graph_gradients(&b, mean, 1, &many, &gradient));
    for (int i = 0; i < b.graph->count; i++)
        sizes += strcmp(b.graph->nodes[i]->op->name, "Size") == 0;
    assert_int_equal(sizes, 2);
    graph_finish(b.graph);
    arena_destroy(of);
}

#define SAME_NAMES 20000

static void functions_of_one_name_take_no_memory_for_the_search(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct function_body body = { .graph = graph_create(of) };
    const char *name = NULL;
    for (int i = 0; i < SAME_NAMES; i++)
        assert_ok(function_add(b.graph, "branch_grad", &body, &name));
    assert_string_equal(name, "branch_grad_19999");
    assert_true(arena_used(of) < (size_t)64 << 20);
    graph_finish(b.graph);
    arena_destroy(of);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(every_gradient_has_a_case),
        cmocka_unit_test(uses_of_a_value_are_added_up),
        cmocka_unit_test(nothing_is_emitted_for_inputs_nobody_asks_for),
        cmocka_unit_test(a_gradient_of_the_second_output_alone_ends),
        cmocka_unit_test(an_op_without_a_gradient_is_named),
        cmocka_unit_test(a_loop_has_the_gradient_of_its_iterations),
        cmocka_unit_test(a_loop_that_never_runs_passes_the_gradient_on),
        cmocka_unit_test(loops_in_loops_have_gradients),
        cmocka_unit_test(the_branch_that_runs_gives_the_gradient),
        cmocka_unit_test(an_op_without_a_gradient_in_a_loop_is_named),
        cmocka_unit_test(all_ops_without_a_gradient_are_named),
        cmocka_unit_test(an_unknown_op_has_no_gradient),
        cmocka_unit_test(a_loop_with_a_long_body_has_a_gradient),
        cmocka_unit_test(a_branch_that_takes_itself_has_no_gradient),
        cmocka_unit_test(gradients_of_branches_without_end_are_refused),
        cmocka_unit_test(a_mean_of_countless_elements_counts_when_it_runs),
        cmocka_unit_test(functions_of_one_name_take_no_memory_for_the_search),
    };
    struct test_group group = { 0 };

    arena = arena_create(0);
    cases = read_cases(arena, CASES, &cases_count);
    for (int i = 0; i < cases_count; i++) {
        struct gradient_case *c = &cases[i];
        test_group_add(&group,
                       (struct CMUnitTest){ .name = arena_printf(arena, "%s, known", c->label),
                                            .test_func = agrees_with_tensorflow,
                                            .initial_state = c });
        test_group_add(&group, (struct CMUnitTest){
                                   .name = arena_printf(arena, "%s, unknown", c->label),
                                   .test_func = agrees_with_tensorflow_where_shapes_are_unknown,
                                   .initial_state = c });
    }
    ADD_TESTS(&group, plain);
    int failed = test_group_run(&group, "gradient", NULL, NULL);
    arena_destroy(arena);
    return failed;
}
