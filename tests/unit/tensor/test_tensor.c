#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tensor/tensor.h"

static void a_tensor_of_2_to_the_60_is_refused(void **state)
{
    (void)state;
    struct tensor tensor;
    struct shape shape = shape_of((int64_t)1 << 60);
    assert_int_equal(tensor_create(DT_INT8, &shape, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_create(DT_FLOAT, &shape, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_create(DT_STRING, &shape, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
    shape = shape_of(INT64_MAX);
    assert_int_equal(tensor_create(DT_COMPLEX128, &shape, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
}

/* A kernel may compute such shapes from valid ones: [m, 0] times [0, n] is [m, n]. */
static void a_size_that_wraps_is_refused(void **state)
{
    (void)state;
    struct tensor tensor;
    struct shape wraps_to_none = shape_of((int64_t)1 << 32, (int64_t)1 << 32);
    struct shape wraps_to_few = shape_of(((int64_t)1 << 32) + 1, (int64_t)1 << 32);
    struct shape empty = shape_of((int64_t)1 << 40, (int64_t)1 << 40, 0), negative = shape_of(-1);
    assert_int_equal(tensor_create(DT_INT8, &wraps_to_none, &tensor).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_create(DT_INT8, &wraps_to_few, &tensor).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_create(DT_INT8, &empty, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(tensor_create(DT_INT8, &negative, &tensor).code, STATUS_RESOURCE_EXHAUSTED);
}

static void data_is_aligned_and_strings_start_empty(void **state)
{
    (void)state;
    struct shape shape = shape_of(5);
    struct tensor tensor;
    assert_int_equal(tensor_create(DT_STRING, &shape, &tensor).code, STATUS_OK);
    assert_int_equal((uintptr_t)tensor.data % TENSOR_ALIGNMENT, 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(tensor_strings(&tensor)[i].size, 0);
    tensor_release(&tensor);
    assert_null(tensor.buffer);
    tensor_release(&tensor);
}

static void an_owner_more_forbids_writing(void **state)
{
    (void)state;
    struct shape shape = shape_of(3);
    struct tensor a;
    assert_int_equal(tensor_create(DT_FLOAT, &shape, &a).code, STATUS_OK);
    assert_true(tensor_writable(&a));
    struct tensor b = tensor_acquire(&a);
    assert_false(tensor_writable(&a));
    tensor_release(&b);
    assert_true(tensor_writable(&a));
    tensor_release(&a);
    float data[3];
    struct tensor borrowed = tensor_borrow(DT_FLOAT, &shape, data);
    assert_false(tensor_writable(&borrowed));
}

static void a_deep_copy_of_strings_depends_on_nothing(void **state)
{
    (void)state;
    char text[] = "a\0bcd";
    struct bytes elements[] = { { text, 5 }, { NULL, 0 }, { text + 2, 1 } };
    struct shape shape = shape_of(3);
    struct tensor borrowed = tensor_borrow(DT_STRING, &shape, elements), copy;
    assert_int_equal(tensor_copy_deep(&borrowed, &copy).code, STATUS_OK);
    memset(text, 'x', sizeof text);
    assert_true(bytes_equal(tensor_strings(&copy)[0], (struct bytes){ "a\0bcd", 5 }));
    assert_int_equal(tensor_strings(&copy)[1].size, 0);
    assert_true(bytes_equal(tensor_strings(&copy)[2], bytes_of("b")));
    tensor_release(&copy);
}

static int destroyed;

static void count_destroyed(struct object *object)
{
    (void)object;
    destroyed++;
}

static void objects_go_with_the_last_buffer(void **state)
{
    (void)state;
    static const struct object_type type = { "counted", count_destroyed };
    struct object object = { .type = &type, .references = 1 };
    struct shape shape = shape_of(2);
    struct tensor a, b;
    destroyed = 0;
    assert_int_equal(tensor_create(DT_RESOURCE, &shape, &a).code, STATUS_OK);
    assert_null(tensor_resources(&a)[0]);
    tensor_resources_mut(&a)[1] = &object;
    assert_int_equal(tensor_copy_deep(&a, &b).code, STATUS_OK);
    tensor_release(&a);
    assert_int_equal(destroyed, 0);
    tensor_release(&b);
    assert_int_equal(destroyed, 1);
}

struct nested {
    struct object object;
    struct object *inner;
};

static void release_inner(struct object *object)
{
    destroyed++;
    object_release(((struct nested *)object)->inner);
}

/* A loop of a graph may put an object into another at each turn. */
static void a_million_objects_in_each_other_end(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    static const struct object_type type = { "nested", release_inner };
    static struct nested all[DEPTH];
    destroyed = 0;
    for (int i = 0; i < DEPTH; i++)
        all[i] = (struct nested){ { .type = &type, .references = 1 },
                                  i > 0 ? &all[i - 1].object : NULL };
    object_release(&all[DEPTH - 1].object);
    assert_int_equal(destroyed, DEPTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_of_2_to_the_60_is_refused),
        cmocka_unit_test(a_size_that_wraps_is_refused),
        cmocka_unit_test(data_is_aligned_and_strings_start_empty),
        cmocka_unit_test(an_owner_more_forbids_writing),
        cmocka_unit_test(a_deep_copy_of_strings_depends_on_nothing),
        cmocka_unit_test(objects_go_with_the_last_buffer),
        cmocka_unit_test(a_million_objects_in_each_other_end),
    };
    return cmocka_run_group_tests_name("tensor", tests, NULL, NULL);
}
