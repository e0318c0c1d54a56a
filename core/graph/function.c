#include "graph/function.h"

#include "graph/arguments.h"
#include "graph/instance.h"
#include "graph/library.h"

const struct function *function_find(const struct function_library *library, const char *name)
{
    const struct function *function = NULL;

    for (; library != NULL && function == NULL; library = library->outer)
        function = map_get_text(&library->by_name, name);
    return function;
}

const char *function_name(const struct function *function)
{
    return function->signature.name;
}

const char *function_gradient_name(const struct function_library *library, const char *name)
{
    for (; library != NULL; library = library->outer)
        for (int i = 0; i < library->gradients_count; i++)
            if (strcmp(library->gradients[i].function_name, name) == 0)
                return library->gradients[i].gradient_name;
    return NULL;
}

const struct op *function_signature(const struct function *function)
{
    return &function->signature;
}

/* ---- attributes ---- */

static struct status bind(const struct instance *instance, const struct attr_value *value,
                          struct attr_value *out);

static struct status bind_function(const struct instance *instance,
                                   const struct function_name *from,
                                   const struct function_name **out)
{
    struct arena *arena = instance->graph->arena;
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, from->attrs_count + 1);
    for (int i = 0; i < from->attrs_count; i++) {
        attrs[i].name = from->attrs[i].name;
        TRY(bind(instance, &from->attrs[i].value, &attrs[i].value));
    }
    struct function_name *function = ARENA_NEW(arena, struct function_name);
    *function = (struct function_name){ from->name, attrs, from->attrs_count };
    *out = function;
    return status_ok();
}

static struct status bind_list(const struct instance *instance, struct attr_value *list)
{
    struct attr_value *elements =
        ARENA_ARRAY(instance->graph->arena, struct attr_value, list->count + 1);
    for (int i = 0; i < list->count; i++)
        TRY(bind(instance, &list->elements[i], &elements[i]));
    list->elements = elements;
    return status_ok();
}

/* The value, its placeholders replaced by attributes of the call or defaults of the signature. */
static struct status bind(const struct instance *instance, const struct attr_value *value,
                          struct attr_value *out)
{
    *out = *value;
    if (value->kind == ATTR_FUNC)
        return bind_function(instance, value->func, &out->func);
    if (value->kind == ATTR_LIST && value->element_kind == ATTR_FUNC)
        return bind_list(instance, out);
    if (value->kind != ATTR_PLACEHOLDER)
        return status_ok();
    const struct attr_value *given =
        argument_attr(&instance->call, &instance->function->signature, value->s.data);
    if (given == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "the call gives no attribute '%s'",
                            value->s.data);
    *out = *given;
    return status_ok();
}

static struct status bind_attrs(const struct instance *instance, const struct body_node *from,
                                struct node *node)
{
    node->attrs_count = node->attrs_capacity = from->attrs_count;
    node->attrs = from->attrs;
    if (!from->has_placeholder)
        return status_ok();
    node->attrs = ARENA_ARRAY(instance->graph->arena, struct attr, from->attrs_count);
    for (int i = 0; i < from->attrs_count; i++) {
        node->attrs[i].name = from->attrs[i].name;
        TRY(bind(instance, &from->attrs[i].value, &node->attrs[i].value));
    }
    return status_ok();
}

/* ---- arguments ---- */

static struct status add_arg(struct instance *instance, const char *name, enum dtype dtype,
                             bool is_ref)
{
    struct graph *graph = instance->graph;
    struct attr attrs[] = {
        { "T", { .kind = ATTR_TYPE, .type = (int)dtype + (is_ref ? DT_REF : 0) } },
        { "index", { .kind = ATTR_INT, .i = instance->body.args_count } },
    };
    struct node *node;

    TRY(graph_add(graph, "_Arg", name, &node));
    for (size_t i = 0; i < COUNT(attrs); i++)
        node_set_attr(graph, node, &attrs[i]);
    TRY(node_fill_outputs(graph, node));
    instance->body.args[instance->body.args_count++] = (struct endpoint){ node, 0 };
    return status_ok();
}

static struct status add_args(struct instance *instance)
{
    const struct op *signature = &instance->function->signature;
    struct arena *arena = instance->graph->arena;
    int total = 0, count;

