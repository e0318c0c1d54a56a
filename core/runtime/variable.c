#include "runtime/resources.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

static void variable_destroy(struct object *object)
{
    struct variable *variable = (struct variable *)object;
    tensor_release(&variable->value);
    pthread_mutex_destroy(&variable->lock);
    free((char *)variable->name);
    free(variable);
}

const struct object_type variable_type = { "variable", variable_destroy };

struct declaration {
    struct bytes name;
    enum dtype dtype;
    const struct shape *shape;
};

static struct status variable_create(void *argument, struct object **out)
{
    const struct declaration *declaration = argument;
    struct variable *variable = zalloc(sizeof *variable);
    char *name = zalloc(declaration->name.size + 1);
    if (declaration->name.size > 0)
        memcpy(name, declaration->name.data, declaration->name.size);
    variable->object = (struct object){ .type = &variable_type, .references = 1 };
    pthread_mutex_init(&variable->lock, NULL);
    variable->name = name;
    variable->dtype = declaration->dtype;
    variable->shape = *declaration->shape;
    *out = &variable->object;
    return status_ok();
}

struct status variable_create_unnamed(const char *text, enum dtype dtype, const struct shape *shape,
                                      struct variable **out)
{
    struct declaration declaration = { bytes_of(text), dtype, shape };
    struct object *object;
    TRY(variable_create(&declaration, &object));
    *out = (struct variable *)object;
    (*out)->is_ref = true;
    return status_ok();
}

struct status variable_find_or_create(struct resources *resources, struct bytes container,
                                      struct bytes name, enum dtype dtype,
                                      const struct shape *shape, struct variable **out)
{
    struct declaration declaration = { name, dtype, shape };
    struct object *object;
    TRY(resources_find_or_create(resources, &variable_type, container, name, variable_create,
                                 &declaration, &object));
    *out = (struct variable *)object;
    return status_ok();
}

void variable_set_ref(struct variable *variable)
{
    pthread_mutex_lock(&variable->lock);
    variable->is_ref = true;
    pthread_mutex_unlock(&variable->lock);
}

/* Called with the lock held. */
static struct status uninitialised(const struct variable *variable)
{
    if (variable->is_ref)
        return status_error(STATUS_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                            variable->name);
    return status_error(
        STATUS_FAILED_PRECONDITION,
        "Could not find variable %s. This could mean that the variable has been deleted. In TF1, "
        "it can also mean the variable is uninitialized. Debug info: container=localhost, status "
        "error message=Resource localhost/%s/N10tensorflow3VarE does not exist.",
        variable->name, variable->name);
}

struct status variable_read(struct variable *variable, struct tensor *out)
{
    pthread_mutex_lock(&variable->lock);
    struct status status = status_ok();
    if (variable->value.dtype != DT_INVALID)
        *out = tensor_acquire(&variable->value);
    else
        status = uninitialised(variable);
    pthread_mutex_unlock(&variable->lock);
    return status;
}

void variable_clear(struct variable *variable)
{
    pthread_mutex_lock(&variable->lock);
    struct tensor old = variable->value;
    variable->value = (struct tensor){ 0 };
    pthread_mutex_unlock(&variable->lock);
    tensor_release(&old);
}

/* Does it live as long as its owner needs? Strings live in a run's arena, pooled buffers in its
 * pool. */
static bool is_free_standing(const struct tensor *tensor)
{
    return tensor->buffer != NULL && tensor->buffer->pool == NULL && tensor->dtype != DT_STRING;
}

struct status variable_assign(struct variable *variable, struct tensor *value)
{
    if (!is_free_standing(value)) {
        struct tensor copy;
        struct status status = tensor_copy_deep(value, &copy);
        tensor_release(value);
        TRY(status_in(status, "variable %s", variable->name));
        *value = copy;
    }
    pthread_mutex_lock(&variable->lock);
    struct tensor old = variable->value;
    variable->value = *value;
    pthread_mutex_unlock(&variable->lock);
    *value = (struct tensor){ 0 };
    tensor_release(&old);
    return status_ok();
}

/* Makes the value the variable's alone, which may be written. */
static struct status own_value(struct variable *variable)
{
    if (tensor_writable(&variable->value))
        return status_ok();
    struct tensor copy;
    TRY(tensor_copy_deep(&variable->value, &copy));
    tensor_release(&variable->value);
    variable->value = copy;
    return status_ok();
}

/* Locks each variable once, in the order of their addresses, so that two threads that lock the same
 * ones never wait for each other. */
static void lock_all(struct variable *const *variables, int count, bool lock)
{
    const struct variable *last = NULL;
    for (int n = 0; n < count; n++) {
        struct variable *next = NULL;
        for (int i = 0; i < count; i++)
            if ((uintptr_t)variables[i] > (uintptr_t)last &&
                (next == NULL || (uintptr_t)variables[i] < (uintptr_t)next))
                next = variables[i];
        if (next == NULL)
            return;
        if (lock)
            pthread_mutex_lock(&next->lock);
        else
            pthread_mutex_unlock(&next->lock);
        last = next;
    }
}

struct status variables_modify(struct variable *const *variables, int count,
                               struct status (*modify)(void *argument,
                                                       struct tensor *const *values),
                               void *argument)
{
    struct tensor *values[VARIABLES_MODIFY_MAX];
    struct status status = status_ok();
    assert(count <= VARIABLES_MODIFY_MAX);
    lock_all(variables, count, true);
    for (int i = 0; i < count && status_is_ok(status); i++) {
        values[i] = &variables[i]->value;
        status =
            values[i]->dtype == DT_INVALID ? uninitialised(variables[i]) : own_value(variables[i]);
    }
    if (status_is_ok(status))
        status = modify(argument, values);
    lock_all(variables, count, false);
    return status;
}

struct single_change {
    struct status (*modify)(void *argument, struct tensor *value);
    void *argument;
};

static struct status modify_single(void *argument, struct tensor *const *values)
{
    const struct single_change *change = argument;
    return change->modify(change->argument, values[0]);
}

struct status variable_modify(struct variable *variable,
                              struct status (*modify)(void *argument, struct tensor *value),
                              void *argument)
{
    struct single_change change = { modify, argument };
    return variables_modify(&variable, 1, modify_single, &change);
}
