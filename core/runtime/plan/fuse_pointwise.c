/*
 * Trees of element-wise ops on floats become one node, _FusedPointwise: its kernel computes all of
 * them for one block of elements after the other, so that what lies between them stays in the L1
 * cache. A gelu, a swish, or the last steps of a layer norm are such trees.
 */
#include "runtime/plan/fuse.h"

#define LINKS_MAX    12
#define OPERANDS_MAX 8 /* as many as plain/broadcast.h walks together */

struct tree {
    struct node *members[LINKS_MAX]; /* the root first, and then each after a user of it */
    int count;
};

static bool is_pointwise(const struct fuse *fuse, const struct node *node)
{
    return op_has(node->op, OP_POINTWISE) && is_float(node) && node->outputs_count == 1 &&
           node->controls_count == 0 && node->inputs_count >= 1 && node->inputs_count <= 2 &&
           node_is_nhwc(node) &&
           constant_of(fuse, (struct endpoint){ (struct node *)node, 0 }) == NULL;
}

static int place_in(const struct tree *tree, const struct node *node)
{
    for (int i = 0; i < tree->count; i++)
        if (tree->members[i] == node)
            return i;
    return -1;
}

/* The number of uses of the node by members. */
static int uses_within(const struct tree *tree, const struct node *node)
{
    int uses = 0;
    for (int i = 0; i < tree->count; i++)
        for (int j = 0; j < tree->members[i]->inputs_count; j++)
            uses += tree->members[i]->inputs[j].node == node;
    return uses;
}

/* A member must have the shape of the result: one that is broadcast further on would be computed
 * again and again. */
static bool fits(const struct fuse *fuse, const struct tree *tree, const struct node *node)
{
    const struct shape *own = &node->outputs[0].shape,
                       *result = &tree->members[0]->outputs[0].shape;
    return is_pointwise(fuse, node) && place_in(tree, node) < 0 && !fuse->waited[node->id] &&
           own->rank >= 0 && shape_equal(own, result) &&
           fuse->uses[node->id][0] == uses_within(tree, node);
}

static void grow(const struct fuse *fuse, struct tree *tree)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (int i = 0; i < tree->count; i++)
            for (int j = 0; j < tree->members[i]->inputs_count && tree->count < LINKS_MAX; j++) {
                struct node *node = tree->members[i]->inputs[j].node;
                if (fits(fuse, tree, node)) {
                    tree->members[tree->count++] = node;
                    grown = true;
                }
            }
    }
}

/* Sorts the members topologically: each comes after those that it uses. All its uses are
 * members, so the one that no remaining member uses is the last. */
static void order(struct tree *tree)
{
    for (int left = tree->count; left > 1; left--) {
        struct tree rest = { .count = left };
        memcpy(rest.members, tree->members, sizeof *rest.members * (size_t)left);
        int last = 0;
        while (uses_within(&rest, rest.members[last]) > 0)
            last++;
        struct node *node = tree->members[last];
        memmove(&tree->members[last], &tree->members[last + 1],
                sizeof *tree->members * (size_t)(left - 1 - last));
        tree->members[left - 1] = node;
    }
}

/* The operands of the members from outside, each once. */
static int find_operands(const struct tree *tree, struct endpoint *operands)
{
    int count = 0;
    for (int i = 0; i < tree->count; i++)
        for (int j = 0; j < tree->members[i]->inputs_count; j++) {
            struct endpoint x = tree->members[i]->inputs[j];
            int at = 0;
            if (place_in(tree, x.node) >= 0)
                continue;
            while (at < count && (operands[at].node != x.node || operands[at].index != x.index))
                at++;
            if (at == count && count == OPERANDS_MAX)
                return -1;
            operands[at] = x;
            count += at == count;
        }
    return count;
}

#define ATTRS_COUNT 4

/* The attributes of a tree. `ops` holds the op of each member; `sources` two numbers for each: the
 * index of the input or, from N on, of the member that makes an operand; -1: no second operand. */
static struct attr *make_attrs(struct fuse *fuse, const struct tree *tree,
                               const struct endpoint *operands, int count)
{
    struct arena *arena = fuse->maker->arena;
    struct attr_value *ops = ARENA_ARRAY(arena, struct attr_value, tree->count);
    struct attr_value *sources = ARENA_ARRAY(arena, struct attr_value, 2 * tree->count);
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, ATTRS_COUNT);
    for (int i = 0; i < tree->count; i++) {
        const struct node *member = tree->members[i];
        ops[i] = (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of(member->op_name) };
        for (int j = 0; j < 2; j++) {
            int from = -1;
            if (j < member->inputs_count) {
                struct endpoint x = member->inputs[j];
                from = place_in(tree, x.node);
                from = from >= 0 ? count + from : 0;
                while (from < count &&
                       (operands[from].node != x.node || operands[from].index != x.index))
                    from++;
            }
            sources[2 * i + j] = (struct attr_value){ .kind = ATTR_INT, .i = from };
        }
    }
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = DT_FLOAT } };
    attrs[1] = (struct attr){ "N", { .kind = ATTR_INT, .i = count } };
    attrs[2] = (struct attr){
        "ops",
        { .kind = ATTR_LIST, .element_kind = ATTR_STRING, .count = tree->count, .elements = ops }
    };
    attrs[3] = (struct attr){ "sources",
                              { .kind = ATTR_LIST,
                                .element_kind = ATTR_INT,
                                .count = 2 * tree->count,
                                .elements = sources } };
    return attrs;
}

/* The root becomes the fused node; the other members lose their last user. */
static void fuse_tree(struct fuse *fuse, struct node *root, bool *taken)
{
    struct tree tree = { { root }, 1 };
    struct endpoint operands[OPERANDS_MAX];
    grow(fuse, &tree);
    order(&tree);
    int count = find_operands(&tree, operands);
    if (tree.count < 2 || count < 1)
        return;
    for (int i = 0; i < tree.count; i++)
        taken[tree.members[i]->id] = true;
    struct attr *attrs = make_attrs(fuse, &tree, operands, count);
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, count);
    memcpy(inputs, operands, sizeof *inputs * (size_t)count);
    fuse_rewrite(root, "_FusedPointwise", inputs, count, attrs, ATTRS_COUNT);
}

void fuse_pointwise(struct fuse *fuse)
{
    struct region *region = fuse->region;
    bool *taken = ARENA_ARRAY(fuse->maker->arena, bool, region->ids_count);
    for (int i = region->nodes_count - 1; i >= 0; i--)
        if (!taken[region->nodes[i]->id] && is_pointwise(fuse, region->nodes[i]))
            fuse_tree(fuse, region->nodes[i], taken);
}
