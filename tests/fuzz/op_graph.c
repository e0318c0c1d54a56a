#include <fnmatch.h>
#include <stdlib.h>

#include "fuzz/op_maker.h"
#include "graph/arguments.h"
#include "graph/build.h"

/* ---- nodes ---- */

void set_attr(struct op_maker *maker, struct node *node, const char *name, struct attr_value value)
{
    struct attr attr = { name, value };
    node_set_attr(maker->out->graph, node, &attr);
}

static void set_type(struct op_maker *maker, struct node *node, const char *name, int type)
{
    set_attr(maker, node, name, (struct attr_value){ .kind = ATTR_TYPE, .type = type });
}

static void set_shape(struct op_maker *maker, struct node *node, const char *name,
                      struct shape shape)
{
    struct shape *copy = ARENA_NEW(maker->arena, struct shape);
    *copy = shape;
    set_attr(maker, node, name, (struct attr_value){ .kind = ATTR_SHAPE, .shape = copy });
}

struct node *add_node(struct op_maker *maker, const char *op)
{
    struct graph *graph = maker->out->graph;
    struct node *node;
    const char *name = arena_printf(maker->arena, "n%d", graph->count);
    status_ignore(graph_add(graph, op, name, &node)); /* the name is new */
    return node;
}

static struct shape forget_dims(struct op_maker *maker, const struct shape *shape)
{
    struct shape declared = *shape;
    if (one_in(maker->choices, 3))
        return shape_unknown();
    for (int i = 0; i < declared.rank; i++)
        if (one_in(maker->choices, 3))
            declared.dims[i] = -1;
    return declared;
}

static bool can_be_fed(enum dtype dtype)
{
    return dtype_size(dtype) > 0 && dtype != DT_RESOURCE && dtype != DT_VARIANT;
}

struct node *place_tensor(struct op_maker *maker, struct tensor tensor)
{
    struct op_graph *out = maker->out;
    bool is_fed = out->feeds_count < OP_GRAPH_FEEDS_MAX && one_in(maker->choices, 2);
    struct node *node = add_node(maker, is_fed ? "Placeholder" : "Const");
    set_type(maker, node, "dtype", (int)tensor.dtype);
    if (is_fed) {
        out->feeds[out->feeds_count] = node->name;
        out->values[out->feeds_count++] = tensor;
        set_shape(maker, node, "shape", forget_dims(maker, &tensor.shape));
        return node;
    }
    struct tensor *value = ARENA_NEW(maker->arena, struct tensor);
    *value = tensor;
    value->data = arena_memdup(maker->arena, tensor.data, tensor_bytes(&tensor));
    free(tensor.data);
    set_attr(maker, node, "value", (struct attr_value){ .kind = ATTR_TENSOR, .tensor = value });
    return node;
}

static struct node *make_value(struct op_maker *maker, enum dtype dtype, enum role role)
{
    return place_tensor(maker, make_tensor(maker, can_be_fed(dtype) ? dtype : DT_FLOAT, role));
}

static enum dtype type_or(const struct node *node, const char *const *names, enum dtype otherwise)
{
    enum dtype dtype;
    for (; *names != NULL; names++)
        if (status_is_ok(node_attr_type(node, *names, &dtype)) && can_be_fed(dtype))
            return dtype;
    return otherwise;
}

static struct node *make_variable(struct op_maker *maker, const struct node *user, bool is_ref)
{
    static const char *const names[] = { "dtype", "T", NULL };
    enum dtype dtype = one_in(maker->choices, 12) ? DT_DOUBLE : type_or(user, names, DT_FLOAT);
    return place_variable(maker, make_tensor(maker, dtype, ROLE_ANY), is_ref);
}

