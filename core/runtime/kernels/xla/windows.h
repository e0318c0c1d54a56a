/*
 * windows: the windows that XlaReduceWindow and XlaSelectAndScatter move over a padded tensor.
 */
#ifndef KERNELS_XLA_WINDOWS_H
#define KERNELS_XLA_WINDOWS_H

#include "runtime/kernels/plain/einsum.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/padding.h"

/* Inputs of a node, each a vector with an element for each dimension of input 0, but `padding` a
 * pair. Dilations may be -1: there is no such input, and they are 1. */
struct window_inputs {
    int sizes, steps, base_dilations, window_dilations, padding;
};

struct xla_windows {
    struct xla_padding padding; /* of input 0, as in padding_apply */
    struct shape padded;        /* its shape after that */
    struct shape out;           /* how many windows there are */
    struct nest offsets;        /* of the elements of a window, in the padded tensor */
    struct strided places;      /* of the windows there */
};

/* Errors  INVALID_ARGUMENT numbers that do not fit input 0 */
struct status xla_windows_find(const struct kernel_context *k, const struct window_inputs *inputs,
                               struct xla_windows *out);

#endif
