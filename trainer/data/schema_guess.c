/* Guesses a schema from the first rows of a file. */
#include "base/arena.h"
#include "trainer/data/number_text.h"
#include "trainer/data/schema.h"

#define GUESSED_ROWS 1000

/* The columns of the first rows. */
static struct status read_first_rows(const char *path, const struct record_format *format,
                                     const struct record_options *options, struct columns *columns)
{
    struct record_reader *reader;
    struct status status, bad = status_ok();
    size_t left, bad_left = GUESSED_ROWS;

    TRY(record_reader_open(path, format, options, columns, &reader));
    do {
        left = GUESSED_ROWS - columns->rows;
        status = record_reader_read(reader, left, columns, &bad);
    } while (status_is_ok(status) && !status_is_ok(bad) && bad_left-- > 0);
    record_reader_close(reader);
    return status;
}

/* Chooses for texts. One in 20 may be no number: as a bad record, it is named with its line. */
static enum column_kind guess_text_dtype(const struct column *column)
{
    size_t floats = 0, integers = 0;
    float number;
    int64_t integer;

    for (size_t i = 0; i < column->count; i++) {
        struct bytes text = column_text(column, i);
        struct status as_float = number_text_float(text, &number),
                      as_integer = number_text_int64(text, &integer);
        floats += status_is_ok(as_float);
        integers += status_is_ok(as_integer);
    }
    if (column->count - floats > column->count / 20)
        return COLUMN_BYTES;
    return integers == floats && column->count > 0 ? COLUMN_INT64 : COLUMN_FLOAT;
}

/* The number of values in each row that has any; 0: it varies. */
static int64_t guess_width(const struct columns *columns, const struct column *column)
{
    size_t width = 0;

    for (size_t row = 0; row < columns->rows; row++) {
        size_t values = column->ends[row] - column_begin(column, row);
        if (values != 0 && width != 0 && values != width)
            return 0;
        width = values != 0 ? values : width;
    }
    return width != 0 ? (int64_t)width : 1;
}

/* Does the list have libsvm's pairs? */
static bool has_pairs(const struct record_format *format)
{
    return strcmp(format->name, "libsvm") == 0 || strcmp(format->name, "libffm") == 0;
}

/* Pairs are one sparse column, of which libsvm's files count from 1 and libffm's from 0. */
static void add_pairs(const struct record_format *format, struct schema_column *out)
{
    *out = (struct schema_column){ .name = "features",
                                   .kind = SCHEMA_SPARSE,
                                   .index = "index",
                                   .value = "value",
                                   .first_index = strcmp(format->name, "libsvm") == 0,
                                   .stddev = 1 };
}

static void guess_columns(const struct record_format *format, const struct record_fields *fields,
                          const struct columns *columns, struct arena *arena, struct buffer *notes,
                          struct schema *out)
{
    struct schema_column *list = ARENA_ARRAY(arena, struct schema_column, fields->count + 1);

    *out = (struct schema){ .columns = list };
    for (int i = 0; i < fields->count; i++) {
        const char *name = fields->list[i].name;
        bool pair = has_pairs(format) && (strcmp(name, "index") == 0 || strcmp(name, "value") == 0);
        int64_t width = guess_width(columns, &columns->list[i]);
        if (pair && strcmp(name, "value") == 0)
            continue;
        if (pair)
            add_pairs(format, &list[out->count++]);
        else if (width == 0)
            buffer_printf(notes, "column '%s' is left out: its number of values varies\n", name);
        else
            list[out->count++] =
                (struct schema_column){ .name = name,
                                        .dtype = fields->list[i].is_text
                                                     ? guess_text_dtype(&columns->list[i])
                                                     : fields->list[i].kind,
                                        .width = width,
                                        .stddev = 1 };
    }
}

struct status schema_guess(const char *path, const struct record_format *format,
                           const struct record_options *options, struct arena *arena,
                           struct buffer *notes, struct schema *out)
{
    struct record_fields fields;
    struct columns columns;

    TRY(record_format_list(path, format, options, arena, &fields));
    struct column_spec *specs = ARENA_ARRAY(arena, struct column_spec, fields.count + 1);
    for (int i = 0; i < fields.count; i++)
        specs[i] = (struct column_spec){ fields.list[i].name, fields.list[i].kind };
    columns_init(&columns, specs, fields.count);
    struct status status = read_first_rows(path, format, options, &columns);
    if (status_is_ok(status))
        guess_columns(format, &fields, &columns, arena, notes, out);
    columns_finish(&columns);
    return status;
}