struct node *place_variable(struct op_maker *maker, struct tensor value, bool is_ref)
{
    struct op_graph *out = maker->out;
    struct node *node = add_node(maker, is_ref ? "VariableV2" : "VarHandleOp");
    set_type(maker, node, "dtype", (int)value.dtype);
    set_shape(maker, node, "shape", forget_dims(maker, &value.shape));
    set_attr(maker, node, "shared_name",
             (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of(node->name) });
    if (out->variables_count == OP_GRAPH_VARIABLES_MAX || one_in(maker->choices, 12)) {
        free(value.data); /* not initialised */
        return node;
    }
    out->variables[out->variables_count] = node->name;
    out->initial[out->variables_count++] = value;
    return node;
}

static const char *const keys[] = { "Tkey", "Tin", "Tkeys", NULL };
static const char *const values[] = { "Tval", "Tout", "Tvalues", NULL };

/* A table whose values, and perhaps whose keys, are vectors. */
static struct node *make_tensor_table(struct op_maker *maker, const struct node *user)
{
    struct choices *c = maker->choices;
    enum dtype key = type_or(user, keys, DT_INT64);
    bool is_dense = one_in(c, 2);
    struct shape of_key = one_in(c, 2) ? shape_of(1 + choose(c, 2)) : shape_scalar();
    struct node *reserved[2] = { NULL, NULL };
    for (int i = 0; i < 2 && is_dense; i++)
        reserved[i] = place_tensor(maker, make_tensor_of_shape(maker, key, &of_key, ROLE_ANY));
    struct node *node =
        add_node(maker, is_dense ? "MutableDenseHashTableV2" : "MutableHashTableOfTensorsV2");
    set_type(maker, node, "key_dtype", (int)key);
    set_type(maker, node, "value_dtype", (int)type_or(user, values, DT_FLOAT));
    set_shape(maker, node, "value_shape",
              is_dense && one_in(c, 2) ? shape_scalar() : shape_of(choose(c, 4)));
    for (int i = 0; i < 2 && is_dense; i++)
        node_add_input(maker->out->graph, node, (struct endpoint){ reserved[i], 0 });
    return node;
}

static struct node *make_table(struct op_maker *maker, const struct node *user, bool is_ref)
{
    if (!is_ref && one_in(maker->choices, 4))
        return make_tensor_table(maker, user);
    bool is_mutable = one_in(maker->choices, 2);
    const char *op = is_mutable ? (is_ref ? "MutableHashTable" : "MutableHashTableV2")
                                : (is_ref ? "HashTable" : "HashTableV2");
    struct node *node = add_node(maker, op);
    set_type(maker, node, "key_dtype", (int)type_or(user, keys, DT_STRING));
    set_type(maker, node, "value_dtype", (int)type_or(user, values, DT_INT64));
    return node;
}

static struct node *make_list(struct op_maker *maker, const struct node *user)
{
    static const char *const names[] = { "element_dtype", "T", NULL };
    enum dtype dtype = type_or(user, names, DT_FLOAT);
    bool has_elements = one_in(maker->choices, 2);
    struct node *first =
        has_elements ? make_value(maker, dtype, ROLE_ANY) : make_value(maker, DT_INT32, ROLE_DIMS);
    struct node *second = has_elements ? make_value(maker, DT_INT32, ROLE_DIMS)
                                       : make_value(maker, DT_INT32, ROLE_SCALAR);
    struct node *node = add_node(maker, has_elements                ? "TensorListFromTensor"
                                        : one_in(maker->choices, 2) ? "TensorListReserve"
                                                                    : "EmptyTensorList");
    set_type(maker, node, "element_dtype", (int)dtype);
    set_type(maker, node, "shape_type", DT_INT32);
    node_add_input(maker->out->graph, node, (struct endpoint){ first, 0 });
    node_add_input(maker->out->graph, node, (struct endpoint){ second, 0 });
    return node;
}

/* The type of part i of the elements that a dataset's user gives, or int64. */
static enum dtype part_type(const struct attr_value *types, int i)
{
    if (types == NULL || types->kind != ATTR_LIST || types->elements[i].kind != ATTR_TYPE ||
        !can_be_fed((enum dtype)types->elements[i].type))
        return DT_INT64;
    return (enum dtype)types->elements[i].type;
}

