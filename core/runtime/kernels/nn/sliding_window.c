#include "runtime/kernels/nn/sliding_window.h"

#include "runtime/kernels/kernel_tools.h"

/* The index of the first spatial dimension in a list by data_format. */
static int first_spatial(const struct window_attrs *attrs)
{
    return attrs->channels_first ? 2 : 1;
}

/* The first of PLANES, ROWS, COLUMNS that the lists have. */
static int first_direction(const struct window_attrs *attrs)
{
    return attrs->rank == 5 ? PLANES : ROWS;
}

/* A list of `count` numbers by data_format; batch and channels must be 1. */
static struct status take_spatial(const int64_t *list, int count, const char *what,
                                  const struct window_attrs *attrs, bool pooling, int64_t out[3])
{
    int at = first_spatial(attrs);
    if (count != attrs->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Sliding window %s field must specify %d dimensions", what,
                            attrs->rank);
    int channels = attrs->channels_first ? 1 : count - 1;
    if (list[0] != 1 || list[channels] != 1)
        return status_error(pooling ? STATUS_UNIMPLEMENTED : STATUS_INVALID_ARGUMENT,
                            "Current implementation does not yet support %s in the batch and depth "
                            "dimensions.",
                            what);
    for (int i = first_direction(attrs); i <= COLUMNS; i++, at++) {
        out[i] = list[at];
        if (out[i] <= 0 || out[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Sliding window %s for dimension %d must be positive: %lld", what,
                                at, (long long)out[i]);
    }
    return status_ok();
}

static struct status read_spatial(const struct node *node, const char *name, const char *what,
                                  const struct window_attrs *attrs, int64_t out[3])
{
    int64_t list[5];
    int count;
    TRY(node_attr_ints(node, name, 5, list, &count));
    return take_spatial(list, count, what, attrs, node_attr(node, "ksize") != NULL, out);
}

struct status window_attrs_fed(const struct tensor *list, const char *what,
                               const struct window_attrs *attrs, int64_t out[3])
{
    int64_t values[5];
    int count = list->size <= 5 ? (int)list->size : 0;
    for (int i = 0; i < count; i++)
        values[i] = tensor_index(list, i);
    return take_spatial(values, count, what, attrs, true, out);
}

static struct status read_explicit(const struct node *node, const char *name,
                                   struct window_attrs *attrs)
{
    int64_t list[8];
    int count, at = first_spatial(attrs);
    attrs->padding = PADDING_EXPLICIT;
    TRY(node_attr_ints(node, name, 8, list, &count));
    if (count != 8)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s attribute must contain 8 values, but got: %d", name, count);
    for (int i = ROWS; i <= COLUMNS; i++, at++) {
        attrs->before[i] = list[2 * at];
        attrs->after[i] = list[2 * at + 1];
        if (attrs->before[i] < 0 || attrs->after[i] < 0 || attrs->before[i] > INT32_MAX ||
            attrs->after[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT, "All elements of %s must be nonnegative",
                                name);
    }
    return status_ok();
}

static struct status read_padding(const struct node *node, struct window_attrs *attrs)
{
    struct bytes padding;
    /* oneDNN's ops also have a list, which replaces `padding` unless it is empty */
    const struct attr_value *list = node_attr(node, "padding_list");
    if (list != NULL && list->count > 0)
        return read_explicit(node, "padding_list", attrs);
    TRY(node_attr_string(node, "padding", &padding));
    if (bytes_equal(padding, bytes_of("SAME")))
        attrs->padding = PADDING_SAME;
    else if (bytes_equal(padding, bytes_of("VALID")))
        attrs->padding = PADDING_VALID;
    else if (bytes_equal(padding, bytes_of("EXPLICIT")) && attrs->rank == 4) {
        TRY(read_explicit(node, "explicit_paddings", attrs));
    } else {
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): padding '%.*s'", node->name,
                            node->op_name, (int)padding.size, padding.data);
    }
    return status_ok();
}

/* The order of the dimensions that data_format names. */
static const struct format {
    const char *name;
    int rank;
    bool channels_first;
} formats[] = {
    { "NHWC", 4, false }, { "NCHW", 4, true },           { "NDHWC", 5, false },
    { "NCDHW", 5, true }, { "CHANNELS_LAST", 0, false }, { "CHANNELS_FIRST", 0, true },
};

