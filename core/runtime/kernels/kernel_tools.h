/*
 * kernel_tools: helpers for kernels: reading shapes and axes from tensors, and checking the values
 * of a tensor that a client sent.
 */
#ifndef KERNELS_KERNEL_TOOLS_H
#define KERNELS_KERNEL_TOOLS_H

#include "runtime/kernel.h"

/*
 * For files whose ops are the rows of a table, an array of structs that begin with the op's name
 * (const char *). OP_ROW finds the row of an op, or NULL. PREPARE_ROW makes the row of the node's
 * op the kernel's state, which kernel_row returns.
 */
#define OP_ROW(rows, op)     op_row_find((rows), COUNT(rows), sizeof *(rows), (op))
#define PREPARE_ROW(p, rows) prepare_row((p), OP_ROW(rows, prepare_node(p)->op_name))
const void *op_row_find(const void *rows, size_t count, size_t row_bytes, const char *op);
struct status prepare_row(struct prepare_context *p, const void *row);
const void *kernel_row(const struct kernel_context *k);

/* The errors of shape_check_rank for a tensor that the kernel would make, with the node. */
struct status kernel_check_rank(const struct kernel_context *k, int64_t rank);

/* Output `index` starts as a copy of input `input`, in its buffer if this is the last use. */
struct status kernel_output_copy(struct kernel_context *k, int index, int input,
                                 struct tensor **out);

/* For loops over steps of different lengths: looks at the deadline once a million `units`, which
 * are elements that a step reads or writes. *work begins as 0. */
#define WORK_PER_CHECK (1 << 20)
static inline struct status kernel_work(const struct kernel_context *k, int64_t *work,
                                        int64_t units)
{
    *work += units;
    if (*work < WORK_PER_CHECK)
        return status_ok();
    *work = 0;
    return kernel_check(k);
}

/* An axis given as a scalar of input `index`: from [-rank, rank) to [0, rank). */
struct status kernel_axis(struct kernel_context *k, int index, int rank, int *out);

/* An input that must be a scalar; `name` is for the error. */
struct status kernel_scalar(struct kernel_context *k, int index, const char *name,
                            const struct tensor **out);

/* An input that must be a vector; `name` is for the error. */
struct status kernel_vector(const struct kernel_context *k, int index, const char *name);

/* Gives an array of elements of `size` bytes room for `more` after the first `count`, which may
 * move. The memory is a scratch tensor, or zero as long as it is empty. */
struct status kernel_scratch_reserve(struct kernel_context *k, struct tensor *memory, int64_t count,
                                     int64_t more, size_t size);

/* The number of elements in the dimensions before an axis, and in those after it. */
int64_t shape_outer(const struct shape *shape, int axis);
int64_t shape_inner(const struct shape *shape, int axis);

/* dst[i] = src[i], for elements of any dtype; objects get one more owner. */
void copy_elements(enum dtype dtype, void *dst, const void *src, int64_t count);
/* For elements that were moved to x as bytes: objects get one more owner. */
void hold_elements(enum dtype dtype, const void *x, int64_t count);

/* to[at] = from[i], for tensors of one dtype. */
void copy_element(const struct tensor *from, int64_t i, struct tensor *to, int64_t at);

/* Conjugates complex numbers; elements of other types stay unchanged. */
void conjugate_elements(enum dtype dtype, void *x, int64_t count);

/* Sets all elements to one value. */
void repeat_element(void *data, size_t element_bytes, const void *value, int64_t count);

/* Types whose elements may be copied as bytes: all but counted objects. */
#define DTYPES_MOVED (~(DTYPES(DT_RESOURCE) | DTYPES(DT_VARIANT)))

/* Real types that C computes in: all but half and bfloat16. */
#define DTYPES_LOOPS (DTYPES_REAL & ~(DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16)))

/* A list(int) attribute into out[0 .. max); *count says how many there were. */
struct status node_attr_ints(const struct node *node, const char *name, int max, int64_t *out,
                             int *count);

#endif
