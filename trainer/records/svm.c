#include "trainer/records/svm.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/characters.h"
#include "base/container.h"
#include "base/digits.h"
#include "base/json_number.h"
#include "trainer/records/number_text.h"
#include "trainer/records/svm_pairs.h"
#include "trainer/records/text_input.h"

_Static_assert(TEXT_PADDING > SVM_PAIRS_PADDING && TEXT_PADDING > JSON_PADDING,
               "the padding after a window covers all that is read past a line");

enum svm_field {
    SVM_LABEL,
    SVM_INDEX,
    SVM_VALUE,
    SVM_QID,
    SVM_WEIGHT, /* XGBoost's, of a row: 1:0.5 in place of the label */
    SVM_FIELD,
    SVM_FIELDS
};

static const struct record_field svm_fields[SVM_FIELDS] = {
    [SVM_LABEL] = { .name = "label", .kind = COLUMN_FLOAT },
    [SVM_INDEX] = { .name = "index", .kind = COLUMN_INT64 },
    [SVM_VALUE] = { .name = "value", .kind = COLUMN_FLOAT },
    [SVM_QID] = { .name = "qid", .kind = COLUMN_INT64 },
    [SVM_WEIGHT] = { .name = "weight", .kind = COLUMN_FLOAT, .is_weight = true },
    [SVM_FIELD] = { .name = "field", .kind = COLUMN_INT64 },
};

struct svm_reader {
    struct record_reader reader;
    struct text_input input;
    bool has_fields;         /* libffm */
    int targets[SVM_FIELDS]; /* the column of each, or -1 */
};

static struct svm_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct svm_reader, reader);
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Does a number end here? */
static inline bool ends_number(char c)
{
    return is_blank(c) || c == '\n' || c == '#';
}

/* The text up to the next blank, colon or line end, for a number of an unusual form or an error. */
static struct bytes word_at(const char *at)
{
    const char *end = at;

    while (!ends_number(*end) && *end != ':')
        end++;
    return (struct bytes){ at, (size_t)(end - at) };
}

static inline struct status read_float(const char **at, float *out)
{
    /* Most values are one digit: the 1 of a category. */
    if (is_digit(**at) && ends_number((*at)[1])) {
        *out = (float)(**at - '0');
        ++*at;
        return status_ok();
    }
    const char *next = json_float_read(*at, out);

    if (next == NULL || !ends_number(*next) || !__builtin_isfinite(*out)) {
        struct bytes word = word_at(*at);
        TRY(number_text_float(word, out));
        next = word.data + word.size;
        if (*next == ':')
            return status_error(STATUS_INVALID_ARGUMENT, "a ':' after the number %.*s",
                                (int)(word.size < 40 ? word.size : 40), word.data);
    }
    *at = next;
    return status_ok();
}

/* Reads an index of more than seven digits. */
static struct status read_long_index(const char **position, const char *what, int64_t *out)
{
    const char *at = *position;
    uint64_t value = 0;

    for (; is_digit(*at); at++)
        value = value * 10 + (uint64_t)(*at - '0');
    if (at == *position || *at != ':' || at - *position > 18) {
        struct bytes word = word_at(*position);
        return status_error(STATUS_INVALID_ARGUMENT, "'%.*s' is not %s and a ':'",
                            (int)(word.size < 40 ? word.size : 40), word.data, what);
    }
    *out = (int64_t)value;
    *position = at + 1;
    return status_ok();
}

/* Reads digits and the ':' after them. */
static inline struct status read_index(const char **position, const char *what, int64_t *out)
{
    uint64_t value;
    int count = digits_read(*position, &value);

    if (count == 0 || (*position)[count] != ':')
        return read_long_index(position, what, out);
    *out = (int64_t)value;
    *position += count + 1;
    return status_ok();
}

static inline void add_int64(const struct svm_reader *reader, struct columns *columns,
                             enum svm_field field, int64_t value)
{
    if (reader->targets[field] >= 0)
        column_add_int64(&columns->list[reader->targets[field]], value);
}

static inline void add_float(const struct svm_reader *reader, struct columns *columns,
                             enum svm_field field, float value)
{
    if (reader->targets[field] >= 0)
        column_add_float(&columns->list[reader->targets[field]], value);
}

static struct status read_qid(const struct svm_reader *reader, const char **at,
                              struct columns *columns)
{
    struct bytes word = word_at(*at + 4);
    int64_t qid;

    TRY(status_in(number_text_int64(word, &qid), "qid"));
    add_int64(reader, columns, SVM_QID, qid);
    *at = word.data + word.size;
    return status_ok();
}

static inline struct status read_pair(const struct svm_reader *reader, const char **at,
                                      struct columns *columns)
{
    int64_t field, index;
    float value = 0;

