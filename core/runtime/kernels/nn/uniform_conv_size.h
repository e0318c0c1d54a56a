/*
 * uniform_conv_size: the attributes of UniformQuantizedConvolution, which are those of XLA's
 * convolution, and what follows from them and from the shapes of the operands.
 */
#ifndef KERNELS_UNIFORM_CONV_SIZE_H
#define KERNELS_UNIFORM_CONV_SIZE_H

#include "runtime/kernel.h"

#define UNIFORM_SPATIAL_MAX (SHAPE_RANK_MAX - 2)

/* One number for each spatial dimension; none: the default. */
struct uniform_numbers {
    int count;
    int64_t values[2 * UNIFORM_SPATIAL_MAX];
};

/* The meaning of each dimension of a tensor. */
struct uniform_dimensions {
    int64_t batch;    /* of the filter: the output's features */
    int64_t features; /* of the filter: the input's features */
    struct uniform_numbers spatial;
};

struct uniform_conv_attrs {
    struct uniform_numbers strides, x_dilation, filter_dilation, padding;
    bool is_same, is_explicit;
    int64_t batch_groups, feature_groups;
    struct uniform_dimensions x, filter, out; /* x.spatial empty: in the order above */
};
struct status uniform_conv_attrs_read(struct prepare_context *p, struct uniform_conv_attrs *out);

/* One spatial dimension. */
struct uniform_axis {
    int64_t in, kernel, out;
    int64_t stride, x_dilation, filter_dilation, before;
};

struct uniform_conv_size {
    int spatial; /* how many axes */
    struct uniform_axis axes[UNIFORM_SPATIAL_MAX];
    int64_t batch_in, batch;         /* of x, and of the output */
    int64_t features_in, features;   /* of x, and of the output */
    int64_t depth;                   /* features of x that one feature of the output sees */
    int64_t batch_group, group;      /* features of the output in a group of batches, of features */
    int64_t pixels_in, taps, pixels; /* products of the axes; 0: the output is empty */
    /* dimensions of the tensors: batch, the spatial ones, features */
    int x_order[SHAPE_RANK_MAX], filter_order[SHAPE_RANK_MAX], out_order[SHAPE_RANK_MAX];
    struct shape out_shape;
};

/* INVALID_ARGUMENT: the shapes do not fit each other or the attributes. */
struct status uniform_conv_size_find(const struct kernel_context *k,
                                     const struct uniform_conv_attrs *attrs, const struct shape *x,
                                     const struct shape *filter, struct uniform_conv_size *out);

/**
 * The pixels of x that the taps of one pixel of the output see.
 *
 * Shapes  offsets [taps], -1: padding, or a gap of a dilated x
 */
void uniform_conv_offsets(const struct uniform_conv_size *size, int64_t pixel, int64_t *offsets);

#endif
