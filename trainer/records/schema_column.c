#include "trainer/records/schema_column.h"

#include <math.h>

#include "trainer/records/number_text.h"

#define WIDTH_MAX        ((int64_t)1 << 24)
#define BOUNDARIES_MAX   1000000
#define EXACT_MAX        0x1p53               /* all integers up to it are doubles */
#define SPARSE_WIDTH_MAX ((int64_t)INT32_MAX) /* only its values take memory */

static const char *const dtype_names[] = {
    [COLUMN_FLOAT] = "float32", [COLUMN_INT64] = "int64", [COLUMN_BYTES] = "string"
};
static const char *const kind_names[] = {
    [SCHEMA_DENSE] = "dense", [SCHEMA_SPARSE] = "sparse", [SCHEMA_RAGGED] = "ragged"
};

/* ---- the keys ---- */

/* The state of a key's function. */
struct schema_key_context {
    const struct json_value *value;
    struct schema_column *column;
    struct arena *arena;
};

static struct status wrong_value(const struct schema_key_context *context, const char *wanted)
{
    return status_error(STATUS_INVALID_ARGUMENT, "%s, expected %s",
                        json_value_show(context->value, context->arena), wanted);
}

static struct status take_text(const struct schema_key_context *context, const char **out)
{
    if (context->value->kind != JSON_VALUE_TEXT || context->value->text_size == 0)
        return wrong_value(context, "a name");
    *out = arena_memdup(context->arena, context->value->text, context->value->text_size);
    return status_ok();
}

static struct status take_name(const struct schema_key_context *context)
{
    return take_text(context, &context->column->name);
}

static struct status take_index(const struct schema_key_context *context)
{
    return take_text(context, &context->column->index);
}

static struct status take_value(const struct schema_key_context *context)
{
    return take_text(context, &context->column->value);
}

/* The index of a text in a list of names; -1: not in the list, or not a text. */
#define FIND_NAME(value, names) \
    ((value)->kind == JSON_VALUE_TEXT ? BYTES_FIND(bytes_of((value)->text), names) : -1)

static struct status take_kind(const struct schema_key_context *context)
{
    int kind = FIND_NAME(context->value, kind_names);

    if (kind < 0)
        return wrong_value(context, "'dense', 'sparse' or 'ragged'");
    context->column->kind = (enum schema_kind)kind;
    return status_ok();
}

static struct status take_dtype(const struct schema_key_context *context)
{
    int dtype = FIND_NAME(context->value, dtype_names);

    if (dtype < 0)
        return wrong_value(context, "'float32', 'int64' or 'string'");
    context->column->dtype = (enum column_kind)dtype;
    return status_ok();
}

static struct status take_width(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;

    if (value->kind != JSON_VALUE_INT || value->integer < 1 || value->integer > SPARSE_WIDTH_MAX)
        return wrong_value(context, "a number of values, from 1 to 2147483647");
    context->column->width = value->integer;
    return status_ok();
}

static struct status take_shape(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;
    int64_t width = 1;

    if (value->kind != JSON_VALUE_LIST || value->count > SHAPE_RANK_MAX - 1)
        return wrong_value(context, "a list of dimensions");
    for (int i = 0; i < value->count; i++) {
        const struct json_value *dim = &value->members[i];
        if (dim->kind != JSON_VALUE_INT || dim->integer < 1 || dim->integer > WIDTH_MAX / width)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "dimension %s, expected a positive number, and at most 16777216 "
                                "values together",
                                json_value_show(dim, context->arena));
        width *= dim->integer;
        context->column->shape.dims[i] = dim->integer;
    }
    context->column->shape.rank = value->count;
    context->column->width = width;
    return status_ok();
}

static struct status take_hash_buckets(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;

    if (value->kind != JSON_VALUE_INT || value->integer < 1 || value->integer > SPARSE_WIDTH_MAX)
        return wrong_value(context, "a number of buckets, from 1 to 2147483647");
    context->column->hash_buckets = value->integer;
    return status_ok();
}

static struct status take_first_index(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;

    if (value->kind != JSON_VALUE_INT || (value->integer != 0 && value->integer != 1))
        return wrong_value(context, "0 or 1");
    context->column->first_index = value->integer;
    return status_ok();
}

