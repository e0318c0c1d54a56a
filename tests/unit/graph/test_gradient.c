/* Compares gradients with TensorFlow's and with difference quotients, with and without known
 * shapes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph/gradients/gradients.h"
#include "runtime/plan.h"
#include "unit/graph/gradient_cases.h"

#define CASES "tests/golden/gradients/gradients.txt"

static struct arena *arena; /* of the cases */
static struct gradient_case *cases;
static int cases_count;

static void must(struct status status)
{
    if (!status_is_ok(status))
        fail_msg("%s", status.message);
}

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
        if (endpoint_dtype(y) != DT_FLOAT)
            y = build(b, "Cast", NULL, 1, &y,
                      (const struct attr[]){ attr_type("DstT", DT_FLOAT), ATTR_END });
        y = build_binary(b, "Mul", NULL, y, build_const(b, NULL, &c->weights[i]));
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

static void compare(const struct tensor *got, const struct tensor *want, int input)
{
    double scale = 1;

    assert_string_equal(shape_text(&got->shape), shape_text(&want->shape));
    for (int64_t i = 0; i < want->size; i++)
        scale = fmax(scale, fabs((double)tensor_floats(want)[i]));
    for (int64_t i = 0; i < want->size; i++) {
        double a = (double)tensor_floats(got)[i], b = (double)tensor_floats(want)[i];
        if (!(fabs(a - b) <= 1e-5 * scale)) /* the order of float sums differs */
            fail_msg("gradient of input %d, element %d: %g, TensorFlow says %g", input, (int)i, a,
                     b);
    }
}

/* If we have no gradient for an input, TensorFlow's must be zero. */
static void compare_none(const struct tensor *want, int input)
{
    for (int64_t i = 0; i < want->size; i++)
        if (tensor_floats(want)[i] != 0)
            fail_msg("no gradient of input %d, TensorFlow says %g", input,
                     (double)tensor_floats(want)[i]);
}

static double loss_of(struct graph_of_case *g)
{
    struct tensor fetches[CASE_INPUTS + 1];

    must(plan_run(g->plan, g->run, g->feeds, fetches));
    double loss = (double)tensor_floats(&fetches[0])[0];
    for (int i = 0; i < g->fetches_count; i++)
        tensor_release(&fetches[i]);
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
    must(status);
    must(plan_run(g.plan, g.run, g.feeds, fetches));
    for (int i = 0; i < c->inputs_count; i++)
        if (c->roles[i] == 'x' && g.fetch_of[i] > 0)
            compare(&fetches[g.fetch_of[i]], &c->gradients[i], i);
        else if (c->roles[i] == 'x')
            compare_none(&c->gradients[i], i);
    for (int i = 0; i < g.fetches_count; i++)
        tensor_release(&fetches[i]);
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

static void every_gradient_has_a_case(void **state)
{
    (void)state;
    int missing = 0;

    for (int i = 0; i < op_count(); i++) {
        const struct op *op = op_at(i);
        bool found = op->gradient == gradient_none || op->gradient == gradient_stop;
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

    must(graph_gradients(&b, sum(&b, both), 2, (struct endpoint[]){ x, w }, gradients));
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

    must(graph_gradients(&b, loss, 1, &w, &gradient));
    for (int i = 0; i < b.graph->count; i++)
        products += strcmp(b.graph->nodes[i]->op_name, "Mul") == 0;
    assert_int_equal(products, 2); /* the forward product, and dy · x */
    graph_finish(b.graph);
    arena_destroy(of);
}

static void an_op_without_a_gradient_is_named(void **state)
{
    (void)state;
    struct arena *of = arena_create(0);
    struct builder b = small_graph(of);
    struct endpoint loss = sum(&b, build_unary(&b, "Asin", "arc", x)), gradient;
    struct status status = graph_gradients(&b, loss, 1, &x, &gradient);

    assert_int_equal(status.code, STATUS_UNIMPLEMENTED);
    assert_string_equal(status.message, "node 'arc': the op 'Asin' has no gradient");
    graph_finish(b.graph);
    arena_destroy(of);
}

int main(void)
{
    arena = arena_create(0);
    cases = read_cases(arena, CASES, &cases_count);

    struct CMUnitTest *tests = ARENA_ARRAY(arena, struct CMUnitTest, 2 * cases_count + 4);
    size_t count = 0;
    for (int i = 0; i < cases_count; i++) {
        struct gradient_case *c = &cases[i];
        tests[count++] = (struct CMUnitTest){ .name = arena_printf(arena, "%s, known", c->label),
                                              .test_func = agrees_with_tensorflow,
                                              .initial_state = c };
        tests[count++] =
            (struct CMUnitTest){ .name = arena_printf(arena, "%s, unknown", c->label),
                                 .test_func = agrees_with_tensorflow_where_shapes_are_unknown,
                                 .initial_state = c };
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(every_gradient_has_a_case);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(uses_of_a_value_are_added_up);
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(nothing_is_emitted_for_inputs_nobody_asks_for);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(an_op_without_a_gradient_is_named);
    int failed = _cmocka_run_group_tests("gradient", tests, count, NULL, NULL);
    arena_destroy(arena);
    return failed;
}
