/* Guesses a schema from the first rows of a file. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "trainer/records/number_text.h"
#include "trainer/records/schema.h"

#define GUESSED_ROWS 1000
#define PAIR_NAME    "features" /* of the sparse column */
#define EXACT_MAX    0x1p53     /* all integers up to it are doubles */

/* Reads the columns of the first rows. */
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

/* Guesses the dtype of texts. One in 20 may be non-numeric: it is a bad record, reported with
 * its line. */
static enum column_kind guess_text_dtype(const struct column *column, struct arena *arena,
                                         const char **no_number)
{
    size_t floats = 0, integers = 0;
    float number;
    int64_t integer;

    *no_number = NULL;
    for (size_t i = 0; i < column->count; i++) {
        struct bytes text = column_text(column, i);
        struct status as_float = number_text_float(text, &number),
                      as_integer = number_text_int64(text, &integer);
        if (*no_number == NULL && !status_is_ok(as_float))
            *no_number = arena_strdup(arena, as_float.message);
        floats += status_is_ok(as_float);
        integers += status_is_ok(as_integer);
    }
    if (column->count - floats > column->count / 20)
        return COLUMN_BYTES;
    return integers == floats && column->count > 0 ? COLUMN_INT64 : COLUMN_FLOAT;
}

/* The number of values in each non-empty row; 0: it varies. */
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

static bool is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool has_field(const struct record_fields *fields, const char *name)
{
    return record_field_find(fields->list, fields->count, name) != NULL;
}

/* Do both columns have the same number of values in each row? */
static bool have_equal_ends(const struct columns *columns, int a, int b)
{
    size_t bytes = columns->rows * sizeof(size_t);

    return columns->rows == 0 || memcmp(columns->list[a].ends, columns->list[b].ends, bytes) == 0;
}

static bool may_be_index(const struct record_field *field)
{
    static const char *const names[] = { "index", "indices", "ids", "feature_ids" };

    return !field->is_text && field->kind == COLUMN_INT64 &&
           is_named(field->name, names, COUNT(names));
}

/* Are the two columns of a file the indices, which may_be_index, and the values of a sparse one? */
static bool are_pair(const struct record_fields *fields, const struct columns *columns, int index,
                     int value)
{
    static const char *const values[] = { "value", "values", "weights", "feature_values" };
    const struct record_field *field = &fields->list[value];

    return field->kind == COLUMN_FLOAT && is_named(field->name, values, COUNT(values)) &&
           have_equal_ends(columns, index, value) && !has_field(fields, PAIR_NAME);
}

/* Finds the first pair of columns; -1: none. */
static void find_pair(const struct record_fields *fields, const struct columns *columns, int *index,
                      int *value)
{
    for (*index = 0; *index < fields->count; ++*index)
        for (*value = 0; may_be_index(&fields->list[*index]) && *value < fields->count; ++*value)
            if (are_pair(fields, columns, *index, *value))
                return;
    *index = *value = -1;
}

/* Only libsvm's files count from 1. */
static struct schema_column pair_column(const struct record_format *format, const char *index,
                                        const char *value)
{
    return (struct schema_column){ .name = PAIR_NAME,
                                   .kind = SCHEMA_SPARSE,
                                   .index = index,
                                   .value = value,
                                   .first_index = strcmp(format->name, "libsvm") == 0,
                                   .stddev = 1 };
}

static size_t count_missing(const struct columns *columns, const struct column *column)
{
    size_t missing = 0;

    for (size_t row = 0; row < columns->rows; row++)
        missing += column->ends[row] == column_begin(column, row);
    return missing;
}

/* ---- several numbers in a field ---- */

/* The values of a column's fields, if a character separates them. */
struct field_lists {
    size_t fields, bad; /* bad: with values that are no numbers */
    size_t least, most; /* values in a field; 0: none was seen */
    bool has_fractions;
};

/* Takes the first value of *rest, whose data is NULL after the last one. */
static struct bytes take_value(struct bytes *rest, char separator)
{
    const char *end = memchr(rest->data, separator, rest->size);
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    struct bytes value = { rest->data, size };

    *rest = end != NULL ? (struct bytes){ end + 1, rest->size - size - 1 } : (struct bytes){ 0 };
    return value;
}

static void see_field(struct bytes text, char separator, struct field_lists *lists)
{
    size_t values = 0;
    bool fractions = false;

    lists->fields++;
    for (; text.data != NULL; values++) {
        float number;
        int64_t integer;
        struct bytes value = take_value(&text, separator);
        if (!status_is_ok(number_text_float(value, &number))) {
            lists->bad++;
            return;
        }
        fractions |= !status_is_ok(number_text_int64(value, &integer));
    }
    lists->has_fractions |= fractions;
    lists->least = lists->most == 0 || values < lists->least ? values : lists->least;
    lists->most = values > lists->most ? values : lists->most;
}