    for (int i = 0; i < signature->inputs_count; i++) {
        TRY(argument_count(&instance->call, signature, &signature->inputs[i], &count));
        total += count;
    }
    void *memory;
    TRY(arena_reserve(arena, ((size_t)total + 1) * sizeof(struct endpoint), &memory));
    instance->body.args = memory;
    for (int i = 0; i < signature->inputs_count; i++) {
        const struct op_arg *arg = &signature->inputs[i];
        struct arg_range *range = ARENA_NEW(arena, struct arg_range);
        bool is_list = arg->number_attr != NULL || arg->type_list_attr != NULL;
        TRY(argument_count(&instance->call, signature, arg, &count));
        *range = (struct arg_range){ instance->body.args_count, count };
        for (int k = 0; k < count; k++) {
            enum dtype dtype;
            bool is_ref;
            TRY(argument_type(&instance->call, signature, arg, k, &dtype, &is_ref));
            /* no node of the body has a colon in its name */
            TRY(add_arg(instance, is_list ? arena_printf(arena, "%s:%d", arg->name, k) : arg->name,
                        dtype, is_ref));
        }
        map_put_text(&instance->args, arg->name, range);
    }
    return status_ok();
}

/* ---- the body ---- */

static struct status add_inputs(struct instance *instance, const struct body_node *from,
                                struct node *node)
{
    struct graph *graph = instance->graph;

    for (int i = 0; i < from->inputs_count; i++) {
        if (from->inputs[i][0] == '^') {
            struct node *control;
            TRY(reference_control(instance, from->inputs[i] + 1, &control));
            node_add_control(graph, node, control);
            continue;
        }
        struct resolved resolved;
        TRY(reference_resolve(instance, from->inputs[i], &resolved));
        if (resolved.count == INT32_MAX)
            resolved.count = 1; /* a whole argument of an unknown op */
        instance->inputs_total += resolved.count;
        if (instance->inputs_total > GRAPH_OUTPUTS_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "the function has over %d inputs",
                                GRAPH_OUTPUTS_MAX);
        for (int k = 0; k < resolved.count; k++)
            node_add_input(graph, node, reference_endpoint(instance, &resolved, k));
    }
    return node_check_inputs(graph, node);
}

static struct status add_node(const struct instance *instance, const struct body_node *from)
{
    struct graph *graph = instance->graph;
    struct node *node;

    if (map_has(&instance->args, bytes_of(from->name)))
        return status_error(STATUS_INVALID_ARGUMENT, "an argument and a node are named '%s'",
                            from->name);
    if (strcmp(from->op_name, "_Arg") == 0) /* its index would be mistaken for one of add_args' */
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s': op '_Arg' stands only for arguments of the signature",
                            from->name);
    TRY(graph_add(graph, from->op_name, from->name, &node));
    node->device = from->device;
    TRY(status_in(bind_attrs(instance, from, node), "node '%s' (%s)", from->name, from->op_name));
    return node_fill_outputs(graph, node);
}

static struct status add_results(struct instance *instance)
{
    const struct op *signature = &instance->function->signature;
    struct function_body *body = &instance->body;
    int total = 0, count;

    for (int i = 0; i < signature->outputs_count; i++) {
        TRY(argument_count(&instance->call, signature, &signature->outputs[i], &count));
        total += count;
    }
    void *memory;
    TRY(arena_reserve(instance->graph->arena, ((size_t)total + 1) * sizeof(struct endpoint),
                      &memory));
    body->results = memory;
    for (int i = 0; i < signature->outputs_count; i++) {
        const struct body_result *result = &instance->function->results[i];
        struct resolved resolved;
        if (result->value == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "output '%s' is not returned",
                                result->name);
        TRY(argument_count(&instance->call, signature, &signature->outputs[i], &count));
        TRY(status_in(reference_resolve(instance, result->value, &resolved), "output '%s'",
                      result->name));
        if (resolved.count < count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "output '%s' is %d tensors, but '%s' returns %d", result->name,
                                count, result->value, resolved.count);
        for (int k = 0; k < count; k++)
            body->results[body->results_count++] = reference_endpoint(instance, &resolved, k);
    }
    return status_ok();
}

static struct status add_controls(struct instance *instance)
{
    const struct function *function = instance->function;
    struct function_body *body = &instance->body;

