#include "graph/library_proto.h"

#include "proto/message.h"

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
    proto->is_stateful = op_has(op, OP_STATEFUL);
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
    const struct function_library *outermost = library;
    int count = 0;

    for (const struct function_library *of = library; of != NULL; of = of->outer) {
        count += of->count;
        outermost = of;
    }
    proto->function = ARENA_ARRAY(arena, Tensorflow__FunctionDef *, count + 1);
    for (const struct function_library *of = library; of != NULL; of = of->outer)
        for (int i = 0; i < of->count; i++)
            proto->function[proto->n_function++] = write_function(&of->functions[i], arena);
    write_gradients(outermost, proto, arena); /* functions that are added have none */
    return proto;
}
