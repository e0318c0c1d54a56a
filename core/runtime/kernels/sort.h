/*
 * sort: sorts as many elements as a request can hold. qsort would not end at the deadline, and its
 * memory would not count as the run's.
 */
#ifndef KERNELS_SORT_H
#define KERNELS_SORT_H

#include "runtime/kernel.h"

/* As of qsort_r. It must tell different elements apart: equal ones come in any order. */
typedef int compare_elements(const void *a, const void *b, void *context);

/**
 * Sorts `count` elements of `size` bytes in place. Elements in order already cost one pass.
 *
 * Errors  RESOURCE_EXHAUSTED no memory for a copy of the elements; those of kernel_check. The
 *         elements may then have any order and values
 */
struct status kernel_sort(struct kernel_context *k, void *elements, int64_t count, size_t size,
                          compare_elements *compare, void *context);

#endif
