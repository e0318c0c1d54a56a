#include "graph/library_proto.h"

#include "proto/message.h"

/* Arguments, attributes, results and nodes of one function: their numbers are ints here. */
#define PARTS_MAX (1 << 24)

/* ---- reading ---- */

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
    op->flags = proto->is_stateful != 0 ? OP_STATEFUL : 0;
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

/* Does the value, or a binding of a function in it, take a value from the call? */
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

/* A function must not hide an op, nor one of those that close TensorFlow 1's loops. */
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

/* ---- writing ---- */

static Tensorflow__OpDef__ArgDef **write_args(const struct op_arg *args, int count,
                                              struct arena *arena)
{
    Tensorflow__OpDef__ArgDef **protos = ARENA_ARRAY(arena, Tensorflow__OpDef__ArgDef *, count + 1);
    for (int i = 0; i < count; i++) {
        protos[i] = PROTO_NEW(arena, Tensorflow__OpDef__ArgDef, tensorflow__op_def__arg_def);
        protos[i]->name = (char *)args[i].name;
        protos[i]->type = (Tensorflow__DataType)args[i].type;
        protos[i]->is_ref = args[i].is_ref;
        if (args[i].type_attr != NULL)
            protos[i]->type_attr = (char *)args[i].type_attr;
        if (args[i].number_attr != NULL)
            protos[i]->number_attr = (char *)args[i].number_attr;
        if (args[i].type_list_attr != NULL)
            protos[i]->type_list_attr = (char *)args[i].type_list_attr;
    }
    return protos;
}

static Tensorflow__OpDef *write_signature(const struct function *function, struct arena *arena)
{
    const struct op *op = &function->signature;
    Tensorflow__OpDef *proto = PROTO_NEW(arena, Tensorflow__OpDef, tensorflow__op_def);

    proto->name = (char *)op->name;
    proto->n_input_arg = (size_t)op->inputs_count;
    proto->input_arg = write_args(op->inputs, op->inputs_count, arena);
    proto->n_output_arg = (size_t)op->outputs_count;
    proto->output_arg = write_args(op->outputs, op->outputs_count, arena);
    proto->is_stateful = (op->flags & OP_STATEFUL) != 0;
    proto->n_attr = (size_t)op->attrs_count;
    proto->attr = ARENA_ARRAY(arena, Tensorflow__OpDef__AttrDef *, op->attrs_count + 1);
    for (int i = 0; i < op->attrs_count; i++) {
        Tensorflow__OpDef__AttrDef *attr =
            PROTO_NEW(arena, Tensorflow__OpDef__AttrDef, tensorflow__op_def__attr_def);
        attr->name = (char *)op->attrs[i].name;
        attr->type = (char *)op->attrs[i].type;
        if (op->attrs[i].default_value != NULL)
            attr->default_value = attr_value_to_proto(op->attrs[i].default_value, arena);
        proto->attr[i] = attr;
    }
    proto->n_control_output = (size_t)function->control_outputs_count;
    proto->control_output = (char **)function->control_outputs;
    return proto;
}

static Tensorflow__NodeDef *write_node(const struct body_node *node, struct arena *arena)
{
    Tensorflow__NodeDef *proto = PROTO_NEW(arena, Tensorflow__NodeDef, tensorflow__node_def);
    proto->name = (char *)node->name;
    proto->op = (char *)node->op_name;
    proto->device = (char *)node->device;
    proto->n_input = (size_t)node->inputs_count;
    proto->input = (char **)node->inputs;
    proto->n_attr = (size_t)node->attrs_count;
    proto->attr = attrs_to_proto(node->attrs, node->attrs_count, arena);
    return proto;
}

static void write_results(const struct function *function, Tensorflow__FunctionDef *proto,
                          struct arena *arena)
{
    int count = function->signature.outputs_count;
    proto->ret = ARENA_ARRAY(arena, Tensorflow__FunctionDef__RetEntry *, count + 1);
    for (int i = 0; i < count; i++) {
        if (function->results[i].value == NULL)
            continue;
        Tensorflow__FunctionDef__RetEntry *entry = PROTO_NEW(
            arena, Tensorflow__FunctionDef__RetEntry, tensorflow__function_def__ret_entry);
        entry->key = (char *)function->results[i].name;
        entry->value = (char *)function->results[i].value;
        proto->ret[proto->n_ret++] = entry;
    }
    count = function->controls_count;
    proto->n_control_ret = (size_t)count;
    proto->control_ret = ARENA_ARRAY(arena, Tensorflow__FunctionDef__ControlRetEntry *, count + 1);
    for (int i = 0; i < count; i++) {
        proto->control_ret[i] = PROTO_NEW(arena, Tensorflow__FunctionDef__ControlRetEntry,
                                          tensorflow__function_def__control_ret_entry);
        proto->control_ret[i]->key = (char *)function->controls[i].name;
        proto->control_ret[i]->value = (char *)function->controls[i].value;
    }
}

