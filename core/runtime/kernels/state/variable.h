/* variable: finds the variable of a handle, for kernels that read or change one. */
#ifndef KERNELS_VARIABLE_H
#define KERNELS_VARIABLE_H

#include "runtime/kernel.h"
#include "runtime/resources.h"

/* The variable in input 0. INVALID_ARGUMENT: the input is no handle of a variable. */
struct status kernel_variable(struct kernel_context *context, struct variable **out);
/* The same of any input. */
struct status kernel_variable_at(struct kernel_context *context, int input, struct variable **out);

/* A snapshot of the variable in input 0, which has to be of the type of the node's output 0; the
 * caller releases it. */
struct status kernel_variable_value(struct kernel_context *context, struct tensor *out);

/**
 * Changes the value of the variable in input 0 by `change(argument, value)`, under its lock, and
 * hands a reference on. If `change` fails, it should have changed nothing.
 *
 * Errors  INVALID_ARGUMENT the variable is not of type `dtype`; those of `change`
 */
typedef struct status kernel_change(void *argument, struct tensor *value);
struct status kernel_change_variable(struct kernel_context *context, enum dtype dtype,
                                     kernel_change *change, void *argument);

/* If the op returns the reference that it got, as those on reference variables do: sets it. */
void kernel_hand_on_reference(struct kernel_context *context);

/* Copies the characters of output 0 for the run: an assignment frees those of the variable. */
struct status kernel_keep_strings(struct kernel_context *context, struct tensor *out);

/* An attribute that names a resource (container, shared_name); "" if the node has none. */
struct bytes resource_name_attr(const struct node *node, const char *name);

#endif
