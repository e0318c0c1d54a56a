#include "runtime/kernels/nn/uniform_conv_size.h"

#include "proto/wire.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- attributes ---- */

static struct status read_numbers(const struct node *node, const char *name, int64_t least,
                                  struct uniform_numbers *out)
{
    const struct attr_value *list;
    TRY(node_attr_list_of(node, name, ATTR_INT, &list));
    if (list->count > (int)COUNT(out->values))
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): %s has %d elements",
                            node->name, node->op_name, name, list->count);
    out->count = list->count;
    for (int i = 0; i < list->count; i++) {
        out->values[i] = list->elements[i].i;
        if (out->values[i] < least || out->values[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "All elements of %s must be >= %lld. Given %lld", name,
                                (long long)least, (long long)out->values[i]);
    }
    return status_ok();
}

static struct status damaged_numbers(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Error parsing convolution dimension numbers.");
}

static struct status append_number(struct uniform_numbers *out, uint64_t value)
{
    if (out->count == UNIFORM_SPATIAL_MAX)
        return damaged_numbers();
    out->values[out->count++] = (int64_t)value;
    return status_ok();
}

/* The values of a repeated number are in separate fields, or packed in one field. */
static struct status append_numbers(const struct wire_field *field, struct uniform_numbers *out)
{
    if (field->type == WIRE_VARINT)
        return append_number(out, field->value);
    const char *at = field->bytes.data, *end = at + field->bytes.size;
    while (field->type == WIRE_BYTES && at < end) {
        uint64_t value;
        if (!varint_get(&at, end, &value))
            return damaged_numbers();
        TRY(append_number(out, value));
    }
    return status_ok();
}

/* UniformQuantizedConvolutionDimensionNumbersAttr: three fields for each tensor, in this order. */
static struct status read_dimensions(struct bytes bytes, struct uniform_conv_attrs *attrs)
{
    int64_t *const numbers[] = { NULL, &attrs->x.batch,         &attrs->x.features,
                                 NULL, &attrs->filter.features, &attrs->filter.batch,
                                 NULL, &attrs->out.batch,       &attrs->out.features };
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        struct uniform_numbers *list = field.number == 3   ? &attrs->x.spatial
                                       : field.number == 6 ? &attrs->filter.spatial
                                       : field.number == 9 ? &attrs->out.spatial
                                                           : NULL;
        if (list != NULL)
            TRY(append_numbers(&field, list));
        else if (field.type == WIRE_VARINT && field.number < COUNT(numbers) &&
                 numbers[field.number] != NULL)
            *numbers[field.number] = (int64_t)field.value;
    }
    return wire.damaged ? damaged_numbers() : status_ok();
}

static struct status read_padding(const struct node *node, struct uniform_conv_attrs *out)
{
    struct bytes padding;
    TRY(node_attr_string(node, "padding", &padding));
    TRY(read_numbers(node, "explicit_padding", 0, &out->padding));
    out->is_same = bytes_equal(padding, bytes_of("SAME"));
    out->is_explicit = bytes_equal(padding, bytes_of("EXPLICIT"));
    if (!out->is_same && !out->is_explicit && !bytes_equal(padding, bytes_of("VALID")))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "padding Attr must be one of [EXPLICIT | SAME | VALID], but given: %.*s",
            (int)padding.size, padding.data);
    if (!out->is_explicit && out->padding.count > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "If padding Attr is not 'EXPLICIT', explicit_padding Attr must be "
                            "empty. Given padding %.*s and explicit_padding of size %d",
                            (int)padding.size, padding.data, out->padding.count);
    return status_ok();
}

struct status uniform_conv_attrs_read(struct prepare_context *p, struct uniform_conv_attrs *out)
{
    const struct node *node = prepare_node(p);
    struct bytes dimensions;
    TRY(read_numbers(node, "window_strides", 1, &out->strides));
    TRY(read_numbers(node, "lhs_dilation", 1, &out->x_dilation));
    TRY(read_numbers(node, "rhs_dilation", 1, &out->filter_dilation));
    TRY(node_attr_int32(node, "batch_group_count", &out->batch_groups));
    TRY(node_attr_int32(node, "feature_group_count", &out->feature_groups));
    TRY(read_padding(node, out));
    TRY(node_attr_string(node, "dimension_numbers", &dimensions));
    return read_dimensions(dimensions, out);
}

