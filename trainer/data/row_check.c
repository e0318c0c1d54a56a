/* Checks whether the rows of a file can be gathered. */
#include <inttypes.h>
#include <math.h>

#include "base/clones.h"
#include "trainer/data/row_value.h"

#define TEXT_SHOWN_MAX 100 /* bytes of a wrong text that an error shows */

static bool is_label_of_class(const struct row_tensor *tensor)
{
    return tensor->is_binary || (tensor->column.classes > 0 && !tensor->is_one_hot);
}

static struct status check_class(const struct row_tensor *tensor, double value)
{
    double number = row_class_number(tensor, value);

    if (row_is_ignored(tensor, value))
        return status_ok();
    if (tensor->is_binary && number >= 0 && number <= 1)
        return status_ok();
    if (tensor->is_binary)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%g is not a class: expected 0 or -1, 1, or a probability; \"classes\" "
                            "in --schema list other labels",
                            value);
    if (number >= 0 && number < (double)tensor->column.classes && number == floor(number))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "%g is not a class: the model has the classes 0 to %" PRId64
                        "; \"classes\" in --schema list other labels",
                        value, tensor->column.classes - 1);
}

/* Is it a whole number of the tensor's dtype? */
static struct status check_integer(const struct row_tensor *tensor, double value)
{
    const struct integer_range range = row_integer_range(tensor->column.spec.dtype);
    double whole = tensor->truncates ? trunc(value) : floor(value);

    if (whole >= range.least && whole < range.end && (tensor->truncates || value == whole))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "%g is no integer of type %s, as the model takes",
                        value, dtype_name(tensor->column.spec.dtype));
}

static struct status no_such_class(struct bytes text)
{
    return status_error(STATUS_INVALID_ARGUMENT, "'%.*s' is not among the \"classes\"",
                        (int)(text.size < TEXT_SHOWN_MAX ? text.size : TEXT_SHOWN_MAX), text.data);
}

static struct status check_value(const struct row_tensor *tensor, const struct row_part *part,
                                 const struct column *column, size_t at)
{
    if (part->from->classes != NULL && row_class(part->from, column, at) < 0) {
        if (column->kind == COLUMN_BYTES)
            return no_such_class(column_text(column, at));
        return status_error(STATUS_INVALID_ARGUMENT, "%g is not among the \"classes\"",
                            row_number(column, at));
    }
    if (row_tensor_is_integers(tensor) &&
        (column->kind == COLUMN_FLOAT || tensor->column.spec.dtype != DT_INT64))
        return check_integer(tensor, row_value(part, column, at));
    return is_label_of_class(tensor) ? check_class(tensor, row_value(part, column, at))
                                     : status_ok();
}

/* In a hashed column, a row may have no value. */
static struct status check_hashed(const struct row_part *part, const struct column *column,
                                  size_t row)
{
    size_t count = column->ends[row] - column_begin(column, row);

    if (part->from->kind == SCHEMA_DENSE && count > (size_t)part->from->width)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu values, expected %" PRId64, count,
                            part->from->width);
    return status_ok();
}

static struct status check_dense(const struct row_tensor *tensor, const struct row_part *part,
                                 const struct column *column, size_t row)
{
    size_t begin = column_begin(column, row), count = column->ends[row] - begin;

    if (part->is_hashed_later || (part->from->hash_buckets > 0 && row_tensor_is_floats(tensor)))
        return check_hashed(part, column, row);
    if (tensor->step_size > 0 && count % (size_t)tensor->step_size != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%zu values, expected a multiple of %" PRId64
                            ", the values of a step of the model's '%s'",
                            count, tensor->step_size, tensor->column.spec.name);
    if (part->from->kind == SCHEMA_RAGGED || (count == 0 && row_tensor_is_text(tensor)))
        return status_ok();
    if (count == 0 && part->from->hash_buckets > 0) /* as of an empty text */
        return status_ok();
    if (count == 0 && part->from->has_default && part->from->boundaries != NULL)
        return status_ok();
    if (count == 0 && part->from->has_default && row_tensor_is_integers(tensor))
        return check_integer(tensor, row_default(part->from));
    if (count == 0 && part->from->has_default)
        return is_label_of_class(tensor) ? check_class(tensor, row_default(part->from))
                                         : status_ok();
    if (count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no value: give the column a \"default\" in --schema, as "
                            "`pstrain schema --normalize` does for features");
    if (count != (size_t)part->from->width)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu values, expected %" PRId64, count,
                            part->from->width);
    if (part->from->classes == NULL && !is_label_of_class(tensor) &&
        !row_tensor_is_integers(tensor))
        return status_ok();
    if (schema_categories(part->from) > 0)
        return status_ok();
    for (size_t i = 0; i < count; i++)
        TRY(check_value(tensor, part, column, begin + i));
    return status_ok();
}

