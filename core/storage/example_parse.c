#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "storage/example.h"
#include "storage/example_spec.h"
#include "storage/example_wire.h"

/* The elements of one feature so far. */
struct column_progress {
    struct tensor dense;  /* dense of fixed shape: its output, filled in place */
    struct buffer values; /* otherwise: the elements of all examples */
    int64_t *counts;      /* otherwise: the number of elements of each example, [batch] */
    int64_t last_seen;    /* the last example that had it; -1: none */
};

struct parse {
    const struct example_spec *spec;
    const struct bytes *serialized, *names; /* names: NULL if not given */
    const struct tensor *const *defaults;
    struct tensor_pool *pool;
    int64_t batch;                    /* examples */
    bool single;                      /* of rank 0 */
    struct column_progress *progress; /* [columns] */
    struct tensor counts;             /* the memory of progress->counts, [columns, batch] */
    struct buffer entries;            /* of the current example */
};

static const char *list_name(enum dtype dtype)
{
    return dtype == DT_STRING ? "bytes" : dtype_name(dtype);
}

/* "Name: n, Key: k, Index: i.  " or, of a single example, "Key: k.  " before the text. */
static struct status feature_error(const struct parse *parse, const struct example_column *column,
                                   int64_t index, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    struct bytes key = column->feature.key;
    if (parse->single)
        return status_error(STATUS_INVALID_ARGUMENT, "Key: %.*s.  %s", (int)key.size, key.data,
                            status.message);
    struct bytes name = parse->names ? parse->names[index] : bytes_of("<unknown>");
    return status_error(STATUS_INVALID_ARGUMENT, "Name: %.*s, Key: %.*s, Index: %" PRId64 ".  %s",
                        (int)name.size, name.data, (int)key.size, key.data, index, status.message);
}

static struct status wrong_type(const struct parse *parse, const struct example_column *column,
                                int64_t index, enum dtype actual)
{
    const char *expected = dtype_name(column->feature.dtype);
    if (column->feature.form == EXAMPLE_DENSE)
        return feature_error(parse, column, index,
                             "Data types don't match. Data type: %s but expected type: %s",
                             dtype_name(actual), expected);
    return feature_error(parse, column, index,
                         "Data types don't match. Expected type: %s, Actual type: %s", expected,
                         dtype_name(actual));
}

static struct status not_parsed(const struct parse *parse, const struct example_column *column,
                                int64_t index)
{
    bool fixed = column->feature.form == EXAMPLE_DENSE && !column->variable;
    if (parse->single && !fixed && column->feature.dtype == DT_STRING) /* TensorFlow counts first */
        return feature_error(parse, column, index,
                             "Can't parse serialized Example: Could not get num elements in "
                             "bytes_list.");
    if (parse->single)
        return feature_error(parse, column, index,
                             "Can't parse serialized Example: Parsing %s_list failed.",
                             list_name(column->feature.dtype));
    return feature_error(parse, column, index, "Can't parse serialized Example.");
}

static struct status missing(const struct parse *parse, const struct example_column *column,
                             int64_t index)
{
    struct bytes key = column->feature.key;
    const char *type = dtype_name(column->feature.dtype);
    if (parse->single)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Feature: %.*s (data type: %s) is required but could not be found.",
                            (int)key.size, key.data, type);
    struct bytes name = parse->names ? parse->names[index] : bytes_of("<unknown>");
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Name: %.*s, Feature: %.*s (data type: %s) is required but could not be "
                        "found.",
                        (int)name.size, name.data, (int)key.size, key.data, type);
}

static void *dense_at(const struct example_column *column, struct column_progress *progress,
                      int64_t index)
{
    size_t size = (size_t)column->elements * dtype_size(column->feature.dtype);
    return (char *)progress->dense.data + (size_t)index * size;
}

static struct status parse_fixed(struct parse *parse, const struct example_column *column,
                                 struct column_progress *progress, struct bytes feature,
                                 int64_t index)
{
    size_t count, expected = (size_t)column->elements;
    enum dtype dtype = column->feature.dtype;
    if (!example_wire_list(feature, dtype, dense_at(column, progress, index), expected, &count))
        return not_parsed(parse, column, index);
    if (count == expected)
        return status_ok();
    if (parse->single)
        return feature_error(parse, column, index,
                             "Can't parse serialized Example: Some %s_list slice was not parsed.",
                             list_name(dtype));
    return feature_error(parse, column, index,
                         "Number of %s values != expected.  Values size: %zu but output shape: %s",
                         list_name(dtype), count, shape_text(&column->feature.shape));
}

