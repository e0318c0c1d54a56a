/* Shared by the tests of plans: building graphs and plans, running them, feeding floats. */
#ifndef TESTS_PLAN_FIXTURE_H
#define TESTS_PLAN_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/build.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "support/status.h"

static struct arena *arena;
static struct graph *graph;
static struct builder b;
static struct resources *resources;
static struct run *run;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    graph = graph_create(arena);
    b = builder_init(graph);
    resources = resources_create();
    run = run_create(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_destroy(run);
    resources_destroy(resources);
    graph_finish(graph);
    arena_destroy(arena);
    return 0;
}

static inline struct plan *plan_of(int feeds_count, const struct endpoint *feeds, int fetches_count,
                                   const struct endpoint *fetches,
                                   const struct plan_options *options)
{
    assert_ok(builder_status(&b));
    struct plan *plan;
    struct flatten_request request = { .feeds = feeds,
                                       .feeds_count = feeds_count,
                                       .fetches = fetches,
                                       .fetches_count = fetches_count };
    assert_ok(plan_create(graph, &request, resources, NULL, options, &plan));
    return plan;
}

static inline struct tensor floats(struct shape shape, const float *values)
{
    return tensor_borrow(DT_FLOAT, &shape, values);
}

#define VALUES(...) ((const float[]){ __VA_ARGS__ })

static inline struct endpoint const_floats(const char *name, struct shape shape,
                                           const float *values)
{
    struct tensor tensor = floats(shape, values);
    return build_const(&b, name, &tensor);
}

static inline struct endpoint const_bool(const char *name, bool value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_BOOL, &scalar, &value);
    return build_const(&b, name, &tensor);
}

static inline void assert_values(const struct tensor *tensor, int count, const float *values)
{
    assert_int_equal(tensor->dtype, DT_FLOAT);
    assert_int_equal(tensor->size, count);
    for (int i = 0; i < count; i++)
        assert_float_equal(tensor_floats(tensor)[i], values[i], 1e-5f);
}

/* Runs a plan of one feed and one fetch. */
static inline void assert_runs(const struct plan *plan, struct tensor feed, int count,
                               const float *values)
{
    struct tensor out;
    assert_ok(plan_run(plan, run, &feed, &out));
    assert_values(&out, count, values);
    tensor_release(&out);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
}

static inline struct endpoint variable_handle(const char *name, enum dtype dtype,
                                              struct shape shape)
{
    return build(&b, "VarHandleOp", name, 0, NULL,
                 (struct attr[]){ attr_type("dtype", dtype), attr_shape("shape", &shape),
                                  attr_text("shared_name", name), ATTR_END });
}

static inline struct endpoint read_variable(struct endpoint handle, enum dtype dtype)
{
    return build(&b, "ReadVariableOp", NULL, 1, &handle,
                 (struct attr[]){ attr_type("dtype", dtype), ATTR_END });
}

static inline void set_variable(const char *name, struct tensor value)
{
    struct variable *variable;
    assert_ok(variable_find_or_create(resources, bytes_of(""), bytes_of(name), value.dtype,
                                      &value.shape, &variable));
    struct tensor copy;
    assert_ok(tensor_copy_deep(&value, &copy));
    assert_ok(variable_assign(variable, &copy));
    object_release(&variable->object);
}

static inline bool plan_has(const struct plan *plan, const char *text)
{
    struct buffer buffer = { 0 };
    plan_print(plan, &buffer);
    buffer_append_char(&buffer, 0);
    bool found = strstr(buffer.data, text) != NULL;
    buffer_finish(&buffer);
    return found;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