static void write_arg_attrs(const struct function *function, Tensorflow__FunctionDef *proto,
                            struct arena *arena)
{
    int count = function->arg_attrs_count;
    proto->n_arg_attr = (size_t)count;
    proto->arg_attr = ARENA_ARRAY(arena, Tensorflow__FunctionDef__ArgAttrEntry *, count + 1);
    for (int i = 0; i < count; i++) {
        const struct body_arg_attrs *from = &function->arg_attrs[i];
        Tensorflow__FunctionDef__ArgAttrEntry *entry = PROTO_NEW(
            arena, Tensorflow__FunctionDef__ArgAttrEntry, tensorflow__function_def__arg_attr_entry);
        entry->key = from->index;
        entry->value = PROTO_NEW(arena, Tensorflow__FunctionDef__ArgAttrs,
                                 tensorflow__function_def__arg_attrs);
        entry->value->n_attr = (size_t)from->attrs_count;
        entry->value->attr = (Tensorflow__FunctionDef__ArgAttrs__AttrEntry **)attrs_to_proto(
            from->attrs, from->attrs_count, arena);
        proto->arg_attr[i] = entry;
    }
    count = function->resource_ids_count;
    proto->n_resource_arg_unique_id = (size_t)count;
    proto->resource_arg_unique_id =
        ARENA_ARRAY(arena, Tensorflow__FunctionDef__ResourceArgUniqueIdEntry *, count + 1);
    for (int i = 0; i < count; i++) {
        Tensorflow__FunctionDef__ResourceArgUniqueIdEntry *entry =
            PROTO_NEW(arena, Tensorflow__FunctionDef__ResourceArgUniqueIdEntry,
                      tensorflow__function_def__resource_arg_unique_id_entry);
        entry->key = function->resource_ids[i][0];
        entry->value = function->resource_ids[i][1];
        proto->resource_arg_unique_id[i] = entry;
    }
}

static Tensorflow__FunctionDef *write_function(const struct function *function, struct arena *arena)
{
    Tensorflow__FunctionDef *proto =
        PROTO_NEW(arena, Tensorflow__FunctionDef, tensorflow__function_def);
    proto->signature = write_signature(function, arena);
    proto->n_node_def = (size_t)function->nodes_count;
    proto->node_def = ARENA_ARRAY(arena, Tensorflow__NodeDef *, function->nodes_count + 1);
    for (int i = 0; i < function->nodes_count; i++)
        proto->node_def[i] = write_node(&function->nodes[i], arena);
    proto->n_attr = (size_t)function->attrs_count;
    proto->attr = (Tensorflow__FunctionDef__AttrEntry **)attrs_to_proto(
        function->attrs, function->attrs_count, arena);
    write_results(function, proto, arena);
    write_arg_attrs(function, proto, arena);
    return proto;
}

static void write_gradients(const struct function_library *library,
                            Tensorflow__FunctionDefLibrary *proto, struct arena *arena)
{
    int count = library->gradients_count;
    proto->n_gradient = (size_t)count;
    proto->gradient = ARENA_ARRAY(arena, Tensorflow__GradientDef *, count + 1);
    for (int i = 0; i < count; i++) {
        proto->gradient[i] = PROTO_NEW(arena, Tensorflow__GradientDef, tensorflow__gradient_def);
        proto->gradient[i]->function_name = (char *)library->gradients[i].function_name;
        proto->gradient[i]->gradient_func = (char *)library->gradients[i].gradient_name;
    }
    count = library->registered_count;
    proto->n_registered_gradients = (size_t)count;
    proto->registered_gradients = ARENA_ARRAY(arena, Tensorflow__RegisteredGradient *, count + 1);
    for (int i = 0; i < count; i++) {
        Tensorflow__RegisteredGradient *gradient =
            PROTO_NEW(arena, Tensorflow__RegisteredGradient, tensorflow__registered_gradient);
        gradient->registered_op_type = (char *)library->registered[i].function_name;
        gradient->gradient_func = (char *)library->registered[i].gradient_name;
        proto->registered_gradients[i] = gradient;
    }
}

Tensorflow__FunctionDefLibrary *library_to_proto(const struct function_library *library,
                                                 struct arena *arena)
{
    Tensorflow__FunctionDefLibrary *proto =
        PROTO_NEW(arena, Tensorflow__FunctionDefLibrary, tensorflow__function_def_library);
    proto->n_function = (size_t)library->count;
    proto->function = ARENA_ARRAY(arena, Tensorflow__FunctionDef *, library->count + 1);
    for (int i = 0; i < library->count; i++)
        proto->function[i] = write_function(&library->functions[i], arena);
    write_gradients(library, proto, arena);
    return proto;
}
