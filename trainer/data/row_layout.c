#include "trainer/data/row_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"

/* ---- Making a layout. ---- */

/* Adds a column of the file, once. */
static int add_spec(struct row_layout *layout, const char *name, enum column_kind kind)
{
    for (int i = 0; i < layout->specs_count; i++)
        if (strcmp(layout->specs[i].name, name) == 0)
            return i;
    layout->specs[layout->specs_count] = (struct column_spec){ name, kind };
    return layout->specs_count++;
}

static struct status no_such_column(const struct schema *schema, const char *name,
                                    const char *tensor)
{
    struct buffer names = { 0 };

    for (int i = 0; i < schema->count && i < 50; i++)
        buffer_printf(&names, "%s'%s'", i == 0 ? "" : ", ", schema->columns[i].name);
    struct status status = status_error(
        STATUS_INVALID_ARGUMENT, "no column '%s' for the model's '%s'; the data have %.*s", name,
        tensor, (int)names.size, names.size > 0 ? names.data : "");
    buffer_finish(&names);
    return status;
}

static struct status add_part(struct row_layout *layout, struct row_tensor *tensor,
                              const struct schema_column *from)
{
    struct row_part *part = &tensor->parts[tensor->parts_count++];

    *part = (struct row_part){ .from = from, .width = from->width };
    if (from->kind == SCHEMA_SPARSE) {
        part->index = add_spec(layout, from->index, COLUMN_INT64);
        part->value = add_spec(layout, from->value, COLUMN_FLOAT);
        return status_ok();
    }
    part->value = add_spec(layout, from->name, from->dtype);
    if (from->dtype == COLUMN_BYTES && from->classes == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "column '%s' holds text, which has no number: list its values as "
                            "\"classes\" in --schema, or leave it out of --feature_columns",
                            from->name);
    return status_ok();
}

/* Gives the sparse columns without a width what the others leave, and compares the sum. */
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
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the model's '%s' takes %" PRId64 " numbers per row, but the columns of "
                        "the data have %" PRId64,
                        tensor->column.spec.name, tensor->width, sum);
}

static struct status make_tensor(const struct schema *schema, const struct row_request *request,
                                 struct arena *arena, struct row_layout *layout,
                                 struct row_tensor *out)
{
    *out = (struct row_tensor){ .column = { .spec = request->spec, .classes = request->classes },
                                .is_binary = request->is_binary,
                                .width = tensor_spec_row_size(&request->spec),
                                .parts =
                                    ARENA_ARRAY(arena, struct row_part, request->names_count + 1) };
    for (int i = 0; i < request->names_count; i++) {
        const struct schema_column *from = schema_find(schema, request->names[i]);
        if (from == NULL)
            return no_such_column(schema, request->names[i], request->spec.name);
        TRY(add_part(layout, out, from));
    }
    return fit_widths(out);
}

struct status row_layout_make(const struct schema *schema, const struct row_request *requests,
                              int count, struct arena *arena, struct row_layout *out)
{
    int specs_max = 1;

    for (int i = 0; i < count; i++)
        specs_max += 2 * requests[i].names_count;
    *out = (struct row_layout){ .tensors = ARENA_ARRAY(arena, struct row_tensor, count + 1),
                                .count = count,
                                .specs = ARENA_ARRAY(arena, struct column_spec, specs_max) };
    for (int i = 0; i < count; i++)
        TRY(make_tensor(schema, &requests[i], arena, out, &out->tensors[i]));
    return status_ok();
}

/* ---- One value. ---- */

static double number_at(const struct column *column, size_t at)
{
    return column->kind == COLUMN_FLOAT ? (double)column->floats[at] : (double)column->ints[at];
}

static bool is_same_number(struct bytes text, double value)
{
    char copy[64];

    if (text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    char *end;
    double number = strtod(copy, &end);
    return end != copy && *end == '\0' && number == value;
}

/* The place of a value in the list of classes; -1: it is not there. */
static int find_class(const struct schema_column *from, const struct column *column, size_t at)
{
    for (int i = 0; i < from->classes_count; i++)
        if (column->kind == COLUMN_BYTES ? bytes_equal(from->classes[i], column_text(column, at))
                                         : is_same_number(from->classes[i], number_at(column, at)))
            return i;
    return -1;
}

/* The number that a dense column's value becomes. */
static double value_of(const struct row_part *part, const struct column *column, size_t at)
{
    if (part->from->classes != NULL)
        return find_class(part->from, column, at);
    return (number_at(column, at) - part->from->mean) / part->from->stddev;
}

static double default_of(const struct schema_column *from)
{
    return (from->default_value - from->mean) / from->stddev;
}

/* Of two classes, -1 means the first. */
static double class_of(const struct row_tensor *tensor, double value)
{
    bool is_one_of_two = tensor->is_binary || tensor->column.classes == 2;
    return value == -1 && is_one_of_two ? 0 : value;
}

/* ---- Checking a row. ---- */

static bool is_label_of_class(const struct row_tensor *tensor)
{
    return tensor->is_binary || tensor->column.classes > 0;
}

static struct status check_class(const struct row_tensor *tensor, double value)
{
    double number = class_of(tensor, value);

    if (tensor->is_binary && number >= 0 && number <= 1)
        return status_ok();
    if (tensor->is_binary)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%g is not a class: expected 0 or -1, 1, or a probability", value);
    if (number >= 0 && number < (double)tensor->column.classes && number == floor(number))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "%g is not a class: the model has the classes 0 to %" PRId64, value,
                        tensor->column.classes - 1);
}