    if (**at == 'q' && strncmp(*at, "qid:", 4) == 0)
        return read_qid(reader, at, columns);
    if (reader->has_fields) {
        TRY(read_index(at, "a field", &field));
        add_int64(reader, columns, SVM_FIELD, field);
    }
    TRY(read_index(at, "an index", &index));
    TRY(read_float(at, &value));
    add_int64(reader, columns, SVM_INDEX, index);
    add_float(reader, columns, SVM_VALUE, value);
    return status_ok();
}

static inline const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* Reads pairs of the usual form. Returns the start of the next pair of another form, or the
 * line's end. */
static const char *read_usual_pairs(const struct svm_reader *reader, const char *at,
                                    const char *end, size_t part_bytes, struct columns *columns)
{
    struct column *index = &columns->list[reader->targets[SVM_INDEX]];
    struct column *value = &columns->list[reader->targets[SVM_VALUE]];
    size_t room = svm_pairs_room(at, end), pairs;

    column_reserve(index, room);
    column_reserve(value, room);
    at = svm_pairs_read(at, end, part_bytes, index->ints + index->count,
                        value->floats + value->count, &pairs);
    index->count += pairs;
    value->count += pairs;
    return skip_blanks(at);
}

static inline bool takes_pairs(const struct svm_reader *reader)
{
    return !reader->has_fields && reader->targets[SVM_INDEX] >= 0 &&
           reader->targets[SVM_VALUE] >= 0;
}

/* Reads the label, which may have a weight: 1, or 1:0.5. */
static struct status read_label(const struct svm_reader *reader, const char **at,
                                struct columns *columns)
{
    struct bytes word = word_at(*at);
    float label, weight = 1;

    if (word.data[word.size] != ':') {
        TRY(read_float(at, &label));
    } else {
        TRY(number_text_float(word, &label));
        if (reader->targets[SVM_WEIGHT] < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "a ':' after the number %.*s: if this is the row's weight, as in "
                                "XGBoost's files, give --weight_column=weight (a --schema must "
                                "name this column, too)",
                                (int)(word.size < 40 ? word.size : 40), word.data);
        *at = word.data + word.size + 1;
        TRY(status_in(read_float(at, &weight), "its weight"));
    }
    add_float(reader, columns, SVM_LABEL, label);
    add_float(reader, columns, SVM_WEIGHT, weight);
    return status_ok();
}

/* Reads the line at `at`, which has a '\n'. *found: it is more than blanks and a comment. */
static struct status read_line(const struct svm_reader *reader, const char *at, const char *end,
                               struct columns *columns, bool *found)
{
    at = skip_blanks(at);
    *found = *at != '\n' && *at != '#';
    if (!*found)
        return status_ok();
    TRY(status_in(read_label(reader, &at, columns), "the label"));
    at = skip_blanks(at);
    if (takes_pairs(reader))
        at = read_usual_pairs(reader, at, end, SVM_PART_FIRST, columns);
    while (*at != '\n' && *at != '#') {
        TRY(read_pair(reader, &at, columns));
        at = skip_blanks(at);
        if (takes_pairs(reader))
            at = read_usual_pairs(reader, at, end, SVM_PART_NEXT, columns);
    }
    return status_ok();
}

static struct status svm_read(struct record_reader *base, size_t rows_max, struct columns *columns,
                              struct status *bad)
{
    struct svm_reader *reader = reader_of(base);
    struct text_input *input = &reader->input;
    bool found = false;

    for (size_t rows = 0; rows < rows_max && status_is_ok(*bad); rows += found) {
        const char *end;
        TRY(text_input_line(input, &end));
        if (end == NULL)
            break;
        base->place = input->line;
        struct status status = read_line(reader, input->data + input->at, end, columns, &found);
        if (!status_is_ok(status)) {
            columns_drop_row(columns);
            *bad = status;
        } else if (found) {
            columns_end_row(columns);
        }
        input->at = (size_t)(end + 1 - input->data);
        input->line++;
    }
    return status_ok();
}

/* A line is a record unless it has only blanks and a comment. */
static struct status svm_skip(struct record_reader *base, bool *found)
{
    struct text_input *input = &reader_of(base)->input;

    for (*found = false; !*found;) {
        const char *end;
        TRY(text_input_line(input, &end));
        if (end == NULL)
            break;
        const char *at = input->data + input->at;
        while (is_blank(*at))
            at++;
        *found = *at != '\n' && *at != '#';
        base->place = input->line++;
        base->skipped_bytes = (size_t)(end + 1 - (input->data + input->at));
        input->at = (size_t)(end + 1 - input->data);
    }
    return status_ok();
}

static bool svm_tell(const struct record_reader *base, struct record_mark *out)
{
    const struct text_input *input = &CONTAINER_OF(base, const struct svm_reader, reader)->input;

    out->place = input->line;
    return text_input_tell(input, &out->offset);
}

static struct status svm_go_to(struct record_reader *base, const struct record_mark *mark)
{
    return text_input_go_to(&reader_of(base)->input, mark->offset, mark->place);
}

