#include "graph/library_proto.h"

/* Limits arguments, attributes, results and nodes of one function, whose counts are ints here. */
#define PARTS_MAX (1 << 24)

static const char *copy(const struct proto_reader *reader, const char *text)
{
    return arena_strdup(reader->arena, text);
}

/* NULL where the field is not set. */
static const char *copy_set(const struct proto_reader *reader, const char *text)
{
    return text != NULL && text[0] != '\0' ? arena_strdup(reader->arena, text) : NULL;
}

static const struct op_arg *read_args(const struct proto_reader *reader, size_t count,
                                      Tensorflow__OpDef__ArgDef *const *protos)
{
    struct op_arg *args = ARENA_ARRAY(reader->arena, struct op_arg, count + 1);
    for (size_t i = 0; i < count; i++) {
        args[i] = (struct op_arg){
            .name = copy(reader, protos[i]->name),
            .type = dtype_base((int)protos[i]->type),
            .type_attr = copy_set(reader, protos[i]->type_attr),
            .number_attr = copy_set(reader, protos[i]->number_attr),
            .type_list_attr = copy_set(reader, protos[i]->type_list_attr),
            .is_ref = protos[i]->is_ref != 0 || (int)protos[i]->type > DT_REF,
        };
    }
    return args;
}

static struct status read_signature(const struct proto_reader *reader,
                                    const Tensorflow__OpDef *proto, struct function *function)
{
    struct op *op = &function->signature;
    struct op_attr *attrs = ARENA_ARRAY(reader->arena, struct op_attr, proto->n_attr + 1);

    op->name = copy(reader, proto->name);
    op->index = -1;
    op->traits = proto->is_stateful != 0 ? OP_STATEFUL : 0;
    op->inputs = read_args(reader, proto->n_input_arg, proto->input_arg);
    op->inputs_count = (int)proto->n_input_arg;
    op->outputs = read_args(reader, proto->n_output_arg, proto->output_arg);
    op->outputs_count = (int)proto->n_output_arg;
    op->attrs = attrs;
    op->attrs_count = (int)proto->n_attr;
    for (size_t i = 0; i < proto->n_attr; i++) {
        attrs[i].name = copy(reader, proto->attr[i]->name);
        attrs[i].type = copy(reader, proto->attr[i]->type);
        if (proto->attr[i]->default_value == NULL)
            continue;
        struct attr_value *value = ARENA_NEW(reader->arena, struct attr_value);
        TRY(attr_value_from_proto(reader, proto->attr[i]->default_value, value));
        attrs[i].default_value = value;
    }
    function->control_outputs =
        ARENA_ARRAY(reader->arena, const char *, proto->n_control_output + 1);
    function->control_outputs_count = (int)proto->n_control_output;
    for (size_t i = 0; i < proto->n_control_output; i++)
        function->control_outputs[i] = copy(reader, proto->control_output[i]);
    return status_ok();
}

/* Does the value, or an attribute of a function in it, refer to an attribute of the call? */
static bool needs_binding(const struct attr_value *value)
{
    if (value->kind == ATTR_PLACEHOLDER)
        return true;
    if (value->kind == ATTR_FUNC)
        for (int i = 0; i < value->func->attrs_count; i++)
            if (needs_binding(&value->func->attrs[i].value))
                return true;
    if (value->kind == ATTR_LIST && value->element_kind == ATTR_FUNC)
        for (int i = 0; i < value->count; i++)
            if (needs_binding(&value->elements[i]))
                return true;
    return false;
}

static struct status read_node(const struct proto_reader *reader, const Tensorflow__NodeDef *proto,
                               struct body_node *node)
{
    const struct op *op = op_find(proto->op);

    node->name = copy(reader, proto->name);
    node->op_name = op != NULL ? op->name : copy(reader, proto->op);
    node->device = copy(reader, proto->device);
    node->inputs = ARENA_ARRAY(reader->arena, const char *, proto->n_input + 1);
    node->inputs_count = (int)proto->n_input;
    for (size_t i = 0; i < proto->n_input; i++)
        node->inputs[i] = copy(reader, proto->input[i]);
    TRY(status_in(
        attrs_from_proto(reader, proto->n_attr, proto->attr, op, &node->attrs, &node->attrs_count),
        "node '%s' (%s)", proto->name, proto->op));
    for (int i = 0; i < node->attrs_count; i++)
        node->has_placeholder |= needs_binding(&node->attrs[i].value);
    return status_ok();
}

/* `ret` in the order of the signature's outputs. */
static void read_results(const struct proto_reader *reader, const Tensorflow__FunctionDef *proto,
                         struct function *function)
{
    const struct op *signature = &function->signature;
    struct map values = { 0 };

    for (size_t i = 0; i < proto->n_ret; i++)
        map_put_text(&values, proto->ret[i]->key, proto->ret[i]->value);
    function->results =
        ARENA_ARRAY(reader->arena, struct body_result, signature->outputs_count + 1);
    for (int i = 0; i < signature->outputs_count; i++) {
        const char *value = map_get_text(&values, signature->outputs[i].name);
        function->results[i] = (struct body_result){ signature->outputs[i].name,
                                                     value != NULL ? copy(reader, value) : NULL };
    }
    map_finish(&values);

