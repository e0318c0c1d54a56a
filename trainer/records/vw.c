#include "trainer/records/vw.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/characters.h"
#include "base/container.h"
#include "base/fingerprint.h"
#include "trainer/records/number_text.h"
#include "trainer/records/text_input.h"

enum vw_field { VW_LABEL, VW_INDEX, VW_VALUE, VW_WEIGHT, VW_FIELDS };

static const struct record_field vw_fields[VW_FIELDS] = {
    [VW_LABEL] = { .name = "label", .kind = COLUMN_FLOAT },
    [VW_INDEX] = { .name = "index", .kind = COLUMN_INT64 },
    [VW_VALUE] = { .name = "value", .kind = COLUMN_FLOAT },
    [VW_WEIGHT] = { .name = "weight", .kind = COLUMN_FLOAT, .is_weight = true },
};

#define NUMBERS_MAX 3 /* before the features: label, importance, base */

struct vw_reader {
    struct record_reader reader;
    struct text_input input;
    int targets[VW_FIELDS]; /* the column of each, or -1 */
    struct buffer name;     /* of a feature, with its namespace */
};

static struct vw_reader *reader_of(struct record_reader *reader)
{
    return CONTAINER_OF(reader, struct vw_reader, reader);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_blanks(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* The text up to a blank, a '|', the line's end or `more`. */
static struct bytes word_at(const char *at, char more)
{
    const char *end = at;

    while (!is_blank(*end) && *end != '|' && *end != '\n' && *end != more)
        end++;
    return (struct bytes){ at, (size_t)(end - at) };
}

static void add_float(const struct vw_reader *reader, struct columns *columns, enum vw_field field,
                      float value)
{
    if (reader->targets[field] >= 0)
        column_add_float(&columns->list[reader->targets[field]], value);
}

/* Reads the numbers and the tag before the first '|'. */
static struct status read_head(const struct vw_reader *reader, const char **position,
                               struct columns *columns)
{
    static const char *const whats[NUMBERS_MAX] = { "the label", "the importance", "the base" };
    float numbers[NUMBERS_MAX] = { 0, 1, 0 };
    int count = 0;
    const char *at = *position;

    while (*at != '|' && *at != '\n') {
        struct bytes word = word_at(at, '|');
        bool is_tag = *at == '\'' || at[word.size] == '|';
        if (!is_tag && count == NUMBERS_MAX)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "more than %d numbers before the first '|'", NUMBERS_MAX);
        if (!is_tag) {
            TRY(status_in(number_text_float(word, &numbers[count]), "%s", whats[count]));
            count++;
        }
        at = skip_blanks(at + word.size);
    }
    if (*at == '\n')
        return status_error(STATUS_INVALID_ARGUMENT, "no '|' before the features");
    if (count > 0)
        add_float(reader, columns, VW_LABEL, numbers[0]);
    add_float(reader, columns, VW_WEIGHT, numbers[1]);
    *position = at;
    return status_ok();
}

/* Reads ":value" at the end of a name, if it is there. */
static struct status read_value(const char **position, struct bytes name, float *out)
{
    const char *end = name.data + name.size;

    *position = end;
    if (*end != ':')
        return status_ok();
    struct bytes word = word_at(end + 1, '\n');
    TRY(status_in(number_text_float(word, out), "'%.*s'", (int)(name.size < 40 ? name.size : 40),
                  name.data));
    *position = word.data + word.size;
    return status_ok();
}

/* The value of a feature if it is a word, as in "color:red"; empty: a number follows, or nothing.
 * As in Vowpal Wabbit, the value 3x is no word but a wrong number. */
static struct bytes word_value(struct bytes name)
{
    const char *end = name.data + name.size;
    struct bytes value = { end, 0 };
    float number;

    if (*end == ':')
        value = word_at(end + 1, '\n');
    bool is_word = value.size > 0 && !is_one_of(*value.data, "+-.0123456789") &&
                   memchr(value.data, ':', value.size) == NULL &&
                   !status_is_ok(number_text_float(value, &number));
    return is_word ? value : (struct bytes){ end, 0 };
}

/* Hashes "f^color^red", as Vowpal Wabbit's --audit prints a feature; without a word, "f^price". A
 * feature without either, as in ":0.5", has its index among those of its namespace. */
static int64_t hash_name(struct vw_reader *reader, struct bytes space, struct bytes name,
                         struct bytes word, int *unnamed)
{
    struct buffer *text = &reader->name;

    text->size = 0;
    buffer_append(text, space.data, space.size);
    if (space.size > 0)
        buffer_append_char(text, '^');
    if (name.size > 0 || word.size > 0)
        buffer_append(text, name.data, name.size);
    else
        buffer_printf(text, "%d", (*unnamed)++);
    if (word.size > 0)
        buffer_append_char(text, '^');
    buffer_append(text, word.data, word.size);
    return (int64_t)(fingerprint64((struct bytes){ text->data, text->size }) % VW_BUCKETS);
}

/* Reads a feature. The factor of its namespace multiplies numbers only, as in Vowpal Wabbit. */
static struct status read_feature(struct vw_reader *reader, const char **position,
                                  struct bytes space, float factor, int *unnamed,
                                  struct columns *columns)
{
    struct bytes name = word_at(*position, ':'), word = word_value(name);
    float value = 1;

