#include "graph/attr_proto.h"

#include "tensor/tensor_proto.h"

/* A constant of at least this size points into the message instead of being copied. */
#define BORROW_MIN (64 * 1024)

/* The memory that all constants together may take beyond their bytes in the file: one element of
 * the file may stand for many. */
#define REPEATED_MAX ((size_t)256 << 20)

/* More than any op has. A limit, because the search for equal names is quadratic. */
#define ATTRS_MAX 4096

/* Entries of every map<string, AttrValue> look alike in memory: base, key, value. */
_Static_assert(sizeof(Tensorflow__NameAttrList__AttrEntry) == sizeof(attr_entry), "entries alike");
_Static_assert(offsetof(Tensorflow__NameAttrList__AttrEntry, value) == offsetof(attr_entry, value),
               "entries alike");

/* May the elements stay in the message? Only if they are numbers of which every bit pattern is
 * valid. */
static bool can_borrow(const Tensorflow__TensorProto *proto, const struct shape *shape)
{
    enum dtype dtype = dtype_base((int)proto->dtype);
    size_t size = proto->tensor_content.len, element = dtype_size(dtype);
    struct shape checked;
    return size >= BORROW_MIN && (dtype_is_floating(dtype) || dtype_is_integer(dtype)) &&
           element == dtype_file_size(dtype) && shape_is_known(shape) &&
           status_is_ok(shape_check(shape->rank, shape->dims, &checked)) &&
           size == (size_t)shape_size(shape) * element &&
           (uintptr_t)proto->tensor_content.data % element == 0;
}

/* Counts the memory that the constant takes beyond its bytes; tensor_from_proto finds damaged
 * shapes. */
static struct status check_repeated(const struct proto_reader *reader,
                                    const Tensorflow__TensorProto *proto, const struct shape *shape)
{
    size_t element = dtype_size(dtype_base((int)proto->dtype)), size;
    struct shape checked;
    if (!shape_is_known(shape) || proto->tensor_content.len > 0)
        return status_ok();
    TRY(shape_check(shape->rank, shape->dims, &checked));
    if (__builtin_mul_overflow((size_t)shape_size(shape), element, &size) ||
        size > REPEATED_MAX - *reader->repeated)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "constants of over %zu MB that the file does not hold; this one has "
                            "shape %s",
                            REPEATED_MAX >> 20, shape_text(shape));
    *reader->repeated += size;
    return status_ok();
}

static struct status read_tensor(const struct proto_reader *reader,
                                 const Tensorflow__TensorProto *proto, struct attr_value *out)
{
    struct tensor *tensor = ARENA_NEW(reader->arena, struct tensor);
    struct shape shape;

    TRY(shape_from_proto(proto->tensor_shape, &shape));
    if (reader->borrow && can_borrow(proto, &shape)) {
        *tensor = tensor_borrow((enum dtype)proto->dtype, &shape, proto->tensor_content.data);
        out->kind = ATTR_TENSOR;
        out->tensor = tensor;
        return status_ok();
    }
    TRY(check_repeated(reader, proto, &shape));
    struct status status = tensor_from_proto(proto, reader->arena, tensor);
    if (status.code == STATUS_UNIMPLEMENTED)
        return status_ok(); /* a resource or variant is an error only when it is used */
    TRY(status);
    graph_own(reader->graph, *tensor);
    out->kind = ATTR_TENSOR;
    out->tensor = tensor;
    return status_ok();
}

static struct status read_shape(const struct proto_reader *reader,
                                const Tensorflow__TensorShapeProto *proto, struct attr_value *out)
{
    struct shape *shape = ARENA_NEW(reader->arena, struct shape);
    out->kind = ATTR_SHAPE;
    out->shape = shape;
    return shape_from_proto(proto, shape);
}

static struct status read_function(const struct proto_reader *reader,
                                   const Tensorflow__NameAttrList *proto, struct attr_value *out)
{
    struct function_name *function = ARENA_NEW(reader->arena, struct function_name);
    struct attr *attrs;

    function->name = arena_strdup(reader->arena, proto->name);
    TRY(attrs_from_proto(reader, proto->n_attr, (attr_entry *const *)proto->attr, NULL, &attrs,
                         &function->attrs_count));
    function->attrs = attrs;
    out->kind = ATTR_FUNC;
    out->func = function;
    return status_ok();
}

static struct bytes copy_bytes(const struct proto_reader *reader, ProtobufCBinaryData data)
{
    return (struct bytes){ arena_memdup(reader->arena, data.data, data.len), data.len };
}

/* The number of elements of a list, of the one kind that it holds. */
static size_t list_size(const Tensorflow__AttrValue__ListValue *list)
{
    return list->n_s + list->n_i + list->n_f + list->n_b + list->n_type + list->n_shape +
           list->n_tensor + list->n_func;
}

