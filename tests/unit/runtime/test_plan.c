#include "plan_fixture.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

#define X build_placeholder(&b, "x", DT_FLOAT, shape_of(-1))

static void a_straight_line_runs(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint two = const_floats("two", shape_scalar(), VALUES(2));
    struct endpoint y = build_unary(&b, "Neg", "y", build_binary(&b, "Mul", NULL, x, two));
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    for (int i = 0; i < 3; i++)
        assert_runs(plan, floats(shape_of(3), VALUES(1, 2, 3)), 3, VALUES(-2, -4, -6));
    plan_destroy(plan);
}

static void a_feed_can_be_fetched_and_outlives_the_request(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct plan *plan = plan_of(1, &x, 1, &x, NULL);
    float values[] = { 1, 2 };
    struct tensor feed = floats(shape_of(2), values), out;
    assert_ok(plan_run(plan, run, &feed, &out));
    values[0] = 9;
    assert_values(&out, 2, VALUES(1, 2));
    tensor_release(&out);
    plan_destroy(plan);
}

static void a_fetch_borrows_a_feed_that_was_lent(void **state)
{
    (void)state;
    struct endpoint x = X, y = build_unary(&b, "Neg", "y", x);
    struct endpoint fetched[] = { x, y };
    struct plan *plan = plan_of(1, &x, 2, fetched, NULL);
    float values[] = { 1, 2 };
    struct tensor feed = floats(shape_of(2), values), out[2];
    run_lend_feeds(run);
    for (int i = 0; i < 2; i++) {
        assert_ok(plan_run(plan, run, &feed, out));
        assert_ptr_equal(out[0].data, values);
        assert_values(&out[1], 2, VALUES(-1, -2));
        tensors_release(2, out);
        run_reset(run);
    }
    plan_destroy(plan);
}

static void a_fed_tensor_in_mid_graph_cuts_what_lies_behind(void **state)
{
    (void)state;
    struct endpoint x = X; /* not fed: running it would fail */
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct endpoint z = build_unary(&b, "Square", "z", y);
    struct plan *plan = plan_of(1, &y, 1, &z, NULL);
    assert_runs(plan, floats(shape_of(2), VALUES(2, 3)), 2, VALUES(4, 9));
    plan_destroy(plan);
}

static void a_constant_can_be_fed(void **state)
{
    (void)state;
    struct endpoint c = const_floats("c", shape_of(1), VALUES(5));
    struct endpoint y = build_unary(&b, "Neg", "y", c);
    struct plan *plan = plan_of(1, &c, 1, &y, NULL);
    assert_runs(plan, floats(shape_of(1), VALUES(7)), 1, VALUES(-7));
    plan_destroy(plan);
}

/* Each run asks the clock, although the graph has no inputs. */
static void the_time_is_that_of_the_run(void **state)
{
    (void)state;
    struct endpoint now = build(&b, "Timestamp", "now", 0, NULL, NULL);
    struct plan *plan = plan_of(0, NULL, 1, &now, NULL);
    double before = 0;
    for (int i = 0; i < 2; i++) {
        struct timespec from, to;
        struct tensor out;
        clock_gettime(CLOCK_REALTIME, &from);
        assert_ok(plan_run(plan, run, NULL, &out));
        clock_gettime(CLOCK_REALTIME, &to);
        double seconds = tensor_doubles(&out)[0];
        assert_true(seconds > (double)from.tv_sec + (double)from.tv_nsec / 1e9 - 2e-6);
        assert_true(seconds < (double)to.tv_sec + (double)to.tv_nsec / 1e9 + 1e-6);
        assert_true(seconds >= before);
        before = seconds;
        tensor_release(&out);
    }
    plan_destroy(plan);
}

static void a_placeholder_that_nobody_feeds_says_so(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    struct tensor out;
    assert_fails(plan_run(plan, run, NULL, &out), STATUS_INVALID_ARGUMENT,
                 "You must feed a value for placeholder tensor 'x' with dtype float and shape [?]");
    plan_destroy(plan);
}

static void the_second_form_of_a_placeholder_is_fed_and_missed(void **state)
{
    (void)state;
    const struct shape shape = shape_of(2);
    const struct attr attrs[] = { attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape),
                                  ATTR_END };
    struct endpoint x = build(&b, "PlaceholderV2", "x", 0, NULL, attrs);
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_runs(plan, floats(shape_of(2), VALUES(7, 8)), 2, VALUES(-7, -8));
    plan_destroy(plan);
    struct tensor out;
    plan = plan_of(0, NULL, 1, &y, NULL);
    assert_fails(plan_run(plan, run, NULL, &out), STATUS_INVALID_ARGUMENT,
                 "You must feed a value for placeholder tensor 'x' with dtype float and shape [2]");
    plan_destroy(plan);
}

static void a_feed_of_another_type_is_refused(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_INT32, &shape, (int32_t[]){ 1 }), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "Expects arg[0] to be float but int32 is provided");
    plan_destroy(plan);
}

