/*
 * nd_index: the rows of an index tensor [..., depth], each of which names a slice of a tensor by
 * its first `depth` coordinates. For GatherNd, ScatterNd and TensorScatter*, which share the
 * attribute bad_indices_policy.
 */
#ifndef KERNELS_ND_INDEX_H
#define KERNELS_ND_INDEX_H

#include "runtime/kernel.h"

/* Reads bad_indices_policy: whether a row that names no slice is left out (IGNORE), or an error. */
struct status nd_index_prepare(struct prepare_context *p, bool *out_skips);

/* Sets *at to the slice that row i names in a tensor of `shape`; false: it does not exist. */
bool nd_index_find(const struct tensor *indices, int64_t i, int64_t depth,
                   const struct shape *shape, int64_t *at);

/**
 * The same for ops that write: *at is -1 if there is no such slice and `skips` leaves it out.
 *
 * Errors  INVALID_ARGUMENT names the row
 */
struct status nd_index_read(const struct tensor *indices, int64_t i, int64_t depth,
                            const struct shape *shape, bool skips, int64_t *at);

/* Row i as TensorFlow prints it: "[0, 9]". Threads: valid until the thread's next call. */
const char *nd_index_text(const struct tensor *indices, int64_t i, int64_t depth);

/* The position of element i in a tensor of `shape`, as TensorFlow prints it: "0,2". Threads: as
 * nd_index_text. */
const char *nd_index_place(const struct shape *shape, int64_t i);

/* Are all elements rows of a tensor with `rows` of them? INVALID_ARGUMENT in TensorFlow's words. */
struct status nd_index_check_rows(const struct tensor *indices, int64_t rows);

/* Output 0 of GatherNd: the slices of `params` that the rows of input 1 name (gather.c). */
struct status gather_nd(struct kernel_context *k, const struct tensor *params, bool skips,
                        struct tensor **out);

#endif
