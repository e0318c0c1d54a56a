/*
 * pointwise: _FusedPointwise, a tree of element-wise ops on floats (plan/fuse_pointwise.c). All ops
 * are computed for one block of elements, then for the next: what lies between them stays in the L1
 * cache. The single ops define the result: if their operands do not broadcast to one shape, or a
 * row of the broadcast is short, their own kernels run one after the other.
 */
#include <string.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/plain/broadcast.h"
#include "runtime/steps.h"

#define BLOCK          512 /* elements */
#define LINKS_MAX      12
#define OPERANDS_MAX   BROADCAST_OPERANDS_MAX
#define ROW_MIN        32 /* a shorter row costs more for its calls than its memory would */
#define ELEMENT_NS     1  /* of one op, about */
/* A longer computation, of all ops, checks the deadline first. */
#define CHECK_ELEMENTS (1 << 16)

struct link {
    unary_row *unary;
    binary_row *binary; /* one of both */
    int sources[2];     /* < operands: an operand; else a link; -1: none */
    bool is_bias;       /* BiasAdd: source 1 is a vector of as many elements as a row has */
    struct step step;   /* of the op's own kernel */
    uint32_t inputs[2]; /* its slots: the operands, then the results of the links */
};

struct pointwise_tree {
    struct link links[LINKS_MAX];
    int links_count, operands_count;
    bool has_rows; /* all ops have loops over floats */
};

/* The node that a link would be without fusion. */
static struct node *link_node(struct prepare_context *context, const char *op, int inputs_count)
{
    struct arena *arena = prepare_arena(context);
    struct node *node = ARENA_NEW(arena, struct node);
    *node = *prepare_node(context);
    node->op_name = op;
    node->op = op_find(op);
    node->inputs = ARENA_ARRAY(arena, struct endpoint, 2);
    node->inputs_count = inputs_count;
    node->controls_count = 0;
    node->attrs = ARENA_NEW(arena, struct attr);
    node->attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = DT_FLOAT } };
    node->attrs_count = 1;
    return node;
}

static bool find_rows(struct link *link, const char *op)
{
    link->is_bias = strcmp(op, "BiasAdd") == 0;
    if (link->sources[1] >= 0)
        link->binary = binary_find_row(link->is_bias ? "AddV2" : op);
    else
        link->unary = unary_find_row(op) != NULL ? unary_find_row(op) : activation_find_row(op);
    return link->unary != NULL || link->binary != NULL;
}

/* A file may hold any tree. The kernels of other ops may take more operands, need attributes, or
 * make other results than one tensor of floats. */
static struct status check_link(const struct prepare_context *context, struct bytes name,
                                int sources_count)
{
    const struct op *op = op_find_bytes(name);
    if (op_has(op, OP_POINTWISE) && op->inputs_count == sources_count)
        return status_ok();
    const struct node *node = prepare_node(context);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): '%.*s' of %d operands, should be an element-wise op with "
                        "all of its operands",
                        node->name, node->op_name, (int)name.size, name.data, sources_count);
}

static struct status prepare_link(struct prepare_context *context, struct pointwise_tree *tree,
                                  int at, struct bytes name)
{
    struct link *link = &tree->links[at];
    int sources_count = link->sources[1] >= 0 ? 2 : 1;
    TRY(check_link(context, name, sources_count));
    const char *op = arena_memdup(prepare_arena(context), name.data, name.size);
    struct node *node = link_node(context, op, sources_count);
    const struct kernel *kernel = kernel_find(node);
    if (kernel == NULL)
        return kernel_missing(node);
    tree->has_rows &= find_rows(link, op);
    for (int i = 0; i < node->inputs_count; i++) {
        link->inputs[i] = (uint32_t)link->sources[i];
        if (link->sources[i] < tree->operands_count)
            node->inputs[i] = prepare_node(context)->inputs[link->sources[i]];
    }
    link->step = (struct step){ .compute = kernel->compute,
                                .node = node,
                                .inputs = link->inputs,
                                .inputs_count = node->inputs_count,
                                .outputs_count = 1,
                                .first_output = (uint32_t)(tree->operands_count + at) };
    return prepare_inner(context, node, kernel, &link->step);
}

static struct status pointwise_prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    struct pointwise_tree *tree = prepare_state(context, sizeof *tree, NULL);
    const struct attr_value *ops, *sources;
    TRY(node_attr_list(node, "ops", &ops));
    TRY(node_attr_list(node, "sources", &sources));
    if (ops->count < 1 || ops->count > LINKS_MAX || sources->count != 2 * ops->count ||
        node->inputs_count > OPERANDS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): %d ops with %d sources and %d operands", node->name,
                            node->op_name, ops->count, sources->count, node->inputs_count);
    *tree = (struct pointwise_tree){ .links_count = ops->count,
                                     .operands_count = node->inputs_count,
                                     .has_rows = true };
    for (int i = 0; i < ops->count; i++) {
        for (int j = 0; j < 2; j++) {
            int64_t source = sources->elements[2 * i + j].i;
            if (source < (j == 0 ? 0 : -1) || source >= node->inputs_count + i)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "node '%s' (%s): op %d has source %lld", node->name,
                                    node->op_name, i, (long long)source);
            tree->links[i].sources[j] = (int)source;
        }
        TRY(prepare_link(context, tree, i, ops->elements[i].s));
    }
    return status_ok();
}

