#include "layers/serving/inputs.h"

#include <ctype.h>

#include "layers/build_state.h"
#include "layers/lists.h"
#include "layers/serving/columns.h"

#define ONLY_INPUT "x"

/* texts [count], as a tensor of rank 1. */
static struct endpoint string_const(struct layer_context *context, const char *name, int count,
                                    const char *const *texts)
{
    struct bytes *elements = ARENA_ARRAY(context->arena, struct bytes, count > 0 ? count : 1);
    const struct shape shape = shape_of(count);

    for (int i = 0; i < count; i++)
        elements[i] = bytes_of(texts[i]);
    struct tensor value = tensor_borrow(DT_STRING, &shape, elements);
    return build_const(&context->builder, name, &value);
}

const char *node_name_of(const char *text, struct arena *arena)
{
    char *name = arena_strdup(arena, text);

    for (char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("_.", *at) == NULL)
            *at = '_';
    return isalnum((unsigned char)*name) ? name : arena_printf(arena, "column%s", name);
}

/* ---- what a request carries ---- */

/* The model's inputs, or the raw columns from which they are computed. */
struct sources {
    const struct layers_port *ports;
    const struct raw_column *const *columns; /* [count]; NULL: the sources are the model's inputs */
    int count;
    bool is_only; /* the model's only input, which is called "x" */
};

static bool is_listed(const struct sources *sources, const char *name)
{
    for (int i = 0; i < sources->count; i++)
        if (strcmp(sources->ports[i].name, name) == 0)
            return true;
    return false;
}

/* Lists each column once, even if several inputs use it. */
static struct sources list_columns(const struct layers_model *model,
                                   const struct layers_columns *columns, struct arena *arena)
{
    int count = 0;

    for (int i = 0; i < model->inputs_count; i++)
        count += columns[i].count;
    struct layers_port *ports = ARENA_ARRAY(arena, struct layers_port, count + 1);
    const struct raw_column **list = ARENA_ARRAY(arena, const struct raw_column *, count + 1);
    struct sources sources = { .ports = ports, .columns = list };
    for (int i = 0; i < model->inputs_count; i++)
        for (int k = 0; k < columns[i].count; k++) {
            const struct tensor_spec *spec = &columns[i].list[k].spec;
            if (is_listed(&sources, spec->name))
                continue;
            ports[sources.count] = (struct layers_port){ .name = spec->name,
                                                         .dtype = spec->dtype,
                                                         .layout = spec->layout,
                                                         .shape = spec->shape };
            list[sources.count++] = &columns[i].list[k];
        }
    return sources;
}

const char *input_part_key(const struct input_part *part, const char *only, struct arena *arena)
{
    const char *name = part->name != NULL ? part->name : only;

    return part->number == 0 ? name : arena_printf(arena, "%s_%d", name, part->number);
}

static struct sources list_sources(const struct layers_model *model,
                                   const struct layers_serving_options *options,
                                   struct arena *arena)
{
    if (options != NULL && options->columns != NULL)
        return list_columns(model, options->columns, arena);
    return (struct sources){ .ports = model->inputs,
                             .count = model->inputs_count,
                             .is_only = model->inputs_count == 1 };
}

int layers_request_inputs(const struct layers_model *model,
                          const struct layers_serving_options *options, struct arena *arena,
                          const struct layers_port **out)
{
    const struct sources sources = list_sources(model, options, arena);

    *out = sources.ports;
    return sources.count;
}

/* The suffixes of the names of a tensor's parts, per layout, in a request and in an Example. */
static const char *const part_suffixes[][4] = {
    [TENSOR_DENSE] = { NULL },
    [TENSOR_SPARSE] = { "1", "2", "ids", "values" },
    [TENSOR_RAGGED] = { "1" },
};

struct status layers_check_requests(const struct layers_model *model,
                                    const struct layers_serving_options *options,
                                    struct arena *arena)
{
    const struct sources sources = list_sources(model, options, arena);

    for (int i = 0; i < sources.count; i++) {
        const struct layers_port *port = &sources.ports[i];
        const char *const *suffixes = part_suffixes[port->layout];
        for (size_t k = 0; k < COUNT(part_suffixes[0]) && suffixes[k] != NULL; k++)
            if (is_listed(&sources, arena_printf(arena, "%s_%s", port->name, suffixes[k])))
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "'%s_%s' is an input of its own, but requests carry a part of "
                                    "the %s '%s' by that name: rename one",
                                    port->name, suffixes[k],
                                    port->layout == TENSOR_SPARSE ? "sparse" : "ragged",
                                    port->name);
    }
    return status_ok();
}

