#include "exporter/model_report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "base/plural.h"
#include "graph/function.h"
#include "runtime/kernel.h"

/* ---- counting ---- */

/* Of branches and loops within one another, deeper ones are not counted. */
#define FUNCTION_DEPTH_MAX 16

struct op_counts {
    struct arena *arena;
    struct map uses;      /* name of an op -> struct op_use */
    struct map functions; /* names of those that the present signature has counted */
};

static struct op_use *find_use(struct op_counts *counts, const char *name)
{
    struct op_use *use = map_get_text(&counts->uses, name);
    if (use == NULL) {
        use = ARENA_NEW(counts->arena, struct op_use);
        *use = (struct op_use){ .name = arena_strdup(counts->arena, name) };
        map_put_text(&counts->uses, use->name, use);
    }
    return use;
}

static int compare_uses(const void *a, const void *b)
{
    return strcmp(((const struct op_use *)a)->name, ((const struct op_use *)b)->name);
}

static void count_functions(struct op_counts *counts, const struct node *node, struct graph *graph,
                            int depth);

static void count_graph(struct op_counts *counts, struct graph *graph, int depth)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if (strcmp(node->op_name, "_Arg") == 0)
            continue;
        find_use(counts, node->op_name)->nodes++;
        count_functions(counts, node, graph, depth);
    }
}

/* Counts each function once: if every call counted, functions that call one another twice would
 * double at each level, and a small file would keep this busy for ever. */
static void count_body(struct op_counts *counts, const struct function_name *name,
                       struct graph *graph, int depth)
{
    struct function_body body;
    struct flatten_result flat;
    if (depth >= FUNCTION_DEPTH_MAX || map_has(&counts->functions, bytes_of(name->name)))
        return;
    map_put_text(&counts->functions, name->name, counts);
    if (!status_is_ok(function_instantiate(graph, name, counts->arena, &body)))
        return;
    struct flatten_request request = { .fetches = body.results,
                                       .fetches_count = body.results_count,
                                       .targets = body.controls,
                                       .targets_count = body.controls_count };
    if (status_is_ok(graph_flatten(body.graph, &request, counts->arena, &flat))) {
        count_graph(counts, flat.graph, depth + 1);
        graph_finish(flat.graph);
    }
    graph_finish(body.graph);
}

/* The bodies of branches and loops are graphs of their own. */
static void count_functions(struct op_counts *counts, const struct node *node, struct graph *graph,
                            int depth)
{
    for (int i = 0; i < node->attrs_count; i++) {
        const struct attr_value *value = &node->attrs[i].value;
        if (value->kind == ATTR_FUNC)
            count_body(counts, value->func, graph, depth);
        for (int k = 0;
             value->kind == ATTR_LIST && value->element_kind == ATTR_FUNC && k < value->count; k++)
            count_body(counts, value->elements[k].func, graph, depth);
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
    int fetches_count = signature_computed_outputs(signature);
    struct endpoint *fetches = ARENA_ARRAY(arena, struct endpoint, fetches_count + 1);
    for (int i = 0; i < signature->inputs_count; i++)
        TRY(graph_endpoint(graph, signature->inputs[i].tensor_name, &feeds[i]));
    for (int i = 0; i < fetches_count; i++)
        TRY(graph_endpoint(graph, signature->outputs[i].tensor_name, &fetches[i]));
    *out = (struct flatten_request){ .feeds = feeds,
                                     .feeds_count = signature->inputs_count,
                                     .fetches = fetches,
                                     .fetches_count = fetches_count };
    return status_ok();
}

static void count_ops(const struct savedmodel *model, struct arena *arena,
                      struct model_report *report)
{
    const struct graph *graph = savedmodel_graph(model);
    struct op_counts counts = { .arena = arena, .uses.arena = arena };
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        struct flatten_request request;
        struct flatten_result flat;
        if (strncmp(signature->name, "__", 2) == 0 ||
            !status_is_ok(request_of(graph, signature, arena, &request)) ||
            !status_is_ok(graph_flatten(graph, &request, arena, &flat)))
            continue;
        counts.functions = (struct map){ .arena = arena };
        count_graph(&counts, flat.graph, 0);
        graph_finish(flat.graph);
        /* A failure is ignored: running the signature reports it. */
        status_ignore(plan_missing_kernels(graph, &request, mark_missing, &counts));
    }
    report->ops_count = (int)counts.uses.count;
    report->ops = ARENA_ARRAY(arena, struct op_use, counts.uses.count);
    for (int i = 0; i < report->ops_count; i++)
        report->ops[i] = *(const struct op_use *)counts.uses.entries[i].value;
    qsort(report->ops, (size_t)report->ops_count, sizeof *report->ops, compare_uses);
}

static int64_t variable_bytes(const struct savedmodel_variable *variable)
{
    return shape_is_known(&variable->shape)
               ? shape_size(&variable->shape) * (int64_t)dtype_file_size(variable->dtype)
               : 0;
}

void model_report_make(const struct savedmodel *model, struct arena *arena,
                       struct model_report *out)
{
    *out = (struct model_report){ .model = model };
    count_ops(model, arena, out);
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        out->variables_bytes += variable_bytes(&variable);
    }
}

/* ---- text ---- */

static void print_tensors(struct buffer *out, const char *what,
                          const struct signature_tensor *tensors, int count)
{
    for (int i = 0; i < count; i++)
        buffer_printf(out, "    %-7s %-24s %-8s %-16s %s\n", i == 0 ? what : "", tensors[i].key,
                      dtype_name(tensors[i].dtype),
                      tensors[i].has_shape ? shape_text(&tensors[i].shape) : "<unknown>",
                      tensors[i].tensor_name);
}