static void svm_close(struct record_reader *base)
{
    struct svm_reader *reader = reader_of(base);

    text_input_close(&reader->input);
    free(reader);
}

static struct status find_target(struct svm_reader *reader, const struct columns *columns,
                                 int place)
{
    const struct column *column = &columns->list[place];
    int count = reader->has_fields ? SVM_FIELDS : SVM_FIELD;
    const struct record_field *field = record_field_find(svm_fields, count, column->name);

    if (field == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no column '%s' among label, index, value, qid, weight%s", column->name,
                            reader->has_fields ? ", field" : "");
    if (field->kind != column->kind)
        return status_error(STATUS_INVALID_ARGUMENT, "the column '%s' holds %s numbers",
                            column->name, field->kind == COLUMN_FLOAT ? "float" : "int64");
    reader->targets[field - svm_fields] = place;
    return status_ok();
}

static struct status open_svm(bool has_fields, const char *path,
                              const struct record_options *options, const struct columns *columns,
                              struct record_reader **out)
{
    struct svm_reader *reader = zalloc(sizeof *reader);
    struct status status;

    reader->has_fields = has_fields;
    for (int i = 0; i < SVM_FIELDS; i++)
        reader->targets[i] = -1;
    TRY_OR(fail, text_input_open(path, options->window_bytes, &reader->input));
    for (int i = 0; i < columns->count; i++)
        TRY_OR(fail, find_target(reader, columns, i));
    *out = &reader->reader;
    return status_ok();

fail:
    svm_close(&reader->reader);
    return status;
}

static struct status libsvm_open(const char *path, const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out)
{
    return open_svm(false, path, options, columns, out);
}

static struct status libffm_open(const char *path, const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out)
{
    return open_svm(true, path, options, columns, out);
}

/* Few files have a qid, which is not listed. */
static struct record_fields list_svm(bool has_fields, struct arena *arena)
{
    struct record_field *fields = ARENA_ARRAY(arena, struct record_field, SVM_FIELDS);
    int count = SVM_QID;

    memcpy(fields, svm_fields, SVM_QID * sizeof *fields);
    if (has_fields)
        fields[count++] = svm_fields[SVM_FIELD];
    fields[count++] = svm_fields[SVM_WEIGHT];
    return (struct record_fields){ .list = fields, .count = count };
}

static struct status libsvm_list(const char *path, const struct record_options *options,
                                 struct arena *arena, struct record_fields *out)
{
    (void)path, (void)options;
    *out = list_svm(false, arena);
    return status_ok();
}

static struct status libffm_list(const char *path, const struct record_options *options,
                                 struct arena *arena, struct record_fields *out)
{
    (void)path, (void)options;
    *out = list_svm(true, arena);
    return status_ok();
}

/* Skips the label of a first line, and its weight or qid. NULL: the line does not begin like one of
 * these files. */
static const char *skip_label(const char *at)
{
    static const char number[] = "+-.0123456789eE";
    size_t size = strspn(at, number);

    if (size == 0)
        return NULL;
    at += size;
    if (*at == ':') /* XGBoost's weight: 1:0.5 in place of the label */
        at += 1 + strspn(at + 1, number);
    if (!is_blank(*at))
        return NULL;
    at += strspn(at, " \t");
    if (strncmp(at, "qid:", 4) == 0) {
        at += 4 + strspn(at + 4, number);
        at += strspn(at, " \t");
    }
    return at;
}

/* Does the first line begin with a label and then `colons` colons between numbers? */
static bool begins_with_pair(struct bytes start, int colons)
{
    const char *at = skip_label(start.data);

    if (at == NULL)
        return false;
    for (int i = 0; i < colons; i++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0 || at[digits] != ':')
            return false;
        at += digits + 1;
    }
    at += strspn(at, "+-.0123456789eE");
    return ends_number(*at);
}

static bool libsvm_recognises(struct bytes start)
{
    return begins_with_pair(start, 1);
}

static bool libffm_recognises(struct bytes start)
{
    return begins_with_pair(start, 2);
}

const struct record_format libsvm_format = { .name = "libsvm",
                                             .suffixes = ".libsvm .svm .svmlight",
                                             .recognises = libsvm_recognises,
                                             .open = libsvm_open,
                                             .read = svm_read,
                                             .skip = svm_skip,
                                             .tell = svm_tell,
                                             .go_to = svm_go_to,
                                             .close = svm_close,
                                             .place = "line",
                                             .list = libsvm_list };
const struct record_format libffm_format = { .name = "libffm",
                                             .suffixes = ".libffm .ffm",
                                             .recognises = libffm_recognises,
                                             .open = libffm_open,
                                             .read = svm_read,
                                             .skip = svm_skip,
                                             .tell = svm_tell,
                                             .go_to = svm_go_to,
                                             .close = svm_close,
                                             .place = "line",
                                             .list = libffm_list };
