#include "graph/build.h"

#include <math.h>

#include "graph/arguments.h"
#include "graph/ops/infer.h"

struct builder builder_init(struct graph *graph)
{
    return (struct builder){ .graph = graph, .scope = "", .status = status_ok() };
}

struct status builder_status(const struct builder *builder)
{
    return builder->status;
}

enum dtype builder_dtype(const struct builder *builder, enum dtype dtype)
{
    return dtype == DT_FLOAT && builder->float_dtype != DT_INVALID ? builder->float_dtype : dtype;
}

enum dtype builder_set_float(struct builder *builder, enum dtype dtype)
{
    enum dtype before = builder->float_dtype;

    builder->float_dtype = dtype != DT_FLOAT ? dtype : DT_INVALID;
    return before;
}

/* A number of the 16-bit type. One beyond its range, such as the -1e9 of a masked score, becomes
 * the largest one: an infinity would make differences NaN. */
static uint16_t narrow(enum dtype dtype, float number)
{
    const float most = dtype == DT_HALF ? 65504.0f : 0x1.fep127f;

    if (isfinite(number))
        number = fminf(fmaxf(number, -most), most);
    return dtype == DT_HALF ? float_to_half(number) : float_to_bfloat16(number);
}

static const struct tensor *narrow_tensor(struct builder *builder, const struct tensor *value)
{
    struct arena *arena = builder->graph->arena;
    struct tensor *out = ARENA_NEW(arena, struct tensor);
    uint16_t *numbers = ARENA_ARRAY(arena, uint16_t, value->size + 1);

    for (int64_t i = 0; i < value->size; i++)
        numbers[i] = narrow(builder->float_dtype, tensor_floats(value)[i]);
    *out = tensor_borrow(builder->float_dtype, &value->shape, numbers);
    return out;
}

/* An attribute's value with the type that floats stand for. */
static struct attr_value with_float_dtype(struct builder *builder, const struct attr_value *value)
{
    struct attr_value out = *value;

    if (builder->float_dtype == DT_INVALID)
        return out;
    if (out.kind == ATTR_TYPE)
        out.type = (int)builder_dtype(builder, (enum dtype)out.type);
    else if (out.kind == ATTR_TENSOR && out.tensor->dtype == DT_FLOAT)
        out.tensor = narrow_tensor(builder, out.tensor);
    else if (out.kind == ATTR_LIST && out.element_kind == ATTR_TYPE) {
        struct attr_value *elements =
            ARENA_ARRAY(builder->graph->arena, struct attr_value, out.count);
        for (int i = 0; i < out.count; i++)
            elements[i] = with_float_dtype(builder, &out.elements[i]);
        out.elements = elements;
    }
    return out;
}

/* The scope and the name, with a number appended if that is taken. */
static const char *unique_name(struct builder *builder, const char *op, const char *name)
{
    struct graph *graph = builder->graph;
    const char *base =
        arena_printf(graph->arena, "%s%s", builder->scope != NULL ? builder->scope : "",
                     name != NULL ? name : op);
    const char *unique = base;
    uintptr_t suffix = (uintptr_t)map_get_text(&graph->name_counters, base);

    while (graph_find(graph, unique) != NULL)
        unique = arena_printf(graph->arena, "%s_%u", base, (unsigned)++suffix);
    if (suffix > 0)
        map_put_text(&graph->name_counters, base, (void *)suffix);
    return unique;
}

static struct status copy_attrs(struct builder *builder, struct node *node,
                                const struct attr *attrs)
{
    struct arena *arena = builder->graph->arena;

    for (; attrs != NULL && attrs->value.kind != ATTR_NONE; attrs++) {
        if (attrs->name[0] != '_' && op_attr_find(node->op, attrs->name) == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "node '%s': %s has no attribute '%s'",
                                node->name, node->op_name, attrs->name);
        struct attr copy = { arena_strdup(arena, attrs->name), { 0 } };
        const struct attr_value value = with_float_dtype(builder, &attrs->value);
        TRY(attr_value_copy(arena, &value, &copy.value));
        node_set_attr(builder->graph, node, &copy);
    }
    return status_ok();
}

