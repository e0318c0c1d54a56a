#include "trainer/records/delimited.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/characters.h"
#include "base/container.h"
#include "base/json_number.h"
#include "trainer/records/number_text.h"
#include "trainer/records/text_input.h"

#define HEADER_FIELDS_MAX 100000
#define NO_COLUMN         (-1)

struct dialect {
    char delimiter;
    bool quotes;
    const char *const *names; /* NULL: of the header or the options */
    int names_count, first_hex;
};

struct delimited_reader {
    struct record_reader reader;
    const struct dialect *dialect;
    struct dialect own; /* what `dialect` is, if the file has another delimiter */
    struct text_input input;
    char **names;
    int *targets;     /* [fields_count]: the column of each field, or NO_COLUMN */
    char *separators; /* [fields_count]: between the values of a field; 0: it is one value */
    int fields_count;
    struct buffer unquoted; /* the field that is read, without its quotes */
};

/* A field of a line. */
struct field_text {
    struct bytes text; /* in the window, or in `unquoted` */
    bool quoted;
};

/* What became of a record that is being read. */
enum record_end { RECORD_WHOLE, RECORD_CUT, RECORD_BAD };

static struct delimited_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct delimited_reader, reader);
}

/* ---- One field. ---- */

/* Is this the end of a field? CR belongs to it only before LF. */
static inline bool ends_field(const char *at, char delimiter)
{
    return *at == delimiter || *at == '\n' || (*at == '\r' && at[1] == '\n');
}

/* Copies a quoted field without its quotes. `at` stands behind the first one. Returns the position
 * behind the last one; NULL: it is not in the window. */
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

/* Finds the end of a field without quotes. *bad: it holds a character that it may not. */
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

/* Reads the field at `at`. Returns its end. *out is set only if the result is RECORD_WHOLE. */
static enum record_end read_field(struct delimited_reader *reader, const char **position,
                                  const char *end, struct field_text *out, struct status *bad)
{
    const char *at = *position, *next;

    if (*at != '"' || !reader->dialect->quotes) {
        next = skip_plain(reader->dialect, at, bad);
        *out = (struct field_text){ { at, (size_t)(next - at) }, false };
    } else if ((next = unquote(reader, at + 1, end)) == NULL) {
        return RECORD_CUT;
    } else {
        *out = (struct field_text){ { reader->unquoted.data, reader->unquoted.size }, true };
        if (next < end && !ends_field(next, reader->dialect->delimiter))
            *bad = status_error(STATUS_INVALID_ARGUMENT, "text behind a closing quote");
    }
    *position = next;
    if (!status_is_ok(*bad))
        return RECORD_BAD;
    /* A CR at the end of the window may belong to a CR LF. */
    return next >= end || (*next == '\r' && next + 1 == end) ? RECORD_CUT : RECORD_WHOLE;
}

/* ---- One record. ---- */

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
        TRY(field >= reader->dialect->first_hex ? number_text_hex(text, &integer)
                                                : number_text_int64(text, &integer));
        column_add_int64(column, integer);
        break;
    case COLUMN_FLOAT:
        TRY(number_text_float(text, &number));
        column_add_float(column, number);
        break;
    }
    return status_ok();
}

/* The values of a field with a separator. */
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

/* The usual field is a number as JSON has it, with the delimiter behind. Returns its end, or NULL:
 * nothing was read. */
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
    struct field_text text;

    if (column != NULL && reader->separators[field] == '\0')
        next = add_plain_number(reader->dialect, field, *position, column);
    if (next != NULL) {
        *position = next;
        return next >= end || (*next == '\r' && next + 1 == end) ? RECORD_CUT : RECORD_WHOLE;
    }
    enum record_end result = read_field(reader, position, end, &text, bad);
    if (result == RECORD_BAD)
        return refuse_field(reader, field, *bad, bad);
    if (result == RECORD_CUT || column == NULL || text.text.size == 0)
        return result;
    struct status status = add_values(reader, field, text.text, column);
    return status_is_ok(status) ? RECORD_WHOLE : refuse_field(reader, field, status, bad);
}