bool schema_is_separator(const struct json_value *value)
{
    static const char refused[] = "0123456789.+-eE\r\n\"";

    return value->kind == JSON_VALUE_TEXT && value->text_size == 1 &&
           memchr(refused, value->text[0], sizeof refused) == NULL;
}

static struct status take_separator(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;

    if (!schema_is_separator(value))
        return wrong_value(context, "a character such as '|', ';' or ' '");
    context->column->separator = value->text[0];
    return status_ok();
}

static struct status take_number(const struct schema_key_context *context, double *out)
{
    if (!json_value_number(context->value, out) || !isfinite((float)*out))
        return wrong_value(context, "a number");
    return status_ok();
}

static struct status take_default(const struct schema_key_context *context)
{
    const struct json_value *value = context->value;

    context->column->has_default = true;
    if (value->kind != JSON_VALUE_TEXT)
        return take_number(context, &context->column->default_value);
    if (value->text_size == 0)
        return wrong_value(context, "a number, or a text that is not empty");
    context->column->default_text = (struct bytes){ value->text, value->text_size };
    return status_ok();
}

static struct status take_log(const struct schema_key_context *context)
{
    if (context->value->kind != JSON_VALUE_BOOL)
        return wrong_value(context, "true or false");
    context->column->log = context->value->boolean;
    return status_ok();
}

static struct status take_mean(const struct schema_key_context *context)
{
    return take_number(context, &context->column->mean);
}

static struct status take_stddev(const struct schema_key_context *context)
{
    TRY(take_number(context, &context->column->stddev));
    return context->column->stddev > 0 ? status_ok() : wrong_value(context, "a positive number");
}

/* Classes must differ: an exported graph looks a value up in a table, which accepts a key only
 * once. */
static struct status check_classes(const struct schema_key_context *context)
{
    int count = context->column->classes_count;
    struct bytes *sorted = ARENA_ARRAY(context->arena, struct bytes, count);

    memcpy(sorted, context->column->classes, (size_t)count * sizeof *sorted);
    bytes_sort(sorted, (size_t)count);
    for (int i = 1; i < count; i++)
        if (bytes_equal(sorted[i - 1], sorted[i]))
            return status_error(STATUS_INVALID_ARGUMENT, "'%.*s' is listed twice",
                                (int)(sorted[i].size < 100 ? sorted[i].size : 100), sorted[i].data);
    return status_ok();
}

static struct status take_classes(const struct schema_key_context *context)
{
    const struct json_value *list = context->value;

    if (list->kind != JSON_VALUE_LIST || list->count == 0)
        return wrong_value(context, "a list of the label's values, in the order of the classes");
    struct bytes *classes = ARENA_ARRAY(context->arena, struct bytes, list->count);
    for (int i = 0; i < list->count; i++) {
        const struct json_value *value = &list->members[i];
        struct buffer text = { 0 };
        if (value->kind == JSON_VALUE_TEXT)
            buffer_append(&text, value->text, value->text_size);
        else if (value->kind == JSON_VALUE_INT || value->kind == JSON_VALUE_REAL)
            json_value_print(value, &text);
        else
            return status_error(STATUS_INVALID_ARGUMENT, "%s, expected a text or a number",
                                json_value_show(value, context->arena));
        classes[i] =
            (struct bytes){ arena_memdup(context->arena, text.data, text.size), text.size };
        buffer_finish(&text);
    }
    context->column->classes = classes;
    context->column->classes_count = list->count;
    return check_classes(context);
}

static struct status take_boundaries(const struct schema_key_context *context)
{
    const struct json_value *list = context->value;
    bool rises = list->kind == JSON_VALUE_LIST && list->count > 0 && list->count < BOUNDARIES_MAX;
    float *boundaries = ARENA_ARRAY(context->arena, float, rises ? list->count : 1);

    for (int i = 0; rises && i < list->count; i++) {
        double number;
        rises = json_value_number(&list->members[i], &number) && isfinite((float)number);
        boundaries[i] = rises ? (float)number : 0;
        rises = rises && (i == 0 || boundaries[i - 1] < boundaries[i]);
    }
    if (!rises)
        return wrong_value(context, "a list of numbers in rising order");
    context->column->boundaries = boundaries;
    context->column->boundaries_count = list->count;
    return status_ok();
}