/* A dataset of three elements of the types that the user gives. */
static struct node *make_dataset(struct op_maker *maker, const struct node *user)
{
    const struct attr_value *given = attrs_find(user->attrs, user->attrs_count, "output_types");
    const struct shape of_part = shape_of(3);
    const struct shape *scalars = ARENA_ARRAY(maker->arena, struct shape, OP_INPUTS_MAX);
    struct node *parts[OP_INPUTS_MAX];
    enum dtype types[OP_INPUTS_MAX];
    int count = given != NULL && given->kind == ATTR_LIST ? given->count : 1;
    count = count < OP_INPUTS_MAX ? count : OP_INPUTS_MAX;
    for (int i = 0; i < count; i++) {
        types[i] = part_type(given, i);
        parts[i] = place_tensor(maker, make_tensor_of_shape(maker, types[i], &of_part, ROLE_ANY));
    }
    struct builder b = builder_init(maker->out->graph);
    struct attr attrs[] = { attr_types(&b, "Toutput_types", count, types),
                            attr_shapes(&b, "output_shapes", count, scalars) };
    struct node *node = add_node(maker, "TensorSliceDataset");
    for (size_t i = 0; i < COUNT(attrs); i++)
        set_attr(maker, node, attrs[i].name, attrs[i].value);
    for (int i = 0; i < count; i++)
        node_add_input(maker->out->graph, node, (struct endpoint){ parts[i], 0 });
    return node;
}

/* A sparse matrix of three rows and columns, or two of them. Other inputs then have their shape. */
static struct node *make_sparse_matrix(struct op_maker *maker, const struct node *user)
{
    static const char *const names[] = { "type", "T", NULL };
    static const int64_t places[] = { 0, 0, 0, 0, 0, 2, 0, 2, 1, 1, 0, 0, 1, 2, 2 };
    struct choices *c = maker->choices;
    bool is_batch = one_in(c, 3);
    int columns = is_batch ? 3 : 2, count = one_in(c, 8) ? 0 : 5;
    struct shape of_places = shape_of(count, columns);
    struct tensor indices = make_tensor_of_shape(maker, DT_INT64, &of_places, ROLE_ANY);
    for (int i = 0; i < count && !one_in(c, 40); i++)
        for (int k = 0; k < columns; k++)
            tensor_set_index(&indices, i * columns + k, places[3 * i + k + 3 - columns]);
    if (!one_in(c, 6))
        maker->shape = is_batch ? shape_of(2, 3, 3) : shape_of(3, 3);
    enum dtype dtype = type_or(user, names, DT_FLOAT);
    struct node *inputs[] = { place_tensor(maker, make_tensor_of_shape(maker, dtype, &maker->shape,
                                                                       ROLE_ANY)),
                              place_tensor(maker, indices) };
    struct node *node = add_node(maker, "DenseToCSRSparseMatrix");
    set_type(maker, node, "T", (int)dtype);
    for (int i = 0; i < 2; i++)
        node_add_input(maker->out->graph, node, (struct endpoint){ inputs[i], 0 });
    return node;
}

static struct node *make_map(struct op_maker *maker, const struct node *user)
{
    static const char *const key_types[] = { "key_dtype", NULL };
    static const char *const value_types[] = { "value_dtype", NULL };
    enum dtype key = type_or(user, key_types, DT_INT32);
    enum dtype value = type_or(user, value_types, DT_FLOAT);
    struct node *empty = add_node(maker, "EmptyTensorMap");
    if (one_in(maker->choices, 6))
        return empty;
    struct node *pair[] = { make_value(maker, key, ROLE_ANY), make_value(maker, value, ROLE_ANY) };
    struct node *node = add_node(maker, "TensorMapInsert");
    set_type(maker, node, "key_dtype", (int)key);
    set_type(maker, node, "value_dtype", (int)value);
    node_add_input(maker->out->graph, node, (struct endpoint){ empty, 0 });
    for (int i = 0; i < 2; i++)
        node_add_input(maker->out->graph, node, (struct endpoint){ pair[i], 0 });
    return node;
}