static struct status parse_any_number(struct parse *parse, const struct example_column *column,
                                      struct column_progress *progress, struct bytes feature,
                                      int64_t index)
{
    size_t count, element = dtype_size(column->feature.dtype);
    size_t bound = example_wire_bound(feature, column->feature.dtype);
    buffer_reserve(&progress->values, bound * element + 1);
    if (!example_wire_list(feature, column->feature.dtype,
                           progress->values.data + progress->values.size, bound, &count))
        return not_parsed(parse, column, index);
    progress->values.size += count * element;
    progress->counts[index] = (int64_t)count;
    if (!column->variable || (int64_t)count % column->elements == 0)
        return status_ok();

    struct bytes key = column->feature.key;
    if (parse->single)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Error while parsing feature with key %.*s: number of elements should "
                            "be divisible by %" PRId64 ", found %zu instead",
                            (int)key.size, key.data, column->elements, count);
    return feature_error(parse, column, index,
                         "Number of %s values is not a multiple of stride length. Saw %zu values "
                         "but output shape is: %s",
                         list_name(column->feature.dtype), count,
                         shape_text(&column->feature.shape));
}

static struct status parse_feature(struct parse *parse, const struct example_column *column,
                                   struct bytes feature, int64_t index)
{
    struct column_progress *progress = &parse->progress[column - parse->spec->columns];
    enum dtype dtype;
    if (!example_wire_dtype(feature, &dtype))
        return status_error(STATUS_INVALID_ARGUMENT, "Unsupported datatype.");
    if (dtype == DT_INVALID || progress->last_seen == index)
        return status_ok();
    progress->last_seen = index;
    if (dtype != column->feature.dtype)
        return wrong_type(parse, column, index, dtype);
    if (column->feature.form == EXAMPLE_DENSE && !column->variable)
        return parse_fixed(parse, column, progress, feature, index);
    return parse_any_number(parse, column, progress, feature, index);
}

static struct status fill_missing(struct parse *parse, int64_t index)
{
    for (int i = 0; i < parse->spec->columns_count; i++) {
        const struct example_column *column = &parse->spec->columns[i];
        struct column_progress *progress = &parse->progress[i];
        if (column->feature.form != EXAMPLE_DENSE || column->variable ||
            progress->last_seen == index)
            continue;
        const struct tensor *value = parse->defaults[column->place];
        if (value->size == 0)
            return missing(parse, column, index);
        memcpy(dense_at(column, progress, index), value->data, tensor_bytes(value));
    }
    return status_ok();
}

/* Backwards: of entries with the same key the last one counts, also for errors, as in
 * TensorFlow. */
static struct status parse_example(struct parse *parse, int64_t index)
{
    struct bytes example = parse->serialized[index];
    parse->entries.size = 0;
    if (!example_wire_entries(example, &parse->entries))
        return status_error(STATUS_INVALID_ARGUMENT, "Could not parse example input, value: '%.*s'",
                            (int)example.size, example.data);
    const struct example_entry *entries = (const void *)parse->entries.data;
    for (size_t i = parse->entries.size / sizeof *entries; i-- > 0;) {
        const struct example_column *column = map_get(&parse->spec->by_key, entries[i].key);
        if (column != NULL)
            TRY(parse_feature(parse, column, entries[i].feature, index));
    }
    return fill_missing(parse, index);
}

static struct status check_default(const struct example_column *column, const struct tensor *value)
{
    const struct shape *shape = &column->feature.shape;
    int place = column->place;
    if (value->dtype != column->feature.dtype)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "dense_defaults[%d].dtype() == %s != dense_types_[%d] == %s", place,
                            dtype_name(value->dtype), place, dtype_name(column->feature.dtype));
    if (column->variable && value->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "dense_shape[%d] is a variable length shape: %s, therefore "
                            "def_value[%d] must contain a single element (the padding element).  "
                            "But its shape is: %s",
                            place, shape_text(shape), place, shape_text(&value->shape));
    if (!column->variable && value->size > 0 && !shape_equal(&value->shape, shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "def_value[%d].shape() == %s is not compatible with dense_shapes_[%d] "
                            "== %s",
                            place, shape_text(&value->shape), place, shape_text(shape));
    return status_ok();
}