/* One comparison also covers indices below the first. */
static inline bool is_within(int64_t index, int64_t first, uint64_t width)
{
    return (uint64_t)index - (uint64_t)first < width;
}

/* No branch per index, so that the compiler compares several at once. */
CLONES static bool are_within(const int64_t *indices, size_t count, int64_t first, uint64_t width)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < count; i++)
        wrong |= is_within(indices[i], first, width) ? 0 : 1;
    return wrong == 0;
}

/* The schema says no width, so the model's is the limit. */
static struct status beyond_model(const struct row_tensor *tensor, const struct row_part *part,
                                  int64_t index)
{
    int64_t first = part->from->first_index;
    const char *wider = tensor->any_width ? "; give the column its \"width\" in --schema" : "";
    const char *sparse = tensor->any_width && tensor->column.spec.layout == TENSOR_DENSE
                             ? ", or choose a model with a sparse input, such as "
                               "--model=sparse_logistic"
                             : "";

    return status_error(STATUS_INVALID_ARGUMENT,
                        "the index %" PRId64 ", expected %" PRId64 " to %" PRId64
                        ", by the width of the model's '%s'%s%s",
                        index, first, first + part->width - 1, tensor->column.spec.name, wider,
                        sparse);
}

static struct status check_sparse(const struct row_tensor *tensor, const struct row_part *part,
                                  const struct columns *columns, size_t row)
{
    const struct column *index = &columns->list[part->index], *value = &columns->list[part->value];
    size_t begin = column_begin(index, row), count = index->ends[row] - begin;
    int64_t first = part->from->first_index;

    if (count != value->ends[row] - column_begin(value, row))
        return status_error(STATUS_INVALID_ARGUMENT, "%zu indices but %zu values", count,
                            value->ends[row] - column_begin(value, row));
    if (are_within(index->ints + begin, count, first, (uint64_t)part->width))
        return status_ok();
    while (is_within(index->ints[begin], first, (uint64_t)part->width))
        begin++;
    if (part->from->width == 0 && index->ints[begin] >= first)
        return beyond_model(tensor, part, index->ints[begin]);
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the index %" PRId64 ", expected %" PRId64 " to %" PRId64
                        " (see \"first_index\" and \"width\" in --schema)",
                        index->ints[begin], first, first + part->width - 1);
}

static struct status check_hot_class(const struct row_tensor *tensor, const struct columns *columns,
                                     size_t row)
{
    if (!tensor->is_one_hot || row_one_hot_classes(tensor, columns, row, NULL))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the columns from '%s' on are not a class: expected 1 in one of %" PRId64
                        " values and 0 in the others",
                        tensor->parts[0].from->name, tensor->column.classes);
}

struct status row_layout_check(const struct row_layout *layout, const struct columns *columns,
                               size_t row)
{
    for (int t = 0; t < layout->count; t++) {
        const struct row_tensor *tensor = &layout->tensors[t];
        for (int p = 0; p < tensor->parts_count; p++) {
            const struct row_part *part = &tensor->parts[p];
            TRY(status_in(part->from->kind == SCHEMA_SPARSE
                              ? check_sparse(tensor, part, columns, row)
                              : check_dense(tensor, part, &columns->list[part->value], row),
                          "column '%s'", part->from->name));
        }
        TRY(check_hot_class(tensor, columns, row));
    }
    return status_ok();
}
