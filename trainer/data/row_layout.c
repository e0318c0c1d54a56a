#include "trainer/data/row_layout.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/plural.h"
#include "trainer/data/row_value.h"
#include "trainer/records/number_text.h"

/* Adds a column of the file, once. */
static int add_spec(struct row_layout *layout, const char *name, enum column_kind kind)
{
    struct column_spec *spec = map_get_text(&layout->places, name);

    if (spec == NULL) {
        spec = &layout->specs[layout->specs_count++];
        *spec = (struct column_spec){ name, kind };
        map_put_text(&layout->places, name, spec);
    }
    return (int)(spec - layout->specs);
}

static void note_text(struct row_layout *layout, int spec, const struct schema_column *from)
{
    if (from->default_text.data != NULL)
        layout->texts[spec] = from;
}

void row_layout_complete(const struct row_layout *layout, struct columns *columns)
{
    size_t row = columns->rows - 1;

    for (int i = 0; i < layout->specs_count; i++) {
        const struct schema_column *from = layout->texts[i];
        struct column *column = &columns->list[i];
        size_t begin = from != NULL ? column_begin(column, row) : 0;
        if (from == NULL || column->kind != COLUMN_BYTES || column->ends[row] > begin + 1 ||
            (column->ends[row] == begin + 1 && column_text(column, begin).size > 0))
            continue;
        column->count = begin; /* an empty text takes no memory */
        for (int64_t k = 0; k < from->width; k++)
            column_add_bytes(column, from->default_text);
        column->ends[row] = column->count;
    }
}

static struct status no_such_column(const struct schema *schema, const char *name,
                                    const char *tensor)
{
    struct buffer names = { 0 };
    bool known = schema->path != NULL;
    bool doubtful = schema->count == 1; /* the header may be a row, or not be in the first line */
    float number;
    char hint[300] = "";

    if (strcmp(name, tensor) == 0)
        snprintf(
            hint, sizeof hint,
            " (if it has another name, --schema says it: \"inputs\": {\"%.100s\": [\"NAME\"]})",
            tensor);
    for (int i = 0; i < schema->count && i < 50; i++) {
        buffer_printf(&names, "%s'%s'", i == 0 ? "" : ", ", schema->columns[i].name);
        doubtful |= status_is_ok(number_text_float(bytes_of(schema->columns[i].name), &number));
    }
    struct status status = status_error(
        STATUS_INVALID_ARGUMENT, "no column '%s' for the model's '%s'%s; %s%s%s %.*s%s", name,
        tensor, hint, known ? "'" : "", known ? schema->path : "the data have",
        known ? "' has" : "", (int)names.size, names.size > 0 ? names.data : "",
        schema->has_header && doubtful ? "; " HEADER_ADVICE : "");
    buffer_finish(&names);
    return status;
}

/* The values verbatim from the file. */
static struct status add_text(struct row_layout *layout, struct row_tensor *tensor,
                              const struct schema_column *from, struct row_part *part)
{
    bool fits = tensor->column.spec.layout == TENSOR_RAGGED ? from->kind != SCHEMA_SPARSE
                                                            : from->kind == SCHEMA_DENSE;

    if (!fits || from->classes != NULL || schema_is_normalised(from))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's '%s' takes texts, but column '%s' is not dense, has "
                            "classes or is normalised",
                            tensor->column.spec.name, from->name);
    part->value = add_spec(layout, from->name, COLUMN_BYTES);
    note_text(layout, part->value, from);
    if (layout->specs[part->value].kind != COLUMN_BYTES)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "column '%s' is taken as numbers and, for the model's '%s', as text",
                            from->name, tensor->column.spec.name);
    return status_ok();
}

static struct status no_number(const struct row_tensor *tensor, const struct schema_column *from)
{
    bool known = from->no_number != NULL, label = tensor->column.classes > 0 || tensor->is_binary;

    return status_error(
        STATUS_INVALID_ARGUMENT, "column '%s' holds text%s%s%s, and the model's '%s' takes %s",
        from->name, known ? " (" : "", known ? from->no_number : "", known ? ")" : "",
        tensor->column.spec.name,
        label ? "numbers of classes: list its \"classes\" in --schema; `pstrain schema "
                "--label_column` prints them"
              : "numbers: give it \"hash_buckets\" or \"classes\" in --schema (`pstrain schema "
                "--hash_buckets` does), or the dtype \"float32\" if only some of its values are no "
                "numbers, or choose other columns");
}

