/*
 * resources: the objects of a servable that outlive its runs, such as variables and tables. As in
 * TensorFlow, an object is identified by its type, its container and its name.
 *
 * Threads  all functions are safe
 */
#ifndef RUNTIME_RESOURCES_H
#define RUNTIME_RESOURCES_H

#include <pthread.h>

#include "tensor/tensor.h"

struct resources;

struct resources *resources_create(void);
void resources_destroy(struct resources *resources); /* accepts NULL */

/* The object of that type and name; the caller owns one reference. NOT_FOUND. */
struct status resources_find(struct resources *resources, const struct object_type *type,
                             struct bytes container, struct bytes name, struct object **out);

/* Finds the object, or makes it by `create(argument)` under the lock. */
struct status resources_find_or_create(struct resources *resources, const struct object_type *type,
                                       struct bytes container, struct bytes name,
                                       struct status (*create)(void *argument, struct object **out),
                                       void *argument, struct object **out);

/**
 * From now on ops may read only files in `directory`; without this call, any file. A client can
 * choose the file that ReadFile reads.
 *
 * Errors  of file_real_path
 */
struct status resources_confine(struct resources *resources, const char *directory);

/**
 * The path of a file or directory that an op may read, in `arena`, with symbolic links resolved
 * unless the file is in another mount namespace.
 *
 * Errors  PERMISSION_DENIED outside of the directory; NOT_FOUND and the like if it does not exist
 */
struct status resources_real_path(const struct resources *resources, struct bytes path,
                                  struct arena *arena, const char **out);

/* A resource variable (VarHandleOp) or a reference variable (VariableV2). */
extern const struct object_type variable_type;
struct variable {
    struct object object;
    pthread_mutex_t lock;
    const char *name; /* for error texts */
    enum dtype dtype;
    struct shape shape;  /* declared; may be partly unknown */
    struct tensor value; /* dtype DT_INVALID: not initialised */
    bool is_ref;         /* VariableV2: TensorFlow has another error text if it is not
                            initialised; under the lock */
};
struct status variable_find_or_create(struct resources *resources, struct bytes container,
                                      struct bytes name, enum dtype dtype,
                                      const struct shape *shape, struct variable **out);
/* A reference variable without a name to find it by; `text` is its name in errors. Owner: the
 * caller. */
struct status variable_create_unnamed(const char *text, enum dtype dtype, const struct shape *shape,
                                      struct variable **out);
/* Call it when a plan has the variable as a VariableV2. */
void variable_set_ref(struct variable *variable);
/* A snapshot of the value; the caller owns one reference. FAILED_PRECONDITION in TensorFlow's words
 * if it is not initialised. */
struct status variable_read(struct variable *variable, struct tensor *out);
/* Drops the value: reading the variable fails until it is assigned again. */
void variable_clear(struct variable *variable);
/* Drops the values of variables that only `resources` holds, and no handle of a plan: nothing can
 * read or write them any more. */
void resources_clear_unused_variables(struct resources *resources);
/* Takes over the caller's reference to `value`; copies strings and data that is borrowed or from a
 * run's pool, which may not live as long as the variable. */
struct status variable_assign(struct variable *variable, struct tensor *value);
/* Changes the value in place, under the lock: no change is lost. If a reader still holds the value,
 * `modify` gets a copy. FAILED_PRECONDITION if it is not initialised, or the failure of
 * `modify`. */
struct status variable_modify(struct variable *variable,
                              struct status (*modify)(void *argument, struct tensor *value),
                              void *argument);
/* The same for several variables at once, each of which may be there more than once: all are
 * locked, so that other threads see all changes or none. values[i] is the value of variables[i]. */
#define VARIABLES_MODIFY_MAX 4
struct status variables_modify(struct variable *const *variables, int count,
                               struct status (*modify)(void *argument,
                                                       struct tensor *const *values),
                               void *argument);

#endif