/* Ops whose handle is an object of a run: the beginning of their names, and the op that makes the
 * object. The first one that fits counts. */
static const struct {
    const char *prefix, *suffix, *maker;
} makers[] = {
    { "TensorArray", "V2", "TensorArrayV2" },
    { "TensorArray", "V3", "TensorArrayV3" },
    { "TensorArray", "Shape", "TensorArrayV3" },
    { "TensorArrayGrad", "Grad", "TensorArrayV2" },
    { "TensorArray", "", "TensorArray" },
    { "Stack", "V2", "StackV2" },
    { "Stack", "", "Stack" },
};

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

/* The handle of a TensorArray or a stack, or NULL if the user takes none. */
static struct node *make_object(struct op_maker *maker, const struct node *user)
{
    static const char *const types[] = { "dtype", "T", "elem_type", NULL };
    size_t at = 0;
    while (at < COUNT(makers) &&
           (strncmp(user->op_name, makers[at].prefix, strlen(makers[at].prefix)) != 0 ||
            !ends_in(user->op_name, makers[at].suffix)))
        at++;
    if (at == COUNT(makers) || one_in(maker->choices, 12))
        return NULL;
    const struct op *op = op_find(makers[at].maker);
    struct node *size = op->inputs_count > 0 ? make_value(maker, DT_INT32, ROLE_SCALAR) : NULL;
    struct node *node = add_node(maker, makers[at].maker);
    enum dtype dtype = type_or(user, types, DT_FLOAT);
    set_type(maker, node, op_attr_find(op, "dtype") != NULL ? "dtype" : "elem_type", (int)dtype);
    if (size != NULL)
        node_add_input(maker->out->graph, node, (struct endpoint){ size, 0 });
    return node;
}

/* ---- attributes ---- */

int choose_type(struct choices *c, dtype_set allowed)
{
    static const enum dtype frequent[] = { DT_FLOAT, DT_FLOAT,  DT_INT32, DT_INT64, DT_STRING,
                                           DT_BOOL,  DT_DOUBLE, DT_UINT8, DT_HALF };
    static const int odd[] = { 0, -1, 99, DT_REF, DT_REF + DT_FLOAT, INT32_MAX, INT32_MIN };
    if (one_in(c, 80))
        return odd[choose(c, COUNT(odd))];
    if (one_in(c, 10))
        return 1 + choose(c, DTYPE_COUNT - 1);
    for (int i = 0; i < 100; i++) {
        enum dtype dtype = frequent[choose(c, COUNT(frequent))];
        if (one_in(c, 3))
            dtype = 1 + choose(c, DTYPE_COUNT - 1);
        if ((allowed & DTYPES(dtype)) != 0)
            return (int)dtype;
    }
    return DT_FLOAT;
}

static bool is_count(const struct op *op, const char *attr)
{
    for (int i = 0; i < op->inputs_count + op->outputs_count; i++) {
        const struct op_arg *arg =
            i < op->inputs_count ? &op->inputs[i] : &op->outputs[i - op->inputs_count];
        if (arg->number_attr != NULL && strcmp(arg->number_attr, attr) == 0)
            return true;
    }
    return false;
}

static int64_t choose_int_attr(struct op_maker *maker, const struct op *op,
                               const struct op_attr *attr)
{
    struct choices *c = maker->choices;
    if (one_in(c, 16))
        return choose_odd_integer(c);
    if (is_count(op, attr->name) && !one_in(c, 8))
        return maker->count;
    return (attr->minimum > 0 && !one_in(c, 8) ? attr->minimum : 0) + choose(c, 3);
}