/* ---- sizes ---- */

/* The order batch, spatial dimensions, features. */
static struct status find_order(const struct kernel_context *k,
                                const struct uniform_dimensions *dimensions, bool is_default,
                                int rank, int *order)
{
    bool seen[SHAPE_RANK_MAX] = { false };
    for (int i = 0; i < rank; i++)
        order[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
    if (is_default)
        return status_ok();
    if (dimensions->spatial.count != rank - 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Spatial dimensions size must be rank - 2. Given rank %d and spatial "
                            "dimensions size %d",
                            rank, dimensions->spatial.count);
    for (int i = 0; i < rank; i++) {
        int64_t value = i == 0          ? dimensions->batch
                        : i == rank - 1 ? dimensions->features
                                        : dimensions->spatial.values[i - 1];
        if (value < 0 || value >= rank)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Each dimension number must be in region [0, rank). Given rank %d "
                                "and dimension number value %lld",
                                rank, (long long)value);
        if (seen[value])
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension number %lld is repeated",
                                (long long)value);
        seen[value] = true;
        order[i] = (int)value;
    }
    return status_ok();
}

static struct status divides(const struct kernel_context *k, const char *what, int64_t groups,
                             int64_t count)
{
    if (groups <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%s_group_count must be a positive integer, given: %lld", what,
                            (long long)groups);
    if (count % groups == 0)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "%s_group_count must divide the sizes of its dimensions, but %lld does "
                        "not divide %lld",
                        what, (long long)groups, (long long)count);
}

static struct status check_groups(const struct kernel_context *k,
                                  const struct uniform_conv_attrs *attrs,
                                  const struct uniform_conv_size *size)
{
    TRY(divides(k, "feature", attrs->feature_groups, size->features_in));
    TRY(divides(k, "feature", attrs->feature_groups, size->features));
    TRY(divides(k, "batch", attrs->batch_groups, size->batch_in));
    TRY(divides(k, "batch", attrs->batch_groups, size->features));
    if (size->depth > 0 && size->features_in / attrs->feature_groups == size->depth)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "lhs feature dimension size divided by feature_group_count must equal the "
                        "rhs input feature dimension size, but %lld / %lld != %lld",
                        (long long)size->features_in, (long long)attrs->feature_groups,
                        (long long)size->depth);
}

/* The size with gaps. False: it does not fit int64. */
static bool dilated_size(int64_t size, int64_t dilation, int64_t *out)
{
    *out = 0;
    return size == 0 || (!__builtin_mul_overflow(size - 1, dilation, out) &&
                         !__builtin_add_overflow(*out, 1, out));
}

static bool find_output(struct uniform_axis *axis, bool is_same, int64_t after)
{
    int64_t x, filter, numerator;
    if (!dilated_size(axis->in, axis->x_dilation, &x) ||
        !dilated_size(axis->kernel, axis->filter_dilation, &filter) || x > INT64_MAX / 4 ||
        filter > INT64_MAX / 4)
        return false;
    if (is_same) {
        int64_t wanted = (x + axis->stride - 1) / axis->stride;
        int64_t total = (wanted - 1) * axis->stride + filter - x;
        axis->before = total > 0 ? total / 2 : 0;
        after = total > 0 ? total - axis->before : 0;
    }
    numerator = x + axis->before + after - filter + 1;
    axis->out = (numerator + axis->stride - 1) / axis->stride;
    return axis->out >= 0;
}

static int64_t number_or_1(const struct uniform_numbers *numbers, int i)
{
    return numbers->count == 0 ? 1 : numbers->values[i];
}