static void a_fed_output_of_an_unknown_op_has_the_type_its_user_wants(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    x.node->op_name = "Foo";
    x.node->op = NULL;
    x.node->outputs_count = 0;
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct shape shape = shape_of(1);
    struct tensor feed = tensor_borrow(DT_STRING, &shape, (struct bytes[]){ { "a", 1 } }), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "Expects arg[0] to be float but string is provided");
    assert_runs(plan, floats(shape, VALUES(3)), 1, VALUES(-3));
    plan_destroy(plan);
}

static void outputs_of_an_unknown_op_are_counted(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    x.node->op_name = "Foo";
    x.node->op = NULL;
    x.node->outputs_count = 0;
    const struct endpoint fetches[] = { { x.node, 60000 }, { x.node, INT32_MAX }, y };
    const enum status_code codes[] = { STATUS_UNIMPLEMENTED, STATUS_INVALID_ARGUMENT,
                                       STATUS_INVALID_ARGUMENT };
    y.node->inputs[0].index = INT32_MAX;
    for (size_t i = 0; i < COUNT(fetches); i++) {
        struct flatten_request request = { .fetches = &fetches[i], .fetches_count = 1 };
        struct plan *plan;
        struct status status = plan_create(graph, &request, resources, NULL, NULL, &plan);
        assert_int_equal(status.code, codes[i]);
        assert_non_null(strstr(status.message, "Foo"));
    }
}

/* num_sparse must equal the length of sparse_types. */
static void features_that_are_counted_twice_are_counted_alike(void **state)
{
    (void)state;
    struct shape none = shape_of(0), three = shape_of(3);
    struct bytes keys[] = { bytes_of("a"), bytes_of("b"), bytes_of("c") };
    struct tensor no_keys = tensor_borrow(DT_STRING, &none, keys);
    struct tensor sparse_keys = tensor_borrow(DT_STRING, &three, keys);
    struct endpoint inputs[5] = { build_placeholder(&b, "x", DT_STRING, shape_of(-1)) };
    for (int i = 1; i < 5; i++)
        inputs[i] = build_const(&b, NULL, i == 2 ? &sparse_keys : &no_keys);
    const enum dtype sparse[] = { DT_FLOAT, DT_FLOAT, DT_INT64 };
    struct attr attrs[] = { { "num_sparse", { .kind = ATTR_INT, .i = 0 } },
                            attr_types(&b, "Tdense", 0, sparse),
                            attr_types(&b, "sparse_types", 3, sparse),
                            attr_types(&b, "ragged_value_types", 0, sparse),
                            attr_types(&b, "ragged_split_types", 0, sparse),
                            { "dense_shapes", { .kind = ATTR_LIST } },
                            ATTR_END };
    struct node *node = build_node(&b, "ParseExampleV2", "p", 5, inputs, 0, NULL, attrs);
    assert_ok(builder_status(&b));
    struct endpoint fetch = { node, 0 };
    struct flatten_request request = {
        .feeds = inputs, .feeds_count = 1, .fetches = &fetch, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan),
                 STATUS_INVALID_ARGUMENT,
                 "node 'p' (ParseExampleV2): 5 inputs and 3 outputs, its 3 sparse, 0 dense and 0 "
                 "ragged features have 5 and 9");
}

static void a_missing_kernel_is_named(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    y.node->op_name = "Foo";
    y.node->op = NULL;
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, NULL, &plan), STATUS_UNIMPLEMENTED,
                 "op 'Foo' of node 'y' is not implemented");
}

static void collect(void *context, const struct node *node)
{
    buffer_printf(context, "%s;", node->name);
}

static void missing_kernels_are_listed(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x), z = build_unary(&b, "Neg", "z", y);
    z.node->op_name = y.node->op_name = "Foo";
    z.node->op = y.node->op = NULL;
    struct flatten_request request = { .fetches = &z, .fetches_count = 1 };
    struct buffer names = { 0 };
    assert_ok(plan_missing_kernels(graph, &request, collect, &names));
    assert_int_equal(names.size, 4);
    assert_memory_equal(names.data, "y;z;", 4);
    buffer_finish(&names);
}

static void the_last_use_is_written_over(void **state)
{
    (void)state;
    struct endpoint x = X, at = x;
    for (int i = 0; i < 10; i++)
        at = build_unary(&b, "Neg", NULL, at);
    struct plan *plan = plan_of(1, &x, 1, &at, NULL);
    struct run *small = run_create(5000); /* ten values of 4000 bytes would not fit */
    struct tensor feed, out;
    struct shape shape = shape_of(1000);
    assert_ok(tensor_create(DT_FLOAT, &shape, &feed));
    memset(feed.data, 0, 4000);
    assert_ok(plan_run(plan, small, &feed, &out));
    assert_int_equal(out.size, 1000);
    tensor_release(&out);
    tensor_release(&feed);
    run_destroy(small);
    plan_destroy(plan);
}