static struct attr_value choose_scalar_attr(struct op_maker *maker, const struct op *op,
                                            const struct op_attr *attr)
{
    struct choices *c = maker->choices;
    struct attr_value value = { .kind = attr->element_kind };
    struct shape *shape;
    switch (attr->element_kind) {
    case ATTR_TYPE:
        value.type = choose_type(c, attr->allowed_types);
        break;
    case ATTR_INT:
        value.i = choose_int_attr(maker, op, attr);
        break;
    case ATTR_FLOAT:
        value.f = (float)choose_number(c);
        break;
    case ATTR_BOOL:
        value.b = one_in(c, 2);
        break;
    case ATTR_STRING:
        value.s = attr->allowed_strings_count > 0 && !one_in(c, 12)
                      ? attr->allowed_strings[choose(c, attr->allowed_strings_count)]
                      : bytes_of(choose_string(c));
        break;
    default:
        shape = ARENA_NEW(maker->arena, struct shape);
        *shape = one_in(c, 2) ? forget_dims(maker, &maker->shape) : choose_shape(c);
        value = (struct attr_value){ .kind = ATTR_SHAPE, .shape = shape };
    }
    return value;
}

/* For strides, ksize and dilations: one number per dimension, mostly 1 for batch and channel. */
static struct attr_value choose_window(struct op_maker *maker)
{
    struct choices *c = maker->choices;
    int count = one_in(c, 16) ? choose(c, 6) : 4;
    struct attr_value *elements = ARENA_ARRAY(maker->arena, struct attr_value, count + 1);
    for (int i = 0; i < count; i++) {
        int64_t number = one_in(c, 30) ? choose_integer(c) : i % 3 == 0 ? 1 : 1 + choose(c, 3);
        elements[i] = (struct attr_value){ .kind = ATTR_INT, .i = number };
    }
    struct attr_value list = { .kind = ATTR_LIST, .element_kind = ATTR_INT, .count = count };
    list.elements = elements;
    return list;
}

static struct attr_value choose_list_attr(struct op_maker *maker, const struct op *op,
                                          const struct op_attr *attr)
{
    static const char *const windows[] = { "strides", "ksize", "dilations" };
    struct choices *c = maker->choices;
    for (size_t i = 0; i < COUNT(windows); i++)
        if (strcmp(attr->name, windows[i]) == 0)
            return choose_window(maker);
    int count = one_in(c, 8) ? choose(c, 5) : maker->count;
    struct attr_value *elements = ARENA_ARRAY(maker->arena, struct attr_value, count + 1);
    for (int i = 0; i < count; i++)
        elements[i] = choose_scalar_attr(maker, op, attr);
    struct attr_value list = { .kind = ATTR_LIST, .element_kind = elements[0].kind };
    list.count = count;
    list.elements = elements;
    return list;
}

struct attr_value choose_attr(struct op_maker *maker, const struct op *op,
                              const struct op_attr *attr)
{
    return attr->kind == ATTR_LIST ? choose_list_attr(maker, op, attr)
                                   : choose_scalar_attr(maker, op, attr);
}

static void set_attrs(struct op_maker *maker, struct node *node)
{
    struct choices *c = maker->choices;
    for (int i = 0; i < node->op->attrs_count; i++) {
        const struct op_attr *attr = &node->op->attrs[i];
        bool is_plain = attr->element_kind >= ATTR_STRING && attr->element_kind <= ATTR_SHAPE;
        bool is_left_out = attr->default_value != NULL ? one_in(c, 2) : one_in(c, 60);
        if (is_left_out || !is_plain)
            continue;
        set_attr(maker, node, attr->name, choose_attr(maker, node->op, attr));
    }
    for (int i = 0; i < node->op->attrs_count; i++)
        if (node->op->attrs[i].kind == ATTR_FUNC)
            set_attr(maker, node, node->op->attrs[i].name,
                     make_function(maker, node, node->op->attrs[i].name));
    if (strcmp(node->op_name, "Const") == 0) {
        struct node *value = make_value(maker, DT_FLOAT, ROLE_ANY);
        const struct attr_value *given = attrs_find(value->attrs, value->attrs_count, "value");
        if (given != NULL)
            set_attr(maker, node, "value", *given);
    }
}