static struct status add_part(struct row_layout *layout, struct row_tensor *tensor,
                              const struct schema_column *from)
{
    struct row_part *part = &tensor->parts[tensor->parts_count++];

    if (row_tensor_is_integers(tensor) && tensor->column.spec.layout == TENSOR_DENSE &&
        (from->kind == SCHEMA_SPARSE || schema_is_normalised(from)))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's '%s' takes integers, but column '%s' is %s",
                            tensor->column.spec.name, from->name,
                            from->kind == SCHEMA_SPARSE ? "sparse" : "normalised");

    int64_t categories = schema_categories(from);
    if (row_tensor_is_integers(tensor) &&
        (double)categories > row_integer_range(tensor->column.spec.dtype).end)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's '%s' is of type %s, which cannot number the %" PRId64
                            " categories of column '%s'",
                            tensor->column.spec.name, dtype_name(tensor->column.spec.dtype),
                            categories, from->name);
    bool wide = categories > 0 && row_tensor_is_floats(tensor);
    *part = (struct row_part){ .from = from, .width = wide ? categories : from->width };
    if (categories > 0 && (tensor->column.classes > 0 || tensor->is_binary))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "column '%s' has '%s', which a label cannot have", from->name,
                            from->hash_buckets > 0 ? "hash_buckets" : "boundaries");
    if (row_tensor_is_text(tensor))
        return add_text(layout, tensor, from, part);
    if (from->kind == SCHEMA_SPARSE) {
        part->index = add_spec(layout, from->index, COLUMN_INT64);
        part->value = add_spec(layout, from->value, COLUMN_FLOAT);
        return status_ok();
    }
    part->value = add_spec(layout, from->name, from->dtype);
    note_text(layout, part->value, from);
    if (layout->specs[part->value].kind == COLUMN_BYTES && from->dtype != COLUMN_BYTES)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "column '%s' is taken as text and, for the model's '%s', as numbers",
                            from->name, tensor->column.spec.name);
    if (from->dtype == COLUMN_BYTES && from->classes == NULL && from->hash_buckets == 0)
        return no_number(tensor, from);
    return status_ok();
}

/* Gives sparse columns without a width what the others leave, and checks the sum. */
static struct status fit_widths(struct row_tensor *tensor)
{
    struct row_part *open = NULL;
    int64_t sum = 0;

    for (int i = 0; i < tensor->parts_count; i++) {
        sum += tensor->parts[i].width;
        if (tensor->parts[i].width > 0)
            continue;
        if (open != NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "columns '%s' and '%s' both have no width: give it in --schema",
                                open->from->name, tensor->parts[i].from->name);
        open = &tensor->parts[i];
    }
    if (open != NULL && sum < tensor->width) {
        open->width = tensor->width - sum;
        return status_ok();
    }
    if (sum == tensor->width && open == NULL)
        return status_ok();
    struct buffer names = { 0 };
    for (int i = 0; i < tensor->parts_count && i < 50; i++)
        buffer_printf(&names, "%s'%s'", i == 0 ? ": " : ", ", tensor->parts[i].from->name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "the model's '%s' takes %" PRId64 " number%s per row, but the columns of "
                     "the data have %" PRId64 "%.*s",
                     tensor->column.spec.name, tensor->width, plural(tensor->width), sum,
                     (int)names.size, names.size > 0 ? names.data : "");
    buffer_finish(&names);
    return status;
}

/* Checks that a ragged tensor is one column, whose rows may have any number of values. */
static struct status check_ragged_tensor(const struct row_tensor *tensor)
{
    const struct schema_column *from = tensor->parts[0].from;
    enum column_kind dtype = row_tensor_is_text(tensor)              ? COLUMN_BYTES
                             : tensor->column.spec.dtype == DT_INT64 ? COLUMN_INT64
                                                                     : COLUMN_FLOAT;