static void what_is_used_later_is_not_written_over(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct endpoint fetches[] = { build_unary(&b, "Square", NULL, y), y, y };
    struct plan *plan = plan_of(1, &x, 3, fetches, NULL);
    struct tensor feed = floats(shape_of(2), VALUES(1, 2)), out[3];
    assert_ok(plan_run(plan, run, &feed, out));
    assert_values(&out[0], 2, VALUES(1, 4));
    assert_values(&out[1], 2, VALUES(-1, -2));
    assert_values(&out[2], 2, VALUES(-1, -2));
    tensors_release(3, out);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
}

static void a_counted_feed_is_not_written_over(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", build_unary(&b, "Identity", NULL, x));
    struct plan_options options = { .no_fold = true };
    struct plan *plan = plan_of(1, &x, 1, &y, &options);
    struct tensor feed;
    struct shape shape = shape_of(2);
    assert_ok(tensor_create_pooled(run_pool(run), DT_FLOAT, &shape, &feed));
    memcpy(feed.data, VALUES(1, 2), 8);
    struct tensor out;
    assert_ok(plan_run(plan, run, &feed, &out));
    assert_values(&feed, 2, VALUES(1, 2));
    assert_values(&out, 2, VALUES(-1, -2));
    tensor_release(&out);
    tensor_release(&feed);
    plan_destroy(plan);
}

static void memory_is_flat_over_many_runs(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_binary(&b, "AddV2", NULL, build_unary(&b, "Exp", NULL, x), x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(4), VALUES(0, 0, 0, 0)), out;
    size_t most = 0;
    for (int i = 0; i < 100000; i++) {
        assert_ok(plan_run(plan, run, &feed, &out));
        size_t used = tensor_pool_used(run_pool(run));
        if (i == 0)
            most = used;
        assert_int_equal(used, most);
        tensor_release(&out);
        run_reset(run);
    }
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
}

static void a_failing_run_leaves_nothing_behind(void **state)
{
    (void)state;
    struct endpoint x = X, y = build_placeholder(&b, "y", DT_FLOAT, shape_of(-1));
    struct endpoint sum = build_binary(&b, "AddV2", "sum", build_unary(&b, "Neg", NULL, x),
                                       build_unary(&b, "Neg", NULL, y));
    struct plan *plan = plan_of(2, (struct endpoint[]){ x, y }, 1, &sum, NULL);
    struct tensor feeds[] = { floats(shape_of(2), VALUES(1, 2)),
                              floats(shape_of(3), VALUES(1, 2, 3)) };
    struct tensor out;
    assert_false(status_is_ok(plan_run(plan, run, feeds, &out)));
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    feeds[1] = floats(shape_of(2), VALUES(3, 4));
    assert_ok(plan_run(plan, run, feeds, &out));
    assert_values(&out, 2, VALUES(-4, -6));
    tensor_release(&out);
    plan_destroy(plan);
}

static void a_run_over_its_memory_is_refused(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct run *small = run_create(1000);
    float values[1000] = { 0 };
    struct tensor feed = floats(shape_of(1000), values), out;
    assert_int_equal(plan_run(plan, small, &feed, &out).code, STATUS_RESOURCE_EXHAUSTED);
    run_destroy(small);
    plan_destroy(plan);
}

static void the_deadline_is_checked_before_costly_nodes(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 1));
    struct endpoint y =
        build_binary(&b, "MatMul", "y", x, const_floats("w", shape_of(1, 1), VALUES(1)));
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape_of(1, 1), VALUES(1)), out;
    run_set_deadline(run, 1); /* in the past */
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_DEADLINE_EXCEEDED,
                 "the deadline passed while the model ran");
    run_set_deadline(run, 0);
    assert_ok(plan_run(plan, run, &feed, &out));
    tensor_release(&out);
    plan_destroy(plan);
}

static void many_plans_share_a_run(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct plan *plans[20];
    for (int i = 0; i < 20; i++) {
        float factor = (float)i;
        struct endpoint y =
            build_binary(&b, "Mul", NULL, x, const_floats(NULL, shape_scalar(), &factor));
        plans[i] = plan_of(1, &x, 1, &y, NULL);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++)
            assert_runs(plans[i], floats(shape_of(1), VALUES(2)), 1, VALUES(2 * (float)i));
    }
    for (int i = 0; i < 20; i++)
        plan_destroy(plans[i]);
}

/* ---- files ---- */

static struct status read_file(const struct plan *plan, struct run *reader, const char *path,
                               struct bytes *out)
{
    const struct shape scalar = shape_scalar();
    const struct bytes name = bytes_of(path);
    struct tensor feed = tensor_borrow(DT_STRING, &scalar, &name), content;
    TRY(plan_run(plan, reader, &feed, &content));
    *out = tensor_strings(&content)[0];
    tensor_release(&content);
    return status_ok();
}