/* ---- inputs ---- */

static bool find_made(struct op_maker *maker, enum dtype dtype, struct endpoint *out)
{
    if (maker->made_count == 0 || one_in(maker->choices, 3))
        return false;
    struct node *node = maker->made[choose(maker->choices, maker->made_count)];
    if (node->outputs_count == 0)
        return false;
    int index = choose(maker->choices, node->outputs_count);
    *out = (struct endpoint){ node, index };
    return node->outputs[index].dtype == dtype;
}

/* The settings of a dataset, such as the size of its batches, are scalars. */
static enum role role_in(const struct node *node, const struct op_arg *arg)
{
    bool is_setting = strstr(node->op_name, "Dataset") != NULL && arg->type_attr == NULL &&
                      arg->type_list_attr == NULL && arg->number_attr == NULL;
    return is_setting ? ROLE_SCALAR : role_of(arg->name);
}

static struct endpoint make_input(struct op_maker *maker, const struct node *node,
                                  const struct op_arg *arg, enum dtype dtype)
{
    struct endpoint made;
    bool is_table = strstr(arg->name, "table") != NULL;
    struct node *object = strcmp(arg->name, "handle") == 0 ? make_object(maker, node) : NULL;
    if (object != NULL)
        return (struct endpoint){ object, 0 };
    if (arg->is_ref && (is_table || !one_in(maker->choices, 20)))
        return (struct endpoint){ is_table ? make_table(maker, node, true)
                                           : make_variable(maker, node, true),
                                  0 };
    if (one_in(maker->choices, 40))
        dtype = 1 + choose(maker->choices, DTYPE_COUNT - 1);
    if (find_made(maker, dtype, &made))
        return made;
    if (dtype == DT_RESOURCE)
        return (struct endpoint){ is_table ? make_table(maker, node, false)
                                           : make_variable(maker, node, false),
                                  0 };
    if (dtype == DT_VARIANT && strstr(arg->name, "dataset") != NULL)
        return (struct endpoint){ make_dataset(maker, node), 0 };
    if (dtype == DT_VARIANT && strstr(node->op_name, "SparseMatrix") != NULL)
        return (struct endpoint){ make_sparse_matrix(maker, node), 0 };
    if (dtype == DT_VARIANT)
        return (struct endpoint){ strncmp(node->op_name, "TensorMap", strlen("TensorMap")) == 0
                                      ? make_map(maker, node)
                                      : make_list(maker, node),
                                  0 };
    return (struct endpoint){ make_value(maker, dtype, role_in(node, arg)), 0 };
}

static void add_inputs(struct op_maker *maker, struct node *node)
{
    const struct op *op = node->op;
    struct endpoint inputs[OP_INPUTS_MAX];
    int total = 0;
    for (int i = 0; i < op->inputs_count; i++) {
        int count = 1;
        if (!status_is_ok(argument_count(node, op, &op->inputs[i], &count)) || count > 4)
            count = choose(maker->choices, 3);
        for (int k = 0; k < count && total < OP_INPUTS_MAX; k++) {
            enum dtype dtype;
            bool is_ref;
            if (!status_is_ok(argument_type(node, op, &op->inputs[i], k, &dtype, &is_ref)))
                dtype = DT_FLOAT;
            inputs[total++] = make_input(maker, node, &op->inputs[i], dtype);
        }
    }
    if (one_in(maker->choices, 60) && total > 0)
        total--;
    for (int i = 0; i < total; i++)
        node_add_input(maker->out->graph, node, inputs[i]);
}

/* The fuzzer must not read or write files; fuzz_plan tests calls, branches and loops. */
static bool is_left_out(const struct op *op)
{
    static const char *const parts[] = { "File", "Save", "Restore", "MergeV2", "Call", "_Arg" };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(op->name, parts[i]) != NULL)
            return true;
    return op_has(op, OP_CONTROL) || strcmp(op->name, "NoOp") == 0;
}