static struct status check_value(const struct row_tensor *tensor, const struct row_part *part,
                                 const struct column *column, size_t at)
{
    if (part->from->classes != NULL && find_class(part->from, column, at) < 0) {
        if (column->kind == COLUMN_BYTES)
            return status_error(STATUS_INVALID_ARGUMENT, "'%.*s' is not among the \"classes\"",
                                (int)(column_text(column, at).size % 100),
                                column_text(column, at).data);
        return status_error(STATUS_INVALID_ARGUMENT, "%g is not among the \"classes\"",
                            number_at(column, at));
    }
    return is_label_of_class(tensor) ? check_class(tensor, value_of(part, column, at))
                                     : status_ok();
}

static struct status check_dense(const struct row_tensor *tensor, const struct row_part *part,
                                 const struct column *column, size_t row)
{
    size_t begin = column_begin(column, row), count = column->ends[row] - begin;

    if (count == 0 && part->from->has_default)
        return is_label_of_class(tensor) ? check_class(tensor, default_of(part->from))
                                         : status_ok();
    if (count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no value; a \"default\" in --schema would stand for it");
    if (count != (size_t)part->width)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu values, expected %" PRId64, count,
                            part->width);
    if (part->from->classes == NULL && !is_label_of_class(tensor))
        return status_ok();
    for (size_t i = 0; i < count; i++)
        TRY(check_value(tensor, part, column, begin + i));
    return status_ok();
}

static struct status check_sparse(const struct row_part *part, const struct columns *columns,
                                  size_t row)
{
    const struct column *index = &columns->list[part->index], *value = &columns->list[part->value];
    size_t begin = column_begin(index, row), count = index->ends[row] - begin;
    int64_t first = part->from->first_index;

    if (count != value->ends[row] - column_begin(value, row))
        return status_error(STATUS_INVALID_ARGUMENT, "%zu indices but %zu values", count,
                            value->ends[row] - column_begin(value, row));
    for (size_t i = begin; i < begin + count; i++)
        if (index->ints[i] < first || index->ints[i] >= first + part->width)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the index %" PRId64 ", expected %" PRId64 " to %" PRId64
                                " (see \"first_index\" and \"width\" in --schema)",
                                index->ints[i], first, first + part->width - 1);
    return status_ok();
}

struct status row_layout_check(const struct row_layout *layout, const struct columns *columns,
                               size_t row)
{
    for (int t = 0; t < layout->count; t++) {
        const struct row_tensor *tensor = &layout->tensors[t];
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            TRY(status_in(part->from->kind == SCHEMA_SPARSE
                              ? check_sparse(part, columns, row)
                              : check_dense(tensor, part, &columns->list[part->value], row),
                          "column '%s'", part->from->name));
        }
    }
    return status_ok();
}

/* ---- Gathering rows. ---- */

static void gather_sparse(const struct row_part *part, const struct columns *columns, size_t row,
                          float *out)
{
    const struct column *index = &columns->list[part->index], *value = &columns->list[part->value];
    int64_t first = part->from->first_index;

    memset(out, 0, (size_t)part->width * sizeof *out);
    size_t values = column_begin(value, row);
    for (size_t i = column_begin(index, row); i < index->ends[row]; i++)
        out[index->ints[i] - first] += value->floats[values++];
}

static void gather_dense(const struct row_tensor *tensor, const struct row_part *part,
                         const struct column *column, size_t row, float *out)
{
    const struct schema_column *from = part->from;
    size_t begin = column_begin(column, row), count = column->ends[row] - begin;

    if (count == 0)
        for (int64_t i = 0; i < part->width; i++)
            out[i] = (float)class_of(tensor, default_of(from));
    else if (column->kind == COLUMN_FLOAT && from->mean == 0 && from->stddev == 1 &&
             from->classes == NULL && !tensor->is_binary)
        memcpy(out, column->floats + begin, count * sizeof *out);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (float)class_of(tensor, value_of(part, column, begin + i));
}

static void gather_floats(const struct row_tensor *tensor, const struct columns *columns,
                          const uint32_t *rows, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            if (part->from->kind == SCHEMA_SPARSE)
                gather_sparse(part, columns, rows[i], out);
            else
                gather_dense(tensor, part, &columns->list[part->value], rows[i], out);
            out += part->width;
        }
}

static void gather_classes(const struct row_tensor *tensor, const struct columns *columns,
                           const uint32_t *rows, size_t count, int32_t *out)
{
    const struct row_part *part = tensor->parts;
    const struct column *column = &columns->list[part->value];

    for (size_t i = 0; i < count; i++) {
        size_t begin = column_begin(column, rows[i]);
        double value =
            begin == column->ends[rows[i]] ? default_of(part->from) : value_of(part, column, begin);
        out[i] = (int32_t)class_of(tensor, value);
    }
}

void row_layout_gather(const struct row_layout *layout, int tensor, const struct columns *columns,
                       const uint32_t *rows, size_t count, void *out)
{
    const struct row_tensor *made = &layout->tensors[tensor];

    if (made->column.spec.dtype == DT_INT32)
        gather_classes(made, columns, rows, count, out);
    else
        gather_floats(made, columns, rows, count, out);
}
