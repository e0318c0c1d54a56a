#include "trainer/predict/prediction_text.h"

#include <string.h>

#include "base/bytes.h"
#include "base/text_print.h"
#include "tensor/value_json.h"

/* Values in a row. */
static int64_t row_size(const struct tensor *tensor, int64_t rows)
{
    return rows > 0 ? tensor->size / rows : 0;
}

static bool has_text(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_HALF:
    case DT_BFLOAT16:
    case DT_BOOL:
    case DT_STRING:
    case DT_INT8:
    case DT_INT16:
    case DT_INT32:
    case DT_INT64:
    case DT_UINT8:
    case DT_UINT16:
    case DT_UINT32:
    case DT_UINT64:
        return true;
    default:
        return false;
    }
}

struct status prediction_check(const struct prediction_column *columns, int count, int64_t rows)
{
    for (int i = 0; i < count; i++) {
        const struct tensor *values = columns[i].values;
        if (!has_text(values->dtype))
            return status_error(STATUS_UNIMPLEMENTED, "output '%s' is %s, which has no text",
                                columns[i].name, dtype_name(values->dtype));
        if (values->shape.rank < 1 || values->shape.dims[0] != rows)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "output '%s' has shape %s for %lld rows: it is not one value, or "
                                "list of values, for each row",
                                columns[i].name, shape_text(&values->shape), (long long)rows);
    }
    return status_ok();
}

/* ---- CSV ---- */

static void print_field(struct bytes text, struct buffer *out)
{
    bool plain = true;

    for (size_t i = 0; i < text.size && plain; i++)
        plain = memchr(",\"\r\n", text.data[i], 4) == NULL;
    if (plain) {
        buffer_append(out, text.data, text.size);
        return;
    }
    buffer_append_char(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"')
            buffer_append_char(out, '"');
        buffer_append_char(out, text.data[i]);
    }
    buffer_append_char(out, '"');
}

static void print_csv_value(const struct tensor *values, int64_t at, struct buffer *out)
{
    if (values->dtype == DT_STRING)
        print_field(tensor_strings(values)[at], out);
    else
        value_element_to_text(values, at, out);
}

static void print_csv_row(const struct prediction_column *columns, int count, int64_t row,
                          struct buffer *out)
{
    for (int c = 0; c < count; c++) {
        const struct tensor *values = columns[c].values;
        int64_t size = row_size(values, values->shape.dims[0]);
        for (int64_t i = 0; i < size; i++) {
            if (c + i > 0)
                buffer_append_char(out, ',');
            print_csv_value(values, row * size + i, out);
        }
    }
    buffer_append_char(out, '\n');
}

void prediction_print_header(enum prediction_format format, const struct prediction_column *columns,
                             int count, struct buffer *out)
{
    struct buffer name = { 0 };

    if (format != PREDICTION_CSV)
        return;
    for (int c = 0; c < count; c++) {
        const struct tensor *values = columns[c].values;
        int64_t size = row_size(values, values->shape.dims[0]);
        for (int64_t i = 0; i < size; i++) {
            name.size = 0;
            buffer_append_text(&name, columns[c].name);
            if (values->shape.rank > 1 && size > 1)
                buffer_printf(&name, "_%lld", (long long)i);
            if (c + i > 0)
                buffer_append_char(out, ',');
            print_field((struct bytes){ name.data, name.size }, out);
        }
    }
    buffer_append_char(out, '\n');
    buffer_finish(&name);
}

/* ---- JSON lines ---- */

static void print_json_row(const struct prediction_column *columns, int count, int64_t row,
                           struct buffer *out)
{
    buffer_append_char(out, '{');
    for (int c = 0; c < count; c++) {
        if (c > 0)
            buffer_append_text(out, ", ");
        json_print_string(out, bytes_of(columns[c].name));
        buffer_append_text(out, ": ");
        value_row_to_text(columns[c].values, row, out);
    }
    buffer_append_text(out, "}\n");
}

void prediction_print_row(enum prediction_format format, const struct prediction_column *columns,
                          int count, int64_t row, struct buffer *out)
{
    if (format == PREDICTION_CSV)
        print_csv_row(columns, count, row, out);
    else
        print_json_row(columns, count, row, out);
}