    body->controls =
        ARENA_ARRAY(instance->graph->arena, struct node *, function->controls_count + 1);
    for (int i = 0; i < function->controls_count; i++)
        TRY(reference_control(instance, function->controls[i].value,
                              &body->controls[body->controls_count++]));
    return status_ok();
}

static struct status fill(struct instance *instance)
{
    const struct function *function = instance->function;
    struct graph *graph = instance->graph;

    TRY(add_args(instance));
    int first = graph->count;
    for (int i = 0; i < function->nodes_count; i++)
        TRY(add_node(instance, &function->nodes[i]));
    for (int i = 0; i < function->nodes_count; i++) {
        struct node *node = graph->nodes[first + i];
        TRY(status_in(add_inputs(instance, &function->nodes[i], node), "node '%s' (%s)", node->name,
                      node->op_name));
    }
    TRY(add_results(instance));
    return add_controls(instance);
}

/* ---- implementations ---- */

/* The text of an attribute of the function; empty if it has no such attribute. */
static struct bytes attribute_text(const struct function *function, const char *name)
{
    const struct attr_value *value = attrs_find(function->attrs, function->attrs_count, name);
    return value != NULL && value->kind == ATTR_STRING ? value->s : (struct bytes){ 0 };
}

static bool prefers_cpu(const struct function *function)
{
    return bytes_equal(attribute_text(function, "api_preferred_device"), bytes_of("CPU"));
}

/* Functions that tf.function keeps in pairs for gradients: TensorFlow never swaps them alone. */
static bool has_partner(const struct function *function)
{
    return attribute_text(function, "forward_function_name").size > 0 ||
           attribute_text(function, "backward_function_name").size > 0;
}

static bool same_types(const struct op_arg *a, int a_count, const struct op_arg *b, int b_count)
{
    if (a_count != b_count)
        return false;
    for (int i = 0; i < a_count; i++)
        if (a[i].type != b[i].type)
            return false;
    return true;
}

static bool can_replace(const struct function *function, const struct function *other)
{
    const struct op *a = &function->signature, *b = &other->signature;
    return prefers_cpu(other) && !has_partner(other) &&
           bytes_equal(attribute_text(function, "api_implements"),
                       attribute_text(other, "api_implements")) &&
           same_types(a->inputs, a->inputs_count, b->inputs, b->inputs_count) &&
           same_types(a->outputs, a->outputs_count, b->outputs, b->outputs_count);
}

/* If several functions implement one interface, TensorFlow runs the one for the device, whichever
 * the call names (implementation_selector.cc). The samplers of TensorFlow Probability name the one
 * for other devices, which draws other numbers than the one for the CPU. */
static const struct function *choose_implementation(const struct function_library *library,
                                                    const struct function *function)
{
    if (attribute_text(function, "api_implements").size == 0 || prefers_cpu(function) ||
        has_partner(function))
        return function;
    for (; library != NULL; library = library->outer)
        for (int i = 0; i < library->count; i++)
            if (can_replace(function, &library->functions[i]))
                return &library->functions[i];
    return function;
}

const struct function *function_find_called(const struct function_library *library,
                                            const char *name)
{
    const struct function *function = function_find(library, name);
    return function != NULL ? choose_implementation(library, function) : NULL;
}

int64_t graph_tensors(const struct graph *body)
{
    int64_t count = body->outputs_total;
    for (int i = 0; i < body->count; i++)
        count += body->nodes[i]->inputs_count;
    return count;
}

struct status function_instantiate(const struct graph *graph, const struct function_name *name,
                                   struct arena *arena, struct function_body *out)
{
    const struct function *function = function_find_called(graph->library, name->name);
    if (function == NULL)
        return status_error(STATUS_NOT_FOUND, "the graph has no function '%s'", name->name);

    struct instance instance = { .function = function, .graph = graph_create(arena) };
    instance.graph->library = graph->library;
    instance.graph->producer = graph->producer;
    instance.graph->min_consumer = graph->min_consumer;
    instance.args.arena = arena;
    instance.call.name = instance.call.op_name = name->name;
    instance.call.attrs = (struct attr *)name->attrs; /* only read */
    instance.call.attrs_count = name->attrs_count;
    struct status status = fill(&instance);
    if (!status_is_ok(status))
        return status_in(status, "function '%s'", name->name);
    instance.body.graph = instance.graph;
    *out = instance.body;
    return status_ok();
}
