/* trainable_graph: the graph of a signature with placeholders for its variables. */
#include "graph/function.h"
#include "graph/lower/lower.h"
#include "graph/prune.h"
#include "savedmodel/restore_graph.h"
#include "savedmodel/trainable/trainable_reads.h"

static struct endpoint *add_placeholders(const struct trainable *trainable, const bool *by_rows,
                                         struct builder *builder)
{
    struct arena *arena = builder->graph->arena;
    struct endpoint *values = ARENA_ARRAY(arena, struct endpoint, trainable->variables_count + 1);

    for (int v = 0; v < trainable->variables_count; v++) {
        const struct trainable_variable *variable = &trainable->variables[v];
        struct shape shape = variable->shape;
        if (by_rows[v])
            shape.dims[0] = -1;
        values[v] = build_placeholder(builder, arena_printf(arena, "values/%s", variable->name),
                                      variable->dtype, shape);
    }
    return values;
}

static void find_handles(struct variable_reads *reads)
{
    const struct trainable *trainable = reads->trainable;

    for (int i = 0; i < reads->count; i++) {
        const struct node *node = reads->builder.graph->nodes[i];
        const struct trainable_variable *found =
            node_is_handle(node) ? map_get(&trainable->by_name, handle_name(node)) : NULL;
        if (found != NULL)
            variable_reads_add(reads, node, (int)(found - trainable->variables));
    }
}

static void prune(struct trainable_graph *graph, const struct trainable *trainable)
{
    int inputs = trainable->signature->inputs_count, variables = trainable->variables_count;
    struct arena *scratch = arena_create(0);
    struct node **kept =
        ARENA_ARRAY(scratch, struct node *,
                    inputs + variables + 2 * graph->lookups_count + trainable->outputs_count);
    int count = 0;

    for (int i = 0; i < inputs; i++)
        kept[count++] = graph->inputs[i].node;
    for (int v = 0; v < variables; v++)
        kept[count++] = graph->values[v].node;
    for (int i = 0; i < graph->lookups_count; i++) {
        kept[count++] = graph->lookups[i].ids.node;
        kept[count++] = graph->lookups[i].positions.node;
    }
    for (int i = 0; i < trainable->outputs_count; i++)
        kept[count++] = graph->outputs[i].node;
    graph_prune(graph->graph, kept, count, scratch);
    arena_destroy(scratch);
}

static void set_shape(struct graph *graph, struct node *placeholder, const struct shape *shape)
{
    struct attr attr = { "shape", { .kind = ATTR_SHAPE, .shape = shape } };

    attr.value = attr_value_share(graph->arena, &attr.value);
    placeholder->outputs[0].shape = *shape;
    node_set_attr(graph, placeholder, &attr);
}

/* Sets the number of rows of the inputs. */
static void set_batch(struct trainable_graph *graph, const struct trainable *trainable,
                      int64_t batch)
{
    const int64_t sizes[] = {
        [ROWS_FIRST] = batch > 0 ? batch : -1,
        [ROWS_OF_VALUES] = -1,
        [ROWS_OF_SPLITS] = batch > 0 ? batch + 1 : -1,
    };

    for (int i = 0; i < trainable->signature->inputs_count; i++) {
        struct node *node = graph->inputs[i].node;
        struct shape shape = node->outputs[0].shape;
        if (shape.rank < 1 || trainable->input_rows[i] == ROWS_NONE)
            continue;
        shape.dims[0] = sizes[trainable->input_rows[i]];
        set_shape(graph->graph, node, &shape);
    }
}

/* Infers all shapes. The positions of rows have the shapes of the ids. */
static struct status infer(const struct trainable_graph *graph)
{
    TRY(graph_infer(graph->graph));
    for (int i = 0; i < graph->lookups_count; i++)
        set_shape(graph->graph, graph->lookups[i].positions.node,
                  endpoint_shape(graph->lookups[i].ids));
    return graph->lookups_count > 0 ? graph_infer(graph->graph) : status_ok();
}

