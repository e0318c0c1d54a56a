/*
 * list_object: a TensorList: the object in a scalar variant tensor. Elements are shared with
 * whoever else owns them; the list itself is copied on write only when it is shared.
 */
#ifndef KERNELS_LIST_OBJECT_H
#define KERNELS_LIST_OBJECT_H

#include "runtime/kernel.h"

extern const struct object_type tensor_list_type;

struct tensor_list {
    struct object object;
    enum dtype dtype;
    struct shape shape; /* of every element; may be partly unknown */
    int64_t count, capacity;
    struct tensor *elements;   /* dtype DT_INVALID: not set, zeros when read */
    struct tensor elements_of; /* where they stand: a buffer of the run's pool */
    struct tensor self;        /* where the list itself stands */
};

/* A list of `count` unset elements; memory from the run's pool. Owner: the caller. */
struct status tensor_list_create(struct kernel_context *k, enum dtype dtype,
                                 const struct shape *shape, int64_t count,
                                 struct tensor_list **out);

/* The list in input `index`; INVALID_ARGUMENT where it is none. */
struct status tensor_list_input(struct kernel_context *k, int index,
                                const struct tensor_list **out);

/* Takes input `index` as a list that may be written: the same one where nobody else has it, else a
 * copy. Owner: the caller. */
struct status tensor_list_take(struct kernel_context *k, int index, struct tensor_list **out);

/* Hands the caller's list on as output `index`. */
struct status tensor_list_output(struct kernel_context *k, int index, struct tensor_list *list);

/* More or fewer elements; new ones are unset. */
struct status tensor_list_resize(struct kernel_context *k, struct tensor_list *list, int64_t count);

#endif
