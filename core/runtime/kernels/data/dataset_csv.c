/*
 * dataset_csv: CSVDataset, the records of files of comma-separated values. An element has a scalar
 * for each column that is taken. After a record with an error, the next one can be read.
 */
#include <stdio.h>

#include "base/arena.h"
#include "runtime/kernels/data/dataset_files.h"
#include "runtime/kernels/records/csv_fields.h"

#define INVALID(k, ...)  kernel_error(k, STATUS_INVALID_ARGUMENT, __VA_ARGS__)
#define FIELDS_PER_CHECK 4096 /* of the deadline */

enum { NAMES, COMPRESSION, BUFFER_SIZE, HEADER, DELIMITER, QUOTES, MISSING, SELECTED, DEFAULTS };

/* One record while it is read. */
struct csv_line {
    struct kernel_context *k;
    const struct run_dataset *dataset;
    struct bytes text; /* the file */
    uint64_t at;
    struct tensor *element; /* NULL: of the header, whose fields are dropped */
    int kept;               /* fields, in the element */
    int64_t selected;       /* of the columns that are named */
};

static const struct tensor *excluded_of(const struct run_dataset *dataset)
{
    int index = DEFAULTS + dataset->count;
    return index < dataset->inputs_count ? &dataset->inputs[index] : NULL;
}

static struct bytes text_of(const struct run_dataset *dataset, int index)
{
    return tensor_strings(&dataset->inputs[index])[0];
}

/* ---- the fields ---- */

static struct status store(struct csv_line *line, struct bytes field)
{
    const struct run_dataset *dataset = line->dataset;
    struct shape scalar = shape_scalar();
    int column = line->kept;
    if (column >= dataset->count)
        return INVALID(line->k, "Expect %d fields but have more in record", dataset->count);
    struct tensor *out = &line->element[column];
    TRY(kernel_scratch(line->k, dataset->shape->dtypes[column], &scalar, out));
    line->kept++;
    return csv_store(line->k, field, text_of(dataset, MISSING), &dataset->inputs[DEFAULTS + column],
                     column, "", out, 0);
}

/* Is field `number` of the record a column of the element? */
static bool takes(struct csv_line *line, int64_t number)
{
    const struct tensor *selected = &line->dataset->inputs[SELECTED],
                        *excluded = excluded_of(line->dataset);
    const struct tensor *named = selected->size > 0 ? selected : excluded;
    bool is_named = named != NULL && line->selected < named->size &&
                    tensor_int64s(named)[line->selected] == number;
    line->selected += is_named;
    return line->element != NULL && (selected->size > 0 ? is_named : !is_named);
}

