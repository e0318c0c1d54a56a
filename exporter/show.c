#include "exporter/commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "graph/function.h"
#include "runtime/kernel.h"

static struct {
    const char *plan;
    bool json;
} options;

static const struct flag rows[] = {
    { "json", FLAG_BOOL, &options.json, "false", .help = "print JSON" },
    { "plan", FLAG_TEXT, &options.plan, "",
      .help = "print how this signature is run, step by step" },
    { "tag_set", FLAG_TEXT, &common.tag_set, "serve",
      .help = "tags of the meta graph, separated by commas" },
    { "help", FLAG_BOOL, &common.help, "false", .help = "print this text" },
};

const struct flag_set show_flags = {
    "usage: savedmodel show [flags] DIR\n\n"
    "Prints the signatures, variables and ops of a SavedModel, and which ops this build can run.",
    rows, COUNT(rows)
};

/* An op of the serving path: how many nodes, and whether each has a kernel. */
struct op_use {
    const char *name;
    int nodes;
    bool missing;
};

struct report {
    struct op_use *ops;
    int ops_count;
    int64_t variables_bytes;
};

static struct op_use *find_use(struct report *report, const char *name)
{
    for (int i = 0; i < report->ops_count; i++) {
        if (strcmp(report->ops[i].name, name) == 0)
            return &report->ops[i];
    }
    struct op_use *use = &report->ops[report->ops_count++];
    *use = (struct op_use){ .name = name };
    return use;
}

static int compare_uses(const void *a, const void *b)
{
    return strcmp(((const struct op_use *)a)->name, ((const struct op_use *)b)->name);
}

/* Branch and loop bodies are graphs of their own. */
static void count_functions(const struct node *node, struct graph *graph, struct arena *arena,
                            struct report *report, int depth);

static void count_graph(struct graph *graph, struct arena *arena, struct report *report, int depth)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (strcmp(node->op_name, "_Arg") == 0)
            continue;
        struct op_use *use = find_use(report, node->op_name);
        use->nodes++;
        count_functions(node, graph, arena, report, depth);
    }
}

static void count_body(const struct function_name *name, struct graph *graph, struct arena *arena,
                       struct report *report, int depth)
{
    struct function_body body;
    struct flatten_result flat;
    if (depth > 16 || !status_is_ok(function_instantiate(graph, name, arena, &body)))
        return;
    struct flatten_request request = { .fetches = body.results,
                                       .fetches_count = body.results_count,
                                       .targets = body.controls,
                                       .targets_count = body.controls_count };
    if (status_is_ok(graph_flatten(body.graph, &request, arena, &flat))) {
        count_graph(flat.graph, arena, report, depth + 1);
        graph_finish(flat.graph);
    }
    graph_finish(body.graph);
}

static void count_functions(const struct node *node, struct graph *graph, struct arena *arena,
                            struct report *report, int depth)
{
    for (int i = 0; i < node->attrs_count; i++) {
        const struct attr_value *value = &node->attrs[i].value;
        if (value->kind == ATTR_FUNC)
            count_body(value->func, graph, arena, report, depth);
        for (int k = 0;
             value->kind == ATTR_LIST && value->element_kind == ATTR_FUNC && k < value->count; k++)
            count_body(value->elements[k].func, graph, arena, report, depth);
    }
}

static void mark_missing(void *context, const struct node *node)
{
    find_use(context, node->op_name)->missing = true;
}

static struct status request_of(const struct graph *graph, const struct signature *signature,
                                struct arena *arena, struct flatten_request *out)
{
    struct endpoint *feeds = ARENA_ARRAY(arena, struct endpoint, signature->inputs_count + 1);
    struct endpoint *fetches = ARENA_ARRAY(arena, struct endpoint, signature->outputs_count + 1);
    for (int i = 0; i < signature->inputs_count; i++)
        TRY(graph_endpoint(graph, signature->inputs[i].tensor_name, &feeds[i]));
    for (int i = 0; i < signature->outputs_count; i++)
        TRY(graph_endpoint(graph, signature->outputs[i].tensor_name, &fetches[i]));
    *out = (struct flatten_request){ .feeds = feeds,
                                     .feeds_count = signature->inputs_count,
                                     .fetches = fetches,
                                     .fetches_count = signature->outputs_count };
    return status_ok();
}

static void count_ops(const struct savedmodel *model, struct arena *arena, struct report *report)
{
    const struct graph *graph = savedmodel_graph(model);
    report->ops = ARENA_ARRAY(arena, struct op_use, op_count() + graph->count + 4096);
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        struct flatten_request request;
        struct flatten_result flat;
        if (strncmp(signature->name, "__", 2) == 0 ||
            !status_is_ok(request_of(graph, signature, arena, &request)) ||
            !status_is_ok(graph_flatten(graph, &request, arena, &flat)))
            continue;
        count_graph(flat.graph, arena, report, 0);
        graph_finish(flat.graph);
        /* What cannot be reported here is reported when the signature is run. */
        status_ignore(plan_missing_kernels(graph, &request, mark_missing, report));
    }
    qsort(report->ops, (size_t)report->ops_count, sizeof *report->ops, compare_uses);
}

