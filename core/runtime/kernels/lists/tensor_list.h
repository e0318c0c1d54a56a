/*
 * tensor_list: the object of a TensorList, held by a scalar variant tensor (ops:
 * tensor_list_ops.c). The list shares its elements with their other owners. A write copies the list
 * only if the list itself is shared.
 */
#ifndef KERNELS_TENSOR_LIST_H
#define KERNELS_TENSOR_LIST_H

#include "runtime/kernel.h"

struct tensor_list {
    struct object object;
    enum dtype dtype;
    struct shape shape; /* of every element; may be partly unknown */
    int64_t count;
    struct tensor *elements;   /* dtype DT_INVALID: not set, zeros when read */
    struct tensor elements_of; /* the pooled buffer that holds them */
    struct tensor self;        /* the tensor that holds the list itself */
};

/* A list of `count` unset elements; memory from the run's pool. Owner: the caller. */
struct status tensor_list_create(struct kernel_context *k, enum dtype dtype,
                                 const struct shape *shape, int64_t count,
                                 struct tensor_list **out);

/* The list in input `index`; INVALID_ARGUMENT if it is none. */
struct status tensor_list_input(struct kernel_context *k, int index,
                                const struct tensor_list **out);

/* The list in an element of a variant tensor, or NULL. */
const struct tensor_list *tensor_list_of(const struct object *object);

/* A list of `count` elements, of which the first are those of another list; `count` is not less.
 * Owner: the caller. */
struct status tensor_list_copy(struct kernel_context *k, const struct tensor_list *list,
                               int64_t count, struct tensor_list **out);

/* The list in input `index`, writable: the same list if nothing else uses it, otherwise a copy.
 * Owner: the caller. */
struct status tensor_list_take(struct kernel_context *k, int index, struct tensor_list **out);

/* Makes the caller's list output `index`. */
struct status tensor_list_output(struct kernel_context *k, int index, struct tensor_list *list);

/* Changes the number of elements; new ones are unset. */
struct status tensor_list_resize(struct kernel_context *k, struct tensor_list *list, int64_t count);

/* For the ops (tensor_list_ops.c): their state begins with the dtype of the elements. */
struct status tensor_list_prepare(struct prepare_context *p);
struct status tensor_list_check_dtype(struct kernel_context *k, const struct tensor_list *list);
/* A shape given as a tensor: a scalar -1 is an unknown rank. */
struct status tensor_list_read_shape(struct kernel_context *k, int input, struct shape *out);
struct status tensor_list_read_count(struct kernel_context *k, int input, int64_t *out);
/* INVALID_ARGUMENT: the list takes no such item; `verb` is "set" or "append". */
struct status tensor_list_check_item(const struct tensor_list *list, const struct tensor *item,
                                     const char *verb);
/* Merges two partly known shapes; false: they contradict each other. */
bool tensor_list_merge(const struct shape *a, const struct shape *b, struct shape *out);

/* ZerosLike of a list: gradients of loops start from it. */
struct status tensor_list_zeros_like(struct kernel_context *k);
/* AddN of lists, element by element: gradients of a list that is used several times. */
struct status tensor_list_add_n(struct kernel_context *k);

#endif
