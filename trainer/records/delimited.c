#include "trainer/records/delimited.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/characters.h"
#include "base/container.h"
#include "trainer/records/delimited_internal.h"

static struct delimited_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct delimited_reader, reader);
}

/* ---- the file ---- */

/* Finds the end of a record, whatever its fields: a line end outside quotes. NULL: not in the
 * window. */
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

void delimited_advance(struct text_input *input, const char *next)
{
    const char *at = input->data + input->at;

    if (next - at < 2 || memchr(at, '\n', (size_t)(next - at) - 1) == NULL)
        input->line++;
    else
        for (; at < next; at++)
            input->line += *at == '\n';
    input->at = (size_t)(next - input->data);
}

/* Skips empty lines, which often end files. */
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

/* Finds the end of the next record, whatever its fields: the end of its first line if a quote is
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
    delimited_advance(&reader->input, next);
    return status_ok();
}

/* Reads the next record, across window boundaries. *found is false at the end of the file. */
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
        enum record_end result =
            *found ? delimited_record(reader, input->data + input->at, input->data + input->size,
                                      columns, &next, bad)
                   : RECORD_CUT;
        if (result == RECORD_WHOLE) {
            delimited_advance(input, next);
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
    delimited_advance(input, next);
    return status_ok();
}

static void delimited_close(struct record_reader *base)
{
    struct delimited_reader *reader = reader_of(base);

    text_input_close(&reader->input);
    for (int i = 0; i < reader->fields_count; i++)
        free(reader->names[i]);
    free(reader->names);
    free(reader->blank_name);
    free(reader->targets);
    free(reader->separators);
    buffer_finish(&reader->unquoted);
    free(reader);
}

/* Passes lines before the header or the first row. */
static struct status pass_lines(struct text_input *input, int count)
{
    for (int i = 0; i < count; i++) {
        const char *end;
        TRY(text_input_line(input, &end));
        if (end == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the file has %d lines, and --skip_lines=%d", i, count);
        delimited_advance(input, end + 1);
    }
    return status_ok();
}

/* Passes empty lines before the header or the first row, unless they may be rows without values. */
static struct status pass_empty_lines(struct text_input *input, const struct dialect *dialect,
                                      const struct record_options *options)
{
    bool one =
        dialect->names == NULL && options->column_names != NULL && options->column_names_count == 1;
    const char *end;

    for (bool empty = !one; empty;) {
        TRY(text_input_line(input, &end));
        const char *at = input->data + input->at;
        empty = end == at || (end == at + 1 && *at == '\r');
        if (empty)
            delimited_advance(input, end + 1);
    }
    return status_ok();
}

static struct status open_dialect(const struct dialect *dialect, const char *path,
                                  const struct record_options *options,
                                  const struct columns *columns, struct record_reader **out)
{
    struct delimited_reader *reader = zalloc(sizeof *reader);
    struct status status;

    reader->dialect = dialect;
    reader->na_value = options->na_value;
    TRY_OR(fail, text_input_open(path, options->window_bytes, &reader->input));
    /* Programs that write a table in parts write some without a byte, not even a header. */
    if (columns->count > 0 && reader->input.ended && reader->input.at == reader->input.size) {
        *out = &reader->reader;
        return status_ok();
    }
    TRY_OR(fail, pass_lines(&reader->input, options->skip_lines));
    TRY_OR(fail, pass_empty_lines(&reader->input, dialect, options));
    TRY_OR(fail, delimited_choose_delimiter(reader, options));
    TRY_OR(fail, delimited_find_names(reader, options));
    TRY_OR(fail, delimited_find_targets(reader, options, columns));
    *out = &reader->reader;
    return status_ok();

fail:
    delimited_close(&reader->reader);
    return status;
}

static int count_nameless(const struct delimited_reader *reader)
{
    int count = 0;

    for (int i = 0; i < reader->fields_count; i++)
        count += *reader->names[i] == '\0';
    return count;
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
    int first_count = reader->dialect->first_count, first_hex = reader->dialect->first_hex;
    bool several = count_nameless(reader) > 1; /* nobody can tell them apart */
    *out = (struct record_fields){ .list = fields, .may_have_header = reader->may_have_header };
    for (int i = 0; i < reader->fields_count; i++)
        if (!several || *reader->names[i] != '\0')
            fields[out->count++] =
                (struct record_field){ .name = arena_strdup(arena, reader->names[i]),
                                       .kind = COLUMN_BYTES,
                                       .is_text = i < first_hex,
                                       .is_count = i >= first_count && i < first_hex };
    if (reader->dialect->delimiter != dialect->delimiter)
        out->delimiter = reader->dialect->delimiter;
    if (reader->blank_name != NULL)
        out->notes = arena_printf(arena,
                                  "the column '%s' is taken without the blanks around its name, "
                                  "and so is any other; texts keep theirs\n",
                                  reader->blank_name);
    delimited_close(base);
    return status_ok();
}

/* ---- the dialects ---- */

/* The number of delimiters in the first line; 0: it has bytes that text files lack. */
static int count_delimiters(struct bytes start, char delimiter)
{
    int count = 0;

    for (size_t i = 0; i < start.size && start.data[i] != '\n'; i++) {
        if ((unsigned char)start.data[i] < ' ' && !is_one_of(start.data[i], "\t\r"))
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

static const struct dialect csv = {
    .delimiter = ',', .quotes = true, .first_count = INT32_MAX, .first_hex = INT32_MAX
};
static const struct dialect tsv = {
    .delimiter = '\t', .quotes = true, .first_count = INT32_MAX, .first_hex = INT32_MAX
};
static const struct dialect criteo = { .delimiter = '\t',
                                       .names = criteo_names,
                                       .names_count = COUNT(criteo_names),
                                       .first_count = 1,
                                       .first_hex = 14 };

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