static void a_file_is_read_in_the_bounds_of_the_run(void **state)
{
    (void)state;
    struct endpoint name = build_placeholder(&b, "name", DT_STRING, shape_scalar());
    struct endpoint content = build(&b, "ReadFile", "content", 1, &name, NULL);
    struct plan *plan = plan_of(1, &name, 1, &content, NULL);
    struct run *small = run_create(64);
    struct bytes text;
    assert_ok(read_file(plan, run, "tests/golden/kernels/text.rows", &text));
    assert_memory_equal(text.data, "# ", 2);
    assert_int_equal(read_file(plan, small, "tests/golden/kernels/text.rows", &text).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(read_file(plan, run, "/nonexistent", &text).code, STATUS_NOT_FOUND);
    assert_int_equal(read_file(plan, run, "/dev/zero", &text).code, STATUS_FAILED_PRECONDITION);
    run_destroy(small);
    plan_destroy(plan);
}

/* The only line of a file, by a dataset. */
static struct endpoint build_only_line(struct endpoint name)
{
    const struct shape scalar = shape_scalar();
    struct bytes nothing = bytes_of("");
    struct tensor compression = {
        .dtype = DT_STRING, .shape = scalar, .size = 1, .data = &nothing
    };
    struct endpoint inputs[] = { name, build_const(&b, "compression", &compression),
                                 build_const_int64(&b, 0) };
    struct endpoint lines = build(&b, "TextLineDataset", "lines", 3, inputs, NULL);
    return build(&b, "DatasetToSingleElement", "only_line", 1, &lines,
                 (struct attr[]){ attr_types(&b, "output_types", 1, (enum dtype[]){ DT_STRING }),
                                  attr_shapes(&b, "output_shapes", 1, &scalar), ATTR_END });
}

/* A client may control the path. */
static void a_file_outside_of_the_model_is_not_read(void **state)
{
    (void)state;
    char directory[] = "/tmp/slipway-confined-XXXXXX";
    struct endpoint name = build_placeholder(&b, "name", DT_STRING, shape_scalar());
    struct endpoint content = build(&b, "ReadFile", "content", 1, &name, NULL);
    struct endpoint line = build_only_line(name);
    struct plan *plan = plan_of(1, &name, 1, &content, NULL);
    struct plan *by_lines = plan_of(1, &name, 1, &line, NULL);
    struct bytes text;
    assert_non_null(mkdtemp(directory));
    const char *inside = arena_printf(arena, "%s/model/a", directory);
    const char *beside = arena_printf(arena, "%s/model-2", directory);
    const char *link = arena_printf(arena, "%s/model/link", directory);
    assert_ok(file_make_directories(arena_printf(arena, "%s/model", directory)));
    assert_ok(file_write(inside, bytes_of("inside")));
    assert_ok(file_write(beside, bytes_of("beside")));
    assert_int_equal(symlink(beside, link), 0);
    assert_ok(read_file(plan, run, beside, &text));
    assert_ok(resources_confine(resources, arena_printf(arena, "%s/model/.", directory)));
    assert_ok(read_file(plan, run, inside, &text));
    assert_memory_equal(text.data, "inside", 6);
    assert_ok(read_file(by_lines, run, inside, &text));
    assert_memory_equal(text.data, "inside", 6);
    const char *const outside[] = { beside, link, "/etc/passwd", "tests",
                                    arena_printf(arena, "%s/model/../model-2", directory) };
    for (size_t i = 0; i < COUNT(outside); i++)
        for (int way = 0; way < 2; way++)
            assert_int_equal(read_file(way == 0 ? plan : by_lines, run, outside[i], &text).code,
                             STATUS_PERMISSION_DENIED);
    char *long_path = arena_alloc(arena, 100001);
    memset(long_path, 'a', 100000);
    assert_int_equal(read_file(plan, run, long_path, &text).code, STATUS_INVALID_ARGUMENT);
    plan_destroy(plan);
    plan_destroy(by_lines);
    assert_ok(file_remove_tree(directory));
}

/* ---- variables ---- */

static struct node *assign(struct endpoint handle, struct endpoint value, struct node *after)
{
    return build_node(&b, "AssignVariableOp", NULL, 2, (struct endpoint[]){ handle, value },
                      after != NULL, &after,
                      (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
}

/* TensorFlow ends the process, or reads another batch. */
static void a_gather_of_batches_that_the_variable_lacks_is_refused(void **state)
{
    (void)state;
    static const float values[4] = { 1, 2, 3, 4 };
    static const int32_t places[3] = { 0 };
    const struct shape table = shape_of(2, 2), indices = shape_of(3, 1);
    struct tensor out, feed = tensor_borrow(DT_INT32, &indices, places);
    set_variable("table", tensor_borrow(DT_FLOAT, &table, values));
    struct endpoint inputs[] = { variable_handle("table", DT_FLOAT, table),
                                 build_placeholder(&b, "places", DT_INT32, shape_unknown()) };
    struct endpoint gathered =
        build(&b, "ResourceGather", NULL, 2, inputs,
              (struct attr[]){ attr_int("batch_dims", 1), attr_type("dtype", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(1, &inputs[1], 1, &gathered, NULL);
    assert_int_equal(plan_run(plan, run, &feed, &out).code, STATUS_INVALID_ARGUMENT);
    plan_destroy(plan);
}

static void an_attribute_out_of_range_is_refused_when_the_plan_is_made(void **state)
{
    (void)state;
    struct endpoint at = build_const_ints(&b, "at", 1, (int32_t[]){ 1 });
    struct endpoint inputs[] = { X, at, at, at };
    struct attr attrs[] = { attr_int("ellipsis_mask", INT64_MIN), ATTR_END };
    struct endpoint y = build(&b, "StridedSlice", "y", 4, inputs, attrs);
    struct flatten_request request = {
        .feeds = inputs, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    assert_ok(builder_status(&b));
    struct plan *plan;
    assert_fails(
        plan_create(graph, &request, resources, NULL, NULL, &plan), STATUS_INVALID_ARGUMENT,
        "node 'y' (StridedSlice): Attr ellipsis_mask has value -9223372036854775808 out of "
        "range for an int32");
}

static void an_init_op_may_not_keep_more_than_a_load_may(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct node *first = assign(variable_handle("v", DT_FLOAT, shape_of(-1)), x, NULL);
    struct node *again = assign(variable_handle("v", DT_FLOAT, shape_of(-1)), x, first);
    struct node *other = assign(variable_handle("w", DT_FLOAT, shape_of(-1)), x, again);
    struct node *targets[] = { again, other };
    const struct work_limits limits = { .memory_bytes = 1000 };
    const float values[150] = { 0 };
    struct tensor feed = floats(shape_of(150), values); /* 600 bytes */
    assert_ok(builder_status(&b));
    for (int i = 0; i < 2; i++) {
        struct flatten_request request = {
            .feeds = &x, .feeds_count = 1, .targets = &targets[i], .targets_count = 1
        };
        struct plan_options options = { .no_fold = true, .writes_variables = true };
        struct plan *plan;
        struct run *loading = run_create(0);
        run_set_limits(loading, &limits);
        assert_ok(plan_create(graph, &request, resources, NULL, &options, &plan));
        assert_int_equal(plan_run(plan, loading, &feed, NULL).code,
                         i == 0 ? STATUS_OK : STATUS_RESOURCE_EXHAUSTED);
        run_destroy(loading);
        plan_destroy(plan);
    }
}

static void tables_that_a_node_makes_count_towards_the_load(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_INT16, shape_of(-1));
    struct endpoint y = build_unary(&b, "AudioMicrofrontend", "y", x);
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct work_limits limits = { .memory_bytes = 1000 };
    struct plan_options options = { .limits = &limits };
    struct plan *plan;
    assert_ok(builder_status(&b));
    assert_fails(plan_create(graph, &request, resources, NULL, &options, &plan),
                 STATUS_RESOURCE_EXHAUSTED,
                 "node 'y' (AudioMicrofrontend): tables of 4140 bytes, of which the load may keep "
                 "1000");
    limits.memory_bytes = 5000;
    assert_ok(plan_create(graph, &request, resources, NULL, &options, &plan));
    plan_destroy(plan);
}

static void a_variable_that_nothing_writes_is_a_constant(void **state)
{
    (void)state;
    set_variable("v", floats(shape_of(2), VALUES(1, 2)));
    struct endpoint x = X;
    struct endpoint v = read_variable(variable_handle("v", DT_FLOAT, shape_of(2)), DT_FLOAT);
    struct endpoint y = build_binary(&b, "AddV2", "y", x, build_unary(&b, "Neg", NULL, v));
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_int_equal(plan_steps_count(plan), 1);
    assert_runs(plan, floats(shape_of(2), VALUES(10, 20)), 2, VALUES(9, 18));
    plan_destroy(plan);
}

/* Each constant is only as large as its inputs together, so no single step looks too large. */
static void constants_that_double_are_not_folded_for_ever(void **state)
{
    (void)state;
    struct shape shape = shape_of(1 << 18); /* 1 MiB */
    float *values = zalloc(sizeof *values << 18);
    struct endpoint axis = build_const_int(&b, 0);
    struct endpoint at = const_floats("start", shape, values);
    for (int i = 0; i < 8; i++)
        at = build(&b, "ConcatV2", NULL, 3, (struct endpoint[]){ at, at, axis },
                   (struct attr[]){ attr_int("N", 2), attr_type("T", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(0, NULL, 1, &at, NULL);
    assert_in_range(plan_steps_count(plan), 1, 7); /* folding all would take 511 MiB */
    plan_destroy(plan);
    free(values);
}

static struct status say_no(const void *context)
{
    (void)context;
    return status_error(STATUS_CANCELLED, "nobody wants it");
}

static void who_makes_a_plan_may_end_it(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint y = build_unary(&b, "Neg", "y", x);
    assert_ok(builder_status(&b));
    struct work_limits limits = { .check = say_no };
    struct plan_options options = { .limits = &limits };
    struct flatten_request request = {
        .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
    };
    struct plan *plan;
    assert_fails(plan_create(graph, &request, resources, NULL, &options, &plan), STATUS_CANCELLED,
                 "nobody wants it");
}

/* The variable has fewer bytes than a read as float needs. */
static void a_variable_of_another_type_than_it_is_read_as_is_no_constant(void **state)
{
    (void)state;
    const int8_t value[] = { 1, 2 };
    const struct shape shape = shape_of(2);
    struct endpoint x = X;
    struct tensor out;
    set_variable("v", tensor_borrow(DT_INT8, &shape, value));
    struct endpoint v = read_variable(variable_handle("v", DT_INT8, shape), DT_FLOAT);
    struct endpoint y = build_binary(&b, "AddV2", "y", x, build_unary(&b, "Neg", NULL, v));
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct tensor feed = floats(shape, VALUES(10, 20));
    struct status status = plan_run(plan, run, &feed, &out);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message,
                           "Trying to read variable with wrong dtype. Expected float got int8"));
    plan_destroy(plan);
}

static void a_variable_that_others_write_is_read_each_time(void **state)
{
    (void)state;
    set_variable("v", floats(shape_of(1), VALUES(1)));
    struct endpoint y = build_unary(
        &b, "Neg", "y", read_variable(variable_handle("v", DT_FLOAT, shape_of(1)), DT_FLOAT));
    struct plan_options options = { .writes_variables = true };
    struct plan *plan = plan_of(0, NULL, 1, &y, &options);
    struct tensor none = { 0 };
    assert_runs(plan, none, 1, VALUES(-1));
    set_variable("v", floats(shape_of(1), VALUES(2)));
    assert_runs(plan, none, 1, VALUES(-2));
    plan_destroy(plan);
}

static void a_variable_that_the_plan_writes_is_no_constant(void **state)
{
    (void)state;
    set_variable("v", floats(shape_of(1), VALUES(1)));
    struct endpoint handle = variable_handle("v", DT_FLOAT, shape_of(1));
    struct endpoint x = X;
    struct node *write = assign(handle, x, NULL);
    struct node *read = build_node(&b, "ReadVariableOp", "after", 1, &handle, 1, &write,
                                   (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct endpoint y = { read, 0 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_runs(plan, floats(shape_of(1), VALUES(5)), 1, VALUES(5));
    assert_runs(plan, floats(shape_of(1), VALUES(6)), 1, VALUES(6));
    plan_destroy(plan);
}

static void written_variables_are_found(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint a = variable_handle("a", DT_FLOAT, shape_of(1));
    struct endpoint c = variable_handle("c", DT_FLOAT, shape_of(1));
    struct endpoint through = build_unary(&b, "Identity", NULL, c);
    struct node *targets[] = { assign(through, x, NULL), read_variable(a, DT_FLOAT).node };
    struct flatten_request request = { .targets = targets, .targets_count = 2 };
    assert_ok(builder_status(&b));
    struct map names = { 0 };
    assert_ok(plan_written_variables(graph, &request, arena, &names));
    assert_int_equal(names.live, 1);
    assert_true(map_has(&names, bytes_of("c")));
    map_finish(&names);
}

static void control_edges_order_effects(void **state)
{
    (void)state;
    struct endpoint handle = variable_handle("v", DT_FLOAT, shape_of(1));
    struct endpoint one = const_floats("one", shape_of(1), VALUES(1));
    struct endpoint three = const_floats("three", shape_of(1), VALUES(3));
    struct node *first = assign(handle, one, NULL);
    struct node *add =
        build_node(&b, "AssignAddVariableOp", NULL, 2, (struct endpoint[]){ handle, three }, 1,
                   &first, (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct node *between = build_node(&b, "NoOp", NULL, 0, NULL, 1, &add, NULL);
    struct node *read = build_node(&b, "ReadVariableOp", NULL, 1, &handle, 1, &between,
                                   (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct endpoint y = { read, 0 };
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    struct tensor none = { 0 };
    for (int i = 0; i < 3; i++)
        assert_runs(plan, none, 1, VALUES(4));
    plan_destroy(plan);
}

/* As in TensorFlow, whose optimizer makes a NoOp of it. An Assert, which has an effect, runs. */
static void an_op_that_nobody_reads_does_not_run(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct shape three = shape_of(3);
    struct node *waited = build_node(&b, "EnsureShape", NULL, 1, &x, 0, NULL,
                                     (struct attr[]){ attr_shape("shape", &three), ATTR_END });
    struct node *y = build_node(&b, "Neg", "y", 1, &x, 1, &waited, NULL);
    struct endpoint fetch = { y, 0 };
    struct plan *plan = plan_of(1, &x, 1, &fetch, NULL);
    assert_runs(plan, floats(shape_of(2), VALUES(1, 2)), 2, VALUES(-1, -2));
    plan_destroy(plan);
}

static void what_an_unread_op_waits_for_still_comes_first(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint handle = variable_handle("v", DT_FLOAT, shape_of(1));
    struct node *written = assign(handle, x, NULL);
    struct node *unread = build_node(&b, "Square", NULL, 1, &x, 1, &written, NULL);
    struct endpoint squared = { unread, 0 };
    struct node *last = build_node(&b, "Neg", NULL, 1, &squared, 0, NULL, NULL);
    struct node *read = build_node(&b, "ReadVariableOp", NULL, 1, &handle, 1, &last,
                                   (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct endpoint y = { read, 0 };
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    assert_runs(plan, floats(shape_of(1), VALUES(5)), 1, VALUES(5));
    assert_runs(plan, floats(shape_of(1), VALUES(6)), 1, VALUES(6));
    plan_destroy(plan);
}

static void reading_a_variable_without_a_value_fails_in_tensorflows_words(void **state)
{
    (void)state;
    struct endpoint y = read_variable(variable_handle("v", DT_FLOAT, shape_of(1)), DT_FLOAT);
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    struct tensor out;
    assert_fails(
        plan_run(plan, run, NULL, &out), STATUS_FAILED_PRECONDITION,
        "Could not find variable v. This could mean that the variable has been deleted. In TF1, it "
        "can also mean the variable is uninitialized. Debug info: container=localhost, status "
        "error "
        "message=Resource localhost/v/N10tensorflow3VarE does not exist.");
    plan_destroy(plan);
}

static struct endpoint reference(const char *name)
{
    struct shape shape = shape_of(1);
    return build(
        &b, "VariableV2", name, 0, NULL,
        (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape), ATTR_END });
}

static void references_are_read_where_a_value_is_wanted(void **state)
{
    (void)state;
    struct endpoint v = reference("v");
    struct endpoint y = build_unary(&b, "Identity", "v/read", v);
    struct plan *plan = plan_of(0, NULL, 1, &y, NULL);
    struct tensor out, none = { 0 };
    assert_fails(plan_run(plan, run, NULL, &out), STATUS_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value v");
    plan_destroy(plan);

    struct endpoint x = X;
    struct endpoint assigned = build_binary(&b, "Assign", NULL, v, x);
    struct endpoint doubled = build_binary(&b, "AddV2", NULL, assigned, assigned);
    plan = plan_of(1, &x, 1, &doubled, NULL);
    assert_runs(plan, floats(shape_of(1), VALUES(4)), 1, VALUES(8));
    plan_destroy(plan);

    plan = plan_of(0, NULL, 1, &y, NULL);
    assert_int_equal(plan_steps_count(plan), 0); /* now a constant */
    assert_runs(plan, none, 1, VALUES(4));
    plan_destroy(plan);
}

static void writes_of_constants_are_done_in_every_run(void **state)
{
    (void)state;
    struct endpoint v = reference("v");
    struct endpoint one = const_floats("one", shape_of(1), VALUES(1));
    struct endpoint reset = build_binary(&b, "Assign", NULL, v, one);
    struct endpoint more = build_binary(&b, "AssignAdd", NULL, v, one);
    struct plan *resets = plan_of(0, NULL, 1, &reset, NULL),
                *adds = plan_of(0, NULL, 1, &more, NULL);
    struct tensor none = { 0 };
    for (int i = 0; i < 2; i++) {
        assert_runs(resets, none, 1, VALUES(1));
        assert_runs(adds, none, 1, VALUES(2));
        assert_runs(adds, none, 1, VALUES(3));
    }
    plan_destroy(resets);
    plan_destroy(adds);
}

static void rows_of_a_variable_are_gathered(void **state)
{
    (void)state;
    set_variable("v", floats(shape_of(3, 2), VALUES(1, 2, 3, 4, 5, 6)));
    struct endpoint handle = variable_handle("v", DT_FLOAT, shape_of(3, 2));
    struct endpoint x = build_placeholder(&b, "x", DT_INT32, shape_of(-1));
    struct endpoint y = build(&b, "ResourceGather", "y", 2, (struct endpoint[]){ handle, x },
                              (struct attr[]){ attr_type("dtype", DT_FLOAT), ATTR_END });
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    struct shape shape = shape_of(2);
    assert_runs(plan, tensor_borrow(DT_INT32, &shape, (int32_t[]){ 2, 0 }), 4, VALUES(5, 6, 1, 2));
    struct tensor feed = tensor_borrow(DT_INT32, &shape, (int32_t[]){ 2, 3 }), out;
    assert_fails(plan_run(plan, run, &feed, &out), STATUS_INVALID_ARGUMENT,
                 "indices[1] = 3 is not in [0, 3) [node 'y' (ResourceGather)]");
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
}

/* ---- folding ---- */

static void constants_are_computed_once(void **state)
{
    (void)state;
    struct endpoint x = X;
    struct endpoint c = const_floats("c", shape_of(2), VALUES(1, 4));
    struct endpoint root = build_unary(&b, "Sqrt", NULL, build_unary(&b, "Identity", NULL, c));
    struct endpoint y = build_binary(&b, "AddV2", "y", x, root);
    struct plan_options off = { .no_fold = true, .no_fuse = true };
    struct plan *folded = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_int_equal(plan_steps_count(folded), 1);
    assert_int_equal(plan_steps_count(plain), 3);
    assert_runs(folded, floats(shape_of(2), VALUES(1, 1)), 2, VALUES(2, 3));
    assert_runs(plain, floats(shape_of(2), VALUES(1, 1)), 2, VALUES(2, 3));
    plan_destroy(folded);
    plan_destroy(plain);
}

/* 41 · (1 / 41.0f) is less than 1. TensorFlow's optimizer does not know the value of a variable. */
static void a_quotient_by_a_constant_is_a_product(void **state)
{
    (void)state;
    set_variable("v", floats(shape_of(2), VALUES(41, 7)));
    struct endpoint x = X, c = const_floats("c", shape_of(2), VALUES(-41, -7)), quotients[6];
    struct endpoint v = read_variable(variable_handle("v", DT_FLOAT, shape_of(2)), DT_FLOAT);
    const char *const ops[] = { "RealDiv", "Div", "Xdivy" };
    for (int i = 0; i < 6; i++) {
        struct endpoint by = i < 3 ? build_unary(&b, "Neg", NULL, c) : v;
        quotients[i] = build_unary(&b, "Floor", NULL, build_binary(&b, ops[i % 3], NULL, x, by));
    }
    struct tensor feed = floats(shape_of(2), VALUES(41, 14)), out[6];
    for (int fuse = 0; fuse < 2; fuse++) {
        struct plan_options options = { .no_fuse = !fuse };
        struct plan *plan = plan_of(1, &x, 6, quotients, &options);
        assert_ok(plan_run(plan, run, &feed, out));
        for (int i = 0; i < 6; i++) {
            assert_float_equal(tensor_floats(&out[i])[0], i < 3 ? 0 : 1, 0);
            assert_float_equal(tensor_floats(&out[i])[1], 2, 0);
        }
        tensors_release(6, out);
        plan_destroy(plan);
    }
}

static void large_results_are_not_folded(void **state)
{
    (void)state;
    static const float zeros[2048];
    struct endpoint column = const_floats("column", shape_of(2048, 1), zeros);
    struct endpoint row = const_floats("row", shape_of(1, 2048), zeros);
    struct endpoint big = build_binary(&b, "AddV2", "big", column, row);
    struct plan *plan = plan_of(0, NULL, 1, &big, NULL);
    assert_int_equal(plan_steps_count(plan), 1);
    plan_destroy(plan);
}

static void a_folded_constant_is_not_written_over(void **state)
{
    (void)state;
    struct endpoint c = build_unary(&b, "Neg", NULL, const_floats("c", shape_of(2), VALUES(1, 2)));
    struct endpoint x = X;
    struct endpoint y = build_binary(&b, "Mul", NULL, c, x);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    for (int i = 0; i < 3; i++)
        assert_runs(plan, floats(shape_of(2), VALUES(2, 2)), 2, VALUES(-2, -4));
    plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_straight_line_runs),
        TEST(a_feed_can_be_fetched_and_outlives_the_request),
        TEST(a_fetch_borrows_a_feed_that_was_lent),
        TEST(a_fed_tensor_in_mid_graph_cuts_what_lies_behind),
        TEST(a_constant_can_be_fed),
        TEST(the_time_is_that_of_the_run),
        TEST(a_placeholder_that_nobody_feeds_says_so),
        TEST(the_second_form_of_a_placeholder_is_fed_and_missed),
        TEST(a_feed_of_another_type_is_refused),
        TEST(a_fed_output_of_an_unknown_op_has_the_type_its_user_wants),
        TEST(outputs_of_an_unknown_op_are_counted),
        TEST(features_that_are_counted_twice_are_counted_alike),
        TEST(a_missing_kernel_is_named),
        TEST(missing_kernels_are_listed),
        TEST(the_last_use_is_written_over),
        TEST(what_is_used_later_is_not_written_over),
        TEST(a_counted_feed_is_not_written_over),
        TEST(memory_is_flat_over_many_runs),
        TEST(a_failing_run_leaves_nothing_behind),
        TEST(a_run_over_its_memory_is_refused),
        TEST(the_deadline_is_checked_before_costly_nodes),
        TEST(many_plans_share_a_run),
        TEST(a_file_is_read_in_the_bounds_of_the_run),
        TEST(a_gather_of_batches_that_the_variable_lacks_is_refused),
        TEST(an_attribute_out_of_range_is_refused_when_the_plan_is_made),
        TEST(constants_that_double_are_not_folded_for_ever),
        TEST(an_init_op_may_not_keep_more_than_a_load_may),
        TEST(tables_that_a_node_makes_count_towards_the_load),
        TEST(who_makes_a_plan_may_end_it),
        TEST(a_file_outside_of_the_model_is_not_read),
        TEST(a_variable_that_nothing_writes_is_a_constant),
        TEST(a_variable_of_another_type_than_it_is_read_as_is_no_constant),
        TEST(a_variable_that_others_write_is_read_each_time),
        TEST(a_variable_that_the_plan_writes_is_no_constant),
        TEST(written_variables_are_found),
        TEST(control_edges_order_effects),
        TEST(an_op_that_nobody_reads_does_not_run),
        TEST(what_an_unread_op_waits_for_still_comes_first),
        TEST(reading_a_variable_without_a_value_fails_in_tensorflows_words),
        TEST(references_are_read_where_a_value_is_wanted),
        TEST(writes_of_constants_are_done_in_every_run),
        TEST(rows_of_a_variable_are_gathered),
        TEST(constants_are_computed_once),
        TEST(a_quotient_by_a_constant_is_a_product),
        TEST(large_results_are_not_folded),
        TEST(a_folded_constant_is_not_written_over),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
