#include <fnmatch.h>
#include <stdlib.h>

#include "fuzz/op_maker.h"
#include "graph/function.h"

#define FUNCTION_TYPES_MAX 32

struct types {
    enum dtype of[FUNCTION_TYPES_MAX];
    int count, captures; /* the last ones */
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

/*
 * What the functions of datasets take and give: e the parts of an element, s those of the state, k
 * a key, d a dataset, b a boolean. The first row that fits counts.
 */
static const struct signature {
    const char *op, *attr; /* patterns */
    const char *args, *results;
} signatures[] = {
    { "*", "key_func", "e", "k" },
    { "*", "predicate", "e", "b" },
    { "*Window*", "reduce_func", "kd", "d" },
    { "*Window*", "window_size_func", "k", "k" },
    { "*Reducer*", "init_func", "k", "k" },
    { "*Reducer*", "reduce_func", "ke", "k" },
    { "*Reducer*", "finalize_func", "k", "e" },
    { "*Interleave*", "f", "e", "d" },
    { "FlatMap*", "f", "e", "d" },
    { "Reduce*", "f", "se", "s" },
    { "*", "*", "se", "se" }, /* Scan; without a state, Map */
};

static void add_parts(struct types *types, const struct node *node, const char *parts)
{
    for (; *parts != '\0'; parts++)
        switch (*parts) {
        case 'e':
            add_types(types, node, "output_types");
            break;
        case 's':
            add_types(types, node, "Tstate");
            break;
        case 'k':
            add_type(types, DT_INT64);
            break;
        default:
            add_type(types, *parts == 'b' ? DT_BOOL : DT_VARIANT);
        }
}

/* The captures come last: those of this function, or of the op's only one. */
static void guess_of_dataset(struct op_maker *maker, const struct node *node, const char *attr,
                             struct types *args, struct types *results)
{
    const char *captures = arena_printf(maker->arena, "T%s_other_arguments", attr);
    const struct signature *row = signatures;
    while (fnmatch(row->op, node->op_name, 0) != 0 || fnmatch(row->attr, attr, 0) != 0)
        row++;
    add_parts(args, node, row->args);
    add_parts(results, node, row->results);
    int own = args->count;
    add_types(args, node, op_attr_find(node->op, captures) != NULL ? captures : "Targuments");
    args->captures = args->count - own;
}

/* The functions of XLA's ops compare or combine two elements. */
static void guess_of_xla(const struct node *node, const char *attr, struct types *args,
                         struct types *results)
{
    struct types elements = { 0 };
    add_types(&elements, node, "T");
    bool compares = strcmp(attr, "comparator") == 0;
    for (int i = 0; i < elements.count * 2; i++)
        add_type(args, elements.of[compares ? i / 2 : i % elements.count]);
    *results = elements;
    if (compares || strcmp(attr, "select") == 0)
        *results = (struct types){ .of = { DT_BOOL }, .count = 1 };
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

/* The dataset that the function takes, or one of an element: its first `count` arguments. */
static struct endpoint make_inner_dataset(struct builder *b, const struct function_body *body,
                                          int count)
{
    enum dtype types[FUNCTION_TYPES_MAX];
    struct shape shapes[FUNCTION_TYPES_MAX];
    int given = find_arg(body, 0, DT_VARIANT);
    if (given < count)
        return body->args[given];
    for (int i = 0; i < count; i++) {
        types[i] = endpoint_dtype(body->args[i]);
        shapes[i] = shape_unknown();
    }
    return build(b, "TensorDataset", NULL, count, body->args,
                 (struct attr[]){ attr_types(b, "Toutput_types", count, types),
                                  attr_shapes(b, "output_shapes", count, shapes), ATTR_END });
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
        enum dtype dtype = results->of[body.results_count];
        int own = args->count - args->captures;
        body.results[body.results_count] = dtype == DT_VARIANT && own > 0
                                               ? make_inner_dataset(&b, &body, own)
                                               : make_result(maker, &b, &body, dtype);
        body.results_count++;
    }
    TRY(builder_status(&b));
    return function_add(graph, "function", &body, name);
}

static struct attr_value function_value(struct op_maker *maker, const struct types *args,
                                        const struct types *results)
{
    struct function_name *function = ARENA_NEW(maker->arena, struct function_name);
    function->name = "none";
    status_ignore(add_function(maker, args, results, &function->name));
    return (struct attr_value){ .kind = ATTR_FUNC, .func = function };
}

struct attr_value make_function(struct op_maker *maker, const struct node *node, const char *attr)
{
    struct types args = { 0 }, results = { 0 };
    if (strncmp(node->op_name, "Xla", strlen("Xla")) == 0)
        guess_of_xla(node, attr, &args, &results);
    else
        guess_of_dataset(maker, node, attr, &args, &results);
    return function_value(maker, &args, &results);
}

struct attr_value make_drain(struct op_maker *maker, const struct node *dataset)
{
    struct types args = { .of = { DT_INT64 }, .count = 1 }, results = args;
    add_types(&args, dataset,
              attrs_find(dataset->attrs, dataset->attrs_count, "output_types") != NULL
                  ? "output_types"
                  : "Toutput_types");
    return function_value(maker, &args, &results);
}