static bool is_given(const struct node *node, const char *attr)
{
    return attrs_find(node->attrs, node->attrs_count, attr) != NULL;
}

/* The number of inputs of an argument; -1: its attribute is not given. */
static int given_count(const struct node *node, const struct op_arg *arg)
{
    const char *name = arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr;
    if (name == NULL)
        return 1;
    const struct attr_value *value = attrs_find(node->attrs, node->attrs_count, name);
    if (value == NULL)
        return -1;
    return value->kind == ATTR_INT ? (int)value->i : value->count;
}

/* The number of inputs for each argument whose attribute is not given: the remaining ones, divided
 * evenly. */
static int open_count(const struct node *node)
{
    int left = node->inputs_count, open = 0;
    for (int i = 0; i < node->op->inputs_count; i++) {
        int count = given_count(node, &node->op->inputs[i]);
        if (count < 0)
            open++;
        else
            left -= count;
    }
    return open > 0 && left > 0 ? left / open : 0;
}

static void derive(struct builder *builder, struct node *node, const struct op_arg *arg, int at,
                   int count)
{
    struct graph *graph = builder->graph;

    if (arg->number_attr != NULL && !is_given(node, arg->number_attr)) {
        struct attr attr = attr_int(arg->number_attr, count);
        node_set_attr(graph, node, &attr);
    }
    if (arg->type_attr != NULL && !is_given(node, arg->type_attr) && count > 0) {
        struct attr attr = attr_type(arg->type_attr, endpoint_dtype(node->inputs[at]));
        node_set_attr(graph, node, &attr);
    }
    if (arg->type_list_attr != NULL && !is_given(node, arg->type_list_attr)) {
        enum dtype *types = ARENA_ARRAY(graph->arena, enum dtype, count > 0 ? count : 1);
        for (int i = 0; i < count; i++)
            types[i] = endpoint_dtype(node->inputs[at + i]);
        struct attr attr = attr_types(builder, arg->type_list_attr, count, types);
        node_set_attr(graph, node, &attr);
    }
}

/* Sets T, N, Tin, … from the inputs. An attribute with neither value nor default is then
 * missing. */
static struct status derive_attrs(struct builder *builder, struct node *node)
{
    const struct op *op = node->op;
    int open = open_count(node), at = 0;

    for (int i = 0; i < op->inputs_count; i++) {
        int count = given_count(node, &op->inputs[i]);
        if (count < 0)
            count = open;
        if (count > node->inputs_count - at)
            break; /* too few inputs: node_check_inputs reports it */
        derive(builder, node, &op->inputs[i], at, count);
        at += count;
    }
    for (int i = 0; i < op->attrs_count; i++)
        if (op->attrs[i].default_value == NULL && !is_given(node, op->attrs[i].name))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "node '%s' (%s): attribute '%s' is missing", node->name,
                                node->op_name, op->attrs[i].name);
    return status_ok();
}

static struct status add_node(struct builder *builder, const char *op_name, const char *name,
                              int inputs_count, const struct endpoint *inputs,
                              const struct attr *attrs, struct node **out)
{
    struct graph *graph = builder->graph;
    const struct op *op = op_find(op_name);
    if (op == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "there is no op '%s'", op_name);

    struct node *node;
    TRY(graph_add(graph, op->name, unique_name(builder, op_name, name), &node));
    for (int i = 0; i < inputs_count; i++) {
        if (inputs[i].node == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): input %d is not there",
                                node->name, op_name, i);
        node_add_input(graph, node, inputs[i]);
    }
    TRY(copy_attrs(builder, node, attrs));
    TRY(derive_attrs(builder, node));
    TRY(node_fill_outputs(graph, node));
    TRY(node_check_inputs(graph, node));
    TRY(node_infer(graph, node));
    *out = node;
    return status_ok();
}

struct node *build_node(struct builder *builder, const char *op, const char *name, int inputs_count,
                        const struct endpoint *inputs, int controls_count,
                        struct node *const *controls, const struct attr *attrs)
{
    if (!status_is_ok(builder->status))
        return NULL;
    struct node *node = NULL;
    struct status status = add_node(builder, op, name, inputs_count, inputs, attrs, &node);
    if (!status_is_ok(status)) {
        builder->status = status_keep(builder->graph->arena, status);
        return NULL;
    }
    for (int i = 0; i < controls_count; i++)
        node_add_control(builder->graph, node, controls[i]);
    return node;
}

