/* Sparse tensors in variants, which golden rows cannot hold: what goes in comes out. */
#include "plan_fixture.h"

static const int64_t indices[] = { 0, 0, 0, 2, 2, 1 };
static const int64_t sizes[] = { 3, 4 };

static struct endpoint const_int64s(struct shape shape, const int64_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, NULL, &tensor);
}

/* The indices and values of `op` and back, for values that are fed. */
static void check_round_trip(const char *op, enum dtype wanted, const char *error)
{
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(3));
    const struct endpoint parts[] = { const_int64s(shape_of(3, 2), indices), x,
                                      const_int64s(shape_of(2), sizes) };
    struct endpoint stored = build(
        &b, op, NULL, 3, parts,
        (struct attr[]){ attr_type("T", DT_FLOAT), attr_type("out_type", DT_VARIANT), ATTR_END });
    struct node *node =
        build_node(&b, "DeserializeSparse", NULL, 1, &stored, 0, NULL,
                   (struct attr[]){ attr_type("dtype", wanted),
                                    attr_type("Tserialized", DT_VARIANT), ATTR_END });
    const struct endpoint fetches[] = { { node, 0 }, { node, 1 }, { node, 2 } };
    struct plan *plan = plan_of(1, &x, 3, fetches, NULL);
    const float values[] = { 1, 2, 3 };
    struct tensor feed = floats(shape_of(3), values), got[3] = { 0 };
    struct status status = plan_run(plan, run, &feed, got);
    if (error != NULL) {
        assert_fails(status, STATUS_INVALID_ARGUMENT, error);
    } else {
        assert_ok(status);
        assert_memory_equal(got[0].data, indices, sizeof indices);
        assert_values(&got[1], 3, values);
        assert_memory_equal(got[2].data, sizes, sizeof sizes);
    }
    tensors_release(3, got);
    run_reset(run);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(plan);
}

static void a_sparse_tensor_comes_out_of_variants(void **state)
{
    (void)state;
    check_round_trip("SerializeSparse", DT_FLOAT, NULL);
}

static void rows_of_a_sparse_tensor_come_out_of_variants(void **state)
{
    (void)state;
    check_round_trip("SerializeManySparse", DT_FLOAT, NULL);
}

static void another_type_is_refused(void **state)
{
    (void)state;
    check_round_trip("SerializeSparse", DT_INT32,
                     "Requested SparseTensor of type int32 but SparseTensor[0].values.dtype() == "
                     "float");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sparse_tensor_comes_out_of_variants),
        TEST(rows_of_a_sparse_tensor_come_out_of_variants),
        TEST(another_type_is_refused),
    };
    return cmocka_run_group_tests_name("stored_sparse", tests, NULL, NULL);
}
