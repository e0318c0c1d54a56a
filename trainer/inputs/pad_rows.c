#include "trainer/inputs/pad_rows.h"

#include <inttypes.h>
#include <string.h>

#define PADDED_BYTES_MAX (1 << 30)
#define STEP_SIZE_MAX    (1 << 30)

int64_t padded_step_size(const struct tensor_spec *spec)
{
    int64_t size = 1;

    if (spec->layout != TENSOR_DENSE || spec->dtype == DT_STRING || spec->shape.rank < 2 ||
        spec->shape.dims[1] >= 0)
        return 0;
    for (int i = 2; i < spec->shape.rank && size > 0; i++)
        size = spec->shape.dims[i] > 0 && spec->shape.dims[i] <= STEP_SIZE_MAX / size
                   ? size * spec->shape.dims[i]
                   : 0;
    return size;
}

bool pads_rows(const struct tensor_spec *wanted, const struct tensor_spec *given)
{
    bool same =
        given->dtype == wanted->dtype || (given->dtype == DT_INT64 && wanted->dtype == DT_INT32);

    return same && given->layout == TENSOR_RAGGED && padded_step_size(wanted) > 0;
}

/* Copies values; those of an int64 column to an int32 feed must fit. */
static struct status copy_values(const struct tensor_spec *to, const struct tensor *from,
                                 int64_t first, int64_t count, char *out)
{
    size_t size = dtype_size(to->dtype);

    if (to->dtype == from->dtype) {
        if (count > 0)
            memcpy(out, (const char *)from->data + (size_t)first * size, (size_t)count * size);
        return status_ok();
    }
    const int64_t *values = (const int64_t *)from->data + first;
    int32_t *ints = (int32_t *)(void *)out;
    for (int64_t i = 0; i < count; i++) {
        if (values[i] < INT32_MIN || values[i] > INT32_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "%" PRId64
                                " is no integer of type int32, as the model's '%s' takes",
                                values[i], to->name);
        ints[i] = (int32_t)values[i];
    }
    return status_ok();
}

/* One list that is far longer than the others must not exhaust memory. */
static struct status check_size(const struct tensor_spec *spec, int64_t rows, int64_t longest)
{
    int64_t values_max = PADDED_BYTES_MAX / (int64_t)dtype_size(spec->dtype);

    if (rows == 0 || longest <= values_max / rows)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "the model's '%s': a list has %" PRId64 " values, and all %" PRId64
                        " lists of the batch, padded to it, would take more than %d MiB: choose a "
                        "smaller --batch_size",
                        spec->name, longest, rows, PADDED_BYTES_MAX >> 20);
}

/* Fills classes [count] with the ignored class. */
static void fill_classes(char *out, int64_t class, size_t count)
{
    const int32_t value = (int32_t) class;

    for (size_t i = 0; i < count; i++)
        memcpy(out + i * sizeof value, &value, sizeof value);
}

struct status pad_rows(const struct tensor_spec *spec, const struct batch_column *column,
                       const int64_t *ignored_class, struct buffer *room, struct tensor *out)
{
    const int64_t *splits = column->row_splits.data, step = padded_step_size(spec);
    int64_t rows = column->row_splits.size - 1, longest = step;

    for (int64_t r = 0; r < rows; r++) {
        int64_t size = splits[r + 1] - splits[r];
        if (size % step != 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "a list of %" PRId64 " values; the model's '%s' is %s and takes "
                                "steps of %" PRId64,
                                size, spec->name, tensor_spec_text(spec), step);
        longest = size > longest ? size : longest;
    }
    TRY(check_size(spec, rows, longest));
    size_t row_bytes = (size_t)longest * dtype_size(spec->dtype);
    room->size = 0;
    buffer_reserve(room, (size_t)rows * row_bytes + 1);
    memset(room->data, 0, (size_t)rows * row_bytes);
    if (ignored_class != NULL && spec->dtype == DT_INT32)
        fill_classes(room->data, *ignored_class, (size_t)(rows * longest));
    for (int64_t r = 0; r < rows; r++)
        TRY(copy_values(spec, &column->values, splits[r], splits[r + 1] - splits[r],
                        room->data + (size_t)r * row_bytes));
    struct shape shape = spec->shape;
    shape.dims[0] = rows;
    shape.dims[1] = longest / step;
    *out = tensor_borrow(spec->dtype, &shape, room->data);
    return status_ok();
}