struct endpoint build(struct builder *builder, const char *op, const char *name, int inputs_count,
                      const struct endpoint *inputs, const struct attr *attrs)
{
    return (struct endpoint){ build_node(builder, op, name, inputs_count, inputs, 0, NULL, attrs),
                              0 };
}

struct endpoint build_placeholder(struct builder *builder, const char *name, enum dtype dtype,
                                  struct shape shape)
{
    enum dtype before = builder_set_float(builder, DT_FLOAT);
    struct endpoint fed =
        build(builder, "Placeholder", name, 0, NULL,
              (struct attr[]){ attr_type("dtype", dtype), attr_shape("shape", &shape), ATTR_END });

    builder_set_float(builder, before);
    return fed;
}

struct endpoint build_const(struct builder *builder, const char *name, const struct tensor *value)
{
    return build(
        builder, "Const", name, 0, NULL,
        (struct attr[]){ attr_type("dtype", value->dtype), attr_tensor("value", value), ATTR_END });
}

struct endpoint build_const_float(struct builder *builder, float value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_FLOAT, &scalar, &value);
    return build_const(builder, NULL, &tensor);
}

struct endpoint build_const_int(struct builder *builder, int32_t value)
{
    return build_named_int(builder, NULL, value);
}

struct endpoint build_named_int(struct builder *builder, const char *name, int32_t value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_INT32, &scalar, &value);
    return build_const(builder, name, &tensor);
}

struct endpoint build_const_int64(struct builder *builder, int64_t value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_INT64, &scalar, &value);
    return build_const(builder, NULL, &tensor);
}

struct endpoint build_const_double(struct builder *builder, double value)
{
    struct shape scalar = shape_scalar();
    struct tensor tensor = tensor_borrow(DT_DOUBLE, &scalar, &value);
    return build_const(builder, NULL, &tensor);
}

struct endpoint build_const_ints(struct builder *builder, const char *name, int count,
                                 const int32_t *values)
{
    struct shape vector = shape_of(count);
    struct tensor tensor = tensor_borrow(DT_INT32, &vector, values);
    return build_const(builder, name, &tensor);
}

struct endpoint build_unary(struct builder *builder, const char *op, const char *name,
                            struct endpoint x)
{
    return build(builder, op, name, 1, &x, NULL);
}

struct endpoint build_binary(struct builder *builder, const char *op, const char *name,
                             struct endpoint x, struct endpoint y)
{
    return build(builder, op, name, 2, (struct endpoint[]){ x, y }, NULL);
}

struct endpoint build_by_number(struct builder *builder, const char *op, struct endpoint x,
                                double number)
{
    return build_binary(builder, op, NULL, x, build_const_float(builder, (float)number));
}

struct endpoint build_cast(struct builder *builder, const char *name, struct endpoint x,
                           enum dtype dtype)
{
    return build(builder, "Cast", name, 1, &x,
                 (const struct attr[]){ attr_type("DstT", dtype), ATTR_END });
}

struct endpoint build_slice(struct builder *builder, const char *name, struct endpoint x, int rank,
                            const int32_t *begin, const int32_t *size)
{
    const struct endpoint inputs[] = { x, build_const_ints(builder, NULL, rank, begin),
                                       build_const_ints(builder, NULL, rank, size) };
    return build(builder, "Slice", name, 3, inputs, NULL);
}

struct endpoint build_expand_dims(struct builder *builder, struct endpoint x, int axis)
{
    return build_binary(builder, "ExpandDims", NULL, x, build_const_int(builder, axis));
}

struct endpoint build_range(struct builder *builder, struct endpoint end)
{
    const struct endpoint inputs[] = { build_const_int(builder, 0), end,
                                       build_const_int(builder, 1) };
    return build(builder, "Range", NULL, 3, inputs, NULL);
}

struct endpoint build_select(struct builder *builder, struct endpoint condition,
                             struct endpoint yes, struct endpoint no)
{
    return build(builder, "SelectV2", NULL, 3, (struct endpoint[]){ condition, yes, no }, NULL);
}
