#include "runtime/resources.h"

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
    bool initialised = variable->value.dtype != DT_INVALID;
    if (initialised)
        *out = tensor_acquire(&variable->value);
    pthread_mutex_unlock(&variable->lock);
    return initialised ? status_ok() : uninitialised(variable);
}

/* Does it live as long as its owner wants? Strings live in a run's arena, pooled buffers in its
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

struct status variable_modify(struct variable *variable,
                              struct status (*modify)(void *argument, struct tensor *value),
                              void *argument)
{
    struct status status;
    pthread_mutex_lock(&variable->lock);
    if (variable->value.dtype == DT_INVALID)
        status = uninitialised(variable);
    else
        status = own_value(variable);
    if (status_is_ok(status))
        status = modify(argument, &variable->value);
    pthread_mutex_unlock(&variable->lock);
    return status;
}