/* Takes the texts as lists of numbers, if nearly all of them are. Commas may be those of
 * thousands, and colons those of a time of day. */
static void guess_lists(const struct columns *columns, const struct column *column,
                        struct schema_column *out)
{
    static const char separators[] = "|; ";

    for (const char *separator = separators; *separator != '\0'; separator++) {
        struct field_lists lists = { 0 };
        for (size_t i = 0; i < column->count; i++)
            see_field(column_text(column, i), *separator, &lists);
        if (lists.most < 2 || lists.bad > lists.fields / 20)
            continue;
        out->separator = *separator;
        out->dtype = lists.has_fractions ? COLUMN_FLOAT : COLUMN_INT64;
        out->kind = lists.least == lists.most ? SCHEMA_DENSE : SCHEMA_RAGGED;
        out->width = lists.least == lists.most ? (int64_t)lists.most : 0;
        out->missing_rows = out->kind == SCHEMA_DENSE ? count_missing(columns, column) : 0;
        return;
    }
}

static struct schema_column guess_column(const struct record_field *field,
                                         const struct columns *columns, const struct column *column,
                                         struct arena *arena)
{
    int64_t width = guess_width(columns, column);
    struct schema_column guess = { .name = field->name,
                                   .kind = width == 0 ? SCHEMA_RAGGED : SCHEMA_DENSE,
                                   .dtype = field->kind,
                                   .width = width,
                                   .stddev = 1 };

    if (width > 0 && shape_size(&field->shape) == width)
        guess.shape = field->shape;
    if (field->is_text)
        guess.dtype = guess_text_dtype(column, arena, &guess.no_number);
    guess.is_whole_so_far = field->is_text && guess.dtype == COLUMN_INT64;
    guess.log = guess.has_default = field->is_count && guess.dtype != COLUMN_BYTES;
    if (guess.has_default)
        return guess;
    if (guess.kind == SCHEMA_DENSE && guess.dtype != COLUMN_BYTES) /* an empty text is a text */
        guess.missing_rows = count_missing(columns, column);
    return guess;
}

/* The texts of a column, each once, in ascending order; none if JSON cannot hold one of them. */
static void list_classes(const struct column *column, struct arena *arena, struct buffer *notes,
                         struct schema_column *out)
{
    struct bytes *texts = ARENA_ARRAY(arena, struct bytes, column->count + 1);
    int count = 0;

    for (size_t i = 0; i < column->count; i++)
        texts[i] = column_text(column, i);
    bytes_sort(texts, column->count);
    for (size_t i = 0; i < column->count; i++) {
        struct bytes text = texts[i];
        if (!utf8_is_valid(text)) {
            buffer_printf(notes, "column '%s' has no classes: a text is not UTF-8\n", out->name);
            return;
        }
        if (count == 0 || !bytes_equal(text, texts[count - 1]))
            texts[count++] = (struct bytes){ arena_memdup(arena, text.data, text.size), text.size };
    }
    out->classes = count > 0 ? texts : NULL;
    out->classes_count = count;
}

/* The spread of the finite numbers so far, or of their logarithms as a schema's "log" takes them. */
struct spread {
    bool of_logs;
    double count, mean, squares;
};

static void add_number(struct spread *spread, double number)
{
    if (!isfinite(number))
        return;
    if (spread->of_logs)
        number = number > 0 ? log1p(number) : 0;
    double distance = number - spread->mean;
    spread->mean += distance / ++spread->count;
    spread->squares += distance * (number - spread->mean);
}

/* Takes the number as training does: a float may lose the last digits of an integer. */
static void add_text(struct spread *spread, struct bytes text, enum column_kind dtype)
{
    int64_t integer;
    float number;

    if (dtype == COLUMN_INT64 && status_is_ok(number_text_int64(text, &integer)))
        add_number(spread, (double)integer);
    else if (status_is_ok(number_text_float(text, &number))) /* otherwise a bad record */
        add_number(spread, (double)number);
}

static void add_field(struct spread *spread, const struct column *column, size_t index,
                      const struct schema_column *out)
{
    if (column->kind == COLUMN_INT64) {
        add_number(spread, (double)column_int(column, index));
    } else if (column->kind == COLUMN_FLOAT) {
        add_number(spread, (double)column->floats[index]);
    } else if (out->separator == '\0') {
        add_text(spread, column_text(column, index), out->dtype);
    } else {
        for (struct bytes rest = column_text(column, index); rest.data != NULL;)
            add_text(spread, take_value(&rest, out->separator), out->dtype);
    }
}