/* Slipway writes a version of TensorFlow as well, because TensorFlow's loaders require one. */
static void print_writer(struct buffer *out, const struct savedmodel *model)
{
    const char *slipway = savedmodel_slipway_version(model);
    const char *tensorflow = savedmodel_tensorflow_version(model);
    if (slipway != NULL)
        buffer_printf(out, " (written by Slipway %s in the format of TensorFlow %s)", slipway,
                      tensorflow);
    else if (tensorflow[0] != '\0')
        buffer_printf(out, " (written by TensorFlow %s)", tensorflow);
}

void model_report_to_text(const struct model_report *report, struct buffer *out)
{
    const struct savedmodel *model = report->model;
    buffer_append_text(out, savedmodel_directory(model));
    print_writer(out, model);
    buffer_append_text(out, "\n\nsignatures\n");
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        buffer_printf(out, "  %s  %s\n", signature->name, signature->method);
        print_tensors(out, "inputs", signature->inputs, signature->inputs_count);
        print_tensors(out, "outputs", signature->outputs, signature->outputs_count);
    }
    buffer_printf(out, "\nvariables: %d, %" PRId64 " bytes\n", savedmodel_variables_count(model),
                  report->variables_bytes);
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        buffer_printf(out, "  %-40s %-8s %-16s %" PRId64 "\n", variable.name,
                      dtype_name(variable.dtype), shape_text(&variable.shape),
                      variable_bytes(&variable));
    }
    buffer_printf(out, "\nops of the signatures: %d kind%s\n", report->ops_count,
                  plural(report->ops_count));
    for (int i = 0; i < report->ops_count; i++)
        buffer_printf(out, "  %-32s %5d%s\n", report->ops[i].name, report->ops[i].nodes,
                      report->ops[i].missing ? "  no kernel" : "");
}

/* ---- JSON ---- */

static void write_shape(struct json_writer *writer, const struct shape *shape)
{
    if (shape->rank == SHAPE_UNKNOWN_RANK) {
        json_write_null(writer, "shape");
        return;
    }
    json_open(writer, "shape", '[');
    for (int i = 0; i < shape->rank; i++)
        json_write_integer(writer, NULL, shape->dims[i]);
    json_close(writer, ']');
}

static void write_tensors(struct json_writer *writer, const char *key,
                          const struct signature_tensor *tensors, int count)
{
    json_open(writer, key, '{');
    for (int i = 0; i < count; i++) {
        json_open(writer, tensors[i].key, '{');
        json_write_text(writer, "name", bytes_of(tensors[i].tensor_name));
        json_write_text(writer, "dtype", bytes_of(dtype_name(tensors[i].dtype)));
        write_shape(writer, &tensors[i].shape);
        json_close(writer, '}');
    }
    json_close(writer, '}');
}

static void write_signatures(struct json_writer *writer, const struct savedmodel *model)
{
    json_open(writer, "signatures", '{');
    for (int i = 0; i < savedmodel_signatures_count(model); i++) {
        const struct signature *signature = savedmodel_signature_at(model, i);
        json_open(writer, signature->name, '{');
        json_write_text(writer, "method", bytes_of(signature->method));
        write_tensors(writer, "inputs", signature->inputs, signature->inputs_count);
        write_tensors(writer, "outputs", signature->outputs, signature->outputs_count);
        json_close(writer, '}');
    }
    json_close(writer, '}');
}

static void write_variables(struct json_writer *writer, const struct savedmodel *model)
{
    json_open(writer, "variables", '[');
    for (int i = 0; i < savedmodel_variables_count(model); i++) {
        struct savedmodel_variable variable = savedmodel_variable_at(model, i);
        json_open(writer, NULL, '{');
        json_write_text(writer, "name", bytes_of(variable.name));
        if (variable.key != NULL)
            json_write_text(writer, "key", bytes_of(variable.key));
        else
            json_write_null(writer, "key");
        json_write_text(writer, "dtype", bytes_of(dtype_name(variable.dtype)));
        write_shape(writer, &variable.shape);
        json_write_integer(writer, "bytes", variable_bytes(&variable));
        json_close(writer, '}');
    }
    json_close(writer, ']');
}

static void write_ops(struct json_writer *writer, const struct model_report *report)
{
    json_open(writer, "ops", '[');
    for (int i = 0; i < report->ops_count; i++) {
        json_open(writer, NULL, '{');
        json_write_text(writer, "op", bytes_of(report->ops[i].name));
        json_write_integer(writer, "nodes", report->ops[i].nodes);
        json_write_bool(writer, "kernel", !report->ops[i].missing);
        json_close(writer, '}');
    }
    json_close(writer, ']');
}

void model_report_to_json(const struct model_report *report, struct buffer *out)
{
    struct json_writer writer = { .out = out };
    json_open(&writer, NULL, '{');
    json_write_text(&writer, "directory", bytes_of(savedmodel_directory(report->model)));
    json_write_text(&writer, "tensorflow_version",
                    bytes_of(savedmodel_tensorflow_version(report->model)));
    if (savedmodel_slipway_version(report->model) != NULL)
        json_write_text(&writer, "slipway_version",
                        bytes_of(savedmodel_slipway_version(report->model)));
    write_signatures(&writer, report->model);
    write_variables(&writer, report->model);
    json_write_integer(&writer, "variables_bytes", report->variables_bytes);
    write_ops(&writer, report);
    json_close(&writer, '}');
    buffer_append_char(out, '\n');
}