/* Shapes that inference does not find are those of the signature. */
static void complete_output(const struct signature_tensor *declared, int64_t batch,
                            struct endpoint output)
{
    struct shape *shape = &output.node->outputs[output.index].shape;

    if (shape->rank == SHAPE_UNKNOWN_RANK && declared->has_shape)
        *shape = declared->shape;
    for (int i = 0; i < shape->rank && declared->has_shape && declared->shape.rank == shape->rank;
         i++)
        if (shape->dims[i] < 0)
            shape->dims[i] = declared->shape.dims[i];
    if (batch > 0 && shape->rank > 0 && shape->dims[0] < 0)
        shape->dims[0] = batch;
}

#define LISTED_MAX 20 /* limit of the nodes that an error names */

/* The error for ops that Slipway does not know names all of them. */
static struct status check_ops(const struct graph *graph)
{
    struct buffer text = { 0 };
    int found = 0;

    for (int i = 0; i < graph->count; i++)
        if (graph->nodes[i]->op == NULL && found++ < LISTED_MAX)
            buffer_printf(&text, "%snode '%s': the op '%s' is not implemented",
                          found > 1 ? "; " : "", graph->nodes[i]->name, graph->nodes[i]->op_name);
    if (found > LISTED_MAX)
        buffer_printf(&text, "; and %d more", found - LISTED_MAX);
    struct status status =
        found > 0 ? status_error(STATUS_UNIMPLEMENTED, "%.*s", (int)text.size, text.data)
                  : status_ok();
    buffer_finish(&text);
    return status;
}

/* Replaces reads of variables in the flattened graph, and infers shapes again. */
static struct status feed_variables(const struct trainable *trainable, int64_t batch,
                                    struct trainable_graph *out)
{
    struct variable_reads reads = { .trainable = trainable, .builder = builder_init(out->graph) };

    variable_reads_begin(&reads, out->graph->count);
    find_handles(&reads);
    out->by_rows = variable_rows_choose(&reads, out->outputs);
    reads.values = out->values = add_placeholders(trainable, out->by_rows, &reads.builder);
    variable_rows_replace(&reads, out);
    TRY(variable_reads_replace(&reads));
    for (int i = 0; i < trainable->outputs_count; i++)
        out->outputs[i] = variable_reads_image(&reads, out->outputs[i]);
    for (int i = 0; i < out->lookups_count; i++)
        out->lookups[i].ids = variable_reads_image(&reads, out->lookups[i].ids);
    prune(out, trainable);
    set_batch(out, trainable, batch);
    TRY(variable_reads_check(&reads));
    TRY(check_ops(out->graph));
    return infer(out);
}

/* The graph of the signature. Branches and loops of TensorFlow 1 become If and While, which have
 * gradients. */
static struct status flatten_signature(const struct trainable *trainable, struct arena *arena,
                                       struct flatten_result *out)
{
    struct flatten_request request;

    TRY(trainable_request(trainable, arena, &request));
    TRY(graph_flatten(trainable->meta.graph, &request, arena, out));
    function_own_library(out->graph);
    struct status status = graph_lower(&request, out);
    if (!status_is_ok(status))
        graph_finish(out->graph);
    return status;
}

struct status trainable_build(const struct trainable *trainable, int64_t batch, struct arena *arena,
                              struct trainable_graph *out)
{
    struct flatten_result flat;
    int index;

    TRY(flatten_signature(trainable, arena, &flat));
    *out = (struct trainable_graph){ .graph = flat.graph, .inputs = flat.feeds };
    out->outputs = ARENA_ARRAY(arena, struct endpoint, trainable->outputs_count);
    for (int i = 0; i < trainable->outputs_count; i++) {
        const struct node *last = skip_identity(flat.fetches[i], &index);
        out->outputs[i] = (struct endpoint){ (struct node *)last, index };
    }
    struct status status = feed_variables(trainable, batch, out);
    if (!status_is_ok(status)) {
        graph_finish(out->graph);
        *out = (struct trainable_graph){ 0 };
        return status;
    }
    for (int i = 0; i < trainable->outputs_count; i++)
        complete_output(trainable->outputs[i], batch, out->outputs[i]);
    return status_ok();
}