    if (tensor->parts_count != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's '%s' is ragged and takes one column, not %d: name it with "
                            "--feature_columns",
                            tensor->column.spec.name, tensor->parts_count);
    bool hashed = from->hash_buckets > 0 && dtype == COLUMN_INT64;
    if (from->kind == SCHEMA_SPARSE || (from->dtype != dtype && !hashed))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "column '%s' does not fit the model's '%s': expected a column of kind "
                            "'ragged' with dtype '%s'",
                            from->name, tensor->column.spec.name,
                            dtype == COLUMN_BYTES   ? "string"
                            : dtype == COLUMN_INT64 ? "int64"
                                                    : "float32");
    if (from->classes != NULL || from->boundaries != NULL || schema_is_normalised(from))
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "column '%s' has 'classes', 'boundaries', 'log', 'mean' or 'stddev', which "
            "the ragged '%s' does not take",
            from->name, tensor->column.spec.name);
    return status_ok();
}

/* Places the columns side by side. */
static struct status place_parts(struct row_tensor *tensor)
{
    int64_t first = 0;

    if (tensor->column.spec.layout == TENSOR_RAGGED)
        return check_ragged_tensor(tensor);
    for (int i = 0; i < tensor->parts_count; i++)
        if (tensor->parts[i].from->kind == SCHEMA_RAGGED &&
            tensor->parts[i].from->hash_buckets == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "column '%s' is ragged, but the model's '%s' is not: leave it out "
                                "of --feature_columns",
                                tensor->parts[i].from->name, tensor->column.spec.name);
    TRY(fit_widths(tensor));
    for (int i = 0; i < tensor->parts_count; i++) {
        tensor->parts[i].first = first;
        first += tensor->parts[i].width;
    }
    return status_ok();
}

/* Do the columns have a value for each class of each step? */
static bool is_one_hot(const struct row_tensor *tensor)
{
    int64_t sum = 0;

    for (int i = 0; i < tensor->parts_count; i++) {
        if (tensor->parts[i].from->kind != SCHEMA_DENSE)
            return false;
        sum += tensor->parts[i].width;
    }
    return tensor->column.classes > 1 && tensor->width > 0 && sum % tensor->width == 0 &&
           sum / tensor->width == tensor->column.classes;
}

static bool is_scaled(const struct schema_column *from)
{
    return from->kind == SCHEMA_DENSE && (from->mean != 0 || from->stddev != 1);
}

/* Records how raw values become those of a dense tensor of floats, unless they become
 * logarithms. A hash may have billions of columns, so lists of them are avoided. */
static void note_scale(struct row_tensor *tensor, struct arena *arena)
{
    bool needed = false, logs = false;

    for (int p = 0; p < tensor->parts_count; p++) {
        needed |= is_scaled(tensor->parts[p].from);
        logs |= tensor->parts[p].from->log;
    }
    if (!needed || logs)
        return;
    double *mean = ARENA_ARRAY(arena, double, tensor->width);
    double *stddev = ARENA_ARRAY(arena, double, tensor->width);
    for (int p = 0; p < tensor->parts_count; p++) {
        const struct row_part *part = &tensor->parts[p];
        bool scaled = is_scaled(part->from);
        for (int64_t i = 0; i < part->width; i++) {
            mean[part->first + i] = scaled ? part->from->mean : 0;
            stddev[part->first + i] = scaled ? part->from->stddev : 1;
        }
    }
    tensor->column.mean = mean;
    tensor->column.stddev = stddev;
}

/* The column without what the graph does itself. */
static const struct schema_column *less_prepared(const struct schema_column *from,
                                                 enum raw_values raw, struct arena *arena)
{
    struct schema_column *column = ARENA_NEW(arena, struct schema_column);

    *column = *from;
    column->mean = 0;
    column->stddev = 1;
    if (raw == RAW_SCALE)
        return column;
    column->log = false;
    column->default_text = (struct bytes){ 0 };
    column->hash_buckets = 0;
    column->classes = NULL;
    column->boundaries = NULL;
    return column;
}

