#include <stdlib.h>

#include "fuzz/op_maker.h"
#include "graph/function.h"

#define FUNCTION_TYPES_MAX 32

struct types {
    enum dtype of[FUNCTION_TYPES_MAX];
    int count;
};

static void add_type(struct types *types, enum dtype dtype)
{
    if (types->count < FUNCTION_TYPES_MAX)
        types->of[types->count++] = dtype;
}

/* Adds the types of an attribute, which may be a type, of N tensors, or a list of types. */
static void add_types(struct types *types, const struct node *node, const char *name)
{
    const struct attr_value *value = attrs_find(node->attrs, node->attrs_count, name);
    int64_t count = 1;
    if (value == NULL)
        return;
    if (value->kind == ATTR_TYPE)
        status_ignore(node_attr_int(node, "N", &count));
    for (int64_t i = 0; value->kind == ATTR_TYPE && i < count && i < FUNCTION_TYPES_MAX; i++)
        add_type(types, (enum dtype)value->type);
    for (int i = 0; value->kind == ATTR_LIST && i < value->count; i++)
        if (value->elements[i].kind == ATTR_TYPE)
            add_type(types, (enum dtype)value->elements[i].type);
}

/* What a function of the node most likely takes and gives. The functions of XLA's ops compare or
 * combine two elements; those of datasets take an element, after a state and before captures. */
static void guess_signature(const struct node *node, const char *attr, struct types *args,
                            struct types *results)
{
    static const struct {
        const char *attr;
        enum dtype dtype;
    } fixed[] = { { "select", DT_BOOL },
                  { "comparator", DT_BOOL },
                  { "predicate", DT_BOOL },
                  { "key_func", DT_INT64 } };
    struct types elements = { 0 };
    bool is_xla = strncmp(node->op_name, "Xla", strlen("Xla")) == 0;
    add_types(&elements, node, is_xla ? "T" : "output_types");
    if (!is_xla)
        add_types(args, node, "Tstate");
    *results = *args;
    for (int i = 0; i < elements.count * (is_xla ? 2 : 1); i++)
        add_type(args, elements.of[strcmp(attr, "comparator") == 0 ? i / 2 : i % elements.count]);
    if (!is_xla)
        add_types(args, node, "Targuments");
    for (int i = 0; i < elements.count; i++)
        add_type(results, elements.of[i]);
    for (size_t i = 0; i < COUNT(fixed); i++)
        if (strcmp(attr, fixed[i].attr) == 0)
            *results = (struct types){ { fixed[i].dtype }, 1 };
}

/* The next argument of this type from `first` on, or args_count. */
static int find_arg(const struct function_body *body, int first, enum dtype dtype)
{
    int i = first;
    while (i < body->args_count && endpoint_dtype(body->args[i]) != dtype)
        i++;
    return i;
}

static struct endpoint make_constant(struct op_maker *maker, struct builder *b, enum dtype dtype)
{
    struct shape scalar = shape_scalar();
    bool can_be = dtype_size(dtype) > 0 && dtype != DT_RESOURCE && dtype != DT_VARIANT;
    struct tensor value = make_tensor_of_shape(maker, can_be ? dtype : DT_FLOAT, &scalar, ROLE_ANY);
    struct endpoint constant = build_const(b, NULL, &value);
    free(value.data);
    return constant;
}

static struct endpoint make_result(struct op_maker *maker, struct builder *b,
                                   const struct function_body *body, enum dtype dtype)
{
    static const char *const combiners[] = { "AddV2", "Mul", "Maximum", "Sub" };
    static const char *const comparisons[] = { "GreaterEqual", "Less", "NotEqual" };
    struct choices *c = maker->choices;
    bool compares = dtype == DT_BOOL && body->args_count > 0 && !one_in(c, 8);
    enum dtype of_args = compares ? endpoint_dtype(body->args[0]) : dtype;
    int i = find_arg(body, 0, of_args), j = find_arg(body, i + 1, of_args);
    if (j < body->args_count && !one_in(c, 4))
        return build_binary(b,
                            compares ? comparisons[choose(c, COUNT(comparisons))]
                                     : combiners[choose(c, COUNT(combiners))],
                            NULL, body->args[i], body->args[j]);
    if (i < body->args_count && of_args == dtype)
        return body->args[i];
    return make_constant(maker, b, dtype);
}

static struct status add_function(struct op_maker *maker, const struct types *args,
                                  const struct types *results, const char **name)
{
    struct graph *graph = maker->out->graph;
    const struct shape unknown = shape_unknown();
    struct function_body body = { .graph = graph_create(maker->arena) };
    struct builder b = builder_init(body.graph);
    function_share_library(graph);
    body.graph->library = graph->library;
    body.args = ARENA_ARRAY(maker->arena, struct endpoint, FUNCTION_TYPES_MAX);
    body.results = ARENA_ARRAY(maker->arena, struct endpoint, FUNCTION_TYPES_MAX);
    for (int i = 0; i < args->count; i++)
        function_add_arg(&b, &body, args->of[i], &unknown);
    while (body.results_count < results->count) {
        struct endpoint made = make_result(maker, &b, &body, results->of[body.results_count]);
        body.results[body.results_count++] = made;
    }
    TRY(builder_status(&b));
    return function_add(graph, "function", &body, name);
}

struct attr_value make_function(struct op_maker *maker, const struct node *node, const char *attr)
{
    struct function_name *function = ARENA_NEW(maker->arena, struct function_name);
    struct types args = { 0 }, results = { 0 };
    guess_signature(node, attr, &args, &results);
    function->name = "none";
    status_ignore(add_function(maker, &args, &results, &function->name));
    return (struct attr_value){ .kind = ATTR_FUNC, .func = function };
}
