/*
 * The gradient of Einsum, which is an Einsum again: for "ab,bc->ac", that of the first operand is
 * "ac,bc->ab" of the gradient and the second operand.
 *
 * Two cases need more. A label that only this operand has was summed: its gradient is repeated
 * along it, by a product with ones. And an ellipsis that was broadcast is summed again; for that it
 * is moved to the front.
 */
#include "graph/einsum.h"
#include "graph/gradients/emit.h"

#define TEXT_MAX (4 * (EINSUM_LABELS_MAX + 4))

struct text {
    int size;
    char at[TEXT_MAX];
};

static void add(struct text *text, const char *part)
{
    while (*part != '\0')
        text->at[text->size++] = *part++;
}

static void add_labels(struct text *text, const struct einsum_labels *labels)
{
    for (int i = 0; i <= labels->count; i++) {
        if (i == labels->ellipsis)
            add(text, "...");
        if (i < labels->count)
            text->at[text->size++] = labels->at[i];
    }
}

static struct endpoint einsum(struct gradient_context *c, struct text *equation, int count,
                              const struct endpoint *operands)
{
    equation->at[equation->size] = '\0';
    return build(c->builder, "Einsum", NULL, count, operands,
                 (const struct attr[]){ attr_text("equation", equation->at), ATTR_END });
}

static struct endpoint rearrange(struct gradient_context *c, struct endpoint x,
                                 const struct einsum_labels *from, const struct einsum_labels *to)
{
    struct text equation = { 0 };

    add_labels(&equation, from);
    add(&equation, "->");
    add_labels(&equation, to);
    return einsum(c, &equation, 1, &x);
}

/* The labels of an operand that occur nowhere else (`alone`), and the others, each once. */
static void split_labels(const struct einsum_equation *e, int index, struct einsum_labels *alone,
                         struct einsum_labels *others)
{
    const struct einsum_labels *labels = &e->inputs[index];

    for (int i = 0; i < labels->count; i++) {
        char label = labels->at[i];
        bool known = einsum_has_label(&e->output, label) ||
                     (e->inputs_count == 2 && einsum_has_label(&e->inputs[1 - index], label));
        struct einsum_labels *to = known ? others : alone;
        if (!einsum_has_label(to, label))
            to->at[to->count++] = label;
    }
}

/* dy, times the other operand, in `to`. */
static struct endpoint contract(struct gradient_context *c, const struct einsum_equation *e,
                                int index, const struct einsum_labels *to)
{
    struct endpoint operands[] = { dy(c), { 0 } };
    struct text equation = { 0 };

    add_labels(&equation, &e->output);
    if (e->inputs_count == 2) {
        operands[1] = input(c, 1 - index);
        add(&equation, ",");
        add_labels(&equation, &e->inputs[1 - index]);
    }
    add(&equation, "->");
    add_labels(&equation, to);
    return einsum(c, &equation, e->inputs_count, operands);
}

/* The same along the labels that occur nowhere else: x times ones. */
static struct endpoint repeat(struct gradient_context *c, const struct einsum_equation *e,
                              int index, struct endpoint x, const struct einsum_labels *others,
                              const struct einsum_labels *alone, const struct einsum_labels *to)
{
    struct text equation = { 0 };
    struct endpoint like = rearrange(c, input(c, index), &e->inputs[index], alone);
    struct endpoint operands[] = { x, unary(c, "OnesLike", like) };

    add_labels(&equation, others);
    add(&equation, ",");
    add_labels(&equation, alone);
    add(&equation, "->");
    add_labels(&equation, to);
    return einsum(c, &equation, 2, operands);
}

/* Sums a gradient, whose ellipsis is at the front, to the dimensions of the operand. */
static struct endpoint unbroadcast(struct gradient_context *c, const struct einsum_equation *e,
                                   int index, struct endpoint x, const struct einsum_labels *front)
{
    const struct einsum_labels *labels = &e->inputs[index];
    bool alone = e->inputs_count == 1 || e->inputs[1 - index].ellipsis < 0;
    struct endpoint operand = input(c, index);
    bool moved = labels->ellipsis > 0;

    if (labels->ellipsis < 0 || !alone) {
        if (moved)
            operand = rearrange(c, operand, labels, front);
        struct endpoint shape = unary(c, "Shape", operand);
        struct endpoint axes = binary(c, "BroadcastGradientArgs", shape, unary(c, "Shape", x));
        x = binary(c, "Reshape", binary(c, "Sum", x, axes), shape);
    }
    return moved ? rearrange(c, x, front, labels) : x;
}

static struct endpoint gradient_of(struct gradient_context *c, const struct einsum_equation *e,
                                   int index)
{
    bool broadcast = e->output.ellipsis >= 0;
    struct einsum_labels target = e->inputs[index], alone = { 0 }, others = { 0 };

    target.ellipsis = alone.ellipsis = others.ellipsis = broadcast ? 0 : -1;
    split_labels(e, index, &alone, &others);
    struct endpoint x = contract(c, e, index, alone.count == 0 ? &target : &others);
    if (alone.count > 0)
        x = repeat(c, e, index, x, &others, &alone, &target);
    return broadcast ? unbroadcast(c, e, index, x, &target) : x;
}

struct status gradient_einsum(struct gradient_context *c)
{
    struct einsum_equation e;
    struct bytes equation;
    enum dtype dtype = endpoint_dtype(output(c));

    if (dtype_is_complex(dtype))
        return status_error(STATUS_UNIMPLEMENTED, "the gradient of Einsum of %s",
                            dtype_name(dtype));
    TRY(node_attr_string(c->node, "equation", &equation));
    TRY(einsum_parse(equation, c->node->inputs_count, &e));
    for (int i = 0; i < e.inputs_count; i++)
        if (c->wanted[i])
            send(c, i, gradient_of(c, &e, i));
    return status_ok();
}
