#include "graph/attr.h"

#include "base/arena.h"

const struct attr_value *attrs_find(const struct attr *attrs, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i].value;
    return NULL;
}

const char *attr_kind_name(enum attr_kind kind)
{
    static const char *const names[] = {
        [ATTR_NONE] = "nothing", [ATTR_STRING] = "string",
        [ATTR_INT] = "int",      [ATTR_FLOAT] = "float",
        [ATTR_BOOL] = "bool",    [ATTR_TYPE] = "type",
        [ATTR_SHAPE] = "shape",  [ATTR_TENSOR] = "tensor",
        [ATTR_FUNC] = "func",    [ATTR_PLACEHOLDER] = "placeholder",
        [ATTR_LIST] = "list",
    };
    return names[kind];
}

bool attrs_equal(const struct attr *a, int a_count, const struct attr *b, int b_count)
{
    if (a_count != b_count)
        return false;
    for (int i = 0; a != b && i < a_count; i++) {
        const struct attr_value *other = attrs_find(b, b_count, a[i].name);
        if (other == NULL || !attr_value_equal(&a[i].value, other))
            return false;
    }
    return true;
}

static bool function_name_equal(const struct function_name *a, const struct function_name *b)
{
    return strcmp(a->name, b->name) == 0 &&
           attrs_equal(a->attrs, a->attrs_count, b->attrs, b->attrs_count);
}

static bool list_equal(const struct attr_value *a, const struct attr_value *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!attr_value_equal(&a->elements[i], &b->elements[i]))
            return false;
    return true;
}

bool attr_value_equal(const struct attr_value *a, const struct attr_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ATTR_NONE:
        return true;
    case ATTR_STRING:
    case ATTR_PLACEHOLDER:
        return bytes_equal(a->s, b->s);
    case ATTR_INT:
        return a->i == b->i;
    case ATTR_FLOAT:
        return memcmp(&a->f, &b->f, sizeof a->f) == 0; /* by bits: a NaN equals itself */
    case ATTR_BOOL:
        return a->b == b->b;
    case ATTR_TYPE:
        return a->type == b->type;
    case ATTR_SHAPE:
        return shape_equal(a->shape, b->shape);
    case ATTR_TENSOR:
        return tensor_equal(a->tensor, b->tensor);
    case ATTR_FUNC:
        return function_name_equal(a->func, b->func);
    case ATTR_LIST:
        return list_equal(a, b);
    }
    return false;
}

static struct bytes copy_bytes(struct arena *arena, struct bytes bytes)
{
    return (struct bytes){ arena_memdup(arena, bytes.data, bytes.size), bytes.size };
}

/* Copies the elements as well, and the characters of strings. */
static struct status tensor_copy_to_arena(struct arena *arena, const struct tensor *tensor,
                                          struct tensor *out)
{
    size_t size = tensor_bytes(tensor);
    void *data = NULL;

    TRY(arena_reserve(arena, size > 0 ? size : 1, &data));
    if (size > 0)
        memcpy(data, tensor->data, size);
    if (tensor->dtype == DT_STRING) {
        struct bytes *strings = data;
        for (int64_t i = 0; i < tensor->size; i++)
            strings[i] = copy_bytes(arena, strings[i]);
    }
    *out = tensor_borrow(tensor->dtype, &tensor->shape, data);
    return status_ok();
}

/* Both kinds of copy: `deep` copies the elements of tensors as well. */
static struct status copy_value(struct arena *arena, const struct attr_value *value, bool deep,
                                struct attr_value *out);

static struct status copy_function(struct arena *arena, const struct function_name *from, bool deep,
                                   const struct function_name **out)
{
    struct function_name *function = ARENA_NEW(arena, struct function_name);
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, from->attrs_count);

    for (int i = 0; i < from->attrs_count; i++) {
        attrs[i].name = arena_strdup(arena, from->attrs[i].name);
        TRY(copy_value(arena, &from->attrs[i].value, deep, &attrs[i].value));
    }
    *function = (struct function_name){ arena_strdup(arena, from->name), attrs, from->attrs_count };
    *out = function;
    return status_ok();
}

static struct status copy_tensor(struct arena *arena, const struct tensor *from, bool deep,
                                 const struct tensor **out)
{
    struct tensor *tensor = ARENA_NEW(arena, struct tensor);
    if (deep)
        TRY(tensor_copy_to_arena(arena, from, tensor));
    else
        *tensor = tensor_borrow(from->dtype, &from->shape, from->data);
    *out = tensor;
    return status_ok();
}

static struct status copy_list(struct arena *arena, const struct attr_value *value, bool deep,
                               const struct attr_value **out)
{
    struct attr_value *elements = ARENA_ARRAY(arena, struct attr_value, value->count);
    for (int i = 0; i < value->count; i++)
        TRY(copy_value(arena, &value->elements[i], deep, &elements[i]));
    *out = elements;
    return status_ok();
}

static struct status copy_value(struct arena *arena, const struct attr_value *value, bool deep,
                                struct attr_value *out)
{
    *out = *value;
    switch (value->kind) {
    case ATTR_STRING:
    case ATTR_PLACEHOLDER:
        out->s = copy_bytes(arena, value->s);
        return status_ok();
    case ATTR_SHAPE:
        out->shape = (const struct shape *)arena_memdup(arena, value->shape, sizeof *value->shape);
        return status_ok();
    case ATTR_TENSOR:
        return copy_tensor(arena, value->tensor, deep, &out->tensor);
    case ATTR_FUNC:
        return copy_function(arena, value->func, deep, &out->func);
    case ATTR_LIST:
        return copy_list(arena, value, deep, &out->elements);
    default:
        return status_ok();
    }
}

struct status attr_value_copy(struct arena *arena, const struct attr_value *value,
                              struct attr_value *out)
{
    return copy_value(arena, value, true, out);
}

struct attr_value attr_value_share(struct arena *arena, const struct attr_value *value)
{
    struct attr_value out;
    status_ignore(copy_value(arena, value, false, &out)); /* only the copy of elements can fail */
    return out;
}