/* The dimensions of `inner` after [batch], or alone for a single example. */
static struct status batched(const struct parse *parse, const struct shape *inner,
                             struct shape *out)
{
    int64_t dims[SHAPE_RANK_MAX + 1];
    int rank = 0;
    if (!parse->single)
        dims[rank++] = parse->batch;
    for (int i = 0; i < inner->rank; i++)
        dims[rank++] = inner->dims[i];
    return shape_check(rank, dims, out);
}

static struct status begin(struct parse *parse)
{
    int columns_count = parse->spec->columns_count;
    struct shape all = shape_of(columns_count, parse->batch);
    parse->progress = zalloc((size_t)columns_count * sizeof *parse->progress);
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &all, &parse->counts));
    memset(parse->counts.data, 0, tensor_bytes(&parse->counts));
    for (int i = 0; i < columns_count; i++) {
        const struct example_column *column = &parse->spec->columns[i];
        struct column_progress *progress = &parse->progress[i];
        progress->last_seen = -1;
        progress->counts = tensor_int64s_mut(&parse->counts) + (int64_t)i * parse->batch;
        if (column->feature.form != EXAMPLE_DENSE)
            continue;
        TRY(check_default(column, parse->defaults[column->place]));
        if (column->variable)
            continue;
        struct shape shape;
        TRY(batched(parse, &column->feature.shape, &shape));
        TRY(tensor_create_pooled(parse->pool, column->feature.dtype, &shape, &progress->dense));
    }
    return status_ok();
}

static int64_t longest(const struct parse *parse, const struct column_progress *progress)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < parse->batch; i++)
        if (progress->counts[i] > longest)
            longest = progress->counts[i];
    return longest;
}

static struct status values_output(const struct parse *parse, const struct example_column *column,
                                   const struct column_progress *progress, struct tensor *out)
{
    enum dtype dtype = column->feature.dtype;
    struct shape shape = shape_of((int64_t)(progress->values.size / dtype_size(dtype)));
    TRY(tensor_create_pooled(parse->pool, dtype, &shape, out));
    if (out->size > 0)
        memcpy(out->data, progress->values.data, progress->values.size);
    return status_ok();
}

static struct status sparse_output(const struct parse *parse, const struct example_column *column,
                                   const struct column_progress *progress, struct tensor *outputs)
{
    int stride = parse->spec->form_counts[EXAMPLE_SPARSE];
    struct tensor *indices = &outputs[column->place], *values = indices + stride,
                  *dense_shape = values + stride;
    TRY(values_output(parse, column, progress, values));
    int rank = parse->single ? 1 : 2;
    struct shape shape = shape_of(values->size, rank), line = shape_of(rank);
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &shape, indices));
    int64_t *at = tensor_int64s_mut(indices);
    for (int64_t i = 0; i < parse->batch; i++) {
        for (int64_t k = 0; k < progress->counts[i]; k++) {
            if (!parse->single)
                *at++ = i;
            *at++ = k;
        }
    }
    TRY(tensor_create_pooled(parse->pool, DT_INT64, &line, dense_shape));
    tensor_int64s_mut(dense_shape)[0] = parse->batch;
    tensor_int64s_mut(dense_shape)[rank - 1] = longest(parse, progress);
    return status_ok();
}

static void fill(struct tensor *out, const void *value)
{
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < out->size; i++)
        memcpy((char *)out->data + (size_t)i * size, value, size);
}

