/* parts: parts of the formulas of metrics. */
#include "layers/metrics/parts.h"

#include <math.h>

#include "layers/losses/weights.h"

static const char *const metric_keys[] = { "name", "dtype", "fn", NULL };

struct arg_list metric_args_of(const struct metric_class *class)
{
    return (struct arg_list){ class->args, class->args_count, metric_keys };
}

const struct arg_value *metric_option(const struct metric *metric, const char *name)
{
    const struct arg_list list = metric_args_of(metric->class);

    return args_find(&list, metric->args, name);
}

struct endpoint metric_binary(struct metric_context *c, const char *op, struct endpoint x,
                              struct endpoint y)
{
    return build_binary(c->builder, op, NULL, x, y);
}

struct endpoint metric_by_number(struct metric_context *c, const char *op, struct endpoint x,
                                 double number)
{
    return metric_binary(c, op, x, build_const_float(c->builder, (float)number));
}

struct endpoint metric_cast(struct metric_context *c, struct endpoint x, enum dtype dtype)
{
    return build_cast(c->builder, NULL, x, dtype);
}

struct endpoint metric_flat(struct metric_context *c, struct endpoint x)
{
    const int32_t all = -1;

    return metric_binary(c, "Reshape", x, build_const_ints(c->builder, NULL, 1, &all));
}

struct endpoint metric_sum(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sum", metric_flat(c, x), build_const_int(c->builder, 0));
}

static bool has_weights(const struct metric_context *c)
{
    return (c->weighted || c->mask.node != NULL) && status_is_ok(c->builder->status);
}

/* The mask as 0 and 1, for a tensor of its shape or with one more dimension. */
static struct endpoint spread_mask(struct metric_context *c, const struct shape *shape)
{
    int more = shape->rank - endpoint_shape(c->mask)->rank;
    struct endpoint mask = metric_cast(c, c->mask, DT_FLOAT);

    if (more == 0)
        return mask;
    if (more != 1 && status_is_ok(c->builder->status))
        c->builder->status = status_keep(
            c->layers->arena,
            status_error(STATUS_UNIMPLEMENTED,
                         "metric '%.100s': the output has a mask of shape %s, the "
                         "metric's values have %s",
                         c->metric->name, shape_text(endpoint_shape(c->mask)), shape_text(shape)));
    return build_expand_dims(c->builder, mask, -1);
}

/* The weight of each element of a tensor of this shape. */
static struct endpoint weights_of(struct metric_context *c, const struct shape *shape)
{
    if (c->mask.node == NULL)
        return spread_weights(c->layers, shape);
    struct endpoint mask = spread_mask(c, shape);
    return c->weighted ? metric_binary(c, "Mul", mask, spread_weights(c->layers, shape)) : mask;
}

struct endpoint metric_weights_like(struct metric_context *c, struct endpoint x)
{
    struct endpoint ones = metric_cast(c, build_unary(c->builder, "OnesLike", NULL, x), DT_FLOAT);

    if (!has_weights(c))
        return ones;
    return metric_binary(c, "Mul", ones, weights_of(c, endpoint_shape(x)));
}

struct endpoint metric_weigh(struct metric_context *c, struct endpoint x)
{
    if (!has_weights(c))
        return x;
    return metric_binary(c, "Mul", x, weights_of(c, endpoint_shape(x)));
}

struct endpoint metric_count(struct metric_context *c, struct endpoint x)
{
    if (has_weights(c))
        return metric_sum(c, metric_weights_like(c, x));
    return metric_cast(c, build_unary(c->builder, "Size", NULL, x), DT_FLOAT);
}

struct endpoint metric_pair(struct metric_context *c, struct endpoint a, struct endpoint b)
{
    const struct endpoint both[] = { a, b };

    return build(c->builder, "Pack", NULL, 2, both, NULL);
}

struct endpoint metric_share_of_true(struct metric_context *c, struct endpoint is)
{
    return metric_pair(c, metric_sum(c, metric_weigh(c, metric_cast(c, is, DT_FLOAT))),
                       metric_count(c, is));
}

struct endpoint metric_largest(struct metric_context *c, struct endpoint x)
{
    const struct endpoint inputs[] = { x, build_const_int(c->builder, -1) };

    return build(c->builder, "ArgMax", NULL, 2, inputs,
                 (const struct attr[]){ attr_type("output_type", DT_INT32), ATTR_END });
}

struct endpoint metric_classes_of(struct metric_context *c)
{
    return endpoint_dtype(c->labels) == DT_INT32 ? c->labels : metric_largest(c, c->labels);
}

struct endpoint metric_labels_by_class(struct metric_context *c)
{
    const struct shape *output = endpoint_shape(c->output);
    struct builder *b = c->builder;

