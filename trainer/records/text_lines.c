#include "trainer/records/text_lines.h"

#include <stdlib.h>

#include "base/characters.h"
#include "base/container.h"
#include "trainer/records/folder_label.h"
#include "trainer/records/text_input.h"

enum line_field { LINE_TEXT, LINE_LABEL, LINE_FIELDS };

static const struct record_field fields[LINE_FIELDS] = {
    [LINE_TEXT] = { .name = "text", .kind = COLUMN_BYTES },
    [LINE_LABEL] = { .name = FOLDER_LABEL, .kind = COLUMN_BYTES },
};

struct line_reader {
    struct record_reader reader;
    struct text_input input;
    struct bytes label;       /* in the path */
    int targets[LINE_FIELDS]; /* the column of each, or -1 */
};

static struct line_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct line_reader, reader);
}

static void add_line(const struct line_reader *reader, const char *at, const char *end,
                     struct columns *columns)
{
    const int *targets = reader->targets;

    if (end > at && end[-1] == '\r')
        end--;
    if (targets[LINE_TEXT] >= 0)
        column_add_bytes(&columns->list[targets[LINE_TEXT]],
                         (struct bytes){ at, (size_t)(end - at) });
    if (targets[LINE_LABEL] >= 0)
        column_add_bytes(&columns->list[targets[LINE_LABEL]], reader->label);
    columns_end_row(columns);
}

/* Moves past the next line. *end is NULL at the end of the file. */
static struct status pass_line(struct line_reader *reader, const char **at, const char **end)
{
    struct text_input *input = &reader->input;

    TRY(text_input_line(input, end));
    if (*end == NULL)
        return status_ok();
    *at = input->data + input->at;
    reader->reader.place = input->line++;
    input->at = (size_t)(*end + 1 - input->data);
    return status_ok();
}

static struct status lines_read(struct record_reader *base, size_t rows_max,
                                struct columns *columns, struct status *bad)
{
    struct line_reader *reader = reader_of(base);
    const char *at = NULL, *end = NULL;

    (void)bad; /* any line is a text */
    for (size_t i = 0; i < rows_max; i++) {
        TRY(pass_line(reader, &at, &end));
        if (end == NULL)
            break;
        add_line(reader, at, end, columns);
    }
    return status_ok();
}

static struct status lines_skip(struct record_reader *base, bool *found)
{
    const char *at = NULL, *end = NULL;

    TRY(pass_line(reader_of(base), &at, &end));
    *found = end != NULL;
    if (*found)
        base->skipped_bytes = (size_t)(end + 1 - at);
    return status_ok();
}

static bool lines_tell(const struct record_reader *base, struct record_mark *out)
{
    const struct text_input *input = &CONTAINER_OF(base, const struct line_reader, reader)->input;

    out->place = input->line;
    return text_input_tell(input, &out->offset);
}

static struct status lines_go_to(struct record_reader *base, const struct record_mark *mark)
{
    return text_input_go_to(&reader_of(base)->input, mark->offset, mark->place);
}

static void lines_close(struct record_reader *base)
{
    struct line_reader *reader = reader_of(base);

    text_input_close(&reader->input);
    free(reader);
}

static struct status find_target(struct line_reader *reader, const struct columns *columns,
                                 int place)
{
    const struct column *column = &columns->list[place];
    const struct record_field *field = record_field_find(fields, LINE_FIELDS, column->name);

    if (field == NULL || field->kind != column->kind)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no column '%s' of this type: lines of text have 'text' and 'label', "
                            "of string",
                            column->name);
    reader->targets[field - fields] = place;
    return status_ok();
}

static struct status lines_open(const char *path, const struct record_options *options,
                                const struct columns *columns, struct record_reader **out)
{
    struct line_reader *reader = zalloc(sizeof *reader);
    struct status status;

    *reader = (struct line_reader){ .label = folder_label(path, options), .targets = { -1, -1 } };
    for (int i = 0; i < columns->count; i++)
        TRY_OR(fail, find_target(reader, columns, i));
    TRY_OR(fail, text_input_open(path, options->window_bytes, &reader->input));
    *out = &reader->reader;
    return status_ok();

fail:
    lines_close(&reader->reader);
    return status;
}

static struct status lines_list(const char *path, const struct record_options *options,
                                struct arena *arena, struct record_fields *out)
{
    (void)path, (void)options, (void)arena;
    *out = (struct record_fields){ .list = fields, .count = LINE_FIELDS };
    return status_ok();
}

/* Is it text without control characters? */
static bool lines_recognise(struct bytes start)
{
    for (size_t i = 0; i < start.size; i++)
        if ((unsigned char)start.data[i] < ' ' && !is_one_of(start.data[i], "\t\r\n"))
            return false;
    return start.size > 0;
}

const struct record_format text_format = { .name = "text",
                                           .suffixes = ".text",
                                           .recognises = lines_recognise,
                                           .in_folders = true,
                                           .open = lines_open,
                                           .read = lines_read,
                                           .skip = lines_skip,
                                           .tell = lines_tell,
                                           .go_to = lines_go_to,
                                           .close = lines_close,
                                           .place = "line",
                                           .list = lines_list };

void text_schema(const char *const *paths, int count, const struct record_options *options,
                 struct arena *arena, struct schema *out)
{
    static const struct schema_column text = {
        .name = "text", .dtype = COLUMN_BYTES, .width = 1, .stddev = 1
    };

    folder_schema(paths, count, options, &text, arena, out);
}
