#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "base/budget.h"
#include "tensor/tensor.h"

static struct tensor take(struct tensor_pool *pool, int64_t size)
{
    struct tensor tensor;
    struct shape shape = shape_of(size);
    assert_int_equal(tensor_create_pooled(pool, DT_INT8, &shape, &tensor).code, STATUS_OK);
    assert_int_equal((uintptr_t)tensor.data % TENSOR_ALIGNMENT, 0);
    memset(tensor.data, 1, (size_t)size);
    return tensor;
}

static void a_released_buffer_is_used_again(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(0);
    struct tensor a = take(pool, 1000);
    const void *data = a.data;
    tensor_release(&a);
    struct tensor b = take(pool, 1024);
    assert_ptr_equal(b.data, data);
    struct tensor c = take(pool, 1024);
    assert_ptr_not_equal(c.data, data);
    tensor_release(&b);
    tensor_release(&c);
    assert_int_equal(tensor_pool_used(pool), 0);
    tensor_pool_destroy(pool);
}

static void a_buffer_of_up_to_eight_times_the_size_is_lent(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(0);
    struct tensor large = take(pool, 1024 << 10), lent, other;
    const void *data = large.data;
    tensor_release(&large);
    other = take(pool, 100 << 10);
    assert_ptr_not_equal(other.data, data);
    lent = take(pool, 120 << 10);
    assert_ptr_equal(lent.data, data);
    tensor_release(&other);
    tensor_release(&lent);
    large = take(pool, 1024 << 10); /* it is back in its own class */
    assert_ptr_equal(large.data, data);
    tensor_release(&large);
    assert_int_equal(tensor_pool_used(pool), 0);
    tensor_pool_destroy(pool);
}

/* Otherwise a request would fail or not depending on the requests before it. */
static void the_limit_counts_what_was_asked_for(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(256 << 10);
    struct tensor large = take(pool, 256 << 10);
    const void *data = large.data;
    tensor_release(&large);
    struct tensor a = take(pool, 128 << 10), b = take(pool, 128 << 10);
    assert_ptr_equal(a.data, data);
    assert_int_equal(tensor_pool_used(pool), 256 << 10);
    tensor_release(&a);
    tensor_release(&b);
    tensor_pool_destroy(pool);
}

static void every_size_fits_its_class_and_wastes_little(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(0);
    for (int64_t size = 0; size < 70000; size += size < 3000 ? 1 : 61) {
        struct tensor tensor = take(pool, size);
        size_t capacity = tensor.buffer->capacity;
        assert_true(capacity >= (size_t)size);
        assert_true(size < 512 || capacity < (size_t)size * 5 / 4);
        tensor_release(&tensor);
        struct tensor full = take(pool, (int64_t)capacity);
        assert_int_equal(full.buffer->capacity, capacity);
        tensor_release(&full);
    }
    tensor_pool_destroy(pool);
}

static void the_limit_is_on_what_is_out(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(4096);
    struct tensor a = take(pool, 2048), b;
    struct shape shape = shape_of(2049);
    assert_int_equal(tensor_create_pooled(pool, DT_INT8, &shape, &b).code,
                     STATUS_RESOURCE_EXHAUSTED);
    tensor_release(&a);
    assert_int_equal(tensor_create_pooled(pool, DT_INT8, &shape, &b).code, STATUS_OK);
    tensor_release(&b);
    shape = shape_of((int64_t)1 << 60);
    assert_int_equal(tensor_create_pooled(pool, DT_INT8, &shape, &b).code,
                     STATUS_RESOURCE_EXHAUSTED);
    tensor_pool_destroy(pool);
}

static void a_buffer_outlives_its_pool(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(0);
    struct tensor a = take(pool, 100), b = take(pool, 100);
    tensor_pool_destroy(pool);
    memset(a.data, 7, 100);
    tensor_release(&a);
    tensor_release(&b);
}

