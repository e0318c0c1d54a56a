#include "trainer/data/row_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fingerprint.h"

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

struct integer_range row_integer_range(enum dtype dtype)
{
    switch (dtype) {
    case DT_BOOL:
        return (struct integer_range){ 0, 2 };
    case DT_INT8:
        return (struct integer_range){ -0x1p7, 0x1p7 };
    case DT_UINT8:
        return (struct integer_range){ 0, 0x1p8 };
    case DT_INT16:
        return (struct integer_range){ -0x1p15, 0x1p15 };
    case DT_UINT16:
        return (struct integer_range){ 0, 0x1p16 };
    case DT_INT32:
        return (struct integer_range){ -0x1p31, 0x1p31 };
    case DT_UINT32:
        return (struct integer_range){ 0, 0x1p32 };
    case DT_UINT64:
        return (struct integer_range){ 0, 0x1p63 };
    default:
        return (struct integer_range){ -0x1p63, 0x1p63 };
    }
}

int row_class(const struct schema_column *from, const struct column *column, size_t at)
{
    for (int i = 0; i < from->classes_count; i++)
        if (column->kind == COLUMN_BYTES ? bytes_equal(from->classes[i], column_text(column, at))
                                         : is_same_number(from->classes[i], row_number(column, at)))
            return i;
    return -1;
}

int64_t row_range(const struct schema_column *from, float value)
{
    int64_t low = 0, high = from->boundaries_count;

    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (value < from->boundaries[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int64_t row_bucket(const struct row_part *part, const struct column *column, size_t at)
{
    char number[24];
    struct bytes text;

    if (column->kind == COLUMN_BYTES) {
        text = column_text(column, at);
    } else {
        int size = snprintf(number, sizeof number, "%" PRId64, column_int(column, at));
        text = (struct bytes){ number, (size_t)size };
    }
    return (int64_t)(fingerprint64(text) % (uint64_t)part->from->hash_buckets);
}

bool row_one_hot_classes(const struct row_tensor *tensor, const struct columns *columns, size_t row,
                         int32_t *out)
{
    int64_t found = -1, class = 0, step = 0;

    for (int p = 0; p < tensor->parts_count; p++) {
        const struct row_part *part = &tensor->parts[p];
        const struct column *column = &columns->list[part->value];
        size_t begin = column_begin(column, row);
        bool none = begin == column->ends[row];
        for (int64_t i = 0; i < part->width; i++) {
            double value =
                none ? row_default(part->from) : row_value(part, column, begin + (size_t)i);
            if ((value != 0 && value != 1) || (value == 1 && found >= 0))
                return false;
            found = value == 1 ? class : found;
            if (++class < tensor->column.classes)
                continue;
            if (found < 0)
                return false;
            if (out != NULL)
                out[step++] = (int32_t)found;
            found = -1;
            class = 0;
        }
    }
    return true;
}
