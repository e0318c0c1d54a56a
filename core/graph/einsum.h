/*
 * einsum: the equations of Einsum, such as "abc,cde->abde", read and bound to shapes. Shape
 * inference, the gradient, the kernel and the rule of batching all read them here.
 *
 * A label is any character but '.'. Each operand may hold one ellipsis, "...", which stands for any
 * number of dimensions; those of two operands broadcast. A label that occurs twice in an operand
 * takes its diagonal; one that occurs twice in the output writes a diagonal among zeros. The output
 * must be given.
 *
 * Bound to shapes, an equation is a list of axes, and the product is
 *
 *     out[Σ i·out_stride] = Σ over the axes that the output lacks of Π a[Σ i·strides[operand]]
 */
#ifndef GRAPH_EINSUM_H
#define GRAPH_EINSUM_H

#include "base/bytes.h"
#include "base/status.h"
#include "tensor/shape.h"

#define EINSUM_OPERANDS_MAX 2
#define EINSUM_LABELS_MAX   64 /* of one operand */
#define EINSUM_AXES_MAX     (2 * SHAPE_RANK_MAX)

/* The labels of one operand or of the output. */
struct einsum_labels {
    int count;    /* without the ellipsis */
    int ellipsis; /* the number of labels before the ellipsis; -1: no ellipsis */
    char at[EINSUM_LABELS_MAX];
};

struct einsum_equation {
    int inputs_count;
    struct einsum_labels inputs[EINSUM_OPERANDS_MAX], output;
};

struct einsum_axis {
    int label;   /* a character, or 256 + n for the nth dimension of the ellipsis from its end */
    int64_t dim; /* -1: unknown */
    bool in_output, in[EINSUM_OPERANDS_MAX]; /* a broadcast dimension is absent from its operand */
    int64_t out_stride, strides[EINSUM_OPERANDS_MAX]; /* in elements; 0 if absent */
};

struct einsum_binding {
    int count;
    struct einsum_axis at[EINSUM_AXES_MAX];
    struct shape output;
    bool output_repeats; /* a label occurs twice in the output: most of its elements are 0 */
};

/* INVALID_ARGUMENT quotes the equation. */
struct status einsum_parse(struct bytes equation, int inputs_count, struct einsum_equation *out);

/**
 * Finds the axes for operands of these shapes, and the shape of the output. Dimensions may be
 * unknown, ranks may not; strides count only if all dimensions are known.
 *
 * Errors  INVALID_ARGUMENT shapes that do not fit the equation or each other; UNIMPLEMENTED an
 *         output of too many dimensions
 */
struct status einsum_bind(const struct einsum_equation *einsum, const struct shape *const *shapes,
                          struct einsum_binding *out);

bool einsum_has_label(const struct einsum_labels *labels, char label);

#endif
