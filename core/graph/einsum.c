#include "graph/einsum.h"

#include <string.h>

#define ELLIPSIS 256 /* the label of its last dimension */

bool einsum_has_label(const struct einsum_labels *labels, char label)
{
    return memchr(labels->at, label, (size_t)labels->count) != NULL;
}

/* ---- reading ---- */

static struct status parse_labels(struct bytes text, struct einsum_labels *out)
{
    out->count = 0;
    out->ellipsis = -1;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '.') {
            if (out->count == EINSUM_LABELS_MAX)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "more than %d labels in one subscript of an einsum equation",
                                    EINSUM_LABELS_MAX);
            out->at[out->count++] = text.data[i];
            continue;
        }
        if (out->ellipsis >= 0 || text.size - i < 3 || memcmp(text.data + i, "...", 3) != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected at most one ellipsis (...) and no other period in the "
                                "einsum subscript: %.*s",
                                (int)text.size, text.data);
        out->ellipsis = out->count;
        i += 2;
    }
    return status_ok();
}

static struct bytes part_of(struct bytes text, size_t begin, size_t end)
{
    return (struct bytes){ text.data + begin, end - begin };
}

/* The position of "->" at or after `from`; the length of the text if there is none. */
static size_t find_arrow(struct bytes text, size_t from)
{
    for (size_t i = from; i + 2 <= text.size; i++)
        if (text.data[i] == '-' && text.data[i + 1] == '>')
            return i;
    return text.size;
}

static struct status check_output(struct bytes equation, const struct einsum_equation *einsum)
{
    for (int i = 0; i < einsum->output.count; i++) {
        char label = einsum->output.at[i];
        bool found = false;
        for (int n = 0; n < einsum->inputs_count; n++)
            found = found || einsum_has_label(&einsum->inputs[n], label);
        if (!found)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Einsum output subscripts for equation '%.*s' has label '%c' which "
                                "is not present in the input subscripts",
                                (int)equation.size, equation.data, label);
    }
    return status_ok();
}

struct status einsum_parse(struct bytes equation, int inputs_count, struct einsum_equation *out)
{
    size_t arrow = find_arrow(equation, 0), begin = 0;
    int operands = 0;

    if (arrow == equation.size || find_arrow(equation, arrow + 2) < equation.size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expecting exactly one '->' in einsum equation: %.*s",
                            (int)equation.size, equation.data);
    for (size_t end = 0; end <= arrow; end++) {
        if (end < arrow && equation.data[end] != ',')
            continue;
        if (operands < EINSUM_OPERANDS_MAX)
            TRY(parse_labels(part_of(equation, begin, end), &out->inputs[operands]));
        operands++;
        begin = end + 1;
    }
    if (operands > EINSUM_OPERANDS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expecting 1 or 2 input subscripts in equation '%.*s' but got: %d",
                            (int)equation.size, equation.data, operands);
    if (operands != inputs_count)
        return status_error(STATUS_INVALID_ARGUMENT, "Expected %d inputs but got: %d", operands,
                            inputs_count);
    out->inputs_count = operands;
    TRY(parse_labels(part_of(equation, arrow + 2, equation.size), &out->output));
    return check_output(equation, out);
}

/* ---- binding ---- */

/* The label of each dimension; *count: how many dimensions the ellipsis stands for. */
static void label_dims(const struct einsum_labels *labels, int ellipsis_dims, int *out)
{
    int dims = labels->count + ellipsis_dims, before = labels->ellipsis;
    for (int d = 0; d < dims; d++) {
        if (before < 0 || d < before)
            out[d] = (unsigned char)labels->at[d];
        else if (d < before + ellipsis_dims)
            out[d] = ELLIPSIS + before + ellipsis_dims - 1 - d;
        else
            out[d] = (unsigned char)labels->at[d - ellipsis_dims];
    }
}

static struct einsum_axis *find_axis(struct einsum_binding *axes, int label)
{
    for (int i = 0; i < axes->count; i++)
        if (axes->at[i].label == label)
            return &axes->at[i];
    axes->at[axes->count] = (struct einsum_axis){ .label = label, .dim = -1 };
    return &axes->at[axes->count++];
}

/* The dimension of two that broadcast; an unknown one may turn out to be 1. */
static struct status merge_broadcast(struct einsum_axis *axis, int64_t dim)
{
    bool replaces = axis->dim == 1 || (axis->dim < 0 && dim != 1);
    if (axis->dim >= 0 && dim >= 0 && axis->dim != dim && axis->dim != 1 && dim != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Invalid broadcasting dimensions: %lld vs. %lld", (long long)axis->dim,
                            (long long)dim);
    if (replaces)
        axis->dim = dim;
    return status_ok();
}

