#include <stdlib.h>

#include "fuzz/op_maker.h"

/* ---- the rows of each op ---- */

struct rows {
    struct kernel_row **rows;
    int count;
};

static struct rows *rows_by_op; /* in the order of ops.def; read once and never freed */

static void keep_row(struct kernel_row *row, void *context)
{
    (void)context;
    for (int i = 0; i < op_count(); i++) {
        struct rows *of_op = &rows_by_op[i];
        if (strcmp(op_at(i)->name, row->op) != 0)
            continue;
        of_op->rows = xrealloc(of_op->rows, (size_t)(of_op->count + 1) * sizeof(void *));
        of_op->rows[of_op->count++] = row;
    }
}

static const struct kernel_row *choose_row(struct op_maker *maker, const struct op *op)
{
    static struct arena *arena;
    if (rows_by_op == NULL) {
        arena = arena_create(0);
        rows_by_op = zalloc((size_t)op_count() * sizeof *rows_by_op);
        kernel_rows_visit(arena, keep_row, NULL);
    }
    if (op_has(op, OP_FUSED)) /* the rows of MatMul, Conv2D, …, with bias and activation added */
        op = op_find(op->name + strlen("_Fused"));
    for (int i = 0; i < op_count(); i++)
        if (op_at(i) == op && rows_by_op[i].count > 0)
            return rows_by_op[i].rows[choose(maker->choices, rows_by_op[i].count)];
    return NULL;
}

/* ---- the node of a row ---- */

struct row_node {
    struct op_maker *maker;
    struct node *node;
    struct tensor inputs[ROW_TENSORS_MAX];
    const struct op_arg *args[ROW_TENSORS_MAX]; /* of each input */
    bool is_variable[ROW_TENSORS_MAX];
    int inputs_count;
};

static struct tensor copy_to_heap(const struct tensor *tensor)
{
    struct tensor copy = *tensor;
    size_t size = tensor_bytes(tensor);
    copy.data = malloc(size + (size == 0));
    if (size > 0)
        memcpy(copy.data, tensor->data, size);
    return copy;
}

static int64_t attr_count(const struct node *node, const struct op_arg *arg)
{
    const char *name = arg->number_attr != NULL ? arg->number_attr : arg->type_list_attr;
    const struct attr_value *value =
        name != NULL ? attrs_find(node->attrs, node->attrs_count, name) : NULL;
    if (name == NULL)
        return 1;
    return value == NULL ? -1 : value->kind == ATTR_INT ? value->i : value->count;
}

/* Finds the argument of each input. Lists whose length attribute is not set share the remaining
 * inputs equally. */
static void find_args(struct row_node *row)
{
    const struct op *op = row->node->op;
    int64_t left = row->inputs_count, open = 0;
    int at = 0;
    for (int i = 0; i < op->inputs_count; i++) {
        int64_t count = attr_count(row->node, &op->inputs[i]);
        open += count < 0;
        left -= count < 0 ? 0 : count;
    }
    for (int i = 0; i < op->inputs_count; i++) {
        int64_t count = attr_count(row->node, &op->inputs[i]);
        if (count < 0)
            count = open > 0 ? left / open : 0;
        for (int64_t k = 0; k < count && at < row->inputs_count; k++)
            row->args[at++] = &op->inputs[i];
    }
    while (row->inputs_count > at)
        free(row->inputs[--row->inputs_count].data);
}

static void set_missing(struct row_node *row, const char *name, struct attr_value value)
{
    if (name != NULL && attrs_find(row->node->attrs, row->node->attrs_count, name) == NULL)
        set_attr(row->maker, row->node, name, value);
}

/* Derives the missing type and length attributes (T, N, Tin, …) from the inputs. */
static void set_types(struct row_node *row)
{
    for (int i = 0; i < row->inputs_count; i++) {
        const struct op_arg *arg = row->args[i];
        struct attr_value *types =
            ARENA_ARRAY(row->maker->arena, struct attr_value, ROW_TENSORS_MAX);
        int count = 0;
        for (int k = 0; k < row->inputs_count; k++)
            if (row->args[k] == arg)
                types[count++] =
                    (struct attr_value){ .kind = ATTR_TYPE, .type = (int)row->inputs[k].dtype };
        struct attr_value list = { .kind = ATTR_LIST, .element_kind = ATTR_TYPE, .count = count };
        list.elements = types;
        set_missing(row, arg->number_attr, (struct attr_value){ .kind = ATTR_INT, .i = count });
        set_missing(row, arg->type_attr, types[0]);
        set_missing(row, arg->type_list_attr, list);
    }
}

static void add_bias(struct row_node *row)
{
    static const char *const activations[] = { "Relu", "Relu6", "LeakyRelu", "Elu",
                                               "Tanh", "Gelu",  "Sigmoid",   "BiasAdd" };
    struct choices *c = row->maker->choices;
    struct attr_value *names = ARENA_ARRAY(row->maker->arena, struct attr_value, 2);
    const struct tensor *filter = &row->inputs[row->inputs_count - 1];
    if (filter->shape.rank == 0)
        return;
    struct shape shape = shape_of(filter->shape.dims[filter->shape.rank - 1]);
    row->inputs[row->inputs_count++] =
        make_tensor_of_shape(row->maker, filter->dtype, &shape, ROLE_ANY);
    names[0] = (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of("BiasAdd") };
    names[1] = (struct attr_value){ .kind = ATTR_STRING };
    names[1].s = bytes_of(activations[choose(c, COUNT(activations))]);
    struct attr_value list = { .kind = ATTR_LIST, .element_kind = ATTR_STRING };
    list.count = 1 + choose(c, 2);
    list.elements = names;
    set_attr(row->maker, row->node, "fused_ops", list);
    set_attr(row->maker, row->node, "num_args", (struct attr_value){ .kind = ATTR_INT, .i = 1 });
}

