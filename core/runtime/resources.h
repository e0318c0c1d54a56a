/*
 * resources: what outlives a run: variables, tables, and whatever else an op finds or makes by
 * name. One per servable. An object is known by its type and its container and name, as in
 * TensorFlow. Threads: all functions are safe; a variable's value is read by taking an owner of it
 * under the variable's lock.
 */
#ifndef RUNTIME_RESOURCES_H
#define RUNTIME_RESOURCES_H

#include <pthread.h>

#include "tensor/tensor.h"

struct resources;

struct resources *resources_create(void);
void resources_destroy(struct resources *resources); /* accepts NULL */

/* The object of that name, with one more owner; NOT_FOUND; INVALID_ARGUMENT it is of another type.
 */
struct status resources_find(struct resources *resources, const struct object_type *type,
                             struct bytes container, struct bytes name, struct object **out);

/* Finds, or makes with `create(argument)` under the lock. */
struct status resources_find_or_create(struct resources *resources, const struct object_type *type,
                                       struct bytes container, struct bytes name,
                                       struct status (*create)(void *argument, struct object **out),
                                       void *argument, struct object **out);

/**
 * From now on ops may read files only in `directory`; without this call, everywhere. A client may
 * name the file that ReadFile reads.
 *
 * Errors  of file_real_path
 */
struct status resources_confine(struct resources *resources, const char *directory);

/**
 * The path of a file or directory that an op may read, in `arena`: with symbolic links resolved,
 * unless the file is in another mount namespace.
 *
 * Errors  PERMISSION_DENIED outside of the directory; NOT_FOUND and the like where it is not there
 */
struct status resources_real_path(const struct resources *resources, struct bytes path,
                                  struct arena *arena, const char **out);

/* Visits all, in order of making. */
void resources_visit(struct resources *resources,
                     void (*visit)(void *context, struct bytes container, struct bytes name,
                                   struct object *object),
                     void *context);

/* A variable: resource (VarHandleOp) and reference (VariableV2) variables are both this. */
extern const struct object_type variable_type;
struct variable {
    struct object object;
    pthread_mutex_t lock;
    const char *name; /* for error texts */
    enum dtype dtype;
    struct shape shape;  /* declared; may be partly unknown */
    struct tensor value; /* dtype DT_INVALID: not initialised */
    bool is_ref;         /* VariableV2: TensorFlow's words for one that is not initialised differ */
};
struct status variable_find_or_create(struct resources *resources, struct bytes container,
                                      struct bytes name, enum dtype dtype,
                                      const struct shape *shape, struct variable **out);
/* A snapshot: one more owner of the value. FAILED_PRECONDITION in TensorFlow's words where it is
 * not initialised. */
struct status variable_read(struct variable *variable, struct tensor *out);
/* Takes over the caller's ownership of `value` (deep-copied where it is not free-standing: strings,
 * borrowed data). */
struct status variable_assign(struct variable *variable, struct tensor *value);
/* Changes the value in place, under the lock, so that no change is lost; readers keep what they
 * have: `modify` gets a copy where there are any. FAILED_PRECONDITION where it is not initialised;
 * else what `modify` says. */
struct status variable_modify(struct variable *variable,
                              struct status (*modify)(void *argument, struct tensor *value),
                              void *argument);

#endif