/* Rows have the length of the longest example; shorter ones are padded with the default. */
static struct status variable_output(const struct parse *parse, const struct example_column *column,
                                     const struct column_progress *progress, struct tensor *out)
{
    struct shape inner = column->feature.shape, shape;
    inner.dims[0] = longest(parse, progress) / column->elements;
    TRY(batched(parse, &inner, &shape));
    TRY(tensor_create_pooled(parse->pool, column->feature.dtype, &shape, out));
    fill(out, parse->defaults[column->place]->data);

    size_t element = dtype_size(column->feature.dtype);
    size_t row_size = parse->batch > 0 ? (size_t)(out->size / parse->batch) * element : 0;
    const char *from = progress->values.data;
    for (int64_t i = 0; i < parse->batch; i++) {
        size_t size = (size_t)progress->counts[i] * element;
        if (size == 0)
            continue;
        memcpy((char *)out->data + (size_t)i * row_size, from, size);
        from += size;
    }
    return status_ok();
}

static struct status ragged_output(const struct parse *parse, const struct example_column *column,
                                   const struct column_progress *progress, struct tensor *outputs)
{
    struct tensor *values = &outputs[column->place];
    struct tensor *splits = values + parse->spec->form_counts[EXAMPLE_RAGGED];
    TRY(values_output(parse, column, progress, values));
    struct shape shape = shape_of(parse->single ? 0 : parse->batch + 1);
    enum dtype dtype = column->feature.splits_type;
    if (dtype == DT_INT32 && values->size > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%" PRId64 " ragged values do not fit row splits of type int32",
                            values->size);
    TRY(tensor_create_pooled(parse->pool, dtype, &shape, splits));
    int64_t total = 0;
    for (int64_t i = 0; i < splits->size; i++) {
        if (dtype == DT_INT32)
            tensor_int32s_mut(splits)[i] = (int32_t)total;
        else
            tensor_int64s_mut(splits)[i] = total;
        total += i < parse->batch ? progress->counts[i] : 0;
    }
    return status_ok();
}

static struct status make_outputs(struct parse *parse, struct tensor *outputs)
{
    struct tensor *dense = outputs + 3 * parse->spec->form_counts[EXAMPLE_SPARSE];
    struct tensor *ragged = dense + parse->spec->form_counts[EXAMPLE_DENSE];
    for (int i = 0; i < parse->spec->columns_count; i++) {
        const struct example_column *column = &parse->spec->columns[i];
        struct column_progress *progress = &parse->progress[i];
        if (column->feature.form == EXAMPLE_SPARSE) {
            TRY(sparse_output(parse, column, progress, outputs));
        } else if (column->feature.form == EXAMPLE_RAGGED) {
            TRY(ragged_output(parse, column, progress, ragged));
        } else if (column->variable) {
            TRY(variable_output(parse, column, progress, &dense[column->place]));
        } else {
            dense[column->place] = progress->dense;
            progress->dense = (struct tensor){ 0 };
        }
    }
    return status_ok();
}

static void finish(struct parse *parse)
{
    for (int i = 0; i < parse->spec->columns_count; i++) {
        tensor_release(&parse->progress[i].dense);
        buffer_finish(&parse->progress[i].values);
    }
    buffer_finish(&parse->entries);
    tensor_release(&parse->counts);
    free(parse->progress);
}

struct status example_parse(const struct example_spec *spec, const struct tensor *serialized,
                            const struct tensor *names, const struct tensor *const *defaults,
                            struct tensor_pool *pool, struct tensor *outputs)
{
    bool named = names != NULL && names->size > 0;
    if (serialized->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected serialized to be a scalar or vector, got shape: %s",
                            shape_text(&serialized->shape));
    if (named && !shape_equal(&names->shape, &serialized->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected names have the same shape as serialized: name.shape=%s, "
                            "serialized.shape=%s",
                            shape_text(&names->shape), shape_text(&serialized->shape));
    struct parse parse = {
        .spec = spec,
        .serialized = tensor_strings(serialized),
        .names = named ? tensor_strings(names) : NULL,
        .defaults = defaults,
        .pool = pool,
        .batch = serialized->size,
        .single = serialized->shape.rank == 0,
    };
    int outputs_count = example_spec_outputs_count(spec);
    memset(outputs, 0, (size_t)outputs_count * sizeof *outputs);
    struct status status = begin(&parse);
    for (int64_t i = 0; i < parse.batch && status_is_ok(status); i++)
        status = parse_example(&parse, i);
    if (status_is_ok(status))
        status = make_outputs(&parse, outputs);
    finish(&parse);
    if (!status_is_ok(status))
        tensors_release(outputs_count, outputs);
    return status;
}
