/*
 * Fused ops: runs the kernels of the single ops one after the other, and thereby defines the
 * result. A faster row of the same op in an earlier table replaces it.
 */
#include <string.h>

#include "runtime/steps.h"

#define LINKS_MAX  4 /* product, bias, addend, activation */
#define INPUTS_MAX 4 /* of the fused node */

struct fused_chain {
    struct step links[LINKS_MAX];
    /* slots: first the node's inputs, then the output of each link */
    uint32_t inputs[LINKS_MAX][INPUTS_MAX];
    int links_count, inputs_count;
};

/* The node that one link would be without fusion. */
static struct node *link_node(struct prepare_context *context, const char *op, int inputs_count)
{
    const struct node *fused = prepare_node(context);
    struct arena *arena = prepare_arena(context);
    struct node *node = ARENA_NEW(arena, struct node);
    *node = *fused;
    node->op_name = op;
    node->op = op_find(op);
    node->inputs = ARENA_ARRAY(arena, struct endpoint, INPUTS_MAX);
    node->inputs_count = inputs_count;
    node->controls_count = 0;
    return node;
}

static struct status add_link(struct prepare_context *context, struct fused_chain *chain,
                              struct node *node)
{
    const struct kernel *kernel = kernel_find(node);
    if (kernel == NULL)
        return kernel_missing(node);
    int at = chain->links_count++;
    struct step *link = &chain->links[at];
    *link = (struct step){ .compute = kernel->compute,
                           .node = node,
                           .inputs = chain->inputs[at],
                           .inputs_count = node->inputs_count,
                           .outputs_count = 1,
                           .first_output = (uint32_t)(chain->inputs_count + at) };
    return prepare_inner(context, node, kernel, link);
}

static struct status add_product(struct prepare_context *context, struct fused_chain *chain,
                                 const char *op, int inputs_count)
{
    struct node *node = link_node(context, op, inputs_count);
    for (int i = 0; i < inputs_count; i++) {
        node->inputs[i] = prepare_node(context)->inputs[i];
        chain->inputs[0][i] = (uint32_t)i;
    }
    return add_link(context, chain, node);
}

/* Makes the output of the previous link, which nothing else uses, input 0 of the next one. */
static void follow(struct fused_chain *chain)
{
    int at = chain->links_count;
    chain->inputs[at][0] = (uint32_t)(chain->inputs_count + at - 1) | SLOT_LAST;
}

/* Adds an input of the fused node to the result. */
static struct status add_input(struct prepare_context *context, struct fused_chain *chain,
                               const char *op, int input)
{
    struct node *node = link_node(context, op, 2);
    node->inputs[1] = prepare_node(context)->inputs[input];
    follow(chain);
    chain->inputs[chain->links_count][1] = (uint32_t)input;
    return add_link(context, chain, node);
}

static struct status add_activation(struct prepare_context *context, struct fused_chain *chain,
                                    struct bytes name)
{
    struct arena *arena = prepare_arena(context);
    struct node *node = link_node(context, arena_memdup(arena, name.data, name.size), 1);
    float alpha = 0;
    status_ignore(node_attr_float(prepare_node(context), "leakyrelu_alpha", &alpha));
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, 2);
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = DT_FLOAT } };
    attrs[1] = (struct attr){ "alpha", { .kind = ATTR_FLOAT, .f = alpha } };
    node->attrs = attrs;
    node->attrs_count = 2;
    follow(chain);
    return add_link(context, chain, node);
}

static struct status fused_prepare(struct prepare_context *context)
{
    const struct node *node = prepare_node(context);
    struct arena *arena = prepare_arena(context);
    struct fused_chain *chain = prepare_state(context, sizeof *chain, NULL);
    const struct attr_value *names;
    TRY(node_attr_list(node, "fused_ops", &names));
    int product_inputs = node->op->inputs_count - 1; /* the last argument: those of fused_ops */
    chain->inputs_count = node->inputs_count;
    if (node->inputs_count > INPUTS_MAX || names->count >= LINKS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): %d inputs, %d fused ops",
                            node->name, node->op_name, node->inputs_count, names->count);

    const char *product = arena_strdup(arena, node->op_name + strlen("_Fused"));
    TRY(add_product(context, chain, product, product_inputs));
    int input = product_inputs;
    for (int i = 0; i < names->count; i++) {
        struct bytes name = names->elements[i].s;
        if (bytes_equal(name, bytes_of("BiasAdd")))
            TRY(add_input(context, chain, "BiasAdd", input++));
        else if (bytes_equal(name, bytes_of("Add")))
            TRY(add_input(context, chain, "AddV2", input++));
        else
            TRY(add_activation(context, chain, name));
    }
    return status_ok();
}

static struct status fused_compute(struct kernel_context *context)
{
    const struct fused_chain *chain = kernel_state(context);
    const struct tensor *values[INPUTS_MAX + LINKS_MAX];
    struct tensor storage[INPUTS_MAX + LINKS_MAX];
    int slots = chain->inputs_count + chain->links_count;
    for (int i = 0; i < slots; i++) {
        storage[i].buffer = NULL;
        values[i] = i < chain->inputs_count ? kernel_input(context, i) : &storage[i];
    }
    struct kernel_context inner = *context;
    inner.values = values;
    inner.storage = storage;

    struct status status = status_ok();
    for (int i = 0; i < chain->links_count && status_is_ok(status); i++) {
        inner.step = &chain->links[i];
        status = inner.step->compute(&inner);
    }
    if (status_is_ok(status))
        kernel_output_set(context, 0, tensor_acquire(&storage[slots - 1]));
    for (int i = chain->inputs_count; i < slots; i++) {
        if (storage[i].buffer != NULL)
            tensor_release(&storage[i]);
    }
    return status;
}

static const struct kernel rows[] = {
    { "_FusedMatMul", DTYPES(DT_FLOAT), .prepare = fused_prepare, .compute = fused_compute,
      .costly = true },
    { "_FusedConv2D", DTYPES(DT_FLOAT), .prepare = fused_prepare, .compute = fused_compute,
      .costly = true },
    { "_FusedDepthwiseConv2dNative", DTYPES(DT_FLOAT), .prepare = fused_prepare,
      .compute = fused_compute, .costly = true },
    { "_FusedConv2DBackpropInput", DTYPES(DT_FLOAT), .prepare = fused_prepare,
      .compute = fused_compute, .costly = true },
};
const struct kernel_table kernels_fused = { rows, COUNT(rows) };
