#include <math.h>
#include <string.h>

#include "base/json_number.h"
#include "trainer/records/delimited_internal.h"
#include "trainer/records/number_text.h"

/* ---- one field ---- */

/* Is this the end of a field? CR is part of it only before LF. */
static inline bool ends_field(const char *at, char delimiter)
{
    return *at == delimiter || *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/* Copies a quoted field without its quotes. `at` points after the opening quote. Returns the
 * position after the closing quote; NULL: not in the window. */
static const char *unquote(struct delimited_reader *reader, const char *at, const char *end)
{
    reader->unquoted.size = 0;
    for (;;) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL)
            return NULL;
        buffer_append(&reader->unquoted, at, (size_t)(quote - at));
        if (quote + 1 == end || quote[1] != '"')
            return quote + 1;
        buffer_append_char(&reader->unquoted, '"');
        at = quote + 2;
    }
}

static struct status bad_character(const char *at)
{
    return status_error(STATUS_INVALID_ARGUMENT, "%s within a field without quotes",
                        *at == '"' ? "a quote" : "a CR");
}

/* Finds the end of a field without quotes. *bad: it contains a forbidden character. */
static inline const char *skip_plain(const struct dialect *dialect, const char *at,
                                     struct status *bad)
{
    for (; *at != dialect->delimiter && *at != '\n'; at++) {
        if (*at == '\r' && at[1] == '\n')
            return at;
        if ((*at == '\r' || *at == '"') && dialect->quotes) {
            *bad = bad_character(at);
            return at;
        }
    }
    return at;
}

enum record_end delimited_field(struct delimited_reader *reader, const char **position,
                                const char *end, struct bytes *out, struct status *bad)
{
    const char *at = *position, *next;

    if (*at != '"' || !reader->dialect->quotes) {
        next = skip_plain(reader->dialect, at, bad);
        *out = (struct bytes){ at, (size_t)(next - at) };
    } else if ((next = unquote(reader, at + 1, end)) == NULL) {
        return RECORD_CUT;
    } else {
        *out = (struct bytes){ reader->unquoted.data, reader->unquoted.size };
        if (next < end && !ends_field(next, reader->dialect->delimiter))
            *bad = status_error(STATUS_INVALID_ARGUMENT, "text after a closing quote");
    }
    *position = next;
    if (!status_is_ok(*bad))
        return RECORD_BAD;
    /* A CR at the end of the window may belong to a CR LF. */
    return next >= end || (*next == '\r' && next + 1 == end) ? RECORD_CUT : RECORD_WHOLE;
}

/* ---- one record ---- */

/* The schema may be a guess from rows that had whole numbers only. */
static struct status add_integer(struct bytes text, struct column *column)
{
    int64_t integer;
    float number;
    struct status status = number_text_int64(text, &integer);

    if (status_is_ok(status))
        column_add_int64(column, integer);
    else if (status_is_ok(number_text_float(text, &number)) && number != floorf(number))
        return status_error(status.code,
                            "%s: fractions need \"dtype\": \"float32\" in --schema, which "
                            "`pstrain schema` prints",
                            status.message);
    return status;
}

static struct status add_value(const struct delimited_reader *reader, int field, struct bytes text,
                               struct column *column)
{
    int64_t integer = 0;
    float number = 0;

    switch (column->kind) {
    case COLUMN_BYTES:
        column_add_bytes(column, text);
        break;
    case COLUMN_INT64:
        if (field < reader->dialect->first_hex)
            return add_integer(text, column);
        TRY(number_text_hex(text, &integer));
        column_add_int64(column, integer);
        break;
    case COLUMN_FLOAT:
        TRY(number_text_float(text, &number));
        column_add_float(column, number);
        break;
    }
    return status_ok();
}

/* Adds the values of a field with a separator. */
static struct status add_values(const struct delimited_reader *reader, int field, struct bytes text,
                                struct column *column)
{
    char separator = reader->separators[field];
    const char *end = text.data + text.size;

    for (const char *at = text.data, *next; separator != '\0'; at = next + 1) {
        next = memchr(at, separator, (size_t)(end - at));
        if (next == NULL) {
            text = (struct bytes){ at, (size_t)(end - at) };
            break;
        }
        TRY(add_value(reader, field, (struct bytes){ at, (size_t)(next - at) }, column));
    }
    return add_value(reader, field, text, column);
}

/* The usual field is a JSON number followed by the delimiter. Returns its end, or NULL: nothing
 * was read. */
static inline const char *add_plain_number(const struct dialect *dialect, int field, const char *at,
                                           struct column *column)
{
    struct json_number number;
    int64_t integer;
    float value;
    const char *next;

    if (column->kind == COLUMN_FLOAT) {
        next = json_float_read(at, &value);
        if (next == NULL || !ends_field(next, dialect->delimiter) || !__builtin_isfinite(value))
            return NULL;
        column_add_float(column, value);
        return next;
    }
    if (column->kind != COLUMN_INT64 || field >= dialect->first_hex)
        return NULL;
    next = json_number_read(at, &number);
    if (next == NULL || !ends_field(next, dialect->delimiter) ||
        !json_number_int64(&number, &integer))
        return NULL;
    column_add_int64(column, integer);
    return next;
}

static enum record_end refuse_field(const struct delimited_reader *reader, int field,
                                    struct status why, struct status *bad)
{
    if (reader->may_have_header && reader->reader.place == 1)
        why = status_error(why.code, "%s; " SKIP_HEADER_ADVICE, why.message);
    *bad = field < reader->fields_count ? status_in(why, "column '%s'", reader->names[field]) : why;
    return RECORD_BAD;
}

/* Reads one field into its column. */
static enum record_end take_field(struct delimited_reader *reader, int field, const char **position,
                                  const char *end, struct columns *columns, struct status *bad)
{
    int target = field < reader->fields_count ? reader->targets[field] : NO_COLUMN;
    struct column *column = target == NO_COLUMN ? NULL : &columns->list[target];
    const char *next = NULL;
    struct bytes text;

    if (column != NULL && reader->separators[field] == '\0')
        next = add_plain_number(reader->dialect, field, *position, column);
    if (next != NULL) {
        text = (struct bytes){ *position, (size_t)(next - *position) };
        column->count -= bytes_equal(text, reader->na_value);
        *position = next;
        return next >= end || (*next == '\r' && next + 1 == end) ? RECORD_CUT : RECORD_WHOLE;
    }
    enum record_end result = delimited_field(reader, position, end, &text, bad);
    if (result == RECORD_BAD)
        return refuse_field(reader, field, *bad, bad);
    if (result == RECORD_CUT || column == NULL || text.size == 0 ||
        bytes_equal(text, reader->na_value))
        return result;
    struct status status = add_values(reader, field, text, column);
    return status_is_ok(status) ? RECORD_WHOLE : refuse_field(reader, field, status, bad);
}

enum record_end delimited_record(struct delimited_reader *reader, const char *at, const char *end,
                                 struct columns *columns, const char **next, struct status *bad)
{
    int field = 0;

    for (;; field++, at++) {
        enum record_end result = take_field(reader, field, &at, end, columns, bad);
        if (result != RECORD_WHOLE)
            return result;
        if (*at != reader->dialect->delimiter)
            break;
    }
    *next = at + (*at == '\r') + 1;
    if (field + 1 == reader->fields_count)
        return RECORD_WHOLE;
    *bad = status_error(STATUS_INVALID_ARGUMENT, "%d fields, wanted %d", field + 1,
                        reader->fields_count);
    return RECORD_BAD;
}
