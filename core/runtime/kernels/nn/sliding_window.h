/*
 * sliding_window: the attributes that convolution and pooling share (strides, padding, dilations,
 * data_format), and the size of their outputs.
 */
#ifndef KERNELS_SLIDING_WINDOW_H
#define KERNELS_SLIDING_WINDOW_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/conv.h"

enum padding { PADDING_VALID, PADDING_SAME, PADDING_EXPLICIT };

#define PLANES  0
#define ROWS    1
#define COLUMNS 2

/* By PLANES, ROWS and COLUMNS; batch and channels must be 1 and are checked. */
struct window_attrs {
    int64_t stride[3], dilation[3], kernel[3]; /* kernel: pooling's ksize */
    enum padding padding;
    int64_t before[3], after[3]; /* EXPLICIT */
    bool channels_first;
    int rank; /* of the input: 4, images, which have one plane; 5, volumes */
};

/* The rank follows from data_format. `pooling`: reads ksize too. Checks what TensorFlow checks at
 * construction. */
struct status window_attrs_read(const struct node *node, bool pooling, struct window_attrs *out);

/* The same of an op on images that has no data_format: channels come last. Reads ksize if the op
 * has it. */
struct status window_attrs_read_images(const struct node *node, struct window_attrs *out);

/* Reads `kernel` ("ksize") or `stride` ("strides") from a tensor, for ops that take them as
 * inputs. */
struct status window_attrs_fed(const struct tensor *list, const char *what,
                               const struct window_attrs *attrs, int64_t out[3]);

/* Computes `before` and `out`. INVALID_ARGUMENT in TensorFlow's words if `out` would be
 * negative. */
struct status window_slide(const struct window_attrs *attrs, int dimension, int64_t in,
                           int64_t kernel, struct window *out);

#endif
