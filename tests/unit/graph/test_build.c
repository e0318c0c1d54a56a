#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/ops/infer.h"

static struct arena *arena;
static struct graph *graph;
static struct builder b;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    graph = graph_create(arena);
    b = builder_init(graph);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    graph_finish(graph);
    arena_destroy(arena);
    return 0;
}

static void assert_shape(struct endpoint endpoint, const char *text)
{
    if (!status_is_ok(builder_status(&b)))
        fail_msg("%s", builder_status(&b).message);
    assert_string_equal(shape_text(endpoint_shape(endpoint)), text);
}

static void assert_failed(enum status_code code, const char *text)
{
    assert_int_equal(builder_status(&b).code, code);
    assert_string_equal(builder_status(&b).message, text);
}

static struct endpoint placeholder(enum dtype dtype, struct shape shape)
{
    return build_placeholder(&b, NULL, dtype, shape);
}

static void a_dense_layer_gets_types_and_shapes(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 784));
    struct endpoint w = build_placeholder(&b, "w", DT_FLOAT, shape_of(784, 10));
    struct endpoint bias = build_placeholder(&b, "bias", DT_FLOAT, shape_of(10));
    struct endpoint y = build_binary(&b, "MatMul", "dense/MatMul", x, w);
    struct endpoint z = build_binary(&b, "BiasAdd", NULL, y, bias);
    assert_shape(y, "[?,10]");
    assert_shape(z, "[?,10]");
    assert_int_equal(endpoint_dtype(z), DT_FLOAT);
    assert_string_equal(z.node->name, "BiasAdd");
    enum dtype dtype;
    assert_true(status_is_ok(node_attr_type(y.node, "T", &dtype)));
    assert_int_equal(dtype, DT_FLOAT);
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    b.scope = "net/";
    assert_string_equal(build_placeholder(&b, "c", DT_FLOAT, shape_scalar()).node->name, "net/c");
    assert_string_equal(build_placeholder(&b, "c", DT_FLOAT, shape_scalar()).node->name, "net/c_1");
    assert_string_equal(build_placeholder(&b, "c_2", DT_FLOAT, shape_scalar()).node->name,
                        "net/c_2");
    assert_string_equal(build_placeholder(&b, "c", DT_FLOAT, shape_scalar()).node->name, "net/c_3");
    assert_string_equal(build_const_int(&b, 1).node->name, "net/Const");
}

static void lists_are_counted_from_the_inputs(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(2, 3));
    struct endpoint axis = build_const_int(&b, 1);
    struct endpoint joined =
        build(&b, "ConcatV2", NULL, 3, (struct endpoint[]){ x, x, axis }, NULL);
    assert_shape(joined, "[2,6]");
    int64_t n = 0;
    assert_true(status_is_ok(node_attr_int(joined.node, "N", &n)));
    assert_int_equal(n, 2);

    struct node *parts = build_node(&b, "Split", NULL, 2, (struct endpoint[]){ axis, joined }, 0,
                                    NULL, (struct attr[]){ attr_int("num_split", 3), ATTR_END });
    assert_non_null(parts);
    assert_int_equal(parts->outputs_count, 3);
    assert_shape((struct endpoint){ parts, 2 }, "[2,2]");
}

static void shape_arithmetic_is_seen_through(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(-1, 28, 28));
    struct endpoint shape = build_unary(&b, "Shape", NULL, x);
    struct endpoint zero = build_const_ints(&b, NULL, 1, (int32_t[]){ 0 });
    struct endpoint one = build_const_ints(&b, NULL, 1, (int32_t[]){ 1 });
    struct endpoint batch =
        build(&b, "StridedSlice", NULL, 4, (struct endpoint[]){ shape, zero, one, one },
              (struct attr[]){ attr_int("shrink_axis_mask", 1), ATTR_END });
    struct endpoint size = build_const_int(&b, 784);
    struct endpoint target = build(&b, "Pack", NULL, 2, (struct endpoint[]){ batch, size }, NULL);
    assert_shape(build_binary(&b, "Reshape", NULL, x, target), "[?,784]");
}

static void a_known_shape_is_a_constant(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(2, 3));
    struct endpoint fill = build(
        &b, "Fill", NULL, 2,
        (struct endpoint[]){ build_unary(&b, "Shape", NULL, x), build_const_float(&b, 1) }, NULL);
    assert_shape(fill, "[2,3]");
    struct infer_context context = { fill.node, graph };
    const struct tensor *dims = infer_constant(&context, 0);
    assert_non_null(dims);
    assert_int_equal(dims->size, 2);
    assert_int_equal(tensor_index(dims, 1), 3);
}

static void a_wrong_type_is_named(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2, 3));
    struct endpoint i = build_placeholder(&b, "i", DT_INT32, shape_of(3, 2));
    struct endpoint none = build_binary(&b, "MatMul", "y", x, i);
    assert_null(none.node);
    assert_failed(STATUS_INVALID_ARGUMENT,
                  "node 'y' (MatMul): input 1 ('b') is int32 from 'i', should be float");
    assert_null(build_unary(&b, "Relu", NULL, none).node); /* keeps the first failure */
    assert_string_equal(builder_status(&b).message,
                        "node 'y' (MatMul): input 1 ('b') is int32 from 'i', should be float");
}

static void a_wrong_shape_is_named(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(2, 3));
    build_binary(&b, "MatMul", "y", x, x);
    assert_failed(STATUS_INVALID_ARGUMENT,
                  "node 'y' (MatMul): Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]");
}

