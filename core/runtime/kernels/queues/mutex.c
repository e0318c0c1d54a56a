/*
 * mutex: MutexV2, MutexLock and ConsumeMutexLock: runs that hold the lock of one mutex follow each
 * other. The lock is an object in a variant tensor; the mutex is free again when it is released.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/queues/wait_line.h"
#include "runtime/kernels/state/variable.h"

struct mutex {
    struct object object;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct wait_turn *line;
    bool is_held;
};

static void mutex_destroy(struct object *object)
{
    struct mutex *mutex = (struct mutex *)object;
    pthread_cond_destroy(&mutex->changed);
    pthread_mutex_destroy(&mutex->lock);
    free(mutex);
}

static const struct object_type mutex_type = { "mutex", mutex_destroy };

static struct status mutex_create(void *argument, struct object **out)
{
    (void)argument;
    struct mutex *mutex = zalloc(sizeof *mutex);
    mutex->object = (struct object){ .type = &mutex_type, .references = 1 };
    pthread_mutex_init(&mutex->lock, NULL);
    clock_cond_init(&mutex->changed);
    *out = &mutex->object;
    return status_ok();
}

/* ---- the lock ---- */

struct mutex_lock {
    struct object object;
    struct mutex *mutex;
};

static void set_free(struct mutex *mutex)
{
    pthread_mutex_lock(&mutex->lock);
    mutex->is_held = false;
    pthread_cond_broadcast(&mutex->changed);
    pthread_mutex_unlock(&mutex->lock);
}

static void lock_destroy(struct object *object)
{
    struct mutex_lock *lock = (struct mutex_lock *)object;
    set_free(lock->mutex);
    object_release(&lock->mutex->object);
    free(lock);
}

static const struct object_type lock_type = { "mutex lock", lock_destroy };

/* Waits until the mutex is free, and takes it. */
static struct status take_lock(struct kernel_context *k, struct mutex *mutex)
{
    int64_t deadline_ns = kernel_wait_deadline(k);
    struct status status = status_ok();
    struct wait_turn turn = { 0 };
    pthread_mutex_lock(&mutex->lock);
    wait_line_join(&mutex->line, &turn);
    while (status_is_ok(status) && (mutex->is_held || mutex->line != &turn))
        status = kernel_wait(k, &mutex->changed, &mutex->lock, deadline_ns);
    if (status_is_ok(status))
        mutex->is_held = true;
    wait_line_leave(&mutex->line, &turn);
    pthread_cond_broadcast(&mutex->changed);
    pthread_mutex_unlock(&mutex->lock);
    return status_is_ok(status)
               ? status
               : kernel_error(k, status.code, "another run holds the mutex: %s", status.message);
}

/* ---- ops ---- */

/* All mutexes without a shared name are one, as in TensorFlow. */
static struct status handle_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct object **mutex = prepare_state(p, sizeof *mutex, NULL);
    TRY(resources_find_or_create(
        prepare_resources(p), &mutex_type, resource_name_attr(node, "container"),
        resource_name_attr(node, "shared_name"), mutex_create, NULL, mutex));
    object_release(*mutex); /* `resources` keeps it, and outlives the plan */
    return status_ok();
}

static struct status handle_compute(struct kernel_context *k)
{
    struct object *const *mutex = kernel_state(k);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    TRY(kernel_output(k, 0, &scalar, &out));
    tensor_resources_mut(out)[0] = object_acquire(*mutex);
    return status_ok();
}

static struct status lock_compute(struct kernel_context *k)
{
    const struct tensor *handle = kernel_input(k, 0);
    struct shape scalar = shape_scalar();
    struct tensor *out;
    struct object *object = handle->size == 1 ? ((struct object *const *)handle->data)[0] : NULL;
    if (object == NULL || object->type != &mutex_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input 0 is not the handle of a mutex");
    TRY(kernel_output(k, 0, &scalar, &out));
    TRY(take_lock(k, (struct mutex *)object));
    struct mutex_lock *lock = zalloc(sizeof *lock);
    lock->object = (struct object){ .type = &lock_type, .references = 1 };
    lock->mutex = (struct mutex *)object_acquire(object);
    tensor_variants_mut(out)[0] = &lock->object;
    return status_ok();
}

static struct status consume_compute(struct kernel_context *k)
{
    const struct tensor *input = kernel_input(k, 0);
    const struct object *object = input->size == 1 ? tensor_variants(input)[0] : NULL;
    if (object == NULL || object->type != &lock_type)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected input to be a mutex lock, in a scalar variant tensor");
    struct tensor lock = kernel_take_input(k, 0);
    tensor_release(&lock);
    return status_ok();
}

static const struct kernel rows[] = {
    { "MutexV2", DTYPES_ALL, .prepare = handle_prepare, .compute = handle_compute, .once = true },
    { "MutexLock", DTYPES_ALL, .compute = lock_compute, .costly = true },
    { "ConsumeMutexLock", DTYPES_ALL, .compute = consume_compute },
};
const struct kernel_table kernels_mutex = { rows, COUNT(rows) };
