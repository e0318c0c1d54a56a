/*
 * infer: what the inference functions of ops.def share; they are declared here from it and stand in
 * the files beside this one, by family. An inference function may know less than TensorFlow's, but
 * never something else.
 */
#ifndef GRAPH_OPS_INFER_H
#define GRAPH_OPS_INFER_H

#include "graph/build.h"

/* Runs the inference of one node whose inputs are inferred. The error names the node. */
struct status node_infer(struct graph *graph, struct node *node);

/* A dimension or element that is not known before running; -1 may be a value (Reshape). */
#define VALUE_UNKNOWN INT64_MIN
#define VALUES_MAX    32

/* What is known of an integer scalar or vector before running. */
struct values {
    int rank;  /* 0 or 1; -1: nothing is known */
    int count; /* 1 for a scalar */
    int64_t at[VALUES_MAX];
};

/* Looks through Const, Shape, Pack, StridedSlice and the arithmetic of shapes. */
void infer_values(const struct infer_context *context, int index, struct values *out);

/* An input that holds a shape: unknown elements and -1 give unknown dimensions. */
struct shape infer_shape_value(const struct infer_context *context, int index);

/* One integer: false where it is not known. */
bool infer_int(const struct infer_context *context, int index, int64_t *out);

/* An axis in [-rank, rank) -> [0, rank). INVALID_ARGUMENT names both. */
struct status infer_axis(int64_t axis, int rank, int *out);

/* The dimensions that both know; INVALID_ARGUMENT where they differ. */
struct status infer_merge(const struct shape *a, const struct shape *b, struct shape *out);
struct status infer_rank(const struct shape *shape, int rank, const char *what);

static inline struct shape shape_unknown_dims(int rank)
{
    struct shape shape = { .rank = rank };
    for (int i = 0; i < rank && i < SHAPE_RANK_MAX; i++)
        shape.dims[i] = -1;
    return shape;
}

#define OP(name, flags, inputs, outputs, attrs, infer, gradient) \
    struct status infer(struct infer_context *context);
#include "graph/ops.def"
#undef OP

#endif
