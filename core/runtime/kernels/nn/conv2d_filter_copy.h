/*
 * conv2d_filter_copy: copies a filter into one of oneDNN's layouts, in about half the time of its
 * reorder, which waits for the memory. Internal to conv2d_filter.c, and only compiled with oneDNN.
 */
#ifndef KERNELS_CONV2D_FILTER_COPY_H
#define KERNELS_CONV2D_FILTER_COPY_H

#include <dnnl.h>

#include <stdbool.h>

/* `filter` is [height, width, depth, channels of all groups]; `out` has the size of the layout.
 * False: the layout is of another kind than those of AVX2's and AVX-512's convolutions, and nothing
 * is written. */
bool filter_copy(const float *filter, const dnnl_memory_desc_t *layout, float *out);

#endif