/* Conv's formats leave the rank open; its strides determine it. */
static struct status read_rank(const struct node *node, struct window_attrs *out)
{
    const struct attr_value *strides;
    TRY(node_attr_list_of(node, "strides", ATTR_INT, &strides));
    out->rank = strides->count;
    if (out->rank == 4 || out->rank == 5)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): The input must have 2 or 3 spatial dimensions but got %d",
                        node->name, node->op_name, out->rank - 2);
}

static struct status read_format(const struct node *node, struct window_attrs *out)
{
    struct bytes name = bytes_of("NDHWC"); /* of Conv3DBackpropInput and Filter, which have none */
    if (node_attr(node, "data_format") != NULL)
        TRY(node_attr_string(node, "data_format", &name));
    for (size_t i = 0; i < COUNT(formats); i++)
        if (bytes_equal(name, bytes_of(formats[i].name))) {
            out->rank = formats[i].rank;
            out->channels_first = formats[i].channels_first;
            return out->rank > 0 ? status_ok() : read_rank(node, out);
        }
    return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): data_format '%.*s'", node->name,
                        node->op_name, (int)name.size, name.data);
}

/* MaxPoolV2 takes two lists as inputs. An attribute that an op has and a node lacks is an error. */
static bool has_attr(const struct node *node, const char *name)
{
    return op_attr_find(node->op, name) != NULL || node_attr(node, name) != NULL;
}

/* Has the attribute its op's default? */
static bool is_default(const struct node *node, const char *name)
{
    const struct op_attr *attr = op_attr_find(node->op, name);
    return attr != NULL && attr->default_value != NULL &&
           attr_value_equal(node_attr(node, name), attr->default_value);
}

/* All but the format, which determines the rank. */
static struct status read_lists(const struct node *node, bool pooling, struct window_attrs *out)
{
    if (has_attr(node, "strides"))
        TRY(read_spatial(node, "strides", "strides", out, out->stride));
    if (pooling && has_attr(node, "ksize"))
        TRY(read_spatial(node, "ksize", "ksize", out, out->kernel));
    if (node_attr(node, "dilations") != NULL && !is_default(node, "dilations"))
        TRY(read_spatial(node, "dilations", "dilations", out, out->dilation));
    return read_padding(node, out);
}

static struct window_attrs single_steps(void)
{
    return (struct window_attrs){ .stride = { 1, 1, 1 },
                                  .dilation = { 1, 1, 1 },
                                  .kernel = { 1, 1, 1 } };
}

struct status window_attrs_read(const struct node *node, bool pooling, struct window_attrs *out)
{
    *out = single_steps();
    TRY(read_format(node, out));
    return read_lists(node, pooling, out);
}

struct status window_attrs_read_images(const struct node *node, struct window_attrs *out)
{
    *out = single_steps();
    out->rank = 4;
    return read_lists(node, true, out);
}

struct status window_slide(const struct window_attrs *attrs, int dimension, int64_t in,
                           int64_t kernel, struct window *out)
{
    int64_t stride = attrs->stride[dimension], dilation = attrs->dilation[dimension];
    /* limit for an image without elements: sums still fit in int64 */
    const int64_t far = (int64_t)1 << 60;
    int64_t span;
    if (in > far || __builtin_mul_overflow(kernel - 1, dilation, &span) || span > far)
        return status_error(STATUS_INVALID_ARGUMENT, "a window of %lld over %lld is too large",
                            (long long)kernel, (long long)in);
    span++;
    *out = (struct window){ in, kernel, stride, dilation, 0, 0 };
    if (attrs->padding == PADDING_SAME) {
        out->out = in / stride + (in % stride != 0);
        int64_t needed = (out->out - 1) * stride + span - in;
        out->before = needed > 0 ? needed / 2 : 0;
        return status_ok();
    }
    int64_t padded = in + attrs->before[dimension] + attrs->after[dimension];
    out->before = attrs->before[dimension];
    out->out = (padded - span + stride) / stride;
    if (out->out >= 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Computed output size would be negative: %lld [input_size: %lld, "
                        "effective_filter_size: %lld, stride: %lld]",
                        (long long)out->out, (long long)in, (long long)span, (long long)stride);
}