static void a_missing_attribute_is_named(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(1, 8, 8, 3));
    struct endpoint w = placeholder(DT_FLOAT, shape_of(3, 3, 3, 4));
    build(&b, "Conv2D", "conv", 2, (struct endpoint[]){ x, w },
          (struct attr[]){ attr_text("padding", "SAME"), ATTR_END });
    assert_failed(STATUS_INVALID_ARGUMENT, "node 'conv' (Conv2D): attribute 'strides' is missing");
}

static void an_attribute_that_the_op_lacks_is_named(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(1));
    build(&b, "Relu", "r", 1, &x, (struct attr[]){ attr_int("alpha", 1), ATTR_END });
    assert_failed(STATUS_INVALID_ARGUMENT, "node 'r': Relu has no attribute 'alpha'");
}

static void a_missing_input_is_named(void **state)
{
    (void)state;
    build_unary(&b, "MatMul", "m", placeholder(DT_FLOAT, shape_of(1, 1)));
    assert_failed(STATUS_INVALID_ARGUMENT, "node 'm' (MatMul): has 1 inputs, should have 2");
}

static void an_unknown_op_is_unimplemented(void **state)
{
    (void)state;
    build(&b, "Frobnicate", NULL, 0, NULL, NULL);
    assert_failed(STATUS_UNIMPLEMENTED, "there is no op 'Frobnicate'");
}

/* A handle that comes from elsewhere may be of a dense table, whose keys may be vectors. */
static void what_is_looked_up_has_a_known_shape_if_the_table_is_known(void **state)
{
    (void)state;
    const struct attr types[] = { attr_type("key_dtype", DT_INT64),
                                  attr_type("value_dtype", DT_FLOAT), ATTR_END };
    const struct attr found[] = { attr_type("Tin", DT_INT64), attr_type("Tout", DT_FLOAT),
                                  ATTR_END };
    struct endpoint keys = placeholder(DT_INT64, shape_of(5));
    struct endpoint tables[] = { build(&b, "HashTableV2", NULL, 0, NULL, types),
                                 placeholder(DT_RESOURCE, shape_scalar()) };
    for (int i = 0; i < 2; i++) {
        struct endpoint inputs[] = { tables[i], keys, build_const_float(&b, 0) };
        struct endpoint y = build(&b, "LookupTableFindV2", NULL, 3, inputs, found);
        assert_true(status_is_ok(builder_status(&b)));
        assert_int_equal(y.node->outputs[y.index].shape.rank, i == 0 ? 1 : -1);
    }
}

static void a_constant_is_copied(void **state)
{
    (void)state;
    struct bytes words[] = { bytes_of("a"), { "b\0c", 3 } };
    struct shape two = shape_of(2);
    struct tensor value = tensor_borrow(DT_STRING, &two, words);
    struct endpoint c = build_const(&b, "words", &value);
    words[1] = bytes_of("gone");
    const struct tensor *kept = NULL;
    assert_true(status_is_ok(node_attr_tensor(c.node, "value", &kept)));
    assert_true(bytes_equal(tensor_strings(kept)[1], (struct bytes){ "b\0c", 3 }));
}

static void a_convolution_shrinks_its_image(void **state)
{
    (void)state;
    struct endpoint x = placeholder(DT_FLOAT, shape_of(-1, 28, 28, 1));
    struct endpoint w = placeholder(DT_FLOAT, shape_of(5, 5, 1, 32));
    int64_t strides[] = { 1, 2, 2, 1 };
    struct attr attrs[] = { attr_ints(&b, "strides", 4, strides), attr_text("padding", "VALID"),
                            ATTR_END };
    struct endpoint y = build(&b, "Conv2D", NULL, 2, (struct endpoint[]){ x, w }, attrs);
    assert_shape(y, "[?,12,12,32]");
    struct attr pool[] = { attr_ints(&b, "strides", 4, strides), attr_ints(&b, "ksize", 4, strides),
                           attr_text("padding", "SAME"), ATTR_END };
    assert_shape(build(&b, "MaxPool", NULL, 1, &y, pool), "[?,6,6,32]");
}

static void an_endpoint_is_found_by_its_text(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "net/x", DT_FLOAT, shape_of(2)), found;
    assert_true(status_is_ok(graph_endpoint(graph, "net/x", &found)));
    assert_ptr_equal(found.node, x.node);
    assert_string_equal(endpoint_text(found), "net/x:0");
    struct status status = graph_endpoint(graph, "net/x:1", &found);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message,
                        "tensor 'net/x:1': node 'net/x' (Placeholder) has 1 outputs");
    assert_int_equal(graph_endpoint(graph, "net/y:0", &found).code, STATUS_NOT_FOUND);
    assert_int_equal(graph_endpoint(graph, "net/x:", &found).code, STATUS_INVALID_ARGUMENT);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_dense_layer_gets_types_and_shapes),
        TEST(a_name_that_is_taken_gets_a_number),
        TEST(lists_are_counted_from_the_inputs),
        TEST(shape_arithmetic_is_seen_through),
        TEST(a_known_shape_is_a_constant),
        TEST(a_wrong_type_is_named),
        TEST(a_wrong_shape_is_named),
        TEST(a_missing_attribute_is_named),
        TEST(an_attribute_that_the_op_lacks_is_named),
        TEST(a_missing_input_is_named),
        TEST(an_unknown_op_is_unimplemented),
        TEST(a_constant_is_copied),
        TEST(what_is_looked_up_has_a_known_shape_if_the_table_is_known),
        TEST(a_convolution_shrinks_its_image),
        TEST(an_endpoint_is_found_by_its_text),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