enum {
    FOR_DENSE = 1 << SCHEMA_DENSE,
    FOR_SPARSE = 1 << SCHEMA_SPARSE,
    FOR_RAGGED = 1 << SCHEMA_RAGGED,
    FOR_ALL = FOR_DENSE | FOR_SPARSE | FOR_RAGGED
};

/* The key, the kinds of columns that have it, and its function. */
static const struct schema_key {
    const char *name;
    int kinds;
    struct status (*take)(const struct schema_key_context *context);
} keys[] = {
    { "name", FOR_ALL, take_name },
    { "kind", FOR_ALL, take_kind },
    { "dtype", FOR_DENSE | FOR_RAGGED, take_dtype },
    { "shape", FOR_DENSE, take_shape },
    { "default", FOR_DENSE, take_default },
    { "log", FOR_DENSE, take_log },
    { "mean", FOR_DENSE, take_mean },
    { "stddev", FOR_DENSE, take_stddev },
    { "classes", FOR_DENSE, take_classes },
    { "boundaries", FOR_DENSE, take_boundaries },
    { "hash_buckets", FOR_DENSE | FOR_RAGGED, take_hash_buckets },
    { "separator", FOR_ALL, take_separator },
    { "index", FOR_SPARSE, take_index },
    { "value", FOR_SPARSE, take_value },
    { "first_index", FOR_SPARSE, take_first_index },
    { "width", FOR_SPARSE, take_width },
};

static const struct schema_key *find_key(const char *name)
{
    for (size_t i = 0; i < COUNT(keys); i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

/* ---- consistency of keys ---- */

static bool has_default_text(const struct schema_column *column)
{
    return column->default_text.data != NULL;
}

static bool has_default_number(const struct schema_column *column)
{
    return column->has_default && !has_default_text(column);
}

/* Is the default one of the classes? */
static bool is_class(const struct schema_column *column)
{
    for (int i = 0; i < column->classes_count; i++)
        if (bytes_equal(column->classes[i], column->default_text))
            return true;
    return false;
}

static struct status check_kind(const struct json_value *json, const struct schema_column *column)
{
    for (int i = 0; i < json->count; i++)
        if ((find_key(json->keys[i])->kinds & 1 << column->kind) == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not for a %s column",
                                json->keys[i], kind_names[column->kind]);
    if (column->kind == SCHEMA_SPARSE && (column->index == NULL || column->value == NULL))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a sparse column needs 'index' and 'value', columns of the file");
    if (column->kind == SCHEMA_RAGGED && column->dtype == COLUMN_BYTES && column->hash_buckets == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "a ragged column has the dtype 'float32' or 'int64', or "
                            "'hash_buckets'");
    return status_ok();
}

static struct status check_default(const struct schema_column *column)
{
    if (column->has_default && (column->dtype == COLUMN_BYTES) != has_default_text(column))
        return status_error(STATUS_INVALID_ARGUMENT, "'default' is a %s, but the dtype is '%s'",
                            has_default_text(column) ? "text" : "number",
                            dtype_names[column->dtype]);
    if (has_default_text(column) && column->classes != NULL && !is_class(column))
        return status_error(STATUS_INVALID_ARGUMENT, "'default' is not among the 'classes'");
    if (column->has_default && column->dtype == COLUMN_INT64 &&
        !(fabs(column->default_value) <= EXACT_MAX &&
          column->default_value == floor(column->default_value)))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'default': %g, expected an integer up to 2^53, because the dtype is "
                            "'int64'",
                            column->default_value);
    return status_ok();
}

static struct status check_dtype(const struct schema_column *column)
{
    const char *only_numbers = column->log                  ? "log"
                               : column->boundaries != NULL ? "boundaries"
                                                            : NULL;

    if (column->hash_buckets > 0 && column->dtype == COLUMN_FLOAT)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'hash_buckets' is for the dtypes 'int64' and 'string'");
    if (only_numbers != NULL && column->dtype == COLUMN_BYTES)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is for the dtypes 'float32' and 'int64'",
                            only_numbers);
    return status_ok();
}

/* The values of a column of numbers can only be classes that are numbers. */
static struct status check_class_numbers(const struct schema_column *column)
{
    float number;

