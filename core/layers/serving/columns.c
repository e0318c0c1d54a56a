#include "layers/serving/columns.h"

#include <math.h>
#include <stdlib.h>

#include "layers/build_state.h"
#include "layers/classes/preprocessing.h"
#include "layers/serving/inputs.h"
#include "layers/sizes.h"

/* ---- one column ---- */

/* (x - mean) / stddev, of x or its logarithm, in doubles and bit by bit as in training. */
static struct endpoint scaled_numbers(struct layer_context *context,
                                      const struct raw_column *column, struct endpoint x)
{
    struct builder *b = &context->builder;

    if (column->mean == 0 && column->stddev == 1 && !column->log)
        return cast_to(context, x, DT_FLOAT);
    x = cast_to(context, x, DT_DOUBLE);
    if (column->log)
        x = build_unary(b, "Log1p", NULL,
                        build_binary(b, "Maximum", NULL, x, build_const_double(b, 0)));
    x = build_binary(b, "Sub", NULL, x, build_const_double(b, column->mean));
    return cast_to(context,
                   build_binary(b, "RealDiv", NULL, x, build_const_double(b, column->stddev)),
                   DT_FLOAT);
}

/* The texts to hash: a text itself, or an integer in decimal. A missing integer of a dense
 * column becomes the empty text, as a missing text does. */
static struct endpoint as_texts(struct layer_context *context, const struct raw_column *column,
                                struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct bytes empty = { "", 0 };
    const struct shape scalar = shape_scalar();
    const struct tensor none = tensor_borrow(DT_STRING, &scalar, &empty);

    if (!status_is_ok(b->status) || endpoint_dtype(x) == DT_STRING)
        return x;
    struct endpoint texts = build_unary(b, "AsString", NULL, x);
    if (!raw_column_may_lack_integer(column))
        return texts;
    struct endpoint is_missing =
        build_binary(b, "Equal", NULL, x, build_const_int64(b, RAW_INTEGER_MISSING));
    return build_select(b, is_missing, build_const(b, NULL, &none), texts);
}

/* The category of each value, int64. */
static struct endpoint category_ids(struct layer_context *context, const struct raw_column *column,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct attr ranges[] = {
        attr_floats(b, "boundaries", column->boundaries_count, column->boundaries), ATTR_END
    };

    if (column->boundaries != NULL)
        return cast_to(context, build(b, "Bucketize", NULL, 1, &x, ranges), DT_INT64);
    return hash_texts(context, as_texts(context, column, x), column->hash_buckets, NULL);
}

/* The same, with a number above the last category for the empty text, which has no category. */
static struct endpoint counted_ids(struct layer_context *context, const struct raw_column *column,
                                   struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct bytes empty = { "", 0 };
    const struct shape scalar = shape_scalar();
    const struct tensor none = tensor_borrow(DT_STRING, &scalar, &empty);
    if (raw_column_may_lack_integer(column))
        x = as_texts(context, column, x);
    struct endpoint ids = category_ids(context, column, x);

    if (!status_is_ok(b->status) || endpoint_dtype(x) != DT_STRING)
        return ids;
    struct endpoint is_missing = build_binary(b, "Equal", NULL, x, build_const(b, NULL, &none));
    struct endpoint no_category = build_const_int64(b, raw_column_categories(column));
    return build_select(b, is_missing, no_category, ids);
}

/* The number of times that each category occurs in each row: float [batch, categories]. */
static struct endpoint category_counts(struct layer_context *context,
                                       const struct column_parts *parts)
{
    struct builder *b = &context->builder;
    const struct shape none = shape_of(0);
    const struct tensor empty = tensor_borrow(DT_FLOAT, &none, NULL);
    struct endpoint ids = counted_ids(context, parts->column, parts->values);
    struct endpoint size = build_const_int64(b, raw_column_categories(parts->column)),
                    weights = build_const(b, NULL, &empty);
    const struct endpoint dense[] = { ids, size, weights };
    const struct endpoint ragged[] = { parts->row_splits, ids, size, weights };

    return parts->column->spec.layout == TENSOR_RAGGED
               ? build(b, "RaggedBincount", NULL, 4, ragged, NULL)
               : build(b, "DenseBincount", NULL, 3, dense, NULL);
}