/* Sets mean and stddev to those of the finite values. If all are equal, only the mean, so that they
 * become 0: a constant such as 20141021 would make the training diverge. A row without a value gets
 * the mean, which becomes 0. */
static void measure_column(const struct column *column, struct schema_column *out)
{
    struct spread spread = { .of_logs = out->log };

    for (size_t i = 0; i < column->count; i++)
        add_field(&spread, column, i, out);
    out->mean = spread.mean;
    if (spread.squares > 0)
        out->stddev = sqrt(spread.squares / spread.count);
    if (out->missing_rows == 0 || spread.count == 0 || fabs(spread.mean) > EXACT_MAX)
        return;
    out->has_default = true;
    out->default_value = out->dtype == COLUMN_INT64 ? round(spread.mean) : (float)spread.mean;
    out->missing_rows = 0;
}

static void take_hints(const struct schema_hints *hints, const struct column *column,
                       struct arena *arena, struct buffer *notes, struct schema_column *out)
{
    /* A column may have an empty name, too. */
    bool is_label = *hints->label != '\0' && strcmp(out->name, hints->label) == 0;
    bool is_weight = hints->weight != NULL && strcmp(out->name, hints->weight) == 0;

    if (is_weight)
        return;
    if (!is_label && out->kind != SCHEMA_SPARSE && out->dtype == COLUMN_BYTES)
        out->hash_buckets = hints->hash_buckets;
    if (out->kind != SCHEMA_DENSE)
        return;
    if (is_label && out->dtype == COLUMN_BYTES)
        list_classes(column, arena, notes, out);
    else if (!is_label && hints->normalize && out->dtype != COLUMN_BYTES)
        measure_column(column, out);
}

/* A text in front of numbers may be the name that the file itself gives the column. */
static void suspect_header(const struct column *column, struct arena *arena,
                           struct schema_column *out)
{
    float number;

    if (out->no_number != NULL && column->count > 1 &&
        !status_is_ok(number_text_float(column_text(column, 0), &number)) &&
        status_is_ok(number_text_float(column_text(column, 1), &number)))
        out->no_number = arena_printf(arena, "%s; " SKIP_HEADER_ADVICE, out->no_number);
}

static void guess_columns(const struct record_format *format, const struct record_fields *fields,
                          const struct columns *columns, const struct schema_hints *hints,
                          struct arena *arena, struct buffer *notes, struct schema *out)
{
    struct schema_column *list = ARENA_ARRAY(arena, struct schema_column, fields->count + 1);
    int index, value;

    *out = (struct schema){ .columns = list,
                            .separator = fields->delimiter,
                            .seen_rows = columns->rows };
    find_pair(fields, columns, &index, &value);
    for (int i = 0; i < fields->count; i++) {
        if (i == value)
            continue;
        struct schema_column guess =
            i == index ? pair_column(format, fields->list[index].name, fields->list[value].name)
                       : guess_column(&fields->list[i], columns, &columns->list[i], arena);
        if (hints->lists && fields->list[i].is_text && guess.dtype == COLUMN_BYTES)
            guess_lists(columns, &columns->list[i], &guess);
        take_hints(hints, &columns->list[i], arena, notes, &guess);
        if (fields->may_have_header)
            suspect_header(&columns->list[i], arena, &guess);
        if (guess.kind == SCHEMA_RAGGED && guess.dtype == COLUMN_BYTES && guess.hash_buckets == 0)
            buffer_printf(notes, "column '%s' is left out: its number of texts varies\n",
                          guess.name);
        else
            list[out->count++] = guess;
    }
}

struct status schema_guess(const char *path, const struct record_format *format,
                           const struct record_options *options, const struct schema_hints *hints,
                           struct arena *arena, struct buffer *notes, struct schema *out)
{
    struct record_fields fields;
    struct columns columns;

    TRY(record_format_list(path, format, options, arena, &fields));
    if (*hints->label != '\0' && !has_field(&fields, hints->label))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' has no column '%s'", path, hints->label);
    struct column_spec *specs = ARENA_ARRAY(arena, struct column_spec, fields.count + 1);
    for (int i = 0; i < fields.count; i++)
        specs[i] = (struct column_spec){ fields.list[i].name, fields.list[i].kind };
    columns_init(&columns, specs, fields.count);
    struct status status = read_first_rows(path, format, options, &columns);
    if (status_is_ok(status) && fields.notes != NULL)
        buffer_append(notes, fields.notes, strlen(fields.notes));
    if (status_is_ok(status))
        guess_columns(format, &fields, &columns, hints, arena, notes, out);
    columns_finish(&columns);
    out->has_header = format->has_fields && options->column_names == NULL;
    out->path = path;
    return status;
}
