/*
 * einsum: EinsumDense, the product of the input and a kernel by an equation:
 *
 *     abc,cde->abde    a is the batch; c is summed; d and e are new, with sizes from output_shape
 *     ...x,xy->...y    any number of leading axes; dots may also be at the end
 */
#include <ctype.h>

#include "graph/einsum.h"
#include "layers/classes/classes.h"
#include "layers/classes/lora.h"

static const struct layer_arg einsum_args[] = {
    { "equation", ARG_VALUE, REQUIRED },
    { "output_shape", ARG_VALUE, REQUIRED },
    { "activation", ARG_ACTIVATION, "\"linear\"" },
    { "bias_axes", ARG_VALUE, "null" },
    { "kernel_initializer", ARG_INITIALIZER, "\"GlorotUniform\"" },
    { "bias_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "kernel_regularizer", ARG_REGULARIZER, "null" },
    { "bias_regularizer", ARG_REGULARIZER, "null" },
    { "activity_regularizer", ARG_REGULARIZER, "null" },
    { "kernel_constraint", ARG_CONSTRAINT, "null" },
    { "bias_constraint", ARG_CONSTRAINT, "null" },
    LORA_ARGS,
    { "quantization_config", ARG_NONE, "null" },
};

/* An equation with the shapes of its tensors. */
struct einsum_shapes {
    struct einsum_equation equation;
    int dots; /* the number of axes that the dots stand for */
    struct shape in, kernel, out;
};

static int find_label(const struct einsum_labels *labels, char label)
{
    const char *found = memchr(labels->at, label, (size_t)labels->count);

    return found != NULL ? (int)(found - labels->at) : -1;
}

/* The axis of the label at this position. */
static int axis_at(const struct einsum_labels *labels, int dots, int place)
{
    return labels->ellipsis >= 0 && place >= labels->ellipsis ? place + dots : place;
}

/* The dimension of a label; -1: not in this tensor, or the batch. */
static int64_t dim_of(const struct einsum_labels *labels, int dots, const struct shape *shape,
                      char label)
{
    int place = find_label(labels, label);

    return place >= 0 ? shape->dims[axis_at(labels, dots, place)] : -1;
}

static bool are_letters(const struct einsum_labels *labels)
{
    for (int i = 0; i < labels->count; i++)
        if (!isalpha((unsigned char)labels->at[i]) || find_label(labels, labels->at[i]) != i)
            return false;
    return true;
}

/* Are the dots in front or at the end, in both input and output, as Keras requires? */
static bool has_good_dots(const struct einsum_labels *in, const struct einsum_labels *out)
{
    if (in->ellipsis < 0)
        return out->ellipsis < 0;
    return (in->ellipsis == 0 && out->ellipsis == 0) ||
           (in->ellipsis == in->count && out->ellipsis == out->count);
}

/* Is the batch the first axis of input and output? */
static bool has_batch(const struct einsum_shapes *einsum)
{
    const struct einsum_labels *in = &einsum->equation.inputs[0], *out = &einsum->equation.output;

    if (in->ellipsis == 0)
        return einsum->dots > 0;
    return in->count > 0 && out->count > 0 && in->at[0] == out->at[0] &&
           find_label(&einsum->equation.inputs[1], in->at[0]) < 0;
}

/* Reads the equation for an input of this shape. */
static bool read_equation(const char *text, const struct shape *in, struct einsum_shapes *out)
{
    const struct einsum_equation *equation = &out->equation;
    const struct einsum_labels *labels = equation->inputs;

    *out = (struct einsum_shapes){ .in = *in };
    if (!status_is_ok(einsum_parse(bytes_of(text), 2, &out->equation)))
        return false;
    out->dots = labels[0].ellipsis >= 0 ? in->rank - labels[0].count : 0;
    if (labels[0].count + out->dots != in->rank || out->dots < 0 || labels[1].ellipsis >= 0 ||
        labels[1].count == 0 || labels[1].count > SHAPE_RANK_MAX ||
        equation->output.count + out->dots > SHAPE_RANK_MAX)
        return false;
    for (int i = 0; i < equation->output.count; i++)
        if (find_label(&labels[0], equation->output.at[i]) < 0 &&
            find_label(&labels[1], equation->output.at[i]) < 0)
            return false;
    return are_letters(&labels[0]) && are_letters(&labels[1]) && are_letters(&equation->output) &&
           has_good_dots(&labels[0], &equation->output) && has_batch(out);
}

/* Reads a size of output_shape; null: that of the input, -1 if it is open. Returns false if it does
 * not fit. In a model of any width, the input's size counts. */
static bool read_size(const struct json_value *size, int64_t in, bool any_width, int64_t *out)
{
    *out = in;
    if (json_value_is_null(size) || (any_width && in > 0))
        return true;
    if (size->kind != JSON_VALUE_INT || size->integer < 1 || size->integer > INT32_MAX ||
        !may_be_equal(size->integer, in))
        return false;
    *out = size->integer;
    return true;
}

/* Reads the sizes of the output's labels except the batch from output_shape. */
static bool read_sizes(const struct layer *layer, bool any_width, struct einsum_shapes *einsum)
{
    const struct json_value *value = layer_arg(layer, "output_shape")->value;
    const struct einsum_labels *in = &einsum->equation.inputs[0], *out = &einsum->equation.output;
    int given = value->kind == JSON_VALUE_LIST ? value->count : 1;
    int first = in->ellipsis == 0 ? 0 : 1; /* after the batch */

    einsum->out = (struct shape){ .rank = out->count + einsum->dots };
    for (int i = 0; i < einsum->out.rank; i++)
        einsum->out.dims[i] = -1;
    if (given != out->count - first)
        return false;
    for (int i = first; i < out->count; i++) {
        const struct json_value *size =
            value->kind == JSON_VALUE_LIST ? &value->members[i - first] : value;
        if (!read_size(size, dim_of(in, einsum->dots, &einsum->in, out->at[i]), any_width,
                       &einsum->out.dims[axis_at(out, einsum->dots, i)]))
            return false;
    }
    return true;
}

/* Are the axes that the input shares with the kernel known? */
static bool kernel_is_known(struct layer_context *context, const struct layer *layer,
                            struct endpoint x, const struct einsum_shapes *einsum)
{
    const struct einsum_labels *in = &einsum->equation.inputs[0];
    int32_t axes[SHAPE_RANK_MAX];
    int count = 0;

    for (int i = 0; i < in->count; i++)
        if (find_label(&einsum->equation.inputs[1], in->at[i]) >= 0)
            axes[count++] = axis_at(in, einsum->dots, i);
    return layer_check_axes(context, layer, x, count, axes);
}

/* Sets the kernel's shape: each label has the size that it has in the input or in the output. */
static bool read_kernel(struct einsum_shapes *einsum)
{
    const struct einsum_equation *equation = &einsum->equation;
    const struct einsum_labels *kernel = &equation->inputs[1];
    int64_t size = 1;

    einsum->kernel = (struct shape){ .rank = kernel->count };
    for (int i = 0; i < kernel->count; i++) {
        int64_t dim = dim_of(&equation->inputs[0], einsum->dots, &einsum->in, kernel->at[i]);
        if (dim < 0)
            dim = dim_of(&equation->output, einsum->dots, &einsum->out, kernel->at[i]);
        if (dim < 1 || (size *= dim) > INT32_MAX)
            return false;
        einsum->kernel.dims[i] = dim;
    }
    return true;
}

static struct endpoint kernel_variable(struct layer_context *context, const struct layer *layer,
                                       const struct einsum_shapes *einsum)
{
    const struct einsum_labels *labels = einsum->equation.inputs;
    struct initializer initializer = layer_arg(layer, "kernel_initializer")->initializer;
    const struct arg_value *regularizer = layer_arg(layer, "kernel_regularizer");

    initializer.fan_in = initializer.fan_out = 1;
    for (int i = 0; i < labels[1].count; i++)
        *(find_label(&labels[0], labels[1].at[i]) >= 0 ? &initializer.fan_in
                                                       : &initializer.fan_out) *=
            (double)einsum->kernel.dims[i];
    struct endpoint kernel =
        layer_variable_with(context, layer, "kernel", einsum->kernel, &initializer,
                            regularizer->is_null ? NULL : &regularizer->regularizer,
                            layer->trainable && !layer_has_lora(layer));
    layer_constrain(context, layer, kernel, "kernel");
    return kernel;
}

/* The bias, which has the output's size along the axes from the first of bias_axes on, and 1 along
 * the others. With dots at the end, Keras 3.15 adds it along other axes than those that bias_axes
 * names. A null node: none, or failure. */
static struct endpoint bias_variable(struct layer_context *context, const struct layer *layer,
                                     const struct einsum_shapes *einsum, const char *axes)
{
    const struct einsum_labels *out = &einsum->equation.output;
    const struct endpoint none = { 0 };
    struct shape shape = { 0 };

    if (einsum->dots > 0 && out->ellipsis > 0) {
        layer_refuse(context, layer, "argument 'bias_axes' of an equation with dots at the end");
        return none;
    }
    for (const char *at = axes; *at != '\0'; at++) {
        int place = find_label(out, *at);
        if (place < 0 || axis_at(out, einsum->dots, place) == 0) {
            layer_fail(context, layer, "argument 'bias_axes': '%s' are not axes of the output",
                       axes);
            return none;
        }
    }
    for (int i = 0; i < out->count; i++) {
        bool biased = strchr(axes, out->at[i]) != NULL;
        if (biased || shape.rank > 0)
            shape_append(&shape, biased ? einsum->out.dims[axis_at(out, einsum->dots, i)] : 1);
    }
    return shape.rank == 0 ? none : layer_variable(context, layer, "bias", shape);
}

/* The axis of y along which Keras 3 adds a bias with one size above 1: if the last axis of y has
 * this size, the last one, and otherwise axis 1, even if bias_axes names another axis of the same
 * size. -1: the bias is broadcast. Source: add() in keras/src/backend/tensorflow/numpy.py */
static int bias_axis(const struct shape *y, const struct shape *bias)
{
    int64_t size = 1;

    for (int i = 0; i < bias->rank; i++) {
        if (bias->dims[i] > 1 && size > 1)
            return -1;
        size = bias->dims[i] > 1 ? bias->dims[i] : size;
    }
    if (size == 1 || y->rank < 2)
        return -1;
    return y->dims[y->rank - 1] == size ? y->rank - 1 : y->dims[1] == size ? 1 : -1;
}

static struct endpoint add_bias(struct layer_context *context, struct endpoint y,
                                struct endpoint bias)
{
    struct builder *b = &context->builder;
    int32_t dims[SHAPE_RANK_MAX];

    if (!status_is_ok(b->status))
        return y;
    const struct shape *all = endpoint_shape(y), *own = endpoint_shape(bias);
    int axis = context->keras2 ? -1 : bias_axis(all, own);
    if (axis >= 0 && (own->rank != all->rank - axis || own->dims[0] == 1)) {
        dims[0] = -1;
        for (int i = 1; i < all->rank - axis; i++)
            dims[i] = 1;
        bias = build_binary(b, "Reshape", NULL, bias,
                            build_const_ints(b, NULL, all->rank - axis, dims));
    }
    return build_binary(b, "AddV2", NULL, y, bias);
}

static struct endpoint einsum_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    const struct json_value *equation = layer_arg(layer, "equation")->value;
    const struct json_value *bias_axes = layer_arg(layer, "bias_axes")->value;
    const struct shape *shape = endpoint_shape(x);
    const char *text = equation->kind == JSON_VALUE_TEXT ? equation->text : "";
    const struct attr attrs[] = { attr_text("equation", text), ATTR_END };
    struct einsum_shapes einsum;

    if (!status_is_ok(context->builder.status))
        return x;
    if (!json_value_is_null(bias_axes) && bias_axes->kind != JSON_VALUE_TEXT) {
        layer_fail(context, layer, "argument 'bias_axes' is no text of axes, such as 'd'");
        return x;
    }
    if (!read_equation(text, shape, &einsum)) {
        layer_fail(context, layer,
                   "argument 'equation': '%.100s' of an input of shape %s is not a product like "
                   "'abc,cd->abd', '...c,cd->...d' or 'ab,bc->abc'",
                   text, shape_text(shape));
        return x;
    }
    if (!kernel_is_known(context, layer, x, &einsum))
        return x;
    if (!read_sizes(layer, context->any_width, &einsum) || !read_kernel(&einsum)) {
        layer_fail(context, layer,
                   "argument 'output_shape' does not fit '%s' and an input of shape %s", text,
                   shape_text(shape));
        return x;
    }
    struct endpoint kernel = kernel_variable(context, layer, &einsum), bias = { 0 };
    if (!json_value_is_null(bias_axes))
        bias = bias_variable(context, layer, &einsum, bias_axes->text);
    const struct endpoint factors[] = { x, lora_change(context, layer, "kernel", kernel) };
    struct endpoint y = build(&context->builder, "Einsum", NULL, 2, factors, attrs);
    if (bias.node != NULL)
        y = add_bias(context, y, bias);
    return activation_build(context, layer_arg(layer, "activation")->activation, y);
}
LAYER_CLASS(einsum_dense, "EinsumDense", einsum_args, einsum_build);