/* Dimension d of an operand is that of the axis. */
static struct status merge_dim(struct einsum_axis *axis, const struct shape *shape, int d)
{
    int64_t dim = shape->dims[d];
    if (axis->label >= ELLIPSIS)
        return merge_broadcast(axis, dim);
    if (axis->dim >= 0 && dim >= 0 && axis->dim != dim)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected dimension %lld at axis %d of the input shaped %s but got "
                            "dimension %lld",
                            (long long)axis->dim, d, shape_text(shape), (long long)dim);
    if (axis->dim < 0)
        axis->dim = dim;
    return status_ok();
}

static struct status bind_dims(const struct einsum_labels *labels, int n, const struct shape *shape,
                               struct einsum_binding *axes, int *ellipsis_dims)
{
    int names[SHAPE_RANK_MAX], extra = shape->rank - labels->count;
    if (labels->ellipsis < 0 ? extra != 0 : extra < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            labels->ellipsis < 0 ? "Expected input %d to have rank %d but got: %d"
                                                 : "Expected input %d to have rank at least %d but "
                                                   "got: %d",
                            n, labels->count, shape->rank);
    label_dims(labels, extra, names);
    for (int d = 0; d < shape->rank; d++) {
        int known = axes->count;
        struct einsum_axis *axis = find_axis(axes, names[d]);
        if (axes->count > known)
            axis->dim = shape->dims[d];
        TRY(merge_dim(axis, shape, d));
        axis->in[n] = true;
    }
    if (extra > *ellipsis_dims)
        *ellipsis_dims = extra;
    return status_ok();
}

static void bind_strides(const struct einsum_labels *labels, int n, const struct shape *shape,
                         struct einsum_binding *axes)
{
    int names[SHAPE_RANK_MAX];
    int64_t stride = 1, size;
    bool fits = shape_fits(shape, &size); /* a declared shape may be of any size */
    label_dims(labels, shape->rank - labels->count, names);
    for (int d = shape->rank - 1; d >= 0; d--) {
        struct einsum_axis *axis = find_axis(axes, names[d]);
        if (shape->dims[d] == 1 && axis->dim != 1)
            axis->in[n] = false;
        else if (fits)
            axis->strides[n] += stride;
        stride *= fits ? shape->dims[d] : 1;
    }
}

static struct status bind_output(const struct einsum_labels *labels, int ellipsis_dims,
                                 struct einsum_binding *axes)
{
    int names[EINSUM_LABELS_MAX + SHAPE_RANK_MAX];
    int64_t stride = 1, size;
    if (labels->ellipsis < 0 && ellipsis_dims > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Output contains %d broadcasting dimension(s) but no ellipsis (...) "
                            "was found in the output subscripts.",
                            ellipsis_dims);
    ellipsis_dims = labels->ellipsis < 0 ? 0 : ellipsis_dims;
    TRY(shape_check_rank(labels->count + ellipsis_dims));
    label_dims(labels, ellipsis_dims, names);
    axes->output = shape_scalar();
    for (int d = 0; d < labels->count + ellipsis_dims; d++)
        shape_append(&axes->output, find_axis(axes, names[d])->dim);
    if (!shape_is_known(&axes->output))
        return status_ok();
    if (!shape_fits(&axes->output, &size))
        return status_error(STATUS_INVALID_ARGUMENT, "Einsum of too many elements: %s",
                            shape_text(&axes->output));
    for (int d = axes->output.rank - 1; d >= 0; d--) {
        struct einsum_axis *axis = find_axis(axes, names[d]);
        axes->output_repeats = axes->output_repeats || axis->in_output;
        axis->in_output = true;
        axis->out_stride += stride;
        stride *= axis->dim;
    }
    return status_ok();
}

struct status einsum_bind(const struct einsum_equation *einsum, const struct shape *const *shapes,
                          struct einsum_binding *out)
{
    int ellipsis_dims = 0;
    *out = (struct einsum_binding){ 0 };
    for (int n = 0; n < einsum->inputs_count; n++)
        TRY(bind_dims(&einsum->inputs[n], n, shapes[n], out, &ellipsis_dims));
    for (int n = 0; n < einsum->inputs_count; n++)
        bind_strides(&einsum->inputs[n], n, shapes[n], out);
    return bind_output(&einsum->output, ellipsis_dims, out);
}