static struct raw_column raw_column_of(const struct row_tensor *tensor,
                                       const struct schema_column *from)
{
    static const enum dtype dtypes[] = {
        [COLUMN_FLOAT] = DT_FLOAT, [COLUMN_INT64] = DT_INT64, [COLUMN_BYTES] = DT_STRING
    };
    bool ragged = tensor->column.spec.layout == TENSOR_RAGGED || from->kind == SCHEMA_RAGGED;

    return (struct raw_column){
        .spec = { .name = from->name,
                  .layout = ragged ? TENSOR_RAGGED : TENSOR_DENSE,
                  .dtype = row_tensor_is_text(tensor) ? DT_STRING : dtypes[from->dtype],
                  .shape = shape_of(-1, ragged ? -1 : from->width) },
        .log = from->log,
        .mean = from->mean,
        .stddev = from->stddev,
        .has_default = from->has_default,
        .default_value = from->default_value,
        .default_text = from->default_text,
        .hash_buckets = from->hash_buckets,
        .classes = from->classes,
        .classes_count = from->classes_count,
        .boundaries = from->boundaries,
        .boundaries_count = from->boundaries_count,
    };
}

/* Records how the tensor is made from raw values, unless columns of the file are sparse
 * themselves. */
static void note_raw_columns(struct row_tensor *tensor, struct arena *arena)
{
    struct raw_column *columns = ARENA_ARRAY(arena, struct raw_column, tensor->parts_count + 1);

    for (int p = 0; p < tensor->parts_count; p++) {
        if (tensor->parts[p].from->kind == SCHEMA_SPARSE)
            return;
        columns[p] = raw_column_of(tensor, tensor->parts[p].from);
    }
    tensor->column.raw = columns;
    tensor->column.raw_count = tensor->parts_count;
}

/* Does the graph hash the texts of this column? */
static bool is_hashed_later(const struct schema_column *from, const struct row_request *request)
{
    return request->raw == RAW_COLUMN && request->spec.dtype == DT_STRING && from->hash_buckets > 0;
}

static struct status make_tensor(const struct schema *schema, const struct row_request *request,
                                 struct arena *arena, struct row_layout *layout,
                                 struct row_tensor *out)
{
    bool ragged = request->spec.layout == TENSOR_RAGGED;

    *out = (struct row_tensor){ .column = { .spec = request->spec, .classes = request->classes },
                                .ignored_class = request->ignored_class,
                                .is_binary = request->is_binary,
                                .truncates = request->truncates,
                                .any_width = request->any_width,
                                .step_size = request->step_size,
                                .width = ragged ? 0 : tensor_spec_row_size(&request->spec),
                                .parts =
                                    ARENA_ARRAY(arena, struct row_part, request->names_count + 1) };
    for (int i = 0, next = 0; i < request->names_count; i++) {
        const struct schema_column *from = schema_find_next(schema, request->names[i], &next);
        if (from == NULL)
            return no_such_column(schema, request->names[i], request->spec.name);
        bool hashed_later = is_hashed_later(from, request);
        if (request->raw != RAW_NOTHING)
            from = less_prepared(from, request->raw, arena);
        TRY(add_part(layout, out, from));
        out->parts[i].is_hashed_later = hashed_later;
    }
    out->is_one_hot = is_one_hot(out);
    note_raw_columns(out, arena);
    if (out->is_one_hot)
        return status_ok();
    TRY(place_parts(out));
    if (out->column.spec.layout == TENSOR_DENSE && out->column.spec.dtype == DT_FLOAT)
        note_scale(out, arena);
    return status_ok();
}

struct status row_layout_make(const struct schema *schema, const struct row_request *requests,
                              int count, struct arena *arena, struct row_layout *out)
{
    int specs_max = 1;

    for (int i = 0; i < count; i++)
        specs_max += 2 * requests[i].names_count;
    *out =
        (struct row_layout){ .tensors = ARENA_ARRAY(arena, struct row_tensor, count + 1),
                             .count = count,
                             .specs = ARENA_ARRAY(arena, struct column_spec, specs_max),
                             .places = { .arena = arena },
                             .texts = ARENA_ARRAY(arena, const struct schema_column *, specs_max) };
    for (int i = 0; i < count; i++) {
        struct status status = make_tensor(schema, &requests[i], arena, out, &out->tensors[i]);
        TRY(requests[i].flag != NULL ? status_in(status, "--%s", requests[i].flag) : status);
    }
    return status_ok();
}