static const struct op *choose_op(struct choices *c)
{
    for (;;) {
        const struct op *op = op_at(choose(c, op_count()));
        if (!is_left_out(op))
            return op;
    }
}

/* The first op, among those that the pattern in FUZZ_OP names, if it is set. */
static const struct op *choose_first_op(struct choices *c)
{
    const char *pattern = getenv("FUZZ_OP");
    const struct op *op = choose_op(c);
    if (pattern == NULL)
        return op;
    for (int i = 0; i < op_count(); i++) {
        const struct op *at = op_at((op->index + i) % op_count());
        if (fnmatch(pattern, at->name, 0) == 0 && !is_left_out(at))
            return at;
    }
    return op;
}

static void make_node(struct op_maker *maker, const struct op *op)
{
    struct node *node = one_in(maker->choices, 3) ? NULL : make_row_node(maker, op);
    if (node == NULL) {
        node = add_node(maker, op->name);
        set_attrs(maker, node);
        add_inputs(maker, node);
    }
    if (!status_is_ok(node_fill_outputs(maker->out->graph, node)))
        node->outputs_count = 0;
    maker->made[maker->made_count++] = node;
    maker->out->last = node->name;
}

static bool is_dataset(const struct node *node)
{
    return node->outputs_count == 1 && node->outputs[0].dtype == DT_VARIANT &&
           ends_in(node->op_name, "Dataset");
}

/* The elements of a dataset are computed when something reads them. */
static void drain(struct op_maker *maker, struct node *dataset)
{
    const struct shape *scalar = ARENA_NEW(maker->arena, struct shape); /* the node keeps it */
    const enum dtype state = DT_INT64;
    struct builder b = builder_init(maker->out->graph);
    struct node *start = place_tensor(maker, make_tensor_of_shape(maker, state, scalar, ROLE_ANY));
    struct node *node = add_node(maker, "ReduceDataset");
    struct attr attrs[] = { attr_types(&b, "Tstate", 1, &state),
                            attr_types(&b, "Targuments", 0, NULL),
                            attr_types(&b, "output_types", 1, &state),
                            attr_shapes(&b, "output_shapes", 1, scalar),
                            { "f", make_drain(maker, dataset) } };
    for (size_t i = 0; i < COUNT(attrs); i++)
        set_attr(maker, node, attrs[i].name, attrs[i].value);
    node_add_input(maker->out->graph, node, (struct endpoint){ dataset, 0 });
    node_add_input(maker->out->graph, node, (struct endpoint){ start, 0 });
    if (!status_is_ok(node_fill_outputs(maker->out->graph, node)))
        node->outputs_count = 0;
    maker->out->last = node->name;
}

void op_graph_create(struct choices *choices, struct op_graph *out)
{
    *out = (struct op_graph){ .arena = arena_create(0) };
    out->graph = graph_create(out->arena);
    struct op_maker maker = { .choices = choices, .out = out, .arena = out->arena };
    const struct op *op =
        choose_first_op(choices); /* consecutive seeds then visit consecutive ops */
    int nodes = one_in(choices, 2) ? 1 : 1 + choose(choices, OP_NODES_MAX);
    maker.shape = choose_shape(choices);
    maker.count = 1 + choose(choices, 3);
    for (int i = 0; i < nodes; i++) {
        make_node(&maker, op);
        op = choose_op(choices);
    }
    struct node *last = maker.made[maker.made_count - 1];
    if (is_dataset(last) && !one_in(choices, 8))
        drain(&maker, last);
}

void op_graph_destroy(struct op_graph *op_graph)
{
    for (int i = 0; i < op_graph->feeds_count; i++)
        free(op_graph->values[i].data);
    for (int i = 0; i < op_graph->variables_count; i++)
        free(op_graph->initial[i].data);
    graph_finish(op_graph->graph);
    arena_destroy(op_graph->arena);
}