    if (word.size > 0) {
        *position = word.data + word.size;
        factor = 1;
    } else {
        TRY(read_value(position, name, &value));
    }
    if (reader->targets[VW_INDEX] >= 0)
        column_add_int64(&columns->list[reader->targets[VW_INDEX]],
                         hash_name(reader, space, name, word, unnamed));
    add_float(reader, columns, VW_VALUE, value * factor);
    return status_ok();
}

/* Reads the features of a namespace, after its '|'. */
static struct status read_namespace(struct vw_reader *reader, const char **position,
                                    struct columns *columns)
{
    struct bytes space = word_at(*position, ':');
    float factor = 1;
    int unnamed = 0;

    TRY(read_value(position, space, &factor));
    *position = skip_blanks(*position);
    while (**position != '|' && **position != '\n') {
        TRY(read_feature(reader, position, space, factor, &unnamed, columns));
        *position = skip_blanks(*position);
    }
    return status_ok();
}

/* Reads the line at `at`, which has a '\n'. */
static struct status read_line(struct vw_reader *reader, const char *at, struct columns *columns)
{
    TRY(read_head(reader, &at, columns));
    while (*at == '|') {
        at++;
        TRY(read_namespace(reader, &at, columns));
    }
    return status_ok();
}

/* Finds the next line that is not empty; NULL: none is left. */
static struct status find_line(struct text_input *input, const char **at, const char **end)
{
    for (;;) {
        TRY(text_input_line(input, end));
        if (*end == NULL)
            return status_ok();
        *at = skip_blanks(input->data + input->at);
        if (*at != *end)
            return status_ok();
        input->at = (size_t)(*end + 1 - input->data);
        input->line++;
    }
}

static void pass_line(struct record_reader *base, const char *end)
{
    struct text_input *input = &reader_of(base)->input;

    base->place = input->line++;
    base->skipped_bytes = (size_t)(end + 1 - (input->data + input->at));
    input->at = (size_t)(end + 1 - input->data);
}

static struct status vw_read(struct record_reader *base, size_t rows_max, struct columns *columns,
                             struct status *bad)
{
    struct vw_reader *reader = reader_of(base);

    for (size_t rows = 0; rows < rows_max && status_is_ok(*bad); rows++) {
        const char *at, *end;
        TRY(find_line(&reader->input, &at, &end));
        if (end == NULL)
            break;
        *bad = read_line(reader, at, columns);
        if (status_is_ok(*bad))
            columns_end_row(columns);
        else
            columns_drop_row(columns);
        pass_line(base, end);
    }
    return status_ok();
}

static struct status vw_skip(struct record_reader *base, bool *found)
{
    const char *at, *end;

    TRY(find_line(&reader_of(base)->input, &at, &end));
    *found = end != NULL;
    if (*found)
        pass_line(base, end);
    return status_ok();
}

static bool vw_tell(const struct record_reader *base, struct record_mark *out)
{
    const struct text_input *input = &CONTAINER_OF(base, const struct vw_reader, reader)->input;

    out->place = input->line;
    return text_input_tell(input, &out->offset);
}

static struct status vw_go_to(struct record_reader *base, const struct record_mark *mark)
{
    return text_input_go_to(&reader_of(base)->input, mark->offset, mark->place);
}

static void vw_close(struct record_reader *base)
{
    struct vw_reader *reader = reader_of(base);

    text_input_close(&reader->input);
    buffer_finish(&reader->name);
    free(reader);
}

static struct status find_target(struct vw_reader *reader, const struct columns *columns, int place)
{
    const struct column *column = &columns->list[place];
    const struct record_field *field = record_field_find(vw_fields, VW_FIELDS, column->name);

    if (field == NULL || field->kind != column->kind)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no column '%s' of this type: there are label, value, weight (floats) "
                            "and index (int64)",
                            column->name);
    reader->targets[field - vw_fields] = place;
    return status_ok();
}

static struct status vw_open(const char *path, const struct record_options *options,
                             const struct columns *columns, struct record_reader **out)
{
    struct vw_reader *reader = zalloc(sizeof *reader);
    struct status status;

    for (int i = 0; i < VW_FIELDS; i++)
        reader->targets[i] = -1;
    TRY_OR(fail, text_input_open(path, options->window_bytes, &reader->input));
    for (int i = 0; i < columns->count; i++)
        TRY_OR(fail, find_target(reader, columns, i));
    *out = &reader->reader;
    return status_ok();

fail:
    vw_close(&reader->reader);
    return status;
}

static struct status vw_list(const char *path, const struct record_options *options,
                             struct arena *arena, struct record_fields *out)
{
    (void)path, (void)options, (void)arena;
    *out = (struct record_fields){ .list = vw_fields, .count = VW_FIELDS };
    return status_ok();
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Numbers, perhaps a tag, and after a blank a '|' with a name: "1 |f a:1", "-1 0.5 'tag | a". In a
 * table with '|' between its fields, another number follows, or there is no blank. */
static bool vw_recognises(struct bytes start)
{
    const char *at = start.data;
    int numbers = 0;

    while (*at != '|') {
        size_t size = *at == '\'' ? word_at(at, '\0').size : strspn(at, "+-.0123456789eE");
        if (size == 0 || !is_blank(at[size]))
            return false;
        numbers += *at != '\'';
        at = skip_blanks(at + size);
    }
    return numbers > 0 && is_letter(*skip_blanks(at + 1));
}

const struct record_format vw_format = { .name = "vw",
                                         .suffixes = ".vw",
                                         .recognises = vw_recognises,
                                         .open = vw_open,
                                         .read = vw_read,
                                         .skip = vw_skip,
                                         .tell = vw_tell,
                                         .go_to = vw_go_to,
                                         .close = vw_close,
                                         .place = "line",
                                         .list = vw_list };