static struct status find_axes(const struct kernel_context *k,
                               const struct uniform_conv_attrs *attrs, const struct shape *x,
                               const struct shape *filter, struct uniform_conv_size *size)
{
    const struct uniform_numbers *lists[] = { &attrs->strides, &attrs->x_dilation,
                                              &attrs->filter_dilation };
    for (size_t i = 0; i < COUNT(lists); i++)
        if (lists[i]->count != 0 && lists[i]->count != size->spatial)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Size of strides and dilations must be dims - 2, not %d",
                                lists[i]->count);
    if (attrs->is_explicit && attrs->padding.count != 2 * size->spatial)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Size of explicit_padding Attr must be 2 * (rank - 2). Given rank %d "
                            "and explicit_padding of size %d",
                            x->rank, attrs->padding.count);
    for (int i = 0; i < size->spatial; i++) {
        struct uniform_axis *axis = &size->axes[i];
        *axis = (struct uniform_axis){ .in = x->dims[size->x_order[i + 1]],
                                       .kernel = filter->dims[size->filter_order[i + 1]],
                                       .stride = number_or_1(&attrs->strides, i),
                                       .x_dilation = number_or_1(&attrs->x_dilation, i),
                                       .filter_dilation = number_or_1(&attrs->filter_dilation, i) };
        axis->before = attrs->is_explicit ? attrs->padding.values[2 * i] : 0;
        int64_t after = attrs->is_explicit ? attrs->padding.values[2 * i + 1] : 0;
        if (!find_output(axis, attrs->is_same, after))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "spatial dimension %d of the output would have %lld elements", i,
                                (long long)axis->out);
    }
    return status_ok();
}

static struct status find_out_shape(struct uniform_conv_size *size, const struct shape *x,
                                    const struct shape *filter)
{
    int64_t dims[SHAPE_RANK_MAX];
    dims[size->out_order[0]] = size->batch;
    dims[size->out_order[x->rank - 1]] = size->features;
    for (int i = 0; i < size->spatial; i++)
        dims[size->out_order[i + 1]] = size->axes[i].out;
    TRY(shape_check(x->rank, dims, &size->out_shape));
    size->pixels_in = size->taps = size->pixels = 0;
    if (shape_size(&size->out_shape) == 0)
        return status_ok();
    size->pixels = shape_size(&size->out_shape) / size->batch / size->features;
    size->pixels_in = shape_size(x) / size->batch_in / size->features_in;
    size->taps = shape_size(filter) / size->features / size->depth;
    return status_ok();
}

struct status uniform_conv_size_find(const struct kernel_context *k,
                                     const struct uniform_conv_attrs *attrs, const struct shape *x,
                                     const struct shape *filter, struct uniform_conv_size *out)
{
    int rank = x->rank, last = rank - 1;
    bool is_default = attrs->x.spatial.count == 0;
    if (rank != filter->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "lhs and rhs must have same dims. Given lhs and rhs of shapes: %s %s",
                            shape_text(x), shape_text(filter));
    if (rank <= 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "lhs and rhs shape dims must be at least 3. Given: %d", rank);
    out->spatial = rank - 2;
    TRY(find_order(k, &attrs->x, is_default, rank, out->x_order));
    TRY(find_order(k, &attrs->filter, is_default, rank, out->filter_order));
    TRY(find_order(k, &attrs->out, is_default, rank, out->out_order));
    out->batch_in = x->dims[out->x_order[0]];
    out->features_in = x->dims[out->x_order[last]];
    out->features = filter->dims[out->filter_order[0]];
    out->depth = filter->dims[out->filter_order[last]];
    TRY(check_groups(k, attrs, out));
    out->batch = out->batch_in / attrs->batch_groups;
    out->batch_group = out->features / attrs->batch_groups;
    out->group = out->features / attrs->feature_groups;
    TRY(find_axes(k, attrs, x, filter, out));
    return find_out_shape(out, x, filter);
}

/* The pixel of x below tap `tap`; -1: none. */
static int64_t find_pixel(const struct uniform_conv_size *size, int64_t pixel, int64_t tap)
{
    int64_t found = 0, inner = 1;
    for (int i = size->spatial - 1; i >= 0; i--) {
        const struct uniform_axis *axis = &size->axes[i];
        int64_t at = pixel % axis->out * axis->stride + tap % axis->kernel * axis->filter_dilation -
                     axis->before;
        if (at < 0 || at % axis->x_dilation != 0 || at / axis->x_dilation >= axis->in)
            return -1;
        found += at / axis->x_dilation * inner;
        inner *= axis->in;
        pixel /= axis->out;
        tap /= axis->kernel;
    }
    return found;
}

void uniform_conv_offsets(const struct uniform_conv_size *size, int64_t pixel, int64_t *offsets)
{
    for (int64_t tap = 0; tap < size->taps; tap++)
        offsets[tap] = find_pixel(size, pixel, tap);
}
