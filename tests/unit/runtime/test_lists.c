/* TensorLists as RNN loops use them. A list is copied only if it is shared. */
#include "unit/runtime/plan_fixture.h"

#include <string.h>

static struct endpoint ints(int count, const int32_t *values)
{
    return build_const_ints(&b, "ints", count, values);
}

static struct endpoint reserve(int32_t count)
{
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    struct endpoint in[] = { ints(1, (int32_t[]){ 2 }), build_const_int(&b, count) };
    return build(&b, "TensorListReserve", "list", 2, in, attrs);
}

static struct endpoint set(struct endpoint list, struct endpoint index, struct endpoint item)
{
    return build(&b, "TensorListSetItem", "set", 3, (struct endpoint[]){ list, index, item }, NULL);
}

static struct endpoint stack(struct endpoint list)
{
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    return build(&b, "TensorListStack", "stack", 2,
                 (struct endpoint[]){ list, ints(1, (int32_t[]){ 2 }) }, attrs);
}

static struct endpoint get(struct endpoint list, struct endpoint index)
{
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    return build(&b, "TensorListGetItem", "get", 3,
                 (struct endpoint[]){ list, index, ints(1, (int32_t[]){ 2 }) }, attrs);
}

static struct endpoint scalar(const char *name)
{
    return build_placeholder(&b, name, DT_INT32, shape_scalar());
}

/* Feeds one index and one pair of floats, and runs. The fetches must be floats. */
static struct status run_list(struct endpoint index, struct endpoint item, int32_t at,
                              const float *values, int count, const struct endpoint *fetches,
                              struct tensor *out)
{
    struct shape none = shape_scalar(), two = shape_of(2);
    struct tensor feeds[] = { tensor_borrow(DT_INT32, &none, &at),
                              tensor_borrow(DT_FLOAT, &two, values) };
    struct plan *plan = plan_of(2, (struct endpoint[]){ index, item }, count, fetches, NULL);
    struct status status = plan_run(plan, run, feeds, out);
    plan_destroy(plan);
    return status;
}

static void stacks_what_was_set_and_zeros_elsewhere(void **state)
{
    (void)state;
    struct endpoint index = scalar("index"),
                    item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct endpoint fetch = stack(set(reserve(3), index, item));
    struct tensor out;
    assert_ok(run_list(index, item, 1, (float[]){ 5, 6 }, 1, &fetch, &out));
    assert_string_equal(shape_text(&out.shape), "[3,2]");
    const float want[] = { 0, 0, 5, 6, 0, 0 };
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);
}

/* Changing the second list, which is made from the first, must not change the first. */
static void copies_a_list_that_is_used_twice(void **state)
{
    (void)state;
    struct endpoint index = scalar("index"),
                    item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct endpoint list = set(reserve(2), build_const_int(&b, 0), item);
    struct endpoint other = set(list, index, build_unary(&b, "Neg", "neg", item));
    struct endpoint fetches[] = { stack(list), stack(other) };
    struct tensor out[2];
    assert_ok(run_list(index, item, 0, (float[]){ 1, 2 }, 2, fetches, out));
    const float first[] = { 1, 2, 0, 0 }, second[] = { -1, -2, 0, 0 };
    assert_memory_equal(out[0].data, first, sizeof first);
    assert_memory_equal(out[1].data, second, sizeof second);
    tensor_release(&out[0]);
    tensor_release(&out[1]);
}

static void reads_elements_of_a_tensor(void **state)
{
    (void)state;
    struct endpoint index = scalar("index"),
                    item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    struct endpoint pair[] = { item, build_unary(&b, "Neg", "neg", item) };
    struct endpoint tensor = build(&b, "Pack", "pack", 2, pair, NULL);
    struct endpoint list = build(&b, "TensorListFromTensor", "list", 2,
                                 (struct endpoint[]){ tensor, ints(1, (int32_t[]){ 2 }) }, attrs);
    struct endpoint fetch = get(list, index);
    struct tensor out;
    assert_ok(run_list(index, item, 1, (float[]){ 3, 4 }, 1, &fetch, &out));
    const float want[] = { -3, -4 };
    assert_string_equal(shape_text(&out.shape), "[2]");
    assert_memory_equal(out.data, want, sizeof want);
    tensor_release(&out);
}