    function->controls = ARENA_ARRAY(reader->arena, struct body_result, proto->n_control_ret + 1);
    function->controls_count = (int)proto->n_control_ret;
    for (size_t i = 0; i < proto->n_control_ret; i++)
        function->controls[i] = (struct body_result){ copy(reader, proto->control_ret[i]->key),
                                                      copy(reader, proto->control_ret[i]->value) };
}

static struct status read_arg_attrs(const struct proto_reader *reader,
                                    const Tensorflow__FunctionDef *proto, struct function *function)
{
    function->arg_attrs = ARENA_ARRAY(reader->arena, struct body_arg_attrs, proto->n_arg_attr + 1);
    for (size_t i = 0; i < proto->n_arg_attr; i++) {
        const Tensorflow__FunctionDef__ArgAttrs *attrs = proto->arg_attr[i]->value;
        struct body_arg_attrs *out = &function->arg_attrs[function->arg_attrs_count++];
        out->index = proto->arg_attr[i]->key;
        if (attrs != NULL)
            TRY(attrs_from_proto(reader, attrs->n_attr, (attr_entry *const *)attrs->attr, NULL,
                                 &out->attrs, &out->attrs_count));
    }
    size_t ids = proto->n_resource_arg_unique_id;
    function->resource_ids = arena_array(reader->arena, sizeof *function->resource_ids, ids + 1);
    for (size_t i = 0; i < ids; i++) {
        function->resource_ids[i][0] = proto->resource_arg_unique_id[i]->key;
        function->resource_ids[i][1] = proto->resource_arg_unique_id[i]->value;
    }
    function->resource_ids_count = (int)ids;
    return status_ok();
}

static bool too_many_parts(const Tensorflow__FunctionDef *proto)
{
    const Tensorflow__OpDef *signature = proto->signature;
    return signature->n_input_arg > PARTS_MAX || signature->n_output_arg > PARTS_MAX ||
           signature->n_attr > PARTS_MAX || proto->n_node_def > PARTS_MAX;
}

static struct status read_function(const struct proto_reader *reader,
                                   const Tensorflow__FunctionDef *proto, struct function *function)
{
    TRY(read_signature(reader, proto->signature, function));
    function->nodes = ARENA_ARRAY(reader->arena, struct body_node, proto->n_node_def + 1);
    function->nodes_count = (int)proto->n_node_def;
    for (size_t i = 0; i < proto->n_node_def; i++)
        TRY(read_node(reader, proto->node_def[i], &function->nodes[i]));
    read_results(reader, proto, function);
    TRY(attrs_from_proto(reader, proto->n_attr, (attr_entry *const *)proto->attr, NULL,
                         &function->attrs, &function->attrs_count));
    return read_arg_attrs(reader, proto, function);
}

static struct library_gradient gradient_of(const struct proto_reader *reader, const char *function,
                                           const char *gradient)
{
    return (struct library_gradient){ copy(reader, function), copy(reader, gradient) };
}

static void read_gradients(const struct proto_reader *reader,
                           const Tensorflow__FunctionDefLibrary *proto,
                           struct function_library *library)
{
    library->gradients = ARENA_ARRAY(reader->arena, struct library_gradient, proto->n_gradient + 1);
    library->gradients_count = (int)proto->n_gradient;
    for (size_t i = 0; i < proto->n_gradient; i++)
        library->gradients[i] = gradient_of(reader, proto->gradient[i]->function_name,
                                            proto->gradient[i]->gradient_func);
    size_t count = proto->n_registered_gradients;
    library->registered = ARENA_ARRAY(reader->arena, struct library_gradient, count + 1);
    library->registered_count = (int)count;
    for (size_t i = 0; i < count; i++)
        library->registered[i] =
            gradient_of(reader, proto->registered_gradients[i]->registered_op_type,
                        proto->registered_gradients[i]->gradient_func);
}

/* A function must not hide an op, nor Merge and NextIteration, which make the loops of
 * TensorFlow 1. */
static bool is_reserved(const char *name)
{
    return op_find(name) != NULL || strcmp(name, "Merge") == 0 ||
           strcmp(name, "NextIteration") == 0;
}

struct status library_from_proto(const struct proto_reader *reader,
                                 const Tensorflow__FunctionDefLibrary *proto,
                                 struct function_library **out)
{
    struct function_library *library = ARENA_NEW(reader->arena, struct function_library);

    library->by_name.arena = reader->arena;
    library->functions = ARENA_ARRAY(reader->arena, struct function, proto->n_function + 1);
    for (size_t i = 0; i < proto->n_function; i++) {
        const Tensorflow__FunctionDef *def = proto->function[i];
        struct function *function = &library->functions[library->count++];
        const char *name = def->signature != NULL ? def->signature->name : "";
        if (name[0] == '\0' || too_many_parts(def))
            return status_error(STATUS_INVALID_ARGUMENT, "function %zu has no signature", i);
        if (is_reserved(name))
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Cannot add function '%s' because an op with the same name already exists", name);
        if (map_has(&library->by_name, bytes_of(name)))
            return status_error(STATUS_INVALID_ARGUMENT, "there are two functions named '%s'",
                                name);
        TRY(status_in(read_function(reader, def, function), "function '%s'", name));
        map_put_text(&library->by_name, function->signature.name, function);
    }
    read_gradients(reader, proto, library);
    *out = library;
    return status_ok();
}
