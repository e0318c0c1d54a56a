/*
 * fuse: what the files of patterns share. Internal to core/runtime; the table is in fuse.c.
 */
#ifndef RUNTIME_FUSE_H
#define RUNTIME_FUSE_H

#include <string.h>

#include "runtime/plan_internal.h"

struct fuse {
    struct maker *maker;
    struct region *region;
    int **uses;   /* by node id: how often each output is used, results included */
    bool *waited; /* by node id: a control edge waits for it */
};

/* What bias and activation can be fused into. */
struct base {
    const char *op, *fused;
    int inputs_count; /* inputs[1] are the weights */
    int rank;         /* of its result */
};

struct product {
    const struct node *node;
    const struct base *base;
    struct endpoint weights, bias; /* bias.node NULL: none */
    const char *activation;        /* NULL: none */
    float alpha;                   /* of LeakyRelu */
};

static inline bool op_is(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

static inline const struct tensor *constant_of(const struct fuse *fuse, struct endpoint endpoint)
{
    return region_value(fuse->region, endpoint)->constant;
}

static inline bool is_float(const struct node *node)
{
    return node->outputs_count > 0 && node->outputs[0].dtype == DT_FLOAT;
}

/* The base that the node's op is, plain or fused; NULL: none. */
const struct base *base_of(const struct node *node);
bool is_nhwc(const struct node *node);
/* A product that may take in what comes behind it: one without an activation. */
bool find_product(const struct fuse *fuse, struct endpoint endpoint, struct product *out);
/* How many channels its result has, where the weights are constant; else 0. */
int64_t channels_of(const struct fuse *fuse, const struct product *product);
/* The later node becomes the product, with what it has taken in. */
void fuse_become(struct fuse *fuse, struct node *node, const struct product *product);

/* A new constant of the region; takes `value`. */
struct endpoint fuse_constant(struct fuse *fuse, const char *name, struct tensor value);

/* The patterns; each says whether it has rewritten the node. */
bool fuse_add(struct fuse *fuse, struct node *node);
bool fuse_second_bias(struct fuse *fuse, struct node *node);
bool fuse_sub(struct fuse *fuse, struct node *node);
bool fuse_mul(struct fuse *fuse, struct node *node);
bool fuse_div(struct fuse *fuse, struct node *node);
bool fuse_batch_norm(struct fuse *fuse, struct node *node);
bool fuse_flatten(struct fuse *fuse, struct node *node);

/* Of what the patterns have left: turns the weights of a product with few columns. */
void fuse_narrow(struct fuse *fuse, struct node *node);

#endif
