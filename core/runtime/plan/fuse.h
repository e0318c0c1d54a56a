/*
 * fuse: the types and functions that the files of patterns share. Internal to core/runtime; the
 * table is in fuse.c.
 */
#ifndef RUNTIME_PLAN_FUSE_H
#define RUNTIME_PLAN_FUSE_H

#include <string.h>

#include "runtime/plan/maker.h"

struct fuse {
    struct plan_maker *maker;
    struct region *region;
    int **uses;     /* by node id: how often each output is used, results included */
    int uses_count; /* the ids that `uses` covers: patterns make more nodes */
    bool *waited;   /* by node id: a control edge or a target waits for it */
};

/* An op that takes in bias and activation. */
struct base {
    const char *op, *fused;
    int inputs_count; /* inputs[1] are the weights */
    int rank;         /* of its result */
};

struct product {
    const struct node *node;
    const struct base *base;
    struct endpoint weights, bias; /* bias.node NULL: none */
    struct endpoint addend;        /* an image of the result's shape; addend.node NULL: none */
    const char *activation;        /* NULL: none */
    struct node *reshape;          /* changes the shape of its result, with the same channels
                                    * last; NULL: none */
    float alpha;                   /* of LeakyRelu */
};

static inline bool op_is(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

static inline bool is_same(struct endpoint a, struct endpoint b)
{
    return a.node == b.node && a.index == b.index;
}

static inline const struct tensor *constant_of(const struct fuse *fuse, struct endpoint endpoint)
{
    return region_value(fuse->region, endpoint)->constant;
}

static inline bool is_float(const struct node *node)
{
    return node->outputs_count > 0 && node->outputs[0].dtype == DT_FLOAT;
}

/* Does the earlier node have one use, and no control edge that keeps it where it is? */
bool has_one_user(const struct fuse *fuse, struct endpoint endpoint);
/* The base that the node's op is, plain or fused; NULL: none. */
const struct base *base_of(const struct node *node);
/* Finds a product that can absorb the node after it: one without an addend or an activation. A
 * Reshape may lie between them, as in Keras' Dense on more than two dimensions. */
bool find_product(const struct fuse *fuse, struct endpoint endpoint, struct product *out);
/* The same for a product that the nodes of a pattern use `uses` times. */
bool find_product_used(const struct fuse *fuse, struct endpoint endpoint, int uses,
                       struct product *out);
/* Finds a product with an addend, and without an activation. */
bool find_sum(const struct fuse *fuse, struct endpoint endpoint, struct product *out);
/* The number of channels of its result; 0 if the weights are not constant. */
int64_t channels_of(const struct fuse *fuse, const struct product *product);
/* Turns the later node into the product, including what it has taken in. */
void fuse_become(struct fuse *fuse, struct node *node, const struct product *product);

/* Turns an activation into the product before it. */
void fuse_activation(struct fuse *fuse, struct node *node, struct product *product);

/* The node becomes another op. The arrays are in the maker's arena. */
void fuse_rewrite(struct node *node, const char *op, struct endpoint *inputs, int inputs_count,
                  struct attr *attrs, int attrs_count);

/* Sets an attribute, in place of one of that name. */
void fuse_set_attr(struct fuse *fuse, struct node *node, struct attr attr);
struct attr fuse_ints(struct fuse *fuse, const char *name, int count, const int64_t *values);
/* Sets the explicit paddings of a convolution: before and after, for each of four dimensions. */
void fuse_set_paddings(struct fuse *fuse, struct node *node, const int64_t paddings[8]);

/* A new constant of the region; takes `value`. */
struct endpoint fuse_constant(struct fuse *fuse, const char *name, struct tensor value);

/* The patterns; true: the node was rewritten. */
bool fuse_add(struct fuse *fuse, struct node *node);
bool fuse_second_bias(struct fuse *fuse, struct node *node);
bool fuse_sub(struct fuse *fuse, struct node *node);
bool fuse_mul(struct fuse *fuse, struct node *node);
bool fuse_swish(struct fuse *fuse, struct node *node);
bool fuse_gelu(struct fuse *fuse, struct node *node);
bool fuse_div(struct fuse *fuse, struct node *node);
bool fuse_batch_norm(struct fuse *fuse, struct node *node);
bool fuse_flatten(struct fuse *fuse, struct node *node);
bool fuse_pad(struct fuse *fuse, struct node *node);
bool fuse_sparse_product(struct fuse *fuse, struct node *node);
bool fuse_ragged_rows(struct fuse *fuse, struct node *node);

/* A loop with the body of a recurrent layer. */
bool fuse_recurrence(struct fuse *fuse, struct node *node);

/* After the patterns, with new counts of uses. True: nodes were added, and the counts are old. */
bool fuse_strides(struct fuse *fuse);

/* After the strides, which do not know addends, with new counts of uses. */
void fuse_sums(struct fuse *fuse);

/* After the patterns, with new counts of uses. */
void fuse_pointwise(struct fuse *fuse);

/* After the patterns: transposes the weights of a product with few columns. */
void fuse_narrow(struct fuse *fuse, struct node *node);

#endif