/* ---- parsing Examples ---- */

/* The features of all sources, by kind. Each source has an index in the list of its kind. */
struct features {
    const char **dense, **ragged, **sparse; /* keys; sparse: ids and values of each source */
    int dense_count, ragged_count, sparse_count;
    int *place; /* [sources->count] */
};

/* The key of a feature: `part` for the only input, otherwise NAME_part. */
static const char *feature_key(struct layer_context *context, const struct sources *sources,
                               int source, const char *part)
{
    const char *name = sources->ports[source].name;

    if (sources->is_only)
        return part != NULL ? part : ONLY_INPUT;
    return part != NULL ? arena_printf(context->arena, "%s_%s", name, part) : name;
}

static struct features list_features(struct layer_context *context, const struct sources *sources)
{
    int count = sources->count;
    struct features f = { .dense = ARENA_ARRAY(context->arena, const char *, count),
                          .ragged = ARENA_ARRAY(context->arena, const char *, count),
                          .sparse = ARENA_ARRAY(context->arena, const char *, 2 * count),
                          .place = ARENA_ARRAY(context->arena, int, count) };

    for (int i = 0; i < count; i++)
        if (sources->ports[i].layout == TENSOR_SPARSE) {
            f.place[i] = f.sparse_count;
            f.sparse[f.sparse_count++] = feature_key(context, sources, i, "ids");
            f.sparse[f.sparse_count++] = feature_key(context, sources, i, "values");
        } else if (sources->ports[i].layout == TENSOR_RAGGED) {
            f.place[i] = f.ragged_count;
            f.ragged[f.ragged_count++] = feature_key(context, sources, i, NULL);
        } else {
            f.place[i] = f.dense_count;
            f.dense[f.dense_count++] = feature_key(context, sources, i, NULL);
        }
    return f;
}

/* The dtype of an input's feature in a tf.Example, which has floats, int64s and strings. */
static enum dtype feature_dtype(const struct layers_port *port)
{
    return port->dtype == DT_FLOAT || port->dtype == DT_STRING ? port->dtype : DT_INT64;
}

/* The shape of a row of the input, without the batch. */
static struct shape row_shape(const struct layers_port *port)
{
    struct shape row = port->shape;

    row.rank--;
    memmove(row.dims, row.dims + 1, (size_t)row.rank * sizeof row.dims[0]);
    return row;
}

/* No default; of rows of any length, the zero or empty text to which they are padded. */
static struct endpoint no_default(struct layer_context *context, const char *name,
                                  const struct layers_port *port)
{
    static const struct bytes zeros; /* also of numbers */
    bool padded = port->shape.rank > 1 && port->shape.dims[1] < 0;
    const struct shape shape = padded ? shape_scalar() : shape_of(0);
    struct tensor value = tensor_borrow(feature_dtype(port), &shape, padded ? &zeros : NULL);

    return build_const(&context->builder, name, &value);
}

/* The default of a column's feature, once per value of a row. A missing text is empty, and a
 * missing integer that is to be hashed is RAW_INTEGER_MISSING. A null node: no default. */
static struct endpoint column_default(struct layer_context *context, const char *name,
                                      const struct raw_column *column)
{
    int64_t width = column->spec.shape.dims[1];
    enum dtype dtype = column->spec.dtype;
    const struct shape shape = shape_of(width);

    bool lacks = raw_column_may_lack_integer(column);

    if (!column->has_default && dtype != DT_STRING && !lacks)
        return (struct endpoint){ 0 };
    void *values = arena_array(context->arena, dtype_size(dtype), (size_t)width);
    for (int64_t i = 0; i < width; i++)
        if (dtype == DT_STRING)
            ((struct bytes *)values)[i] = bytes_of("");
        else if (dtype == DT_INT64)
            ((int64_t *)values)[i] = lacks ? RAW_INTEGER_MISSING : (int64_t)column->default_value;
        else
            ((float *)values)[i] = (float)column->default_value;
    struct tensor tensor = tensor_borrow(dtype, &shape, values);
    return build_const(&context->builder, name, &tensor);
}

static struct endpoint feature_default(struct layer_context *context, const struct sources *sources,
                                       int source, const char *key)
{
    struct endpoint value = { 0 };
    const char *name = sources->columns != NULL ? node_name_of(key, context->arena) : key;

    if (sources->columns != NULL)
        value = column_default(context, name, sources->columns[source]);
    return value.node != NULL ? value : no_default(context, name, &sources->ports[source]);
}