/* Reads the record at `at`; *next is behind its line end. */
static enum record_end take_record(struct delimited_reader *reader, const char *at, const char *end,
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

/* ---- The file. ---- */

/* Finds the end of a record, whatever its fields hold: a line end outside quotes. NULL: it is not
 * in the window. */
static const char *find_record_end(const struct dialect *dialect, const char *at, const char *end)
{
    bool open = false;

    for (const char *line; (line = memchr(at, '\n', (size_t)(end - at))) != NULL; at = line + 1) {
        const char *quote = dialect->quotes ? at : NULL;
        for (; quote != NULL && (quote = memchr(quote, '"', (size_t)(line - quote))) != NULL;
             quote++)
            open = !open;
        if (!open)
            return line + 1;
    }
    return NULL;
}

static void advance(struct text_input *input, const char *next)
{
    const char *at = input->data + input->at;

    if (next - at < 2 || memchr(at, '\n', (size_t)(next - at) - 1) == NULL)
        input->line++;
    else
        for (; at < next; at++)
            input->line += *at == '\n';
    input->at = (size_t)(next - input->data);
}

/* Skips lines without any character, which people leave at the ends of files. */
static void skip_empty_lines(struct delimited_reader *reader)
{
    struct text_input *input = &reader->input;

    while (reader->fields_count > 1 && input->at < input->size) {
        const char *at = input->data + input->at;
        size_t size = *at == '\n' ? 1 : *at == '\r' && at[1] == '\n' ? 2 : 0;
        if (size == 0 || input->at + size > input->size)
            return;
        input->at += size;
        input->line++;
    }
}

/* Finds where the next record ends, whatever its fields hold: with its first line, if a quote is
 * never closed. *found is false at the end of the file. */
static struct status find_next(struct delimited_reader *reader, bool *found, const char **next)
{
    struct text_input *input = &reader->input;
    bool grown = true;

    for (*next = NULL; *next == NULL && grown;) {
        skip_empty_lines(reader);
        *found = input->at < input->size;
        reader->reader.place = input->line;
        if (*found)
            *next = find_record_end(reader->dialect, input->data + input->at,
                                    input->data + input->size);
        if (*next == NULL)
            TRY(text_input_more(input, &grown));
    }
    if (*found && *next == NULL)
        *next = (const char *)memchr(input->data + input->at, '\n', input->size - input->at) + 1;
    return status_ok();
}

static struct status pass_bad(struct delimited_reader *reader)
{
    const char *next;
    bool found;

    TRY(find_next(reader, &found, &next));
    advance(&reader->input, next);
    return status_ok();
}

/* Reads the next record, over the borders of windows. *found is false at the end of the file. */
static struct status next_record(struct delimited_reader *reader, struct columns *columns,
                                 bool *found, struct status *bad)
{
    struct text_input *input = &reader->input;
    const char *next = NULL;
    bool grown = true;

    for (;;) {
        skip_empty_lines(reader);
        *found = input->at < input->size;
        reader->reader.place = input->line;
        enum record_end result = *found
                                     ? take_record(reader, input->data + input->at,
                                                   input->data + input->size, columns, &next, bad)
                                     : RECORD_CUT;
        if (result == RECORD_WHOLE) {
            advance(input, next);
            return status_ok();
        }
        columns_drop_row(columns);
        if (result == RECORD_BAD)
            return pass_bad(reader);
        TRY(text_input_more(input, &grown));
        if (grown)
            continue;
        if (!*found)
            return status_ok();
        *bad = status_error(STATUS_INVALID_ARGUMENT, "no closing quote");
        return pass_bad(reader);
    }
}

static struct status delimited_read(struct record_reader *base, size_t rows_max,
                                    struct columns *columns, struct status *bad)
{
    struct delimited_reader *reader = reader_of(base);
    bool found;

    for (size_t i = 0; i < rows_max; i++) {
        TRY(next_record(reader, columns, &found, bad));
        if (!found || !status_is_ok(*bad))
            return status_ok();
        columns_end_row(columns);
    }
    return status_ok();
}

/* Unless a record is bad, its quotes come in pairs, and it ends outside of them. The worker that
 * reads a bad record reports it. */
static struct status delimited_skip(struct record_reader *base, bool *found)
{
    struct delimited_reader *reader = reader_of(base);
    struct text_input *input = &reader->input;
    const char *next;

    TRY(find_next(reader, found, &next));
    if (!*found)
        return status_ok();
    base->skipped_bytes = (size_t)(next - (input->data + input->at));
    advance(input, next);
    return status_ok();
}

static void delimited_close(struct record_reader *base)
{
    struct delimited_reader *reader = reader_of(base);

    text_input_close(&reader->input);
    for (int i = 0; i < reader->fields_count; i++)
        free(reader->names[i]);
    free(reader->names);
    free(reader->targets);
    free(reader->separators);
    buffer_finish(&reader->unquoted);
    free(reader);
}

/* ---- The names of the columns. ---- */

static void add_name(struct delimited_reader *reader, struct bytes name)
{
    int count = reader->fields_count++;

    reader->names = xrealloc(reader->names, (size_t)(count + 1) * sizeof *reader->names);
    reader->names[count] = zalloc(name.size + 1);
    if (name.size > 0)
        memcpy(reader->names[count], name.data, name.size);
}

static void forget_names(struct delimited_reader *reader)
{
    for (int i = 0; i < reader->fields_count; i++)
        free(reader->names[i]);
    reader->fields_count = 0;
}

/* Reads the names in the window's first line. */
static enum record_end take_header(struct delimited_reader *reader, const char **next,
                                   struct status *bad)
{
    const char *at = reader->input.data + reader->input.at,
               *end = reader->input.data + reader->input.size;
    struct field_text field;

    for (;; at++) {
        enum record_end result = read_field(reader, &at, end, &field, bad);
        if (result != RECORD_WHOLE)
            return result;
        add_name(reader, field.text);
        if (*at != reader->dialect->delimiter)
            break;
        if (reader->fields_count == HEADER_FIELDS_MAX) {
            *bad = status_error(STATUS_INVALID_ARGUMENT, "more than %d columns", HEADER_FIELDS_MAX);
            return RECORD_BAD;
        }
    }
    *next = at + (*at == '\r') + 1;
    return RECORD_WHOLE;
}

static struct status read_header(struct delimited_reader *reader)
{
    struct text_input *input = &reader->input;
    struct status bad = status_ok();
    const char *next = NULL;
    bool grown = true;

    if (input->at == input->size)
        return status_error(STATUS_INVALID_ARGUMENT, "the file is empty: it has no header");
    for (;;) {
        enum record_end result = take_header(reader, &next, &bad);
        if (result == RECORD_BAD)
            return status_in(bad, "line 1");
        if (result == RECORD_WHOLE)
            break;
        forget_names(reader);
        TRY(text_input_more(input, &grown));
        if (!grown)
            return status_error(STATUS_INVALID_ARGUMENT, "line 1: no closing quote");
    }
    advance(input, next);
    return status_ok();
}

static struct status find_names(struct delimited_reader *reader,
                                const struct record_options *options)
{
    const struct dialect *dialect = reader->dialect;
    const char *const *names = dialect->names != NULL ? dialect->names : options->column_names;
    int count = dialect->names != NULL ? dialect->names_count : options->column_names_count;

    if (names == NULL)
        return read_header(reader);
    for (int i = 0; i < count; i++)
        add_name(reader, bytes_of(names[i]));
    return status_ok();
}

/* For an error: "a, b, c". */
static const char *show_names(struct delimited_reader *reader)
{
    struct buffer *out = &reader->unquoted;
    int shown = reader->fields_count < 50 ? reader->fields_count : 50;

    out->size = 0;
    for (int i = 0; i < shown; i++)
        buffer_printf(out, "%s%s", i == 0 ? "" : ", ", reader->names[i]);
    buffer_append_text(out, shown < reader->fields_count ? ", …" : "");
    buffer_append_char(out, '\0');
    return out->data;
}

static char separator_of(const struct record_options *options, const char *column)
{
    for (int i = 0; i < options->separators_count; i++)
        if (strcmp(options->separators[i].column, column) == 0)
            return options->separators[i].separator;
    return '\0';
}

static struct status find_targets(struct delimited_reader *reader,
                                  const struct record_options *options,
                                  const struct columns *columns)
{
    reader->targets = zalloc((size_t)reader->fields_count * sizeof *reader->targets);
    reader->separators = zalloc((size_t)reader->fields_count);
    for (int field = 0; field < reader->fields_count; field++)
        reader->targets[field] = NO_COLUMN;
    for (int i = 0; i < columns->count; i++) {
        int found = NO_COLUMN;
        for (int field = 0; field < reader->fields_count; field++) {
            if (strcmp(reader->names[field], columns->list[i].name) != 0)
                continue;
            if (found != NO_COLUMN)
                return status_error(STATUS_INVALID_ARGUMENT, "two columns '%s'",
                                    columns->list[i].name);
            found = field;
        }
        if (found == NO_COLUMN)
            return status_error(STATUS_INVALID_ARGUMENT, "no column '%s' among %s",
                                columns->list[i].name, show_names(reader));
        reader->targets[found] = i;
        reader->separators[found] = separator_of(options, columns->list[i].name);
    }
    return status_ok();
}

/* What may divide fields in place of commas and tabs. A header that has none of the format's own
 * delimiters, and some of these, is divided by the one that it has most of; so is a first line that
 * then has as many fields as there are names. */
static char guess_delimiter(const struct delimited_reader *reader,
                            const struct record_options *options)
{
    static const char others[] = ";\t|,";
    const char *at = reader->input.data + reader->input.at, *found = NULL;
    const char *end = reader->input.data + reader->input.size;
    int counts[COUNT(others)] = { 0 }, own = 0, most = 0;

    for (bool quoted = false; at < end && (*at != '\n' || quoted); at++) {
        quoted ^= *at == '"';
        found = *at != '\0' && !quoted ? strchr(others, *at) : NULL;
        own += !quoted && *at == reader->dialect->delimiter;
        if (found != NULL)
            counts[found - others]++;
    }
    for (int i = 1; i < (int)COUNT(others) - 1; i++)
        most = counts[i] > counts[most] ? i : most;
    bool named = options->column_names == NULL || counts[most] + 1 == options->column_names_count;
    return own == 0 && counts[most] > 0 && named ? others[most] : reader->dialect->delimiter;
}

static void choose_delimiter(struct delimited_reader *reader, const struct record_options *options)
{
    char delimiter = options->delimiter;

    if (delimiter == '\0' && reader->dialect->names == NULL)
        delimiter = guess_delimiter(reader, options);
    if (delimiter == '\0' || delimiter == reader->dialect->delimiter)
        return;
    reader->own = *reader->dialect;
    reader->own.delimiter = delimiter;
    reader->dialect = &reader->own;
}

static struct status open_dialect(const struct dialect *dialect, const char *path,
                                  const struct record_options *options,
                                  const struct columns *columns, struct record_reader **out)
{
    struct delimited_reader *reader = zalloc(sizeof *reader);
    struct status status;

    reader->dialect = dialect;
    TRY_OR(fail, text_input_open(path, options->window_bytes, &reader->input));
    choose_delimiter(reader, options);
    TRY_OR(fail, find_names(reader, options));
    TRY_OR(fail, find_targets(reader, options, columns));
    *out = &reader->reader;
    return status_ok();

fail:
    delimited_close(&reader->reader);
    return status;
}

static struct status list_dialect(const struct dialect *dialect, const char *path,
                                  const struct record_options *options, struct arena *arena,
                                  struct record_fields *out)
{
    struct columns none = { 0 };
    struct record_reader *base;

    TRY(open_dialect(dialect, path, options, &none, &base));
    struct delimited_reader *reader = reader_of(base);
    struct record_field *fields = ARENA_ARRAY(arena, struct record_field, reader->fields_count);
    for (int i = 0; i < reader->fields_count; i++)
        fields[i] = (struct record_field){ .name = arena_strdup(arena, reader->names[i]),
                                           .kind = COLUMN_BYTES,
                                           .is_text = i < dialect->first_hex };
    *out = (struct record_fields){ .list = fields, .count = reader->fields_count };
    if (reader->dialect->delimiter != dialect->delimiter)
        out->delimiter = reader->dialect->delimiter;
    delimited_close(base);
    return status_ok();
}

/* ---- The dialects. ---- */

/* The number of delimiters in the first line; 0: it holds what text files do not. */
static int count_delimiters(struct bytes start, char delimiter)
{
    int count = 0;

    for (size_t i = 0; i < start.size && start.data[i] != '\n'; i++) {
        if ((unsigned char)start.data[i] < ' ' && strchr("\t\r", start.data[i]) == NULL)
            return 0;
        count += start.data[i] == delimiter;
    }
    return count;
}

static bool csv_recognises(struct bytes start)
{
    return count_delimiters(start, ',') > 0;
}

static bool tsv_recognises(struct bytes start)
{
    return count_delimiters(start, '\t') > 0;
}

static bool criteo_recognises(struct bytes start)
{
    return start.size > 2 && (start.data[0] == '0' || start.data[0] == '1') &&
           start.data[1] == '\t' && count_delimiters(start, '\t') == 39;
}

static const char *const criteo_names[] = { "label", "I1",  "I2",  "I3",  "I4",  "I5",  "I6",
                                            "I7",    "I8",  "I9",  "I10", "I11", "I12", "I13",
                                            "C1",    "C2",  "C3",  "C4",  "C5",  "C6",  "C7",
                                            "C8",    "C9",  "C10", "C11", "C12", "C13", "C14",
                                            "C15",   "C16", "C17", "C18", "C19", "C20", "C21",
                                            "C22",   "C23", "C24", "C25", "C26" };

static const struct dialect csv = { .delimiter = ',', .quotes = true, .first_hex = INT32_MAX };
static const struct dialect tsv = { .delimiter = '\t', .quotes = true, .first_hex = INT32_MAX };
static const struct dialect criteo = {
    .delimiter = '\t', .names = criteo_names, .names_count = COUNT(criteo_names), .first_hex = 14
};

#define DIALECT(dialect)                                                                           \
    static struct status dialect##_open(const char *path, const struct record_options *options,    \
                                        const struct columns *columns, struct record_reader **out) \
    {                                                                                              \
        return open_dialect(&dialect, path, options, columns, out);                                \
    }                                                                                              \
    static struct status dialect##_list(const char *path, const struct record_options *options,    \
                                        struct arena *arena, struct record_fields *out)            \
    {                                                                                              \
        return list_dialect(&dialect, path, options, arena, out);                                  \
    }

DIALECT(csv)
DIALECT(tsv)
DIALECT(criteo)

const struct record_format csv_format = { .name = "csv",
                                          .suffixes = ".csv",
                                          .recognises = csv_recognises,
                                          .has_fields = true,
                                          .open = csv_open,
                                          .read = delimited_read,
                                          .skip = delimited_skip,
                                          .close = delimited_close,
                                          .place = "line",
                                          .list = csv_list };
const struct record_format tsv_format = { .name = "tsv",
                                          .suffixes = ".tsv",
                                          .recognises = tsv_recognises,
                                          .has_fields = true,
                                          .open = tsv_open,
                                          .read = delimited_read,
                                          .skip = delimited_skip,
                                          .close = delimited_close,
                                          .place = "line",
                                          .list = tsv_list };
const struct record_format criteo_format = { .name = "criteo",
                                             .suffixes = ".criteo",
                                             .recognises = criteo_recognises,
                                             .open = criteo_open,
                                             .read = delimited_read,
                                             .skip = delimited_skip,
                                             .close = delimited_close,
                                             .place = "line",
                                             .list = criteo_list };
