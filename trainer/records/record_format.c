/* The table of formats. */
#include <stdio.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/text_print.h"
#include "storage/gzip_file.h"
#include "trainer/records/delimited.h"
#include "trainer/records/example_records.h"
#include "trainer/records/folder_label.h"
#include "trainer/records/idx_records.h"
#include "trainer/records/image_records.h"
#include "trainer/records/npz.h"
#include "trainer/records/other_content.h"
#include "trainer/records/svm.h"
#include "trainer/records/text_lines.h"
#include "trainer/records/vw.h"

/* The first format that recognises a file wins, so the stricter ones come first. */
static const struct record_format *const formats[] = {
    &npz_format, &image_format,  &tfrecord_format, &idx_format, &libsvm_format, &libffm_format,
    &vw_format,  &criteo_format, &tsv_format,      &csv_format, &text_format,
};

#define START_BYTES 4096 /* of a file to check */

const struct record_format *record_format_find(const char *name)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const struct record_field *record_field_find(const struct record_field *fields, int count,
                                             const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

const char *record_format_names(void)
{
    static _Thread_local char names[128];
    size_t size = 0;

    for (size_t i = 0; i < COUNT(formats) && size < sizeof names; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", i == 0 ? "" : ", ",
                                 formats[i]->name);
    return names;
}

/* Does the path end in one of the suffixes, perhaps followed by ".gz"? */
static bool has_suffix(const char *path, const char *suffixes)
{
    size_t path_size = strlen(path), size;

    if (path_size > 3 && strcmp(path + path_size - 3, ".gz") == 0)
        path_size -= 3;

    for (const char *at = suffixes; *at != '\0'; at += size) {
        at += strspn(at, " ");
        size = strcspn(at, " ");
        if (size > 0 && size <= path_size && memcmp(path + path_size - size, at, size) == 0)
            return true;
    }
    return false;
}

static struct status read_start_compressed(const char *path, char *start, size_t *size)
{
    struct gzip_file *file;

    TRY(gzip_file_open(path, &file));
    struct status status = gzip_file_get(file, start, START_BYTES, size);
    gzip_file_close(file);
    return status;
}

static struct status read_start(const char *path, char *start, size_t *size)
{
    struct file_reader file;

    TRY(file_reader_open(path, &file));
    *size = file.size < START_BYTES ? (size_t)file.size : START_BYTES;
    struct status status = file_reader_get(&file, 0, start, *size);
    file_reader_close(&file);
    if (status_is_ok(status) && gzip_begins(start, *size))
        status = read_start_compressed(path, start, size);
    start[status_is_ok(status) ? *size : 0] = '\0';
    return status;
}

static const struct record_format *find_by_suffix(const char *path)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if (has_suffix(path, formats[i]->suffixes))
            return formats[i];
    return NULL;
}

/* Files of text often have names such as these: notes.txt, mails/0017. */
static bool is_text_name(const char *path)
{
    const char *name = strrchr(path, '/');
    const char *dot = strchr(name != NULL ? name : path, '.');

    return dot == NULL || strcmp(dot, ".gz") == 0 || has_suffix(path, ".txt");
}

/* The first bytes of nearly any text fit csv, tsv and text. */
static bool may_be(const struct record_format *format, const char *path, struct bytes start)
{
    if (format == &text_format && !is_text_name(path))
        return false;
    return (format != &text_format && !format->has_fields) || other_content_find(start) == NULL;
}

static const struct record_format *find_by_start(const char *path, struct bytes start,
                                                 bool in_folder)
{
    for (size_t i = 0; i < COUNT(formats); i++)
        if ((in_folder ? formats[i]->in_folders : may_be(formats[i], path, start)) &&
            formats[i]->recognises(start))
            return formats[i];
    return NULL;
}

#define SHOWN_BYTES 40

/* "begins with '…'", for an error. */
static const char *show_start(struct bytes start, struct buffer *out)
{
    size_t size = start.size < SHOWN_BYTES ? start.size : SHOWN_BYTES;
    const char *end = memchr(start.data, '\n', size);

    if (start.size == 0)
        return "is empty";
    if (end != NULL && end > start.data)
        size = (size_t)(end - start.data);
    buffer_append_text(out, "begins with '");
    text_print_visible(out, (struct bytes){ start.data, size });
    buffer_append_text(out, size < start.size ? "…'" : "'");
    buffer_append_char(out, '\0');
    return out->data;
}

static struct status unknown_format(const char *path, struct bytes start)
{
    const struct other_content *other = other_content_find(start);
    struct buffer shown = { 0 };

    if (other != NULL)
        return status_error(
            STATUS_INVALID_ARGUMENT, "'%s' is %s: %s%s", path, other->name, other->advice,
            other->is_text ? ". If each line is a text, give --data_format text" : "");
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "'%s' %s: neither this nor its name tells its format: give --data_format, "
                     "one of %s (text: each line is a text)",
                     path, show_start(start, &shown), record_format_names());
    buffer_finish(&shown);
    return status;
}

/* What follows `count` lines, if that is among the first bytes; otherwise empty. */
static struct bytes after_lines(struct bytes start, int count)
{
    struct bytes rest = start;
    const char *end;