static int64_t variable_bytes(const struct savedmodel_variable *variable)
{
    return shape_is_known(&variable->shape)
               ? shape_size(&variable->shape) * (int64_t)dtype_file_size(variable->dtype)
               : 0;
}

/* ---- text ---- */

static void print_tensors(const char *what, const struct signature_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        printf("    %-7s %-24s %-8s %-16s %s\n", i == 0 ? what : "", tensors[i].key,
               dtype_name(tensors[i].dtype),
               tensors[i].has_shape ? shape_text(&tensors[i].shape) : "<unknown>",
               tensors[i].tensor_name);
}

static void print_text(const struct savedmodel *model, const struct report *report)
{
    printf("%s (written by TensorFlow %s)\n\nsignatures\n", savedmodel_directory(model),
           savedmodel_tensorflow_version(model));
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        printf("  %s  %s\n", signature->name, signature->method);
        print_tensors("inputs", signature->inputs, signature->inputs_count);
        print_tensors("outputs", signature->outputs, signature->outputs_count);
    }
    printf("\nvariables: %d, %" PRId64 " bytes\n", savedmodel_variables_count(model),
           report->variables_bytes);
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        printf("  %-40s %-8s %-16s %" PRId64 "\n", variable.name, dtype_name(variable.dtype),
               shape_text(&variable.shape), variable_bytes(&variable));
    }
    printf("\nops of the signatures: %d kinds\n", report->ops_count);
    for (int i = 0; i < report->ops_count; i++)
        printf("  %-32s %5d%s\n", report->ops[i].name, report->ops[i].nodes,
               report->ops[i].missing ? "  no kernel" : "");
}

/* ---- JSON ---- */

static json_t *json_of_shape(const struct shape *shape)
{
    if (shape->rank == SHAPE_UNKNOWN_RANK)
        return json_null();
    json_t *dims = json_array();
    for (int i = 0; i < shape->rank; i++)
        json_array_append_new(dims, json_integer(shape->dims[i]));
    return dims;
}

static json_t *json_of_tensors(const struct signature_tensor *tensors, int count)
{
    json_t *all = json_object();
    for (int i = 0; i < count; i++)
        json_object_set_new(all, tensors[i].key,
                            json_pack("{s:s, s:s, s:o}", "name", tensors[i].tensor_name, "dtype",
                                      dtype_name(tensors[i].dtype), "shape",
                                      json_of_shape(&tensors[i].shape)));
    return all;
}

static void print_json(const struct savedmodel *model, const struct report *report)
{
    json_t *signatures = json_object(), *variables = json_array(), *ops = json_array();
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        json_object_set_new(
            signatures, signature->name,
            json_pack("{s:s, s:o, s:o}", "method", signature->method, "inputs",
                      json_of_tensors(signature->inputs, signature->inputs_count), "outputs",
                      json_of_tensors(signature->outputs, signature->outputs_count)));
    }
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        json_array_append_new(variables,
                              json_pack("{s:s, s:s?, s:s, s:o, s:I}", "name", variable.name, "key",
                                        variable.key, "dtype", dtype_name(variable.dtype), "shape",
                                        json_of_shape(&variable.shape), "bytes",
                                        (json_int_t)variable_bytes(&variable)));
    }
    for (int i = 0; i < report->ops_count; i++)
        json_array_append_new(ops,
                              json_pack("{s:s, s:i, s:b}", "op", report->ops[i].name, "nodes",
                                        report->ops[i].nodes, "kernel", !report->ops[i].missing));
    json_t *root = json_pack(
        "{s:s, s:s, s:o, s:o, s:I, s:o}", "directory", savedmodel_directory(model),
        "tensorflow_version", savedmodel_tensorflow_version(model), "signatures", signatures,
        "variables", variables, "variables_bytes", (json_int_t)report->variables_bytes, "ops", ops);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
}

static struct status print_plan(struct savedmodel *model, const char *name)
{
    const struct signature *signature = savedmodel_signature(model, bytes_of(name));
    const struct plan *plan;
    if (signature == NULL)
        return status_error(STATUS_NOT_FOUND, "signature '%s' is not in '%s'", name,
                            savedmodel_directory(model));
    TRY(savedmodel_plan(model, signature, &plan));
    struct buffer text = { 0 };
    plan_print(plan, &text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_finish(&text);
    return status_ok();
}

struct status command_show(struct savedmodel *model, struct arena *arena)
{
    struct report report = { 0 };

    if (options.plan[0] != '\0')
        return print_plan(model, options.plan);
    count_ops(model, arena, &report);
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        report.variables_bytes += variable_bytes(&variable);
    }
    if (options.json)
        print_json(model, &report);
    else
        print_text(model, &report);
    return status_ok();
}
