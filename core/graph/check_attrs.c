/*
 * Checks a node's attributes against the definition of its op in ops.def. TensorFlow refuses to
 * load a graph with any other attribute, even on a node that no signature needs. Kernels rely on
 * it: a kernel with an index of int32 or int64 never sees another type.
 */
#include "graph/arguments.h"

static struct status check_kind(const struct op_attr *attr, const struct attr_value *value)
{
    bool is_list = attr->kind == ATTR_LIST;
    if (value->kind != attr->kind)
        return status_error(STATUS_INVALID_ARGUMENT, "attribute '%s' is of kind %s, should be %s",
                            attr->name, attr_kind_name(value->kind), attr->type);
    if (is_list && value->count > 0 && value->element_kind != attr->element_kind)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "attribute '%s' is a list of kind %s, should be %s", attr->name,
                            attr_kind_name(value->element_kind), attr->type);
    return status_ok();
}

static struct status check_type(const struct op_attr *attr, int type)
{
    enum dtype dtype = dtype_base(type);
    if (attr->allowed_types == DTYPES_ALL || (attr->allowed_types & DTYPES(dtype)) != 0)
        return status_ok();
    struct buffer text = { 0 };
    for (int i = 1; i < DTYPE_COUNT; i++)
        if ((attr->allowed_types & DTYPES(i)) != 0)
            buffer_printf(&text, "%s%s", text.size > 0 ? ", " : "", dtype_name((enum dtype)i));
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "Value for attr '%s' of %s is not in the list of allowed values: %.*s",
                     attr->name, dtype_name(dtype), (int)text.size, text.data);
    buffer_finish(&text);
    return status;
}

static struct status check_string(const struct op_attr *attr, struct bytes string)
{
    struct buffer text = { 0 };
    for (int i = 0; i < attr->allowed_strings_count; i++) {
        struct bytes allowed = attr->allowed_strings[i];
        if (bytes_equal(string, allowed)) {
            buffer_finish(&text);
            return status_ok();
        }
        buffer_printf(&text, "%s\"%.*s\"", i > 0 ? ", " : "", (int)allowed.size, allowed.data);
    }
    struct status status = status_error(
        STATUS_INVALID_ARGUMENT,
        "Value for attr '%s' of \"%.*s\" is not in the list of allowed values: %.*s", attr->name,
        (int)(string.size < 64 ? string.size : 64), string.data, (int)text.size, text.data);
    buffer_finish(&text);
    return status;
}

static struct status check_minimum(const struct op_attr *attr, const struct attr_value *value)
{
    if (value->kind == ATTR_INT && value->i < attr->minimum)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Value for attr '%s' of %lld must be at least minimum %lld", attr->name,
                            (long long)value->i, (long long)attr->minimum);
    if (value->kind == ATTR_LIST && value->count < attr->minimum)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Length for attr '%s' of %d must be at least minimum %lld", attr->name,
                            value->count, (long long)attr->minimum);
    return status_ok();
}

static struct status check_element(const struct op_attr *attr, const struct attr_value *value)
{
    if (attr->element_kind == ATTR_TYPE)
        return check_type(attr, value->type);
    if (attr->allowed_strings != NULL)
        return check_string(attr, value->s);
    return status_ok();
}

static struct status check_attr(const struct op_attr *attr, const struct attr_value *value)
{
    if (value->kind == ATTR_NONE)
        return status_ok(); /* a value that cannot be read, such as a variant: an error when it is
                               used */
    TRY(check_kind(attr, value));
    TRY(check_minimum(attr, value));
    if (value->kind != ATTR_LIST)
        return check_element(attr, value);
    for (int i = 0; i < value->count; i++)
        TRY(check_element(attr, &value->elements[i]));
    return status_ok();
}

struct status node_check_attrs(const struct node *node)
{
    for (int i = 0; node->op != NULL && i < node->attrs_count; i++) {
        const struct op_attr *attr = op_attr_find(node->op, node->attrs[i].name);
        if (attr != NULL)
            TRY(status_in(check_attr(attr, &node->attrs[i].value), "node '%s' (%s)", node->name,
                          node->op_name));
    }
    return status_ok();
}