/* Can features of Examples be the sources? Only their first dimension may be open. */
static bool fit_examples(const struct sources *sources)
{
    for (int i = 0; i < sources->count; i++) {
        const struct layers_port *port = &sources->ports[i];
        for (int d = 2; port->layout == TENSOR_DENSE && d < port->shape.rank; d++)
            if (port->shape.dims[d] < 0)
                return false;
    }
    return true;
}

/* The attributes of ParseExampleV2 for each feature. */
struct feature_types {
    enum dtype *dense, *sparse, *ragged, *splits;
    struct shape *rows; /* of the dense ones */
};

static struct feature_types list_types(struct layer_context *context, const struct sources *sources,
                                       const struct features *f)
{
    struct arena *arena = context->arena;
    struct feature_types types = { .dense = ARENA_ARRAY(arena, enum dtype, f->dense_count + 1),
                                   .sparse = ARENA_ARRAY(arena, enum dtype, f->sparse_count + 1),
                                   .ragged = ARENA_ARRAY(arena, enum dtype, f->ragged_count + 1),
                                   .splits = ARENA_ARRAY(arena, enum dtype, f->ragged_count + 1),
                                   .rows = ARENA_ARRAY(arena, struct shape, f->dense_count + 1) };

    for (int i = 0; i < sources->count; i++) {
        const struct layers_port *port = &sources->ports[i];
        int place = f->place[i];
        if (port->layout == TENSOR_SPARSE) {
            types.sparse[place] = DT_INT64;
            types.sparse[place + 1] = DT_FLOAT;
        } else if (port->layout == TENSOR_RAGGED) {
            types.ragged[place] = feature_dtype(port);
            types.splits[place] = DT_INT64;
        } else {
            types.dense[place] = feature_dtype(port);
            types.rows[place] = row_shape(port);
        }
    }
    return types;
}

/* ParseExampleV2 returns features in the order of its keys, so ours need no sorting. */
static struct node *parse(struct layer_context *context, const struct sources *sources,
                          const struct features *f, struct endpoint examples)
{
    struct builder *b = &context->builder;
    struct feature_types types = list_types(context, sources, f);
    struct endpoint *inputs = ARENA_ARRAY(context->arena, struct endpoint, 5 + f->dense_count);

    inputs[0] = examples;
    inputs[1] = string_const(context, "names", 0, NULL);
    inputs[2] = string_const(context, "sparse_keys", f->sparse_count, f->sparse);
    inputs[3] = string_const(context, "dense_keys", f->dense_count, f->dense);
    inputs[4] = string_const(context, "ragged_keys", f->ragged_count, f->ragged);
    for (int i = 0; i < sources->count; i++)
        if (sources->ports[i].layout == TENSOR_DENSE)
            inputs[5 + f->place[i]] = feature_default(context, sources, i, f->dense[f->place[i]]);
    const struct attr attrs[] = {
        attr_int("num_sparse", f->sparse_count),
        attr_types(b, "Tdense", f->dense_count, types.dense),
        attr_types(b, "sparse_types", f->sparse_count, types.sparse),
        attr_types(b, "ragged_value_types", f->ragged_count, types.ragged),
        attr_types(b, "ragged_split_types", f->ragged_count, types.splits),
        attr_shapes(b, "dense_shapes", f->dense_count, types.rows),
        ATTR_END,
    };
    return build_node(b, "ParseExampleV2", "ParseExampleV2", 5 + f->dense_count, inputs, 0, NULL,
                      attrs);
}

/* ---- the parts of an input ---- */

#define PARTS_MAX 3

struct parts {
    struct endpoint list[PARTS_MAX];
    int count;
};

/* The parts of a SparseTensor from two features. Its indices are the row of each id and the id;
 * its shape has a row for each Example. */
static struct parts sparse_parts(struct layer_context *context, const struct layers_port *port,
                                 const struct features *f, struct node *parsed, int place)
{
    struct builder *b = &context->builder;
    const struct shape one = shape_of(1);
    const struct tensor columns = tensor_borrow(DT_INT64, &one, &port->shape.dims[1]);
    struct endpoint ids = { parsed, f->sparse_count + place },
                    shape = { parsed, 2 * f->sparse_count + place };
    const struct layer_lists rows =
        lists_of_pairs(b, (struct endpoint){ parsed, place }, shape, port->shape.dims[1]);
    const struct endpoint sizes[] = { build_expand_dims(b, rows.batch, 0),
                                      build_const(b, NULL, &columns), build_const_int(b, 0) };

    return (struct parts){ { lists_pairs(b, &rows, ids),
                             { parsed, f->sparse_count + place + 1 },
                             build(b, "ConcatV2", NULL, 3, sizes, NULL) },
                           3 };
}

