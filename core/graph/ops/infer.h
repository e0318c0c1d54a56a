/*
 * infer: helpers of the inference functions of ops.def, which are declared here and defined, by
 * family, in the other files of this folder. An inference function may know less than TensorFlow's,
 * but must not contradict it.
 */
#ifndef GRAPH_OPS_INFER_H
#define GRAPH_OPS_INFER_H

#include "graph/build.h"

/* The argument of an op's infer function. Output dtypes are set before the call; shapes are
 * unknown, and the function sets them. */
struct infer_context {
    struct node *node;
    struct graph *graph;
};
const struct shape *infer_input(const struct infer_context *context, int index);
/* The value of an input that is a Const node (or Shape of a known shape, Pack of constants, …), or
 * NULL. */
const struct tensor *infer_constant(const struct infer_context *context, int index);
void infer_output(struct infer_context *context, int index, const struct shape *shape);

/* Runs the inference of one node whose inputs are inferred. The error names the node. */
struct status node_infer(struct graph *graph, struct node *node);

/* An unknown dimension or element; -1 may be a value (Reshape). */
#define VALUE_UNKNOWN INT64_MIN
#define VALUES_MAX    32

/* The elements of an integer scalar or vector, as far as they are known before running. */
struct values {
    int rank;  /* 0 or 1; -1: unknown */
    int count; /* 1 for a scalar */
    int64_t at[VALUES_MAX];
};

/* Follows Const, Shape, Pack, StridedSlice and the arithmetic of shapes. */
void infer_values(const struct infer_context *context, int index, struct values *out);

/* An input that holds a shape: unknown elements and -1 give unknown dimensions. */
struct shape infer_shape_value(const struct infer_context *context, int index);

/* One integer; false: unknown. */
bool infer_int(const struct infer_context *context, int index, int64_t *out);

/* An axis in [-rank, rank) -> [0, rank). INVALID_ARGUMENT names both. */
struct status infer_axis(int64_t axis, int rank, int *out);

/* Merges two partly known shapes; INVALID_ARGUMENT if they differ. */
struct status infer_merge(const struct shape *a, const struct shape *b, struct shape *out);
struct status infer_rank(const struct shape *shape, int rank, const char *what);

static inline struct shape shape_unknown_dims(int rank)
{
    struct shape shape = { .rank = rank };
    for (int i = 0; i < rank && i < SHAPE_RANK_MAX; i++)
        shape.dims[i] = -1;
    return shape;
}

#define OP(name, traits, inputs, outputs, attrs, infer, gradient, rows) \
    struct status infer(struct infer_context *context);
#include "graph/ops.def"
#undef OP

#endif