    if (endpoint_dtype(c->labels) == DT_FLOAT)
        return c->labels;
    int32_t count = (int32_t)output->dims[output->rank - 1];
    const struct endpoint inputs[] = { c->labels, build_const_int(b, count),
                                       build_const_float(b, 1), build_const_float(b, 0) };
    return build(b, "OneHot", NULL, 4, inputs, NULL);
}

struct endpoint metric_positives_by_class(struct metric_context *c)
{
    return metric_cast(c, metric_by_number(c, "NotEqual", metric_labels_by_class(c), 0), DT_FLOAT);
}

struct endpoint metric_of_class(struct metric_context *c, struct endpoint x)
{
    const struct arg_value *class_id = metric_option(c->metric, "class_id");

    if (class_id == NULL || class_id->is_null)
        return x;
    const int32_t id = (int32_t)class_id->integer;
    const struct endpoint inputs[] = { x, build_const_ints(c->builder, NULL, 1, &id),
                                       build_const_int(c->builder, -1) };

    return build(c->builder, "GatherV2", NULL, 3, inputs, NULL);
}

struct endpoint metric_sum_by_class(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sum", metric_weigh(c, x), build_const_int(c->builder, 0));
}

struct endpoint metric_sum_columns(struct metric_context *c, struct endpoint x)
{
    return metric_binary(c, "Sum", x, build_const_int(c->builder, 0));
}

struct endpoint metric_column(struct metric_context *c, struct endpoint x)
{
    return build_expand_dims(c->builder, metric_flat(c, x), 1);
}

/* ---- options of one number or several ---- */

/* The list of the option; NULL: it is null or a number. */
static const struct json_value *list_of(const struct metric *metric, const char *name)
{
    const struct json_value *value = array_items(metric_option(metric, name)->value);

    return value != NULL && value->kind == JSON_VALUE_LIST ? value : NULL;
}

int64_t metric_numbers_count(const struct metric *metric, const char *name)
{
    const struct arg_value *option = metric_option(metric, name);

    if (option->is_null)
        return 0;
    return list_of(metric, name) != NULL ? list_of(metric, name)->count : 1;
}

double metric_number(const struct metric *metric, const char *name, int64_t index)
{
    const struct json_value *list = list_of(metric, name);
    double number = NAN;

    json_value_number(list != NULL ? &list->members[index] : metric_option(metric, name)->value,
                      &number);
    return number;
}

struct status metric_check_numbers(const struct metric *metric, const char *name)
{
    const struct arg_value *option = metric_option(metric, name);
    int64_t count = metric_numbers_count(metric, name);
    bool good = option->is_null || (count > 0 && count <= METRIC_ELEMENTS_MAX);

    for (int64_t i = 0; good && i < count; i++) {
        double number = metric_number(metric, name, i);
        good = number >= 0 && number <= 1;
    }
    return good ? status_ok()
                : status_error(STATUS_INVALID_ARGUMENT,
                               "argument '%s': expected a number from 0 to 1, or a list of up to "
                               "%d of them",
                               name, METRIC_ELEMENTS_MAX);
}

struct endpoint metric_above_numbers(struct metric_context *c, const char *name, double fallback,
                                     struct endpoint x)
{
    int64_t count = metric_numbers_count(c->metric, name);
    const struct shape shape = shape_of(count > 0 ? count : 1);
    float *numbers = ARENA_ARRAY(c->layers->arena, float, shape.dims[0]);

    numbers[0] = (float)fallback;
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (float)metric_number(c->metric, name, i);
    const struct tensor value = tensor_borrow(DT_FLOAT, &shape, numbers);
    return metric_cast(
        c, metric_binary(c, "Greater", metric_column(c, x), build_const(c->builder, NULL, &value)),
        DT_FLOAT);
}

struct endpoint metric_concat(struct metric_context *c, int count, const struct endpoint *parts)
{
    struct endpoint inputs[6];

    memcpy(inputs, parts, (size_t)count * sizeof *parts);
    inputs[count] = build_const_int(c->builder, 0);
    return build(c->builder, "ConcatV2", NULL, count + 1, inputs, NULL);
}

struct status metric_check_option(const struct metric *metric, const char *name, int64_t least,
                                  int64_t most)
{
    const struct arg_value *option = metric_option(metric, name);

    if (option->is_null || (option->integer >= least && option->integer <= most))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "argument '%s': got %lld, expected %lld to %lld",
                        name, (long long)option->integer, (long long)least, (long long)most);
}

struct status metric_check_last_axis(const struct metric *metric, const struct shape *output)
{
    const struct arg_value *axis = metric_option(metric, "axis");

    (void)output;
    if (axis->is_null || axis->integer == -1)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "argument 'axis': got %lld; only -1 is implemented",
                        (long long)axis->integer);
}