static struct parts parsed_parts(struct layer_context *context, const struct layers_port *port,
                                 const struct features *f, struct node *parsed, int place)
{
    int dense = 3 * f->sparse_count, ragged = dense + f->dense_count;

    if (port->layout == TENSOR_SPARSE)
        return sparse_parts(context, port, f, parsed, place);
    if (port->layout == TENSOR_RAGGED)
        return (struct parts){
            { { parsed, ragged + place }, { parsed, ragged + f->ragged_count + place } }, 2
        };
    struct endpoint x = { parsed, dense + place };
    if (feature_dtype(port) != port->dtype)
        x = narrow_integers(context, port->name, port->dtype, x);
    return (struct parts){ { x }, 1 };
}

/* The parts as a request gives them, without Examples. */
static struct parts given_parts(struct layer_context *context, const struct layers_port *port,
                                const char *const *names)
{
    struct builder *b = &context->builder;

    if (port->layout == TENSOR_SPARSE)
        return (struct parts){ { build_placeholder(b, names[0], DT_INT64, shape_of(-1, 2)),
                                 build_placeholder(b, names[1], port->dtype, shape_of(-1)),
                                 build_placeholder(b, names[2], DT_INT64, shape_of(2)) },
                               3 };
    if (port->layout == TENSOR_RAGGED)
        return (struct parts){ { build_placeholder(b, names[0], port->dtype, shape_of(-1)),
                                 build_placeholder(b, names[1], DT_INT64, shape_of(-1)) },
                               2 };
    struct shape shape = port->shape;
    shape.dims[0] = -1;
    return (struct parts){ { build_placeholder(b, names[0], port->dtype, shape) }, 1 };
}

static const struct layer_lists *lists_of_parts(struct layer_context *context,
                                                const struct layers_port *port,
                                                const struct parts *parts)
{
    struct layer_lists *lists = ARENA_NEW(context->arena, struct layer_lists);
    struct endpoint none = { 0 };

    if (port->layout == TENSOR_DENSE)
        return NULL;
    *lists =
        port->layout == TENSOR_SPARSE
            ? lists_of_pairs(&context->builder, parts->list[0], parts->list[2], port->shape.dims[1])
            : lists_of_splits(&context->builder, parts->list[0], none, parts->list[1], 0, 0);
    return lists;
}

#define SCALED_NAME   "normalised" /* in the scope of the input */
#define COLUMNS_SCOPE "columns/"   /* scope of a request's raw columns */

/* (x - mean) / stddev of a dense input, bit by bit as in training. An input of open size has one
 * mean for all values. */
static struct endpoint scaled(struct layer_context *context, const struct layers_port *port,
                              const struct layers_scale *scale, struct endpoint x)
{
    struct builder *b = &context->builder;
    bool is_open = tensor_spec_row_size(&(struct tensor_spec){ .shape = port->shape }) == 0;
    const struct shape row = is_open ? shape_scalar() : row_shape(port);
    const struct tensor mean = tensor_borrow(DT_DOUBLE, &row, scale->mean);
    const struct tensor stddev = tensor_borrow(DT_DOUBLE, &row, scale->stddev);

    b->scope = arena_printf(context->arena, "%s/", port->name);
    x = build_cast(b, "raw", x, DT_DOUBLE);
    x = build_binary(b, "Sub", "sub_mean", x, build_const(b, "mean", &mean));
    x = build_binary(b, "RealDiv", "by_stddev", x, build_const(b, "stddev", &stddev));
    x = build_cast(b, SCALED_NAME, x, DT_FLOAT);
    b->scope = "";
    return x;
}

/* Does the node have this op? Then moves to its first input. */
static bool pass_op(const struct node **node, const char *op)
{
    if (strcmp((*node)->op_name, op) != 0 || (*node)->inputs_count == 0)
        return false;
    *node = (*node)->inputs[0].node;
    return true;
}

static bool is_scaled(const struct graph *graph, const struct node *input)
{
    struct buffer name = { 0 };

    buffer_printf(&name, "%s/" SCALED_NAME, input->name);
    buffer_append_char(&name, '\0');
    const struct node *node = graph_find(graph, name.data);
    buffer_finish(&name);
    return node != NULL && pass_op(&node, "Cast") && pass_op(&node, "RealDiv") &&
           pass_op(&node, "Sub") && pass_op(&node, "Cast") && node == input;
}

