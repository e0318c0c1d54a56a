#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "graph/build.h"

static struct arena *arena;
static struct builder b;

static int setup(void **state)
{
    (void)state;
    arena = arena_create(0);
    b = builder_init(graph_create(arena));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_destroy(arena);
    return 0;
}

static bool equal(struct attr x, struct attr y)
{
    return attr_value_equal(&x.value, &y.value);
}

static void values_are_equal_by_content(void **state)
{
    (void)state;
    struct shape two = shape_of(2), unknown = shape_of(-1);
    float numbers[] = { 1, NAN }, others[] = { 1, 2 };
    struct tensor x = tensor_borrow(DT_FLOAT, &two, numbers);
    struct tensor y = tensor_borrow(DT_FLOAT, &two, others);
    int64_t ints[] = { 1, 2 };

    assert_true(equal(attr_text("a", "x"), attr_text("b", "x"))); /* ignores names */
    assert_false(equal(attr_text("a", "x"), attr_text("a", "y")));
    assert_false(equal(attr_int("a", 1), attr_bool("a", true)));
    assert_true(equal(attr_float("a", NAN), attr_float("a", NAN)));
    assert_false(equal(attr_float("a", 0.0F), attr_float("a", -0.0F)));
    assert_false(equal(attr_shape("a", &two), attr_shape("a", &unknown)));
    assert_true(equal(attr_tensor("a", &x), attr_tensor("a", &x)));
    assert_false(equal(attr_tensor("a", &x), attr_tensor("a", &y)));
    assert_true(equal(attr_ints(&b, "a", 2, ints), attr_ints(&b, "a", 2, ints)));
    assert_false(equal(attr_ints(&b, "a", 2, ints), attr_ints(&b, "a", 1, ints)));
}

static void functions_are_equal_whatever_the_order_of_their_bindings(void **state)
{
    (void)state;
    struct attr forth[] = { attr_int("n", 1), attr_type("T", DT_FLOAT) };
    struct attr back[] = { attr_type("T", DT_FLOAT), attr_int("n", 1) };
    struct attr other[] = { attr_type("T", DT_INT32), attr_int("n", 1) };
    struct function_name f = { "f", forth, 2 }, g = { "f", back, 2 }, h = { "f", other, 2 };
    struct attr_value x = { .kind = ATTR_FUNC, .func = &f }, y = { .kind = ATTR_FUNC, .func = &g };
    struct attr_value z = { .kind = ATTR_FUNC, .func = &h };
    assert_true(attr_value_equal(&x, &y));
    assert_false(attr_value_equal(&x, &z));
}

static void a_copy_depends_on_nothing(void **state)
{
    (void)state;
    char text[] = "word";
    struct bytes words[] = { { text, 4 } };
    struct shape one = shape_of(1);
    struct tensor tensor = tensor_borrow(DT_STRING, &one, words);
    struct attr attr = attr_tensor("value", &tensor);
    struct attr_value copy;

    assert_true(status_is_ok(attr_value_copy(arena, &attr.value, &copy)));
    text[0] = 'W';
    words[0].size = 0;
    one.dims[0] = 0;
    assert_true(bytes_equal(tensor_strings(copy.tensor)[0], bytes_of("word")));
}

static void a_shared_value_keeps_the_elements_where_they_are(void **state)
{
    (void)state;
    float number = 1;
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_FLOAT, &scalar, &number);
    struct attr attr = attr_tensor("value", &tensor);
    struct attr_value shared = attr_value_share(arena, &attr.value);
    tensor.size = 0; /* the shared value has its own struct tensor */
    assert_int_equal(shared.tensor->size, 1);
    assert_ptr_equal(shared.tensor->data, &number);
}

static void a_copy_over_the_limit_is_refused(void **state)
{
    (void)state;
    struct arena *small = arena_create(1 << 10);
    static float numbers[1 << 10];
    struct shape shape = shape_of(1 << 10);
    struct tensor tensor = tensor_borrow(DT_FLOAT, &shape, numbers);
    struct attr attr = attr_tensor("value", &tensor);
    struct attr_value copy;
    assert_int_equal(attr_value_copy(small, &attr.value, &copy).code, STATUS_RESOURCE_EXHAUSTED);
    arena_destroy(small);
}

static void an_attribute_that_is_not_given_has_its_default(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2, 2));
    struct endpoint y = build_binary(&b, "MatMul", "y", x, x);
    bool transpose = true;
    assert_null(attrs_find(y.node->attrs, y.node->attrs_count, "transpose_a"));
    assert_true(status_is_ok(node_attr_bool(y.node, "transpose_a", &transpose)));
    assert_false(transpose);
}

static void an_attribute_of_the_wrong_kind_is_named(void **state)
{
    (void)state;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(2, 2));
    int64_t number;
    struct status status = node_attr_int(x.node, "dtype", &number);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message,
                        "node 'x' (Placeholder): attribute 'dtype' is of kind type, should be int");
    status = node_attr_int(x.node, "nothing", &number);
    assert_string_equal(status.message, "node 'x' (Placeholder): attribute 'nothing' is missing");
}

static void the_type_of_a_reference_is_its_base(void **state)
{
    (void)state;
    struct node *node;
    struct attr attr = { "dtype", { .kind = ATTR_TYPE, .type = DT_REF + DT_FLOAT } };
    enum dtype dtype;
    assert_true(status_is_ok(graph_add(b.graph, "Placeholder", "ref", &node)));
    node_set_attr(b.graph, node, &attr);
    assert_true(status_is_ok(node_attr_type(node, "dtype", &dtype)));
    assert_int_equal(dtype, DT_FLOAT);

    struct attr wrong = { "dtype", { .kind = ATTR_TYPE, .type = 77 } };
    node_set_attr(b.graph, node, &wrong);
    assert_int_equal(node->attrs_count, 1);
    struct status status = node_attr_type(node, "dtype", &dtype);
    assert_string_equal(status.message,
                        "node 'ref' (Placeholder): attribute 'dtype' is 77, which is no type");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_are_equal_by_content),
        TEST(functions_are_equal_whatever_the_order_of_their_bindings),
        TEST(a_copy_depends_on_nothing),
        TEST(a_shared_value_keeps_the_elements_where_they_are),
        TEST(a_copy_over_the_limit_is_refused),
        TEST(an_attribute_that_is_not_given_has_its_default),
        TEST(an_attribute_of_the_wrong_kind_is_named),
        TEST(the_type_of_a_reference_is_its_base),
    };
    return cmocka_run_group_tests_name("attr", tests, NULL, NULL);
}