/* ---- integers ---- */

struct endpoint narrow_integers(struct layer_context *context, const char *name, enum dtype dtype,
                                struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct bytes text = bytes_of(arena_printf(
        context->arena, "'%s' has an integer that is beyond the %s of the model:", name,
        dtype_name(dtype)));
    const struct shape scalar = shape_scalar();
    const struct tensor message = tensor_borrow(DT_STRING, &scalar, &text);
    static const int32_t axes[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    struct endpoint narrow = cast_to(context, x, dtype);

    if (!status_is_ok(b->status) || endpoint_dtype(x) != DT_INT64 || dtype == DT_INT64)
        return narrow;
    struct endpoint same = build_binary(b, "Equal", NULL, x, cast_to(context, narrow, DT_INT64));
    const struct endpoint checked[] = { build_binary(b, "All", NULL, same,
                                                     build_const_ints(
                                                         b, NULL, endpoint_shape(x)->rank, axes)),
                                        build_const(b, NULL, &message), x };
    struct node *check = build_node(b, "Assert", NULL, 3, checked, 0, NULL, NULL);
    return (struct endpoint){ build_node(b, "Identity", NULL, 1, &narrow, 1, &check, NULL), 0 };
}

/* ---- classes ---- */

/* The index of each text in the list; -1: not in the list. */
static struct endpoint text_places(struct layer_context *context, const struct raw_column *column,
                                   struct endpoint x)
{
    struct builder *b = &context->builder;
    int64_t *places = ARENA_ARRAY(context->arena, int64_t, column->classes_count);
    const struct shape shape = shape_of(column->classes_count);
    const struct attr attrs[] = {
        attr_type("key_dtype", DT_STRING), attr_type("value_dtype", DT_INT64),
        attr_text("shared_name", arena_printf(context->arena, "%sclasses_%d", b->scope,
                                              context->build->out->tables_count)),
        ATTR_END
    };

    for (int i = 0; i < column->classes_count; i++)
        places[i] = i;
    const struct tensor keys = tensor_borrow(DT_STRING, &shape, column->classes);
    const struct tensor values = tensor_borrow(DT_INT64, &shape, places);
    struct endpoint table = build(b, "HashTableV2", "classes", 0, NULL, attrs);
    const struct endpoint filling[] = { table, build_const(b, NULL, &keys),
                                        build_const(b, NULL, &values) };
    layers_add_table(context, build_node(b, "InitializeTableV2", NULL, 3, filling, 0, NULL, NULL));
    const struct endpoint find[] = { table, x, build_const_int64(b, -1) };
    return build(b, "LookupTableFindV2", NULL, 3, find, NULL);
}

/* The same for numbers [batch, n]. */
static struct endpoint number_places(struct layer_context *context, const struct raw_column *column,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    double *numbers = ARENA_ARRAY(context->arena, double, column->classes_count);
    const struct shape shape = shape_of(column->classes_count);

    for (int i = 0; i < column->classes_count; i++) {
        char *end,
            *text = arena_memdup(context->arena, column->classes[i].data, column->classes[i].size);
        numbers[i] = strtod(text, &end);
        if (end == text || *end != '\0')
            numbers[i] = NAN;
    }
    const struct tensor list = tensor_borrow(DT_DOUBLE, &shape, numbers);
    struct endpoint axis = build_const_int(b, -1);
    struct endpoint each = build_expand_dims(b, cast_to(context, x, DT_DOUBLE), -1);
    struct endpoint equal = build_binary(b, "Equal", NULL, each, build_const(b, NULL, &list));
    struct endpoint first =
        build_binary(b, "ArgMax", NULL, cast_to(context, equal, DT_FLOAT), axis);
    struct endpoint is_any = build_binary(b, "Any", NULL, equal, axis);
    return build_select(b, is_any, first, build_const_int64(b, -1));
}

/* A value that is not among the classes fails the request, as it makes a record bad in training. */
static struct endpoint class_places(struct layer_context *context, const struct raw_column *column,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct bytes text = bytes_of(arena_printf(
        context->arena, "column %s: a value is not among its classes:", column->spec.name));
    const struct shape scalar = shape_scalar();
    const struct tensor message = tensor_borrow(DT_STRING, &scalar, &text);
    const int32_t axes[] = { 0, 1 };
    struct endpoint places = column->spec.dtype == DT_STRING ? text_places(context, column, x)
                                                             : number_places(context, column, x);
    struct endpoint known = build_binary(b, "GreaterEqual", NULL, places, build_const_int64(b, 0));
    const struct endpoint checked[] = { build_binary(b, "All", NULL, known,
                                                     build_const_ints(b, NULL, 2, axes)),
                                        build_const(b, NULL, &message), x };
    struct node *check = build_node(b, "Assert", NULL, 3, checked, 0, NULL, NULL);
    return (struct endpoint){ build_node(b, "Identity", NULL, 1, &places, 1, &check, NULL), 0 };
}

/* ---- dense inputs ---- */

/* The part of an input of this dtype that comes from the column, [batch, …]. */
static struct endpoint dense_share(struct layer_context *context, const struct column_parts *parts,
                                   enum dtype dtype)
{
    const struct raw_column *column = parts->column;

    if (dtype == DT_STRING)
        return parts->values;
    if (raw_column_categories(column) > 0 && dtype == DT_FLOAT)
        return category_counts(context, parts);
    if (raw_column_categories(column) > 0)
        return cast_to(context, category_ids(context, column, parts->values), dtype);
    if (column->classes != NULL)
        return cast_to(context, class_places(context, column, parts->values), dtype);
    return dtype == DT_FLOAT ? scaled_numbers(context, column, parts->values)
                             : narrow_integers(context, column->spec.name, dtype, parts->values);
}

/* One dimension of a row may be open. */
static struct endpoint in_shape(struct layer_context *context, const struct layers_port *port,
                                struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape *shape = &port->shape;
    int64_t dims[SHAPE_RANK_MAX] = { SIZE_OF(0) };
    int open = 0;

    for (int d = 1; d < shape->rank; d++) {
        dims[d] = shape->dims[d] < 0 ? SIZE_REST : shape->dims[d];
        open += shape->dims[d] < 0;
    }
    if (open > 1 && status_is_ok(b->status))
        b->status = status_keep(
            context->arena,
            status_error(STATUS_UNIMPLEMENTED,
                         "the export: the input '%s' is %s %s, and the columns of a request do not "
                         "tell its open dimensions",
                         port->name, dtype_name(port->dtype), shape_text(shape)));
    return build_reshape(b, x, x, shape->rank, dims);
}

/* ---- sparse inputs ---- */

/* Values with their rows and columns, each [n]. */
struct entries {
    struct endpoint rows, columns, values;
};

static struct endpoint column_of_pairs(struct builder *b, struct endpoint pairs, int32_t which)
{
    const struct endpoint inputs[] = { pairs, build_const_int(b, which), build_const_int(b, 1) };

    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

/* The non-zero numbers. */
static struct entries entries_of_numbers(struct builder *b, struct endpoint x)
{
    struct endpoint zero = build_const_float(b, 0);
    struct endpoint pairs =
        build_unary(b, "Where", NULL, build_binary(b, "NotEqual", NULL, x, zero));

    return (struct entries){ column_of_pairs(b, pairs, 0), column_of_pairs(b, pairs, 1),
                             build_binary(b, "GatherNd", NULL, x, pairs) };
}

/* A 1 for each value that has a category. */
static struct entries entries_of_categories(struct layer_context *context,
                                            const struct column_parts *parts)
{
    struct builder *b = &context->builder;
    struct endpoint ids = counted_ids(context, parts->column, parts->values), none = { 0 };
    struct endpoint size = build_const_int64(b, raw_column_categories(parts->column));
    struct endpoint places =
        build_unary(b, "Where", NULL, build_binary(b, "Less", NULL, ids, size));
    struct endpoint columns = build_binary(b, "GatherNd", NULL, ids, places), rows;

    if (parts->column->spec.layout == TENSOR_RAGGED)
        rows = build_binary(b, "GatherNd", NULL,
                            lists_of_splits(b, parts->values, none, parts->row_splits, 0, 0).rows,
                            places);
    else
        rows = column_of_pairs(b, places, 0);
    return (struct entries){
        rows, columns, build_unary(b, "OnesLike", NULL, cast_to(context, columns, DT_FLOAT))
    };
}

/* int64 scalar: the number of rows. */
static struct endpoint batch_of(struct builder *b, const struct column_parts *parts)
{
    const struct attr int64s[] = { attr_type("out_type", DT_INT64), ATTR_END };
    struct endpoint none = { 0 }, zero = build_const_int(b, 0);

    if (parts->column->spec.layout == TENSOR_RAGGED)
        return lists_of_splits(b, parts->values, none, parts->row_splits, 0, 0).batch;
    const struct endpoint first[] = { build(b, "Shape", NULL, 1, &parts->values, int64s), zero,
                                      zero };
    return build(b, "GatherV2", NULL, 3, first, NULL);
}

/* Concatenates endpoints of rank 1. */
static struct endpoint joined(struct builder *b, struct endpoint *list, int count)
{
    if (count == 1)
        return list[0];
    list[count] = build_const_int(b, 0);
    return build(b, "ConcatV2", NULL, count + 1, list, NULL);
}

static void take_sparse(struct layer_context *context, const struct layers_port *port, int input,
                        const struct entries *all, struct endpoint batch)
{
    struct builder *b = &context->builder;
    const struct endpoint coordinates[] = { all->rows, all->columns };
    const struct endpoint sizes[] = { batch, build_const_int64(b, port->shape.dims[1]) };
    const struct attr side_by_side[] = { attr_int("axis", 1), ATTR_END };
    struct endpoint shape = build(b, "Pack", NULL, 2, sizes, NULL);
    const struct endpoint unordered[] = { build(b, "Pack", NULL, 2, coordinates, side_by_side),
                                          all->values, shape };
    struct node *ordered = build_node(b, "SparseReorder", NULL, 3, unordered, 0, NULL, NULL);
    struct layer_lists *lists = ARENA_NEW(context->arena, struct layer_lists);

    context->build->out->inputs[input] = (struct endpoint){ ordered, 1 };
    *lists = lists_of_pairs(b, (struct endpoint){ ordered, 0 }, shape, port->shape.dims[1]);
    context->build->lists[input] = lists;
}

static int64_t share_width(const struct raw_column *column)
{
    int64_t categories = raw_column_categories(column);

    return categories > 0 ? categories : column->spec.shape.dims[1];
}

/* ---- an input ---- */

static void build_dense(struct layer_context *context, const struct layers_port *port, int input,
                        const char *const *scopes, const struct column_parts *parts, int count)
{
    struct builder *b = &context->builder;
    struct endpoint *shares = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    /* Lists, which training pads as well; floats from hashed ones are counts. */
    bool padded = count == 1 && parts->column->spec.layout == TENSOR_RAGGED &&
                  (raw_column_categories(parts->column) == 0 || port->dtype != DT_FLOAT);

    for (int i = 0; i < count; i++) {
        b->scope = scopes[i];
        shares[i] = dense_share(context, &parts[i], port->dtype);
    }
    b->scope = scopes[count];
    if (padded)
        shares[0] = lists_padded(b, shares[0], parts->row_splits, -1);
    shares[count] = build_const_int(b, 1);
    context->build->out->inputs[input] =
        in_shape(context, port,
                 count == 1 ? shares[0] : build(b, "ConcatV2", NULL, count + 1, shares, NULL));
}

static void build_sparse(struct layer_context *context, const struct layers_port *port, int input,
                         const char *const *scopes, const struct column_parts *parts, int count)
{
    struct builder *b = &context->builder;
    struct endpoint *rows = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    struct endpoint *columns = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    int64_t first = 0;

    for (int i = 0; i < count && status_is_ok(b->status); i++) {
        bool categories = raw_column_categories(parts[i].column) > 0;
        b->scope = scopes[i];
        const struct entries share =
            categories ? entries_of_categories(context, &parts[i])
                       : entries_of_numbers(b, dense_share(context, &parts[i], DT_FLOAT));
        rows[i] = share.rows;
        columns[i] = build_binary(b, "AddV2", NULL, share.columns, build_const_int64(b, first));
        values[i] = share.values;
        first += share_width(parts[i].column);
    }
    b->scope = scopes[count];
    const struct entries all = { joined(b, rows, count), joined(b, columns, count),
                                 joined(b, values, count) };
    take_sparse(context, port, input, &all, batch_of(b, &parts[0]));
}

static void build_ragged(struct layer_context *context, int input, const char *const *scopes,
                         const struct column_parts *parts)
{
    struct builder *b = &context->builder;
    struct layer_lists *lists = ARENA_NEW(context->arena, struct layer_lists);
    struct endpoint values = parts->values, none = { 0 };

    b->scope = scopes[0];
    if (parts->column->hash_buckets > 0)
        values = category_ids(context, parts->column, values);
    context->build->out->inputs[input] = values;
    *lists = lists_of_splits(b, values, none, parts->row_splits, 0, 0);
    context->build->lists[input] = lists;
}

/* Replaces missing or empty texts by the default. */
static struct endpoint with_default(struct layer_context *context, const struct raw_column *column,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct bytes empty = { "", 0 };
    const struct shape scalar = shape_scalar();
    const struct tensor none = tensor_borrow(DT_STRING, &scalar, &empty);
    const struct tensor text = tensor_borrow(DT_STRING, &scalar, &column->default_text);

    if (column->default_text.data == NULL)
        return x;
    return build_select(b, build_binary(b, "Equal", NULL, x, build_const(b, NULL, &none)),
                        build_const(b, NULL, &text), x);
}

static struct column_parts *complete_texts(struct layer_context *context, const char *const *scopes,
                                           const struct column_parts *parts, int count)
{
    struct column_parts *out = ARENA_ARRAY(context->arena, struct column_parts, count + 1);

    for (int i = 0; i < count; i++) {
        context->builder.scope = scopes[i];
        out[i] = parts[i];
        out[i].values = with_default(context, parts[i].column, parts[i].values);
    }
    return out;
}

void build_input_of_columns(struct layer_context *context, const struct layers_model *model,
                            int input, const struct column_parts *parts, int count)
{
    const struct layers_port *port = &model->inputs[input];
    const char **scopes = ARENA_ARRAY(context->arena, const char *, count + 1);

    for (int i = 0; i < count; i++)
        scopes[i] = arena_printf(context->arena, "%s/%s/", port->name,
                                 node_name_of(parts[i].column->spec.name, context->arena));
    scopes[count] = arena_printf(context->arena, "%s/", port->name);
    context->build->lists[input] = NULL;
    parts = complete_texts(context, scopes, parts, count);
    if (port->layout == TENSOR_SPARSE)
        build_sparse(context, port, input, scopes, parts, count);
    else if (port->layout == TENSOR_RAGGED)
        build_ragged(context, input, scopes, parts);
    else
        build_dense(context, port, input, scopes, parts, count);
    context->builder.scope = "";
}