/* Moves past a field and its end, which is a delimiter, or a line's end if *ends. */
static void pass_end(struct csv_line *line, char delimiter, bool *ends)
{
    const char *text = line->text.data;
    *ends = line->at >= line->text.size;
    if (*ends)
        return;
    char c = text[line->at++];
    *ends = c != delimiter;
    if (*ends && c == '\r' && line->at < line->text.size && text[line->at] == '\n')
        line->at++;
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static struct status read_plain(struct csv_line *line, char delimiter, bool quotes, bool is_taken,
                                bool *ends)
{
    const char *text = line->text.data;
    uint64_t begin = line->at;
    bool has_quotes = false;
    while (line->at < line->text.size && text[line->at] != delimiter &&
           !is_line_end(text[line->at]))
        has_quotes |= text[line->at++] == '"';
    struct bytes field = { text + begin, (size_t)(line->at - begin) };
    pass_end(line, delimiter, ends);
    if (quotes && has_quotes)
        return INVALID(line->k, "Unquoted fields cannot have quotes inside");
    return is_taken ? store(line, field) : status_ok();
}

/* Finds the quote that ends a field, from *at on: a delimiter or the end of a line follows it. All
 * others are doubled. */
static struct status find_quote(struct csv_line *line, char delimiter, bool *has_doubled)
{
    const char *text = line->text.data;
    struct status status = status_ok();
    for (;;) {
        const char *quote = memchr(text + line->at, '"', line->text.size - line->at);
        line->at = quote == NULL ? line->text.size : (uint64_t)(quote - text);
        if (quote == NULL)
            return INVALID(line->k, "Reached end of file without closing quoted field in record");
        uint64_t next = line->at + 1;
        if (next >= line->text.size || text[next] == delimiter || is_line_end(text[next]))
            return status;
        *has_doubled = true;
        if (text[next] != '"' && status_is_ok(status))
            status = INVALID(line->k, "Quote inside a string has to be escaped by another quote");
        line->at += 2;
    }
}

static struct status undouble(struct csv_line *line, struct bytes *field)
{
    void *memory;
    TRY(arena_reserve(kernel_arena(line->k), field->size, &memory));
    char *to = memory;
    for (size_t i = 0; i < field->size; i += field->data[i] == '"' ? 2 : 1)
        *to++ = field->data[i];
    *field = (struct bytes){ memory, (size_t)(to - (char *)memory) };
    return status_ok();
}

static struct status read_quoted(struct csv_line *line, char delimiter, bool is_taken, bool *ends)
{
    uint64_t begin = ++line->at;
    bool has_doubled = false;
    struct status status = find_quote(line, delimiter, &has_doubled);
    struct bytes field = { line->text.data + begin, (size_t)(line->at - begin) };
    line->at += line->at < line->text.size;
    pass_end(line, delimiter, ends);
    TRY(status);
    if (is_taken && has_doubled)
        TRY(undouble(line, &field));
    return is_taken ? store(line, field) : status_ok();
}

static struct status read_field(struct csv_line *line, int64_t number, bool *ends)
{
    char delimiter = text_of(line->dataset, DELIMITER).data[0];
    bool quotes = dataset_flag(line->dataset, QUOTES), is_taken = takes(line, number);
    if (number % FIELDS_PER_CHECK == FIELDS_PER_CHECK - 1)
        TRY(kernel_check(line->k));
    return quotes && line->at < line->text.size && line->text.data[line->at] == '"'
               ? read_quoted(line, delimiter, is_taken, ends)
               : read_plain(line, delimiter, quotes, is_taken, ends);
}

/* Reads on to the end of the record after an error, which is the first one's. Its text is kept
 * here, not with the run: a file may have any number of them, and IgnoreErrors passes them over. */
static struct status read_line(struct csv_line *line)
{
    char text[1024];
    bool ends = false, is_bad = false;
    for (int64_t number = 0; !ends; number++) {
        struct status status = read_field(line, number, &ends);
        if (!status_is_ok(status) && status.code != STATUS_INVALID_ARGUMENT)
            return status; /* of the run */
        if (!is_bad && !status_is_ok(status))
            snprintf(text, sizeof text, "%s", status.message);
        is_bad |= !status_is_ok(status);
    }
    if (is_bad)
        return status_error(STATUS_INVALID_ARGUMENT, "%s", text);
    if (line->element != NULL && line->kept < line->dataset->count)
        return INVALID(line->k, "Expect %d fields but have %d in record", line->dataset->count,
                       line->kept);
    return status_ok();
}

/* ---- the dataset ---- */

static struct status columns_check(struct kernel_context *k, const struct run_dataset *dataset)
{
    const struct tensor *selected = &dataset->inputs[SELECTED], *excluded = excluded_of(dataset);
    if (selected->shape.rank != 1)
        return INVALID(k, "`select_cols` must be a vector.");
    if (excluded != NULL && excluded->shape.rank != 1)
        return INVALID(k, "`exclude_cols` must be a vector");
    if (excluded != NULL && excluded->size > 0 && selected->size > 0)
        return INVALID(k, "Either select_cols or exclude_cols should be empty");
    if (selected->size > 0 && selected->size != dataset->count)
        return INVALID(k, "select_cols should match output size");
    TRY(csv_check_columns("select_cols", selected->size, tensor_int64s(selected)));
    return excluded == NULL
               ? status_ok()
               : csv_check_columns("exclude_cols", excluded->size, tensor_int64s(excluded));
}

static struct status csv_check(struct kernel_context *k, struct run_dataset *dataset)
{
    enum compression known;
    for (int i = 0; i < dataset->count; i++) {
        TRY(csv_check_default(&dataset->inputs[DEFAULTS + i], i));
        if (dataset->inputs[DEFAULTS + i].dtype != dataset->shape->dtypes[i])
            return INVALID(k, "record_defaults[%d] is %s, should be %s", i,
                           dtype_name(dataset->inputs[DEFAULTS + i].dtype),
                           dtype_name(dataset->shape->dtypes[i]));
    }
    TRY(columns_check(k, dataset));
    TRY(files_check(k, dataset, COMPRESSION, false));
    struct bytes compression = bytes_first(text_of(dataset, COMPRESSION), 100);
    if (!compression_parse(text_of(dataset, COMPRESSION), &known))
        return INVALID(k, "Unsupported compression_type: %.*s.", (int)compression.size,
                       compression.data);
    TRY(dataset_check_number(k, dataset, BUFFER_SIZE, "buffer_size", INT64_MIN));
    if (dataset_number(dataset, BUFFER_SIZE) <= 0)
        return INVALID(k, "buffer_size should be positive");
    TRY(dataset_check_flag(k, dataset, HEADER, "header"));
    TRY(dataset_check_flag(k, dataset, QUOTES, "use_quote_delim"));
    for (int i = 0; i < 2; i++) {
        int index = i == 0 ? DELIMITER : MISSING;
        if (dataset->inputs[index].shape.rank != 0)
            return INVALID(k, "%s must be a scalar", i == 0 ? "field_delim" : "na_value");
    }
    if (text_of(dataset, DELIMITER).size != 1)
        return INVALID(k, "field_delim should be only 1 char");
    return status_ok();
}

/* Opens the file: skips the header. */
static struct status open_file(struct csv_line *line, struct file_place *place)
{
    place->is_open = true;
    place->at = 0;
    if (!dataset_flag(line->dataset, HEADER))
        return status_ok();
    struct status status = line->text.size > 0 ? read_line(line) : status_ok();
    place->at = line->at;
    if (!status_is_ok(status) && status.code != STATUS_INVALID_ARGUMENT)
        return status;
    return status_is_ok(status) && line->text.size > 0 ? status_ok()
                                                       : INVALID(line->k, "Can't read header of "
                                                                          "file");
}

static struct status csv_next(struct kernel_context *k, struct iterator *iterator,
                              struct tensor *element, bool *end)
{
    struct file_place *place = iterator->state;
    const struct run_dataset *dataset = iterator->dataset;
    *end = false;
    for (; place->file < filenames_of(dataset)->size; place->file++, place->is_open = false) {
        struct csv_line line = { .k = k, .dataset = dataset };
        TRY(kernel_check(k));
        TRY(files_content(k, dataset, place->file, false, &line.text));
        if (!place->is_open)
            TRY(open_file(&line, place));
        if (place->at >= line.text.size)
            continue;
        line.at = place->at;
        line.selected = 0;
        line.element = element;
        struct status status = read_line(&line);
        place->at = line.at;
        if (!status_is_ok(status))
            tensors_release(line.kept, element);
        return status;
    }
    *end = true;
    return status_ok();
}

#define CSV(op)                                                                     \
    DATASET(op, csv_check, csv_next, .dataset_bytes = sizeof(struct file_contents), \
            .iterator_bytes = sizeof(struct file_place))
static const struct kernel rows[] = { CSV("CSVDataset"), CSV("CSVDatasetV2") };
const struct kernel_table kernels_dataset_csv = { rows, COUNT(rows) };