/* ---- one op after the other ---- */

static bool is_used_later(const struct pointwise_tree *tree, int link, int slot)
{
    for (int i = link + 1; i < tree->links_count; i++)
        if (tree->links[i].sources[0] == slot || tree->links[i].sources[1] == slot)
            return true;
    return false;
}

static struct status compute_singly(struct kernel_context *k, const struct pointwise_tree *tree)
{
    const struct tensor *values[OPERANDS_MAX + LINKS_MAX];
    struct tensor storage[OPERANDS_MAX + LINKS_MAX];
    struct status status = status_ok();
    int first = tree->operands_count, slots = first + tree->links_count;
    for (int i = 0; i < slots; i++) {
        storage[i].buffer = NULL;
        values[i] = i < first ? kernel_input(k, i) : &storage[i];
    }
    struct kernel_context inner = *k;
    inner.values = values;
    inner.storage = storage;
    for (int i = 0; i < tree->links_count && status_is_ok(status); i++) {
        inner.step = &tree->links[i].step;
        status = inner.step->compute(&inner);
        for (int slot = first; slot < first + i; slot++)
            if (storage[slot].buffer != NULL && !is_used_later(tree, i, slot)) {
                tensor_release(&storage[slot]);
                storage[slot].buffer = NULL;
            }
    }
    if (status_is_ok(status))
        kernel_output_set(k, 0, tensor_acquire(&storage[slots - 1]));
    for (int i = first; i < slots; i++)
        if (storage[i].buffer != NULL)
            tensor_release(&storage[i]);
    return status;
}

/* ---- all ops for a block ---- */

/* The shapes of all results; false: they are not the same, so that the order of the ops matters. */
static bool find_shape(const struct pointwise_tree *tree, const struct tensor *operands,
                       struct shape *out)
{
    struct shape shapes[OPERANDS_MAX + LINKS_MAX];
    int first = tree->operands_count, last = first + tree->links_count - 1;
    for (int i = 0; i < first; i++) {
        if (operands[i].shape.rank == SHAPE_PACKED)
            return false;
        shapes[i] = operands[i].shape;
    }
    for (int i = 0; i < tree->links_count; i++) {
        const struct link *link = &tree->links[i];
        const struct shape *x = &shapes[link->sources[0]];
        shapes[first + i] = *x;
        if (link->sources[1] < 0)
            continue;
        const struct shape *y = &shapes[link->sources[1]];
        if (link->is_bias && (x->rank < 2 || y->rank != 1 || y->dims[0] != x->dims[x->rank - 1]))
            return false;
        if (!shape_equal(x, y) && !status_is_ok(shape_broadcast(x, y, &shapes[first + i])))
            return false;
    }
    for (int i = first; i < last; i++)
        if (!shape_equal(&shapes[i], &shapes[last]))
            return false;
    *out = shapes[last];
    return true;
}

struct pointwise_walk {
    const struct pointwise_tree *tree;
    const struct broadcast *broadcast;
    const float *operands[OPERANDS_MAX];
    int64_t row, blocks;      /* of a row */
    int64_t block;            /* elements of a block, at most BLOCK */
    bool tiled[OPERANDS_MAX]; /* the operand is one block that fits at each place */
    float *out;
};

/* One value instead of a row, as a block. */
static const float *spread(const float *value, float *block, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        block[i] = *value;
    return block;
}

static void compute_link(const struct link *link, const float *const *values, const int *steps,
                         float *out, int64_t count)
{
    float block[BLOCK];
    const float *x = values[link->sources[0]];
    int x_step = steps[link->sources[0]];
    int y_step = link->sources[1] < 0 ? 0 : steps[link->sources[1]];
    if (x_step == 0 && y_step == 0) {
        x = spread(x, block, count);
        x_step = 1;
    }
    if (link->unary != NULL)
        link->unary(x, out, count);
    else
        link->binary(x, values[link->sources[1]], out, count, x_step, y_step);
}

/* Computes `count` elements from `from` on of the row whose operands begin at `offsets`. */
static void compute_block(const struct pointwise_walk *walk, const int64_t *offsets, int64_t from,
                          int64_t count, float *out)
{
    const struct pointwise_tree *tree = walk->tree;
    float results[LINKS_MAX - 1][BLOCK];
    const float *values[OPERANDS_MAX + LINKS_MAX];
    int steps[OPERANDS_MAX + LINKS_MAX];
    for (int i = 0; i < tree->operands_count; i++) {
        steps[i] = walk->tiled[i] ? 1 : broadcast_step(walk->broadcast, i);
        values[i] = walk->operands[i] + (walk->tiled[i] ? 0 : offsets[i] + from * steps[i]);
    }
    for (int i = 0; i < tree->links_count; i++) {
        float *result = i == tree->links_count - 1 ? out : results[i];
        compute_link(&tree->links[i], values, steps, result, count);
        values[tree->operands_count + i] = result;
        steps[tree->operands_count + i] = 1;
    }
}

