/* file_data_schema: the format of the files that the flags name, and their schema. */
#include <stdio.h>

#include "trainer/inputs/file_data_internal.h"
#include "trainer/records/example_records.h"

struct status file_data_choose_format(const struct flag_values *flags, struct arena *arena,
                                      const struct record_format **format,
                                      struct record_options *records)
{
    struct text_list names = file_data_split_names(flags->column_names, arena);

    *format = record_format_find(flags->data_format);
    if (*format == NULL && *flags->data_format != '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "--data_format=%s is none of %s",
                            flags->data_format, record_format_names());
    *records = (struct record_options){ .column_names = names.count > 0 ? names.texts : NULL,
                                        .column_names_count = names.count,
                                        .skip_lines = flags->skip_lines,
                                        .weight_column = flags->weight_column,
                                        .na_value = bytes_of(flags->na_value) };
    return status_ok();
}

struct status file_data_guess_schema(const char *path, const struct record_format *format,
                                     const struct record_options *records,
                                     const struct schema_hints *hints, struct arena *arena,
                                     struct buffer *notes, struct schema *out)
{
    if (format == NULL)
        TRY(record_format_detect(path, records, &format));
    return schema_guess(path, format, records, hints, arena, notes, out);
}

static void report_notes(const struct file_data_request *request, const char *path,
                         struct buffer *notes)
{
    char *at = notes->data;

    buffer_append_char(notes, '\0');
    for (at = notes->data; *at != '\0';) {
        size_t size = strcspn(at, "\n");
        char text[512];
        snprintf(text, sizeof text, "'%s': %.*s", path, (int)size, at);
        request->warn(request->context, text);
        at += size + (at[size] == '\n');
    }
}

/* An input of serialized tf.Examples takes whole records. */
static struct status add_record_column(struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    int f = 0;

    while (f < request->feeds_count && !request->feeds[f].is_example)
        f++;
    if (f == request->feeds_count)
        return status_ok();
    if (!file_data_is_of_format(maker, maker->first_file, &tfrecord_format))
        return wrong_flag(request->files_flag,
                          status_error(STATUS_INVALID_ARGUMENT,
                                       "the model's '%s' takes serialized tf.Examples, which only "
                                       "TFRecord files hold",
                                       request->feeds[f].spec.name));
    schema_put_column(&maker->schema, maker->arena,
                      (struct schema_column){
                          .name = RECORD_COLUMN, .dtype = COLUMN_BYTES, .width = 1, .stddev = 1 });
    return status_ok();
}

static bool has_input(const struct file_data_request *request, const char *name)
{
    for (int f = 0; f < request->feeds_count; f++)
        if (request->feeds[f].role == FEED_INPUT && strcmp(request->feeds[f].spec.name, name) == 0)
            return true;
    return false;
}

/* A model may take the indices and the values of a sparse column as two lists. */
static void give_lists(struct file_data_maker *maker)
{
    const struct file_data_request *request = maker->request;
    struct schema *schema = &maker->schema;

    for (int i = 0; i < schema->count; i++) {
        struct schema_column pair = schema->columns[i];
        if (pair.kind != SCHEMA_SPARSE || has_input(request, pair.name) || pair.width > 0 ||
            !has_input(request, pair.index) || !has_input(request, pair.value) ||
            schema_find(schema, pair.index) != NULL || schema_find(schema, pair.value) != NULL)
            continue;
        struct schema_column lists[] = {
            { .name = pair.index,
              .kind = SCHEMA_RAGGED,
              .dtype = COLUMN_INT64,
              .separator = pair.separator,
              .stddev = 1 },
            { .name = pair.value,
              .kind = SCHEMA_RAGGED,
              .dtype = COLUMN_FLOAT,
              .separator = pair.separator,
              .stddev = 1 },
        };
        struct schema_column *columns =
            ARENA_ARRAY(maker->arena, struct schema_column, schema->count);
        memcpy(columns, schema->columns, (size_t)schema->count * sizeof *columns);
        columns[i] = lists[0];
        schema->columns = columns;
        schema_put_column(schema, maker->arena, lists[1]);
    }
}

/* Guesses from the first file that has rows: of many, some may have none. */
static struct status guess_schema(struct file_data_maker *maker, const struct text_list *files)
{
    const struct schema_hints none = { .label = "" };
    struct buffer notes = { 0 };
    struct status status = status_ok();

    for (int i = 0; i < files->count && status_is_ok(status) && maker->schema.seen_rows == 0; i++) {
        if (i + 1 < files->count && record_format_is_empty(files->texts[i]))
            continue;
        notes.size = 0;
        maker->first_file = files->texts[i];
        status = file_data_guess_schema(maker->first_file, maker->format, &maker->records, &none,
                                        maker->arena, &notes, &maker->schema);
    }
    if (status_is_ok(status))
        report_notes(maker->request, maker->first_file, &notes);
    buffer_finish(&notes);
    return wrong_flag(maker->request->files_flag, status);
}

static struct status read_or_guess_schema(struct file_data_maker *maker,
                                          const struct text_list *files)
{
    const struct flag_values *flags = maker->request->flags;

    if (*flags->schema != '\0')
        return wrong_flag("schema", schema_read_file(flags->schema, maker->arena, &maker->schema));
    for (size_t i = 0; i < CLASS_FILES_COUNT; i++)
        if (file_data_is_of_format(maker, maker->first_file, file_data_class_files[i].format)) {
            file_data_class_files[i].make_schema(files->texts, files->count, &maker->records,
                                                 maker->arena, &maker->schema);
            return status_ok();
        }
    return guess_schema(maker, files);
}

/* Keeps ids verbatim: the fields of a text file have no type, and 007 and digits beyond a
 * float's precision are kept. The schema may omit the column, or list its classes. */
static struct status keep_ids(struct file_data_maker *maker, const char *path)
{
    const struct record_format *format = maker->format;
    const char *id = maker->request->id_column;
    struct record_fields fields;

    if (format == NULL)
        TRY(record_format_detect(path, &maker->records, &format));
    TRY(record_format_list(path, format, &maker->records, maker->arena, &fields));
    const struct record_field *field = record_field_find(fields.list, fields.count, id);
    const struct schema_column *given = schema_find(&maker->schema, id);
    if (field == NULL || (given != NULL && given->classes == NULL && !field->is_text))
        return status_ok();
    schema_put_column(&maker->schema, maker->arena,
                      (struct schema_column){ .name = id,
                                              .dtype = field->is_text ? COLUMN_BYTES : field->kind,
                                              .width = 1,
                                              .stddev = 1 });
    return status_ok();
}

struct status file_data_choose_schema(struct file_data_maker *maker, const struct text_list *files)
{
    TRY(read_or_guess_schema(maker, files));
    give_lists(maker);
    maker->records.delimiter = maker->schema.separator;
    TRY(add_record_column(maker));
    if (has_id(maker->request))
        TRY(wrong_flag(maker->request->files_flag, keep_ids(maker, maker->first_file)));
    schema_separators(&maker->schema, maker->arena, &maker->records);
    return status_ok();
}