/* Element k of a list, of the first kind that the message holds. */
static struct status read_element(const struct proto_reader *reader,
                                  const Tensorflow__AttrValue__ListValue *list, size_t k,
                                  struct attr_value *out)
{
    if (k < list->n_s)
        *out = (struct attr_value){ .kind = ATTR_STRING, .s = copy_bytes(reader, list->s[k]) };
    else if (k < list->n_i)
        *out = (struct attr_value){ .kind = ATTR_INT, .i = list->i[k] };
    else if (k < list->n_f)
        *out = (struct attr_value){ .kind = ATTR_FLOAT, .f = list->f[k] };
    else if (k < list->n_b)
        *out = (struct attr_value){ .kind = ATTR_BOOL, .b = list->b[k] != 0 };
    else if (k < list->n_type)
        *out = (struct attr_value){ .kind = ATTR_TYPE, .type = (int)list->type[k] };
    else if (k < list->n_shape)
        return read_shape(reader, list->shape[k], out);
    else if (k < list->n_tensor)
        return read_tensor(reader, list->tensor[k], out);
    else if (k < list->n_func)
        return read_function(reader, list->func[k], out);
    else
        return status_error(STATUS_INVALID_ARGUMENT, "a list of mixed kinds");
    return status_ok();
}

static struct status read_list(const struct proto_reader *reader,
                               const Tensorflow__AttrValue__ListValue *list, struct attr_value *out)
{
    size_t count = list_size(list);
    void *memory = NULL;
    if (count > INT32_MAX / sizeof(struct attr_value))
        return status_error(STATUS_INVALID_ARGUMENT, "a list of %zu elements", count);
    TRY(arena_reserve(reader->arena, (count + 1) * sizeof(struct attr_value), &memory));
    struct attr_value *elements = memory;
    for (size_t k = 0; k < count; k++) {
        elements[k] = (struct attr_value){ 0 };
        TRY(read_element(reader, list, k, &elements[k]));
    }
    *out = (struct attr_value){ .kind = ATTR_LIST,
                                .element_kind = count > 0 ? elements[0].kind : ATTR_NONE,
                                .count = (int)count };
    out->elements = elements;
    return status_ok();
}

struct status attr_value_from_proto(const struct proto_reader *reader,
                                    const Tensorflow__AttrValue *proto, struct attr_value *out)
{
    *out = (struct attr_value){ 0 };
    if (proto == NULL)
        return status_ok();
    switch (proto->value_case) {
    case TENSORFLOW__ATTR_VALUE__VALUE_LIST:
        return read_list(reader, proto->list, out);
    case TENSORFLOW__ATTR_VALUE__VALUE_S:
        *out = (struct attr_value){ .kind = ATTR_STRING, .s = copy_bytes(reader, proto->s) };
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_I:
        *out = (struct attr_value){ .kind = ATTR_INT, .i = proto->i };
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_F:
        *out = (struct attr_value){ .kind = ATTR_FLOAT, .f = proto->f };
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_B:
        *out = (struct attr_value){ .kind = ATTR_BOOL, .b = proto->b != 0 };
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_TYPE:
        *out = (struct attr_value){ .kind = ATTR_TYPE, .type = (int)proto->type };
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_SHAPE:
        return read_shape(reader, proto->shape, out);
    case TENSORFLOW__ATTR_VALUE__VALUE_TENSOR:
        return read_tensor(reader, proto->tensor, out);
    case TENSORFLOW__ATTR_VALUE__VALUE_PLACEHOLDER:
        *out = (struct attr_value){ .kind = ATTR_PLACEHOLDER };
        out->s = bytes_of(arena_strdup(reader->arena, proto->placeholder));
        return status_ok();
    case TENSORFLOW__ATTR_VALUE__VALUE_FUNC:
        return read_function(reader, proto->func, out);
    default:
        return status_ok();
    }
}

/* The shapes that TensorFlow inferred when it wrote the file: a hint for its Python, and up to
 * half the size of a large graph. We infer shapes for the requested signature. */
static bool is_left_out(const char *name)
{
    return strcmp(name, "_output_shapes") == 0;
}

static struct attr *find_or_add(struct attr *attrs, int *count, const char *name)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(attrs[i].name, name) == 0)
            return &attrs[i];
    attrs[*count].name = NULL;
    return &attrs[(*count)++];
}

struct status attrs_from_proto(const struct proto_reader *reader, size_t count,
                               attr_entry *const *entries, const struct op *op, struct attr **out,
                               int *out_count)
{
    if (count > ATTRS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu attributes", count);
    struct attr *attrs = ARENA_ARRAY(reader->arena, struct attr, count + 1);
    int total = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_left_out(entries[i]->key))
            continue;
        struct attr *attr = find_or_add(attrs, &total, entries[i]->key);
        if (attr->name == NULL) {
            const struct op_attr *known = op != NULL ? op_attr_find(op, entries[i]->key) : NULL;
            attr->name = known != NULL ? known->name : arena_strdup(reader->arena, entries[i]->key);
        }
        TRY(status_in(attr_value_from_proto(reader, entries[i]->value, &attr->value),
                      "attribute '%s'", attr->name));
    }
    *out = attrs;
    *out_count = total;
    return status_ok();
}
