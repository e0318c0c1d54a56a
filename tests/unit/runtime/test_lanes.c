/* Functions and sizes that ops of XLA cannot use are refused. */
#include "function_fixture.h"

/* A function f(a, b) = cast(a) of another type than its arguments. */
static void add_cast(enum dtype to)
{
    add_function(
        "f", 2, DTYPES_OF(DT_FLOAT, DT_FLOAT), 1, &to, TEXTS("c:y:0"), 1,
        &(struct line){
            "c", "Cast", { "a0" }, { attr_type("SrcT", DT_FLOAT), attr_type("DstT", to) } });
}

static struct endpoint vector(int count)
{
    static const float values[64];
    return const_floats(NULL, shape_of(count), values);
}

static void assert_refused(struct endpoint y, const char *text)
{
    struct tensor out = { 0 };
    struct plan_options options = { .no_fold = true, .no_fuse = true };
    struct plan *plan = plan_of(0, NULL, 1, &y, &options);
    assert_fails(plan_run(plan, run, NULL, &out), STATUS_INVALID_ARGUMENT, text);
    plan_destroy(plan);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
}

static void a_reduction_has_the_type_of_its_operand(void **state)
{
    (void)state;
    static const int64_t dims[] = { 0 };
    add_cast(DT_COMPLEX128);
    struct endpoint init = build_const_float(&b, 0);
    assert_refused(build(&b, "XlaReduce", "reduce", 2, (struct endpoint[]){ vector(64), init },
                         (struct attr[]){ attr_ints(&b, "dimensions_to_reduce", 1, dims),
                                          attr_func("reducer", "f"), ATTR_END }),
                   "the function gives complex128, should be float [node 'reduce' (XlaReduce)]");
}

static void a_scatter_has_the_type_of_its_operand(void **state)
{
    (void)state;
    add_cast(DT_BOOL);
    /* inserted_window_dims, scatter_dims_to_operand_dims: 0; index_vector_dim: 1 */
    static const char numbers[] = { 0x10, 0, 0x18, 0, 0x20, 1 };
    const int32_t zero = 0;
    struct endpoint index = build_const_ints(&b, NULL, 1, &zero);
    assert_refused(build(&b, "XlaScatter", "scatter", 3,
                         (struct endpoint[]){ vector(4), index, vector(1) },
                         (struct attr[]){ attr_func("update_computation", "f"),
                                          { "dimension_numbers",
                                            { ATTR_STRING, .s = { numbers, sizeof numbers } } },
                                          attr_bool("indices_are_sorted", false),
                                          ATTR_END }),
                   "the function gives bool, should be float [node 'scatter' (XlaScatter)]");
}

static void a_window_has_the_type_of_its_operand(void **state)
{
    (void)state;
    add_cast(DT_DOUBLE);
    const int32_t one = 1, none[] = { 0, 0 };
    struct endpoint ones = build_const_ints(&b, NULL, 1, &one);
    struct endpoint padding =
        build_binary(&b, "Reshape", NULL, build_const_ints(&b, NULL, 2, none),
                     build_const_ints(&b, NULL, 2, (const int32_t[]){ 1, 2 }));
    struct endpoint inputs[] = { vector(64), build_const_float(&b, 0), ones, ones, ones, ones,
                                 padding };
    assert_refused(build(&b, "XlaReduceWindow", "window", 7, inputs,
                         (struct attr[]){ attr_func("computation", "f"), ATTR_END }),
                   "the function gives double, should be float [node 'window' (XlaReduceWindow)]");
}

/* Strides between windows that are further apart than 64 bits can say: there is one window. */
static void windows_of_a_huge_padding_do_not_fit(void **state)
{
    (void)state;
    add_function("sum", 2, DTYPES_OF(DT_FLOAT, DT_FLOAT), 1, DTYPES_OF(DT_FLOAT), TEXTS("s:z:0"), 1,
                 &(struct line){ "s", "AddV2", { "a0", "a1" }, { T_FLOAT } });
    const int32_t pads[] = { 0, 1 << 18, 0, 1 << 20, 0, 1 << 20 };
    const int32_t ones[] = { 1, 1, 1 }, far[] = { INT32_MAX, INT32_MAX, INT32_MAX };
    const float one = 1;
    struct endpoint x = const_floats(NULL, shape_of(1, 1, 1), &one);
    struct endpoint each = build_const_ints(&b, NULL, 3, ones);
    struct endpoint padding =
        build_binary(&b, "Reshape", NULL, build_const_ints(&b, NULL, 6, pads),
                     build_const_ints(&b, NULL, 2, (const int32_t[]){ 3, 2 }));
    struct endpoint inputs[] = {
        x, build_const_float(&b, 0), each, build_const_ints(&b, NULL, 3, far), each, each, padding
    };
    struct endpoint y = build(&b, "XlaReduceWindow", "window", 7, inputs,
                              (struct attr[]){ attr_func("computation", "sum"), ATTR_END });
    struct plan_options options = { .no_fold = true, .no_fuse = true };
    struct plan *plan = plan_of(0, NULL, 1, &y, &options);
    struct tensor out = { 0 };
    run_destroy(run);
    run = run_create((size_t)1 << 20);
    assert_int_equal(plan_run(plan, run, NULL, &out).code, STATUS_RESOURCE_EXHAUSTED);
    plan_destroy(plan);
}

static void a_sort_compares(void **state)
{
    (void)state;
    add_cast(DT_INT8);
    struct endpoint x = vector(8), sorted;
    sorted = build(
        &b, "XlaVariadicSort", "sort", 2, (struct endpoint[]){ x, build_const_int(&b, 0) },
        (struct attr[]){ attr_types(&b, "T", 1, DTYPES_OF(DT_FLOAT)), attr_func("comparator", "f"),
                         attr_bool("is_stable", true), ATTR_END });
    assert_refused(sorted,
                   "the function gives int8, should be bool [node 'sort' (XlaVariadicSort)]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH_FUNCTIONS(a_reduction_has_the_type_of_its_operand),
        TEST_WITH_FUNCTIONS(a_scatter_has_the_type_of_its_operand),
        TEST_WITH_FUNCTIONS(a_window_has_the_type_of_its_operand),
        TEST_WITH_FUNCTIONS(windows_of_a_huge_padding_do_not_fit),
        TEST_WITH_FUNCTIONS(a_sort_compares),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
