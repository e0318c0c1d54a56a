#include "graph/attr_proto.h"

#include <stdlib.h>

#include "proto/message.h"
#include "tensor/tensor_proto.h"

static ProtobufCBinaryData lend(struct bytes bytes)
{
    return (ProtobufCBinaryData){ bytes.size, (uint8_t *)bytes.data };
}

static Tensorflow__NameAttrList *write_function(const struct function_name *function,
                                                struct arena *arena)
{
    Tensorflow__NameAttrList *proto =
        PROTO_NEW(arena, Tensorflow__NameAttrList, tensorflow__name_attr_list);
    proto->name = (char *)function->name;
    proto->n_attr = (size_t)function->attrs_count;
    proto->attr = (Tensorflow__NameAttrList__AttrEntry **)attrs_to_proto(
        function->attrs, function->attrs_count, arena);
    return proto;
}

/* Appends an element; the arrays have room for the whole list. */
static void write_element(Tensorflow__AttrValue__ListValue *list, const struct attr_value *value,
                          struct arena *arena)
{
    switch (value->kind) {
    case ATTR_STRING:
        list->s[list->n_s++] = lend(value->s);
        break;
    case ATTR_INT:
        list->i[list->n_i++] = value->i;
        break;
    case ATTR_FLOAT:
        list->f[list->n_f++] = value->f;
        break;
    case ATTR_BOOL:
        list->b[list->n_b++] = value->b;
        break;
    case ATTR_TYPE:
        list->type[list->n_type++] = (Tensorflow__DataType)value->type;
        break;
    case ATTR_SHAPE:
        list->shape[list->n_shape++] = shape_to_proto(value->shape, arena);
        break;
    case ATTR_TENSOR:
        list->tensor[list->n_tensor++] = tensor_to_proto(value->tensor, arena);
        break;
    case ATTR_FUNC:
        list->func[list->n_func++] = write_function(value->func, arena);
        break;
    default:
        break;
    }
}

static Tensorflow__AttrValue__ListValue *write_list(const struct attr_value *value,
                                                    struct arena *arena)
{
    Tensorflow__AttrValue__ListValue *list =
        PROTO_NEW(arena, Tensorflow__AttrValue__ListValue, tensorflow__attr_value__list_value);
    size_t widest = sizeof(ProtobufCBinaryData); /* of the element types */
    void *elements = arena_array(arena, widest, (size_t)value->count + 1);

    list->s = elements; /* only the array of the list's one kind is used */
    list->i = elements;
    list->f = elements;
    list->b = elements;
    list->type = elements;
    list->shape = elements;
    list->tensor = elements;
    list->func = elements;
    for (int i = 0; i < value->count; i++)
        write_element(list, &value->elements[i], arena);
    return list;
}

Tensorflow__AttrValue *attr_value_to_proto(const struct attr_value *value, struct arena *arena)
{
    Tensorflow__AttrValue *proto = PROTO_NEW(arena, Tensorflow__AttrValue, tensorflow__attr_value);

    switch (value->kind) {
    case ATTR_NONE:
        break;
    case ATTR_STRING:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_S;
        proto->s = lend(value->s);
        break;
    case ATTR_INT:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_I;
        proto->i = value->i;
        break;
    case ATTR_FLOAT:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_F;
        proto->f = value->f;
        break;
    case ATTR_BOOL:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_B;
        proto->b = value->b;
        break;
    case ATTR_TYPE:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TYPE;
        proto->type = (Tensorflow__DataType)value->type;
        break;
    case ATTR_SHAPE:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_SHAPE;
        proto->shape = shape_to_proto(value->shape, arena);
        break;
    case ATTR_TENSOR:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_TENSOR;
        proto->tensor = tensor_to_proto(value->tensor, arena);
        break;
    case ATTR_FUNC:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_FUNC;
        proto->func = write_function(value->func, arena);
        break;
    case ATTR_PLACEHOLDER:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER;
        proto->placeholder = (char *)value->s.data;
        break;
    case ATTR_LIST:
        proto->value_case = TENSORFLOW__ATTR_VALUE__VALUE_LIST;
        proto->list = write_list(value, arena);
        break;
    }
    return proto;
}

static int by_name(const void *a, const void *b)
{
    const attr_entry *const *x = a, *const *y = b;
    return strcmp((*x)->key, (*y)->key);
}

attr_entry **attrs_to_proto(const struct attr *attrs, int count, struct arena *arena)
{
    attr_entry **entries = ARENA_ARRAY(arena, attr_entry *, count + 1);
    for (int i = 0; i < count; i++) {
        entries[i] = PROTO_NEW(arena, attr_entry, tensorflow__node_def__attr_entry);
        entries[i]->key = (char *)attrs[i].name;
        entries[i]->value = attr_value_to_proto(&attrs[i].value, arena);
    }
    if (count > 1)
        qsort(entries, (size_t)count, sizeof *entries, by_name);
    return entries;
}