    for (int i = 0; i < column->classes_count && column->dtype != COLUMN_BYTES; i++)
        if (!status_is_ok(number_text_float(column->classes[i], &number)))
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "'classes': '%.*s' is not a number; a column of texts needs the dtype 'string'",
                (int)(column->classes[i].size < 100 ? column->classes[i].size : 100),
                column->classes[i].data);
    return status_ok();
}

/* Checks that at most one conversion is given. */
static struct status check_ways(const struct schema_column *column)
{
    bool classes = column->classes != NULL, number = has_default_number(column),
         buckets = column->hash_buckets > 0, normalised = schema_is_normalised(column);

    if (buckets && (classes || number || normalised))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'hash_buckets' excludes 'classes', a number as 'default', 'log', "
                            "'mean' and 'stddev'");
    if (column->boundaries != NULL && (classes || buckets || normalised))
        return status_error(STATUS_INVALID_ARGUMENT, "'boundaries' excludes 'classes', "
                                                     "'hash_buckets', 'log', 'mean' and 'stddev'");
    if (classes && (number || normalised))
        return status_error(STATUS_INVALID_ARGUMENT, "'classes' excludes a number as 'default', "
                                                     "'log', 'mean' and 'stddev'");
    return status_ok();
}

static struct status check_schema_column(const struct json_value *json,
                                         const struct schema_column *column)
{
    if (column->name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "it has no 'name'");
    TRY(check_kind(json, column));
    TRY(check_default(column));
    TRY(check_dtype(column));
    TRY(check_class_numbers(column));
    return check_ways(column);
}

struct status schema_column_read(const struct json_value *json, struct arena *arena,
                                 struct schema_column *out)
{
    if (json->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "%s, expected an object",
                            json_value_show(json, arena));
    *out = (struct schema_column){ .stddev = 1 };
    for (int i = 0; i < json->count; i++) {
        const struct schema_key *key = find_key(json->keys[i]);
        struct schema_key_context context = { &json->members[i], out, arena };
        if (key == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "unknown key '%s'", json->keys[i]);
        TRY(status_in(key->take(&context), "'%s'", key->name));
    }
    if (out->kind == SCHEMA_DENSE && out->width == 0)
        out->width = 1;
    if (out->dtype == COLUMN_FLOAT) /* as a value in a file, and as the default of an Example */
        out->default_value = (float)out->default_value;
    return check_schema_column(json, out);
}

void schema_column_print(const struct schema_column *column, struct json_writer *writer)
{
    json_open(writer, NULL, '{');
    json_write_text(writer, "name", bytes_of(column->name));
    json_write_text(writer, "kind", bytes_of(kind_names[column->kind]));
    if (column->kind != SCHEMA_SPARSE)
        json_write_text(writer, "dtype", bytes_of(dtype_names[column->dtype]));
    if (column->kind == SCHEMA_DENSE) {
        json_open(writer, "shape", '[');
        if (column->shape.rank == 0)
            json_write_integer(writer, NULL, column->width);
        for (int i = 0; i < column->shape.rank; i++)
            json_write_integer(writer, NULL, column->shape.dims[i]);
        json_close(writer, ']');
    }
    if (column->separator != '\0')
        json_write_text(writer, "separator", (struct bytes){ &column->separator, 1 });
    if (has_default_number(column))
        json_write_real(writer, "default", column->default_value);
    if (column->log)
        json_write_bool(writer, "log", true);
    if (column->mean != 0 || column->stddev != 1) {
        json_write_real(writer, "mean", column->mean);
        json_write_real(writer, "stddev", column->stddev);
    }
    if (column->hash_buckets > 0)
        json_write_integer(writer, "hash_buckets", column->hash_buckets);
    if (column->classes != NULL) {
        json_open(writer, "classes", '[');
        for (int i = 0; i < column->classes_count; i++)
            json_write_text(writer, NULL, column->classes[i]);
        json_close(writer, ']');
    }
    if (column->kind == SCHEMA_SPARSE) {
        json_write_text(writer, "index", bytes_of(column->index));
        json_write_text(writer, "value", bytes_of(column->value));
        json_write_integer(writer, "first_index", column->first_index);
        if (column->width > 0)
            json_write_integer(writer, "width", column->width);
    }
    json_close(writer, '}');
}
