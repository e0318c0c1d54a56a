#include "runtime/kernels/records/csv_fields.h"

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/string_to_number.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, __VA_ARGS__)

struct status csv_check_columns(const char *name, int64_t count, const int64_t *columns)
{
    for (int64_t i = 1; i < count; i++)
        if (columns[i - 1] >= columns[i])
            return INVALID("%s should be strictly increasing indices", name);
    if (count > 0 && columns[0] < 0)
        return INVALID("%s should be non-negative indices", name);
    return status_ok();
}

struct status csv_check_default(const struct tensor *value, int column)
{
    if (value->shape.rank > 1)
        return INVALID("Each record default should be at most rank 1");
    if (value->size > 1)
        return INVALID("There should only be 1 default per field but field %d has %lld", column,
                       (long long)value->size);
    return status_ok();
}

struct status csv_store(struct kernel_context *k, struct bytes field, struct bytes missing,
                        const struct tensor *value, int column, const char *record,
                        struct tensor *out, int64_t row)
{
    bool valid = true;
    if (field.size == 0 || bytes_equal(field, missing)) {
        if (value->size != 1)
            return INVALID("Field %d is required but missing in record%s!", column, record);
        copy_element(value, 0, out, row);
        return status_ok();
    }
    if (out->dtype == DT_STRING)
        tensor_strings_mut(out)[row] = field;
    else
        TRY(string_to_number(k, field, out, row, &valid));
    if (valid)
        return status_ok();
    struct bytes shown = bytes_first(field, 100);
    return INVALID("Field %d in record%s is not a valid %s: %.*s", column, record,
                   dtype_name(out->dtype), (int)shown.size, shown.data);
}
