/*
 * build: adding nodes to a graph, for layers, gradients and exports.
 *
 *     struct builder b = builder_init(graph);
 *     struct endpoint x = build_placeholder(&b, "images", DT_FLOAT, shape_of(-1, 784));
 *     struct endpoint y = build_binary(&b, "MatMul", "dense/MatMul", x, weights);
 *     if (!status_is_ok(builder_status(&b))) …
 *
 * The first failure sticks in the builder and every later call does nothing and returns a null
 * endpoint, so that code that emits many nodes checks once. Type attributes (T, N, Tin, …) are
 * derived from the inputs; output types and shapes are inferred at once (node->outputs). A name
 * that is taken gets a suffix, _1, _2, …; NULL, or a function without the parameter, names the node
 * after its op. `scope` is put in front of every name.
 *
 * With `float_dtype`, code that was written for floats builds nodes of a 16-bit type: DT_FLOAT then
 * stands for that type in attributes that are given and in constants. Placeholders keep their type,
 * and so does an op whose type is not given, such as StatelessRandomUniform. Variables and
 * arguments of functions would not: build them while it is DT_INVALID.
 */
#ifndef GRAPH_BUILD_H
#define GRAPH_BUILD_H

#include "graph/graph.h"

struct builder {
    struct graph *graph;
    const char *scope;    /* "" or "dense/" */
    struct status status; /* text kept in the graph's arena */
    /* What DT_FLOAT stands for: DT_HALF or DT_BFLOAT16; DT_INVALID (0): itself */
    enum dtype float_dtype;
};

struct builder builder_init(struct graph *graph);
struct status builder_status(const struct builder *builder);
/* What a type stands for in the builder's nodes. */
enum dtype builder_dtype(const struct builder *builder, enum dtype dtype);
/* Sets float_dtype, and returns what it was. */
enum dtype builder_set_float(struct builder *builder, enum dtype dtype);

/* Attributes that do not follow from the inputs, ended by ATTR_END; see the makers below. NULL:
 * none. */
struct endpoint build(struct builder *builder, const char *op, const char *name, int inputs_count,
                      const struct endpoint *inputs, const struct attr *attrs);
/* The node, for ops with several outputs or none; `controls` run before it. */
struct node *build_node(struct builder *builder, const char *op, const char *name, int inputs_count,
                        const struct endpoint *inputs, int controls_count,
                        struct node *const *controls, const struct attr *attrs);

/* Values for `attrs`. Strings, lists and tensors are copied into the graph's arena by build(). */
struct attr attr_int(const char *name, int64_t value);
struct attr attr_float(const char *name, float value);
struct attr attr_bool(const char *name, bool value);
struct attr attr_type(const char *name, enum dtype value);
struct attr attr_text(const char *name, const char *value);
struct attr attr_function(struct builder *builder, const char *name, const char *function);
struct attr attr_shape(const char *name, const struct shape *value);
struct attr attr_tensor(const char *name, const struct tensor *value);
struct attr attr_ints(struct builder *builder, const char *name, int count, const int64_t *values);
struct attr attr_floats(struct builder *builder, const char *name, int count, const float *values);
struct attr attr_types(struct builder *builder, const char *name, int count,
                       const enum dtype *values);
struct attr attr_texts(struct builder *builder, const char *name, int count,
                       const char *const *values);
struct attr attr_shapes(struct builder *builder, const char *name, int count,
                        const struct shape *values);
#define ATTR_END ((struct attr){ 0 })

/* Frequent nodes. A constant's value is copied into the graph's arena. */
struct endpoint build_placeholder(struct builder *builder, const char *name, enum dtype dtype,
                                  struct shape shape);
struct endpoint build_const(struct builder *builder, const char *name, const struct tensor *value);
struct endpoint build_const_float(struct builder *builder, float value);
struct endpoint build_const_int(struct builder *builder, int32_t value);
struct endpoint build_named_int(struct builder *builder, const char *name, int32_t value);
struct endpoint build_const_int64(struct builder *builder, int64_t value);
struct endpoint build_const_double(struct builder *builder, double value);
struct endpoint build_const_ints(struct builder *builder, const char *name, int count,
                                 const int32_t *values);
struct endpoint build_unary(struct builder *builder, const char *op, const char *name,
                            struct endpoint x);
struct endpoint build_binary(struct builder *builder, const char *op, const char *name,
                             struct endpoint x, struct endpoint y);
/* A float x, and a float constant as y. */
struct endpoint build_by_number(struct builder *builder, const char *op, struct endpoint x,
                                double number);
struct endpoint build_cast(struct builder *builder, const char *name, struct endpoint x,
                           enum dtype dtype);
/* x[begin … begin + size), [rank] each; a size of -1 is the rest of the dimension. */
struct endpoint build_slice(struct builder *builder, const char *name, struct endpoint x, int rank,
                            const int32_t *begin, const int32_t *size);
/* x with a new dimension of 1 at `axis`, in [-rank - 1, rank]. */
struct endpoint build_expand_dims(struct builder *builder, struct endpoint x, int axis);
/* 0, 1, … below `end`, an int32 scalar. */
struct endpoint build_range(struct builder *builder, struct endpoint end);
/* SelectV2: `yes` where the condition is true, `no` elsewhere. */
struct endpoint build_select(struct builder *builder, struct endpoint condition,
                             struct endpoint yes, struct endpoint no);

#endif