static void refuses_an_index_outside(void **state)
{
    (void)state;
    struct endpoint index = scalar("index"),
                    item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct endpoint fetch = get(reserve(3), index), written = stack(set(reserve(3), index, item));
    struct tensor out;
    assert_fails(run_list(index, item, 3, (float[]){ 1, 2 }, 1, &fetch, &out),
                 STATUS_INVALID_ARGUMENT, "Trying to access element 3 in a list with 3 elements.");
    assert_fails(run_list(index, item, -1, (float[]){ 1, 2 }, 1, &written, &out),
                 STATUS_INVALID_ARGUMENT, "Trying to modify element -1 in a list with 3 elements.");
}

static void refuses_more_elements_than_memory(void **state)
{
    (void)state;
    struct endpoint index = scalar("index"),
                    item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    struct endpoint list = build(&b, "TensorListReserve", "list", 2,
                                 (struct endpoint[]){ ints(1, (int32_t[]){ 2 }), index }, attrs);
    struct endpoint fetch = build(&b, "TensorListLength", "length", 1, &list, NULL);
    struct tensor out;
    run_destroy(run);
    run = run_create(1 << 20);
    assert_int_equal(run_list(index, item, 1 << 30, (float[]){ 1, 2 }, 1, &fetch, &out).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_fails(run_list(index, item, -1, (float[]){ 1, 2 }, 1, &fetch, &out),
                 STATUS_INVALID_ARGUMENT,
                 "The num_elements to reserve must be a non negative number, but got -1");
}

static struct endpoint length(struct endpoint list)
{
    return build(&b, "TensorListLength", "length", 1, &list, NULL);
}

static void pushes_pops_and_resizes(void **state)
{
    (void)state;
    struct endpoint index = scalar("index");
    struct endpoint item = build_placeholder(&b, "item", DT_FLOAT, shape_of(2));
    struct attr attrs[] = { attr_type("element_dtype", DT_FLOAT), ATTR_END };
    struct endpoint empty =
        build(&b, "EmptyTensorList", "empty", 2,
              (struct endpoint[]){ ints(1, (int32_t[]){ 2 }), build_const_int(&b, -1) }, attrs);
    struct endpoint list = empty;
    for (int i = 0; i < 5; i++)
        list = build(
            &b, "TensorListPushBack", "push", 2,
            (struct endpoint[]){ list, i % 2 ? build_unary(&b, "Neg", "neg", item) : item }, NULL);
    struct node *pop =
        build_node(&b, "TensorListPopBack", "pop", 2,
                   (struct endpoint[]){ list, ints(1, (int32_t[]){ 2 }) }, 0, NULL, attrs);
    struct endpoint resized =
        build(&b, "TensorListResize", "resize", 2, (struct endpoint[]){ list, index }, NULL);
    struct endpoint picked =
        build(&b, "TensorListGather", "gather", 3,
              (struct endpoint[]){ list, ints(2, (int32_t[]){ 3, 0 }), ints(1, (int32_t[]){ 2 }) },
              attrs);
    struct endpoint fetches[] = {
        length(list), length((struct endpoint){ pop, 0 }), length(resized), picked, { pop, 1 }
    };
    struct tensor out[5];
    assert_ok(run_list(index, item, 7, (float[]){ 1, 2 }, 5, fetches, out));
    assert_int_equal(tensor_int32s(&out[0])[0], 5);
    assert_int_equal(tensor_int32s(&out[1])[0], 4);
    assert_int_equal(tensor_int32s(&out[2])[0], 7);
    const float gathered[] = { -1, -2, 1, 2 }, popped[] = { 1, 2 };
    assert_memory_equal(out[3].data, gathered, sizeof gathered);
    assert_memory_equal(out[4].data, popped, sizeof popped);
    tensors_release(5, out);
    struct node *nothing =
        build_node(&b, "TensorListPopBack", "pop", 2,
                   (struct endpoint[]){ empty, ints(1, (int32_t[]){ 2 }) }, 0, NULL, attrs);
    struct endpoint fetch = { nothing, 1 };
    assert_fails(run_list(index, item, 0, (float[]){ 1, 2 }, 1, &fetch, out),
                 STATUS_INVALID_ARGUMENT, "Trying to pop from an empty list.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stacks_what_was_set_and_zeros_elsewhere, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_a_list_that_is_used_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_elements_of_a_tensor, setup, teardown),
        cmocka_unit_test_setup_teardown(pushes_pops_and_resizes, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_an_index_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_more_elements_than_memory, setup, teardown),
    };
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