static void buffers_are_paid_for_until_they_are_freed(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 1 << 20 };
    struct tensor_pool *pool = tensor_pool_create(0);
    struct shape shape = shape_of(900000);
    struct tensor a, b;
    tensor_pool_charge(pool, &budget);
    a = take(pool, 500000);
    assert_in_range(budget.used_bytes, 500000, 700000);
    assert_int_equal(tensor_create_pooled(pool, DT_INT8, &shape, &b).code,
                     STATUS_RESOURCE_EXHAUSTED);
    tensor_release(&a);
    assert_in_range(budget.used_bytes, 500000, 700000); /* kept, still charged */
    b = take(pool, 900000);                             /* evicts the kept buffer */
    assert_in_range(budget.used_bytes, 900000, 1 << 20);
    tensor_pool_destroy(pool);
    assert_in_range(budget.used_bytes, 900000, 1 << 20); /* b outlives the pool */
    tensor_release(&b);
    assert_int_equal(budget.used_bytes, 0);
}

/* One run, which takes and releases `count` buffers, each twice as large as the one before. */
static void run_with(struct tensor_pool *pool, int64_t size, int count)
{
    for (int i = 0; i < count; i++) {
        struct tensor tensor = take(pool, size << i);
        tensor_release(&tensor);
    }
    tensor_pool_settle(pool);
}

static void settling_frees_what_recent_runs_did_not_take(void **state)
{
    (void)state;
    struct tensor_pool *pool = tensor_pool_create(0);
    run_with(pool, 16 << 20, 3); /* 112 MiB in three classes, at most 64 at once */
    size_t all = tensor_pool_held(pool);
    assert_in_range(all, 100 << 20, 120 << 20);
    for (int i = 0; i < 50; i++)
        run_with(pool, 16 << 20, 3);
    assert_int_equal(tensor_pool_held(pool), all); /* identical runs free nothing */
    for (int i = 0; i < 100; i++)
        run_with(pool, 1000, 1);
    assert_int_equal(tensor_pool_held(pool), 1024);
    tensor_pool_destroy(pool);
}

enum { ROUNDS = 20000, SLOTS = 16 };

struct mail {
    _Atomic int full[SLOTS];
    struct tensor tensors[SLOTS];
};

static void *release_elsewhere(void *context)
{
    struct mail *mail = context;
    for (int i = 0; i < ROUNDS; i++) {
        while (!atomic_load(&mail->full[i % SLOTS]))
            ;
        tensor_release(&mail->tensors[i % SLOTS]);
        atomic_store(&mail->full[i % SLOTS], 0);
    }
    return NULL;
}

static void another_thread_may_release(void **state)
{
    (void)state;
    static struct mail mail;
    struct tensor_pool *pool = tensor_pool_create(0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_elsewhere, &mail), 0);
    for (int i = 0; i < ROUNDS; i++) {
        while (atomic_load(&mail.full[i % SLOTS]))
            ;
        mail.tensors[i % SLOTS] = take(pool, 64 + i % 3 * 700);
        atomic_store(&mail.full[i % SLOTS], 1);
        struct tensor own = take(pool, 64);
        tensor_release(&own);
    }
    tensor_pool_destroy(pool); /* while the other thread may still hold some */
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_released_buffer_is_used_again),
        cmocka_unit_test(a_buffer_of_up_to_eight_times_the_size_is_lent),
        cmocka_unit_test(the_limit_counts_what_was_asked_for),
        cmocka_unit_test(every_size_fits_its_class_and_wastes_little),
        cmocka_unit_test(the_limit_is_on_what_is_out),
        cmocka_unit_test(a_buffer_outlives_its_pool),
        cmocka_unit_test(buffers_are_paid_for_until_they_are_freed),
        cmocka_unit_test(settling_frees_what_recent_runs_did_not_take),
        cmocka_unit_test(another_thread_may_release),
    };
    return cmocka_run_group_tests_name("tensor pool", tests, NULL, NULL);
}
