/* Reading attributes of nodes, with the op's defaults (graph.h). */
#include "graph/arguments.h"

const struct attr_value *node_attr(const struct node *node, const char *name)
{
    return argument_attr(node, node->op, name);
}

static struct status find(const struct node *node, const char *name, enum attr_kind kind,
                          const struct attr_value **out)
{
    return argument_attr_of(node, node->op, name, kind, out);
}

struct status node_attr_int(const struct node *node, const char *name, int64_t *out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_INT, &value));
    *out = value->i;
    return status_ok();
}

struct status node_attr_int32(const struct node *node, const char *name, int64_t *out)
{
    TRY(node_attr_int(node, name, out));
    if (*out >= INT32_MIN && *out <= INT32_MAX)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "node '%s' (%s): Attr %s has value %lld out of range for an int32",
                        node->name, node->op_name, name, (long long)*out);
}

int64_t node_attr_int_or_0(const struct node *node, const char *name)
{
    int64_t value = 0;
    status_ignore(node_attr_int(node, name, &value));
    return value;
}

struct status node_attr_float(const struct node *node, const char *name, float *out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_FLOAT, &value));
    *out = value->f;
    return status_ok();
}

struct status node_attr_bool(const struct node *node, const char *name, bool *out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_BOOL, &value));
    *out = value->b;
    return status_ok();
}

struct status node_attr_string(const struct node *node, const char *name, struct bytes *out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_STRING, &value));
    *out = value->s;
    return status_ok();
}

struct status node_attr_type(const struct node *node, const char *name, enum dtype *out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_TYPE, &value));
    *out = dtype_base(value->type);
    if (*out == DT_INVALID)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): attribute '%s' is %d, which is no type", node->name,
                            node->op_name, name, value->type);
    return status_ok();
}

struct status node_attr_shape(const struct node *node, const char *name, const struct shape **out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_SHAPE, &value));
    *out = value->shape;
    return status_ok();
}

struct status node_attr_tensor(const struct node *node, const char *name, const struct tensor **out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_TENSOR, &value));
    *out = value->tensor;
    return status_ok();
}

struct status node_attr_func(const struct node *node, const char *name,
                             const struct function_name **out)
{
    const struct attr_value *value;
    TRY(find(node, name, ATTR_FUNC, &value));
    *out = value->func;
    return status_ok();
}

struct status node_attr_list(const struct node *node, const char *name,
                             const struct attr_value **out)
{
    return find(node, name, ATTR_LIST, out);
}

struct status node_attr_list_of(const struct node *node, const char *name, enum attr_kind kind,
                                const struct attr_value **out)
{
    TRY(node_attr_list(node, name, out));
    if ((*out)->count > 0 && (*out)->element_kind != kind)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): attribute '%s' has wrong kind", node->name,
                            node->op_name, name);
    return status_ok();
}

bool node_is_nhwc(const struct node *node)
{
    const struct attr_value *format = node_attr(node, "data_format");
    return format == NULL || format->kind != ATTR_STRING ||
           bytes_equal(format->s, bytes_of("NHWC"));
}