/* Blocks [first, end), counted through all rows. */
static void compute_blocks(void *context, int64_t first, int64_t end)
{
    const struct pointwise_walk *walk = context;
    struct broadcast_walk at = broadcast_at(walk->broadcast, first / walk->blocks);
    for (int64_t i = first; i < end; i++) {
        int64_t row = i / walk->blocks, from = i % walk->blocks * walk->block;
        int64_t left = walk->row - from;
        if (from == 0 && i > first)
            broadcast_next(walk->broadcast, &at);
        compute_block(walk, at.offsets, from, left < walk->block ? left : walk->block,
                      walk->out + row * walk->row + from);
    }
}

/* ---- short rows ---- */

struct tiles {
    float values[OPERANDS_MAX][BLOCK];
};

/* Is it a vector along the last dimension, of `columns` elements? */
static bool is_vector(const struct tensor *operand, int64_t columns)
{
    int rank = operand->shape.rank;
    return rank > 0 && operand->size == columns && operand->shape.dims[rank - 1] == columns;
}

/* Pixels of three channels, say, and numbers for each channel: repeats these numbers, so that
 * the whole result becomes one row. False: an operand has neither the result's shape nor that of
 * the vector. */
static bool tile_short_rows(struct pointwise_walk *walk, const struct shape *shape,
                            const struct tensor *operands, struct tiles *tiles,
                            struct broadcast *broadcast)
{
    int64_t columns = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1, size = shape_size(shape);
    struct shape flat = shape_of(size), scalar = shape_scalar();
    const struct shape *shapes[OPERANDS_MAX];
    if (columns < 2 || columns >= ROW_MIN)
        return false;
    walk->block = BLOCK / columns * columns;
    for (int i = 0; i < walk->tree->operands_count; i++) {
        bool is_whole = shape_equal(&operands[i].shape, shape);
        shapes[i] = is_whole ? &flat : &scalar;
        if (is_whole || operands[i].size == 1)
            continue;
        if (!is_vector(&operands[i], columns))
            return false;
        for (int64_t j = 0; j < walk->block; j++)
            tiles->values[i][j] = tensor_floats(&operands[i])[j % columns];
        walk->operands[i] = tiles->values[i];
        walk->tiled[i] = true;
    }
    broadcast_init(broadcast, &flat, walk->tree->operands_count, shapes);
    walk->row = size;
    return true;
}

static struct status output_for(struct kernel_context *k, const struct tensor *operands,
                                const struct shape *shape, struct tensor **out)
{
    for (int i = 0; i < kernel_inputs_count(k); i++)
        if (shape_equal(&operands[i].shape, shape))
            return kernel_output_forward(k, 0, i, shape, out);
    return kernel_output(k, 0, shape, out);
}

static struct status pointwise_compute(struct kernel_context *k)
{
    const struct pointwise_tree *tree = kernel_state(k);
    /* Copies: the executor may clear an input that the output takes over. */
    struct tensor operands[OPERANDS_MAX];
    const struct shape *shapes[OPERANDS_MAX];
    struct pointwise_walk walk = { .tree = tree, .block = BLOCK };
    struct broadcast broadcast;
    struct tiles tiles;
    struct shape shape;
    struct tensor *out;
    for (int i = 0; i < tree->operands_count; i++) {
        operands[i] = *kernel_input(k, i);
        shapes[i] = &operands[i].shape;
        walk.operands[i] = operands[i].data;
    }
    if (!tree->has_rows || !find_shape(tree, operands, &shape))
        return compute_singly(k, tree);
    broadcast_init(&broadcast, &shape, tree->operands_count, shapes);
    walk.broadcast = &broadcast;
    walk.row = broadcast_row(&broadcast);
    int64_t size = shape_size(&shape);
    if (size == 0 || (walk.row < ROW_MIN && walk.row < size &&
                      !tile_short_rows(&walk, &shape, operands, &tiles, &broadcast)))
        return compute_singly(k, tree);
    if (size * tree->links_count > CHECK_ELEMENTS)
        TRY(kernel_check(k));
    TRY(output_for(k, operands, &shape, &out));
    walk.out = out->data;
    walk.blocks = (walk.row + walk.block - 1) / walk.block;
    parallel_for(size / walk.row * walk.blocks,
                 (double)size * (double)tree->links_count * ELEMENT_NS, compute_blocks, &walk);
    return status_ok();
}

static const struct kernel rows[] = {
    { "_FusedPointwise", DTYPES(DT_FLOAT), .prepare = pointwise_prepare,
      .compute = pointwise_compute, .any_rank = true },
};
const struct kernel_table kernels_pointwise = { rows, COUNT(rows) };
