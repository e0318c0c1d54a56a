/* TensorLists of the parts of a tensor. Values and texts are TensorFlow's. */
#include "unit/runtime/plan_fixture.h"

#include <string.h>

static const float numbers[] = { 0, 1, 2, 3, 4, 5 };

static struct endpoint ints(struct shape shape, const int32_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT32, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static struct endpoint longs(int count, const int64_t *values)
{
    struct shape shape = shape_of(count);
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static const struct attr *float_elements(void)
{
    static struct attr attrs[2];
    attrs[0] = attr_type("element_dtype", DT_FLOAT);
    attrs[1] = (struct attr)ATTR_END;
    return attrs;
}

static struct endpoint pair_shape(int32_t rows)
{
    return ints(shape_of(2), (int32_t[]){ rows, 2 });
}

static struct endpoint scatter(int count, const int32_t *indices, int32_t elements)
{
    struct endpoint in[] = { const_floats(NULL, shape_of(3, 2), numbers),
                             ints(shape_of(count), indices), ints(shape_of(1), (int32_t[]){ 2 }),
                             build_const_int(&b, elements) };
    return build(&b, "TensorListScatterV2", NULL, 4, in, float_elements());
}

static struct endpoint stack(struct endpoint list)
{
    struct endpoint in[] = { list, ints(shape_of(1), (int32_t[]){ 2 }) };
    return build(&b, "TensorListStack", NULL, 2, in, float_elements());
}

static struct endpoint split(int count, const int64_t *lengths)
{
    struct endpoint in[] = { const_floats(NULL, shape_of(3, 2), numbers), pair_shape(-1),
                             longs(count, lengths) };
    return build(&b, "TensorListSplit", NULL, 3, in, float_elements());
}

static struct endpoint concat(struct endpoint list, int leading_count, const int64_t *leading)
{
    struct endpoint in[] = { list, pair_shape(-1), longs(leading_count, leading) };
    return build(&b, "TensorListConcatV2", NULL, 3, in, float_elements());
}

/* The text of the failure, or "" if the outcome is these numbers. */
static void assert_gives(struct endpoint fetch, int count, const float *wanted, const char *text)
{
    struct plan *plan = plan_of(0, NULL, 1, &fetch, NULL);
    struct tensor out;
    struct status status = plan_run(plan, run, NULL, &out);
    assert_string_equal(status.message, text);
    if (status_is_ok(status)) {
        assert_values(&out, count, wanted);
        tensor_release(&out);
    }
    plan_destroy(plan);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
}

static void scatters_rows(void **state)
{
    (void)state;
    assert_gives(stack(scatter(3, (int32_t[]){ 0, 2, 1 }, -1)), 6, VALUES(0, 1, 4, 5, 2, 3), "");
    assert_gives(stack(scatter(3, (int32_t[]){ 0, 4, 1 }, -1)), 10,
                 VALUES(0, 1, 4, 5, 0, 0, 0, 0, 2, 3), "");
    assert_gives(stack(scatter(3, (int32_t[]){ 0, 0, 1 }, 3)), 6, VALUES(2, 3, 4, 5, 0, 0), "");
    assert_gives(stack(scatter(3, (int32_t[]){ 0, -2, 1 }, -1)), 0, NULL,
                 "Indices in TensorListScatter must all be non-negative.");
    assert_gives(stack(scatter(3, (int32_t[]){ 0, 5, 1 }, 3)), 0, NULL,
                 "TensorListScatter: Trying to scatter at index 5 in list with size 3");
    assert_gives(stack(scatter(2, (int32_t[]){ 0, 2 }, -1)), 0, NULL,
                 "Invalid number of rows in input tensor. Expected: 2 Actual: 3");
    assert_gives(stack(scatter(3, (int32_t[]){ 0, 1, 2 }, -5)), 0, NULL,
                 "TensorListScatter expects num_elements >= -1, found: -5");
}

static void scatters_into_a_list(void **state)
{
    static const float rows[] = { 7, 8, 9, 10 };
    (void)state;
    struct endpoint list = scatter(3, (int32_t[]){ 0, 1, 2 }, -1);
    struct endpoint in[] = { list, const_floats(NULL, shape_of(2, 2), rows),
                             ints(shape_of(2), (int32_t[]){ 1, 3 }) };
    struct endpoint changed =
        build(&b, "TensorListScatterIntoExistingList", NULL, 3, in, float_elements());
    struct endpoint both[] = { changed, list };
    assert_gives(stack(changed), 8, VALUES(0, 1, 7, 8, 4, 5, 9, 10), "");
    assert_gives(stack(build(&b, "TensorListConcatLists", NULL, 2, both, float_elements())), 14,
                 VALUES(0, 1, 7, 8, 4, 5, 9, 10, 0, 1, 2, 3, 4, 5), "");
}

static void splits_and_concatenates(void **state)
{
    (void)state;
    assert_gives(concat(split(3, (int64_t[]){ 2, 0, 1 }), 0, NULL), 6, numbers, "");
    assert_gives(split(2, (int64_t[]){ 2, 2 }), 0, NULL,
                 "Attempting to slice [2, 4] from tensor with length 3");
    /* an end that no int64 can hold */
    assert_gives(stack(split(2, (int64_t[]){ 1, INT64_MAX })), 0, NULL,
                 "Attempting to slice [1, 9223372036854775807] from tensor with length 3");
    assert_gives(split(1, (int64_t[]){ 2 }), 0, NULL,
                 "Unused values in tensor. Length of tensor: 3 Values used: 2");
    assert_gives(split(2, (int64_t[]){ -1, 4 }), 0, NULL, "Invalid value in lengths: -1");
}

static void concatenates_unset_elements_as_zeros(void **state)
{
    (void)state;
    struct endpoint in[] = { pair_shape(-1), build_const_int(&b, 2) };
    struct endpoint list = build(&b, "TensorListReserve", NULL, 2, in, float_elements());
    assert_gives(concat(list, 2, (int64_t[]){ 1, 2 }), 6, VALUES(0, 0, 0, 0, 0, 0), "");
    assert_gives(
        concat(list, 0, NULL), 0, NULL,
        "List contains uninitialized tensor at index 0 but leading_dims has only 0 elements.");
    assert_gives(concat(list, 2, (int64_t[]){ INT64_MAX, 2 }), 0, NULL,
                 "a concatenation of too many rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(scatters_rows),
        TEST(scatters_into_a_list),
        TEST(splits_and_concatenates),
        TEST(concatenates_unset_elements_as_zeros),
    };
    return cmocka_run_group_tests_name("list parts", tests, NULL, NULL);
}