enum raw_values layers_input_raw(const struct graph *graph, const char *tensor)
{
    struct endpoint input;

    if (!status_is_ok(graph_endpoint(graph, tensor, &input)))
        return RAW_NOTHING;
    if (strncmp(input.node->name, COLUMNS_SCOPE, strlen(COLUMNS_SCOPE)) == 0)
        return RAW_COLUMN;
    return is_scaled(graph, input.node) ? RAW_SCALE : RAW_NOTHING;
}

/* Records the parts of a source for the signatures. */
static void note_parts(const struct sources *sources, int source, const struct parts *parts,
                       struct serving_inputs *out)
{
    for (int i = 0; i < parts->count; i++)
        out->list[out->count++] = (struct input_part){
            .name = sources->is_only ? NULL : sources->ports[source].name,
            .number = i,
            .value = parts->list[i],
        };
}

/* Uses the parts as an input of the model. */
static void take_parts(struct layer_context *context, const struct layers_port *port, int input,
                       const struct layers_scale *scale, const struct parts *parts)
{
    context->build->out->inputs[input] = parts->list[port->layout == TENSOR_SPARSE ? 1 : 0];
    if (scale != NULL && scale->mean != NULL && port->layout == TENSOR_DENSE)
        context->build->out->inputs[input] = scaled(context, port, scale, parts->list[0]);
    context->build->lists[input] = lists_of_parts(context, port, parts);
}

/* Uses the columns of an input, which are among the sources. */
static void take_columns(struct layer_context *context, const struct layers_model *model, int input,
                         const struct layers_columns *columns, const struct sources *sources,
                         const struct parts *all)
{
    struct column_parts *list = ARENA_ARRAY(context->arena, struct column_parts, columns->count);

    for (int i = 0; i < columns->count; i++) {
        int source = 0;
        while (strcmp(sources->ports[source].name, columns->list[i].spec.name) != 0)
            source++;
        list[i] =
            (struct column_parts){ &columns->list[i], all[source].list[0], all[source].list[1] };
    }
    build_input_of_columns(context, model, input, list, columns->count);
}

/* The parts of a source, from Examples or from a request. */
static struct parts source_parts(struct layer_context *context, const struct sources *sources,
                                 int source, const struct features *f, struct node *parsed)
{
    const struct layers_port *port = &sources->ports[source];
    const char *key = feature_key(context, sources, source, NULL);
    const char *name = sources->columns == NULL ? key
                                                : arena_printf(context->arena, COLUMNS_SCOPE "%s",
                                                               node_name_of(key, context->arena));
    const char *const names[] = { name, arena_printf(context->arena, "%s_1", name),
                                  arena_printf(context->arena, "%s_2", name) };

    if (parsed == NULL)
        return given_parts(context, port, names);
    struct parts parts = parsed_parts(context, port, f, parsed, f->place[source]);
    for (int p = 0; p < parts.count; p++)
        parts.list[p] = build_unary(&context->builder, "Identity", names[p], parts.list[p]);
    return parts;
}

void build_serving_inputs(struct layer_context *context, const struct layers_model *model,
                          const struct layers_serving_options *options, bool examples,
                          struct serving_inputs *out)
{
    struct builder *b = &context->builder;
    const struct layers_columns *columns = options != NULL ? options->columns : NULL;
    const struct layers_scale *scales = options != NULL ? options->scales : NULL;
    const struct sources sources = list_sources(model, options, context->arena);
    struct features f = list_features(context, &sources);
    struct parts *all = ARENA_ARRAY(context->arena, struct parts, sources.count);
    struct node *parsed = NULL;

    *out = (struct serving_inputs){ .list = ARENA_ARRAY(context->arena, struct input_part,
                                                        PARTS_MAX * sources.count) };
    if (examples && fit_examples(&sources)) {
        out->examples = build_placeholder(b, "tf_example", DT_STRING, shape_of(-1));
        b->scope = "ParseExample/";
        parsed = parse(context, &sources, &f, out->examples);
        b->scope = "";
    }
    for (int i = 0; i < sources.count && status_is_ok(b->status); i++) {
        all[i] = source_parts(context, &sources, i, &f, parsed);
        note_parts(&sources, i, &all[i], out);
    }
    for (int i = 0; i < model->inputs_count && status_is_ok(b->status); i++)
        if (columns != NULL)
            take_columns(context, model, i, &columns[i], &sources, all);
        else
            take_parts(context, &model->inputs[i], i, scales != NULL ? &scales[i] : NULL, &all[i]);
}
