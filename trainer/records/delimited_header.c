#include <stdlib.h>

#include "base/map.h"
#include "trainer/records/delimited_internal.h"
#include "trainer/records/number_text.h"

#define HEADER_FIELDS_MAX 100000

/* ---- the names of the columns ---- */

static void add_name(struct delimited_reader *reader, struct bytes name)
{
    int count = reader->fields_count++;

    if ((count & (count - 1)) == 0) /* 0 or a power of 2: the room is full */
        reader->names =
            xrealloc(reader->names, (size_t)(count > 0 ? 2 * count : 1) * sizeof *reader->names);
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

/* Adds a name without the blanks around it, which people write after commas, unless it is in
 * quotes. */
static void add_trimmed(struct delimited_reader *reader, struct bytes name, bool quoted)
{
    struct bytes trimmed = quoted ? name : number_text_trim(name);

    if (trimmed.size < name.size && reader->blank_name == NULL) {
        reader->blank_name = zalloc(name.size + 1);
        memcpy(reader->blank_name, name.data, name.size);
    }
    add_name(reader, trimmed);
}

/* Reads the names in the window's first line. */
static enum record_end take_header(struct delimited_reader *reader, const char **next,
                                   struct status *bad)
{
    const char *at = reader->input.data + reader->input.at,
               *end = reader->input.data + reader->input.size;
    struct bytes field;

    for (;; at++) {
        bool quoted = *at == '"';
        enum record_end result = delimited_field(reader, &at, end, &field, bad);
        if (result != RECORD_WHOLE)
            return result;
        add_trimmed(reader, field, quoted);
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
        TRY(text_input_more(input, &grown));
    if (input->at == input->size)
        return status_error(STATUS_INVALID_ARGUMENT, "the file is empty: it has no header");
    for (;;) {
        enum record_end result = take_header(reader, &next, &bad);
        if (result == RECORD_BAD)
            return status_in(bad, "line %llu", (unsigned long long)input->line);
        if (result == RECORD_WHOLE)
            break;
        forget_names(reader);
        TRY(text_input_more(input, &grown));
        if (!grown)
            return status_error(STATUS_INVALID_ARGUMENT, "line %llu: no closing quote",
                                (unsigned long long)input->line);
    }
    delimited_advance(input, next);
    return status_ok();
}

struct status delimited_find_names(struct delimited_reader *reader,
                                   const struct record_options *options)
{
    const struct dialect *dialect = reader->dialect;
    const char *const *names = dialect->names != NULL ? dialect->names : options->column_names;
    int count = dialect->names != NULL ? dialect->names_count : options->column_names_count;

    if (names == NULL)
        return read_header(reader);
    reader->may_have_header = dialect->names == NULL && options->skip_lines == 0;
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

/* Two fields have this name. */
static char ambiguous;

/* Maps names to the reader's: a file may have 100 000 fields. */
static void note_fields(const struct delimited_reader *reader, struct map *out)
{
    for (int field = 0; field < reader->fields_count; field++) {
        const char *name = reader->names[field];
        map_put_text(out, name,
                     map_has(out, bytes_of(name)) ? (void *)&ambiguous : &reader->names[field]);
    }
}

/* For an error about names: the header may be a row, or not be in the first line. */
static const char *header_hint(const struct delimited_reader *reader,
                               const struct record_options *options)
{
    return reader->dialect->names == NULL && options->column_names == NULL ? " (" HEADER_ADVICE ")"
                                                                           : "";
}

/* Finds the field of column `target`. */
static struct status find_target(struct delimited_reader *reader,
                                 const struct record_options *options, const struct map *fields,
                                 const char *name, int target)
{
    void *found = map_get_text(fields, name);

    if (found == NULL) /* older schemas have names with their blanks */
        found = map_get(fields, number_text_trim(bytes_of(name)));
    if (found == &ambiguous)
        return status_error(STATUS_INVALID_ARGUMENT, "two columns '%s'%s", name,
                            header_hint(reader, options));
    if (found == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "no column '%s' among %s%s", name,
                            show_names(reader), header_hint(reader, options));
    ptrdiff_t field = (char **)found - reader->names;
    reader->targets[field] = target;
    reader->separators[field] = separator_of(options, name);
    return status_ok();
}

struct status delimited_find_targets(struct delimited_reader *reader,
                                     const struct record_options *options,
                                     const struct columns *columns)
{
    struct map fields = { 0 };
    struct status status = status_ok();

    reader->targets = zalloc((size_t)reader->fields_count * sizeof *reader->targets);
    reader->separators = zalloc((size_t)reader->fields_count);
    for (int field = 0; field < reader->fields_count; field++)
        reader->targets[field] = NO_COLUMN;
    note_fields(reader, &fields);
    for (int i = 0; i < columns->count && status_is_ok(status); i++)
        status = find_target(reader, options, &fields, columns->list[i].name, i);
    map_finish(&fields);
    return status;
}

/* Reads until the first record, or what there is of it, is in the window, and counts the delimiters
 * outside its quotes: those of `others`, and the format's own. A quote within a field opens
 * nothing, or the record would be the whole file. */
static struct status count_delimiters(struct delimited_reader *reader, const char *others,
                                      int *counts, int *own)
{
    struct text_input *input = &reader->input;
    size_t length = 0; /* of the record, as far as it has been seen */
    bool grown = true, quoted = false, may_open = true;

    for (;; length++) {
        while (input->at + length == input->size && grown)
            TRY(text_input_more(input, &grown));
        if (input->at + length == input->size)
            return status_ok();
        char c = input->data[input->at + length];
        if (c == '\n' && !quoted)
            return status_ok();
        if (c == '"') {
            may_open |= quoted; /* two quotes are one of the field */
            quoted = !quoted && may_open;
            continue;
        }
        const char *found = c != '\0' && !quoted ? strchr(others, c) : NULL;
        if (found != NULL)
            counts[found - others]++;
        may_open = !quoted && (found != NULL || c == reader->dialect->delimiter);
        *own += !quoted && c == reader->dialect->delimiter;
    }
}

/* Delimiters to try instead of commas and tabs. If a header has none of the format's own
 * delimiters but some of these, the most frequent one is used; for a first line of data, only if
 * it then has as many fields as there are names. */
static struct status guess_delimiter(struct delimited_reader *reader,
                                     const struct record_options *options, char *out)
{
    static const char others[] = ";\t|,";
    int counts[COUNT(others)] = { 0 }, own = 0, most = 0;

    TRY(count_delimiters(reader, others, counts, &own));
    for (int i = 1; i < (int)COUNT(others) - 1; i++)
        most = counts[i] > counts[most] ? i : most;
    bool named = options->column_names == NULL || counts[most] + 1 == options->column_names_count;
    *out = own == 0 && counts[most] > 0 && named ? others[most] : reader->dialect->delimiter;
    return status_ok();
}

/* A test set may lack the label, which is the first field of a format with names. */
static struct status drop_missing_label(struct delimited_reader *reader)
{
    int separators = 0;

    TRY(count_delimiters(reader, "", NULL, &separators));
    if (separators + 2 != reader->dialect->names_count)
        return status_ok();
    reader->own = *reader->dialect;
    reader->own.names++;
    reader->own.names_count--;
    reader->own.first_count--;
    reader->own.first_hex--;
    reader->dialect = &reader->own;
    return status_ok();
}

struct status delimited_choose_delimiter(struct delimited_reader *reader,
                                         const struct record_options *options)
{
    char delimiter = options->delimiter;

    if (reader->dialect->names != NULL)
        return drop_missing_label(reader);
    if (delimiter == '\0')
        TRY(guess_delimiter(reader, options, &delimiter));
    if (delimiter == '\0' || delimiter == reader->dialect->delimiter)
        return status_ok();
    reader->own = *reader->dialect;
    reader->own.delimiter = delimiter;
    reader->dialect = &reader->own;
    return status_ok();
}