/* ---- changes ---- */

/* Gives all inputs that share a type attribute another type. Integers keep their values. */
static void change_type(struct row_node *row)
{
    struct choices *c = row->maker->choices;
    const char *name = row->args[choose(c, row->inputs_count)]->type_attr;
    const struct op_attr *attr = name != NULL ? op_attr_find(row->node->op, name) : NULL;
    enum dtype dtype =
        dtype_base(choose_type(c, one_in(c, 2) || attr == NULL ? DTYPES_ALL : attr->allowed_types));
    if (attr == NULL || dtype == DT_INVALID || dtype == DT_RESOURCE || dtype == DT_VARIANT)
        return;
    for (int i = 0; i < row->inputs_count; i++) {
        struct tensor *input = &row->inputs[i];
        if (row->args[i]->type_attr == NULL || strcmp(row->args[i]->type_attr, name) != 0)
            continue;
        struct tensor changed = make_tensor_of_shape(row->maker, dtype, &input->shape, ROLE_ANY);
        for (int64_t k = 0; k < input->size; k++)
            if (dtype_is_integer(dtype) && dtype_is_integer(input->dtype))
                tensor_set_index(&changed, k, tensor_index(input, k));
        free(input->data);
        *input = changed;
    }
}

static struct shape change_dims(struct choices *c, const struct shape *shape)
{
    struct shape changed = *shape;
    int action = choose(c, 4);
    if (action == 0 || (shape->rank == 0 && action == 1))
        return choose_shape(c);
    if (action == 1)
        changed.rank--;
    else if (action == 2 && shape->rank < SHAPE_RANK_MAX)
        shape_append(&changed, 1 + choose(c, 2));
    else if (shape->rank > 0)
        changed.dims[choose(c, shape->rank)] = choose(c, 5);
    return changed;
}

/* Gives an input another shape and repeats its elements to fill it. */
static void change_shape(struct row_node *row)
{
    struct choices *c = row->maker->choices;
    struct tensor *input = &row->inputs[choose(c, row->inputs_count)];
    struct shape shape = change_dims(c, &input->shape);
    struct tensor changed = make_tensor_of_shape(row->maker, input->dtype, &shape, ROLE_ANY);
    size_t size = dtype_size(input->dtype);
    for (int64_t i = 0; i < changed.size && input->size > 0; i++)
        memcpy((char *)changed.data + (size_t)i * size,
               (char *)input->data + (size_t)(i % input->size) * size, size);
    free(input->data);
    *input = changed;
}

static void change_values(struct row_node *row)
{
    struct choices *c = row->maker->choices;
    struct tensor *input = &row->inputs[choose(c, row->inputs_count)];
    for (int i = choose(c, 3); input->size > 0 && i >= 0; i--) {
        int64_t at = choose(c, (int)(input->size < 65536 ? input->size : 65536));
        if (dtype_is_integer(input->dtype) && one_in(c, 2))
            tensor_set_index(input, at, choose_odd_integer(c));
        else
            choose_element(c, input, at);
    }
}

static void change_attr(struct row_node *row)
{
    const struct op *op = row->node->op;
    struct choices *c = row->maker->choices;
    const struct op_attr *attr =
        op->attrs_count > 0 ? &op->attrs[choose(c, op->attrs_count)] : NULL;
    bool is_plain =
        attr != NULL && attr->element_kind >= ATTR_STRING && attr->element_kind <= ATTR_SHAPE;
    if (is_plain)
        set_attr(row->maker, row->node, attr->name, choose_attr(row->maker, op, attr));
}

static void change(struct row_node *row)
{
    static void (*const changes[])(struct row_node *) = { change_type, change_shape, change_values,
                                                          change_attr, change_shape, change_attr };
    struct choices *c = row->maker->choices;
    for (int i = choose(c, 4); i > 0; i--) {
        void (*apply)(struct row_node *) = changes[choose(c, COUNT(changes))];
        if (row->inputs_count > 0 || apply == change_attr)
            apply(row);
    }
}

struct node *make_row_node(struct op_maker *maker, const struct op *op)
{
    const struct kernel_row *from = choose_row(maker, op);
    if (from == NULL)
        return NULL;
    struct row_node row = { .maker = maker, .inputs_count = from->inputs_count };
    row.node = add_node(maker, op->name);
    for (const struct attr *attr = from->attrs; attr->name != NULL; attr++)
        set_attr(maker, row.node, attr->name, attr->value);
    for (int i = 0; i < row.inputs_count; i++) {
        row.inputs[i] = copy_to_heap(&from->inputs[i]);
        row.is_variable[i] = from->is_variable[i];
    }
    if (op_has(op, OP_FUSED) && row.inputs_count > 0)
        add_bias(&row);
    find_args(&row);
    change(&row);
    set_types(&row);
    for (int i = 0; i < row.inputs_count; i++) {
        struct node *input = row.is_variable[i]
                                 ? place_variable(maker, row.inputs[i], row.args[i]->is_ref)
                                 : place_tensor(maker, row.inputs[i]);
        node_add_input(maker->out->graph, row.node, (struct endpoint){ input, 0 });
    }
    return row.node;
}