    for (; count > 0 && (end = memchr(rest.data, '\n', rest.size)) != NULL; count--)
        rest = (struct bytes){ end + 1, rest.size - (size_t)(end + 1 - rest.data) };
    return (struct bytes){ rest.data, count == 0 ? rest.size : 0 };
}

/* The lines that --skip_lines passes, such as a number of rows, need not look like a table. */
static const struct record_format *find_by_lines(const char *path, struct bytes start,
                                                 bool in_folder, int skip_lines)
{
    const struct record_format *found = find_by_start(path, start, in_folder), *after;

    if (skip_lines == 0 || (found != NULL && found != &text_format))
        return found;
    after = find_by_start(path, after_lines(start, skip_lines), in_folder);
    return after != NULL ? after : found;
}

static struct status detect(const char *path, bool in_folder, int skip_lines,
                            const struct record_format **out)
{
    char start[START_BYTES + 1];
    size_t size;

    TRY(read_start(path, start, &size));
    const struct bytes bytes = { start, size };
    *out = find_by_suffix(path);
    if (*out == NULL)
        *out = find_by_lines(path, bytes, in_folder, skip_lines);
    return *out != NULL ? status_ok() : unknown_format(path, bytes);
}

struct status record_format_detect(const char *path, const struct record_options *options,
                                   const struct record_format **out)
{
    return detect(path, folder_is_of_classes(path, options),
                  options != NULL ? options->skip_lines : 0, out);
}

bool record_format_is_empty(const char *path)
{
    char start[START_BYTES + 1];
    size_t size;

    return status_is_ok(read_start(path, start, &size)) && size == 0;
}

bool record_format_in_folder(const char *path, const struct record_format *format)
{
    const struct record_format *found;

    return status_is_ok(detect(path, true, 0, &found)) && found == format;
}

/* Prefixes the file's name, unless the status has it already. */
static struct status in_file(struct status status, const char *path)
{
    size_t size = strlen(path);
    const char *message = status.message;
    bool named =
        *message == '\'' && strncmp(message + 1, path, size) == 0 && message[1 + size] == '\'';

    return named ? status : status_in(status, "'%s'", path);
}

struct status record_reader_open(const char *path, const struct record_format *format,
                                 const struct record_options *options,
                                 const struct columns *columns, struct record_reader **out)
{
    struct record_reader *reader;

    if (options->delimiter != '\0' && !format->has_fields)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': the schema has a 'separator' of fields, which is for csv and "
                            "tsv files; this file is %s",
                            path, format->name);
    if (options->separators_count > 0 && !format->has_fields)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': column '%s' has a 'separator', which is for csv and tsv files; "
                            "this file is %s",
                            path, options->separators[0].column, format->name);
    if (options->skip_lines > 0 && !format->has_fields)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': --skip_lines is for csv and tsv files; this file is %s", path,
                            format->name);
    TRY(in_file(format->open(path, options, columns, &reader), path));
    reader->format = format;
    reader->path = path;
    *out = reader;
    return status_ok();
}

void record_reader_close(struct record_reader *reader)
{
    if (reader != NULL)
        reader->format->close(reader);
}

struct status record_reader_read(struct record_reader *reader, size_t rows_max,
                                 struct columns *columns, struct status *bad)
{
    *bad = status_ok();
    struct status status = reader->format->read(reader, rows_max, columns, bad);
    if (!status_is_ok(*bad))
        *bad = record_reader_at(reader, *bad);
    return in_file(status, reader->path);
}

bool record_reader_can_skip(const struct record_reader *reader)
{
    return reader->format->skip != NULL;
}

struct status record_reader_skip(struct record_reader *reader, bool *found)
{
    return in_file(reader->format->skip(reader, found), reader->path);
}

bool record_reader_tell(const struct record_reader *reader, struct record_mark *out)
{
    return reader->format->tell != NULL && reader->format->tell(reader, out);
}

struct status record_reader_go_to(struct record_reader *reader, const struct record_mark *mark)
{
    return in_file(reader->format->go_to(reader, mark), reader->path);
}

struct status record_reader_at(const struct record_reader *reader, struct status status)
{
    return status_in(status, "'%s' %s %llu", reader->path, reader->format->place,
                     (unsigned long long)reader->place);
}

static void leave_out_weight(const struct record_options *options, struct arena *arena,
                             struct record_fields *fields)
{
    struct record_field *kept = ARENA_ARRAY(arena, struct record_field, fields->count + 1);
    const char *wanted = options->weight_column;
    int count = 0;

    for (int i = 0; i < fields->count; i++) {
        const struct record_field *field = &fields->list[i];
        if (!field->is_weight || (wanted != NULL && strcmp(wanted, field->name) == 0))
            kept[count++] = *field;
    }
    fields->list = kept;
    fields->count = count;
}

struct status record_format_list(const char *path, const struct record_format *format,
                                 const struct record_options *options, struct arena *arena,
                                 struct record_fields *out)
{
    TRY(in_file(format->list(path, options, arena, out), path));
    leave_out_weight(options, arena, out);
    return status_ok();
}
