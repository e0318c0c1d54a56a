#include "trainer/inputs/file_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/plural.h"
#include "trainer/data/file_split.h"
#include "trainer/inputs/file_data_internal.h"

struct file_data {
    struct data data;                             /* first */
    struct data_split *train, *validation, *test; /* NULL: none */
};

/* ---- the splits ---- */

static struct status make_split(const struct file_data_maker *maker, const char *flag,
                                const struct text_list *files, struct data_split **out)
{
    const struct flag_values *flags = maker->request->flags;
    const struct file_split_options options = {
        .paths = files->texts,
        .paths_count = files->count,
        .format = maker->format,
        .records = maker->records,
        .layout = maker->layout,
        .shuffle_buffer = (uint32_t)flags->shuffle_buffer,
        .max_bad_records = flags->max_bad_records,
        .kept_bytes_max = maker->request->reads_again ? (size_t)flags->cache_mb << 20 : 0,
        .warn = maker->request->warn,
        .context = maker->request->context,
    };
    TRY(wrong_flag(flag, file_split_create(&options, out)));
    return maker->request->needs_rows ? wrong_flag(flag, file_split_check_records(*out))
                                      : status_ok();
}

static struct status make_optional(struct file_data_maker *maker, const char *flag,
                                   const char *globs, struct data_split **out)
{
    struct text_list files;

    if (*globs == '\0')
        return status_ok();
    TRY(file_data_find_files(maker, flag, globs, &files));
    return make_split(maker, flag, &files, out);
}

static void destroy(struct data *base)
{
    struct file_data *data = (struct file_data *)base;

    file_split_destroy(data->train);
    file_split_destroy(data->validation);
    file_split_destroy(data->test);
    free(data->data.origin);
    free(data);
}

static char *describe_origin(const struct text_list *files)
{
    struct buffer text = { 0 };

    buffer_printf(&text, "%d file%s: '%s'%s", files->count, plural(files->count), files->texts[0],
                  files->count == 1 ? "" : ", …");
    buffer_append_char(&text, '\0');
    return text.data;
}

/* The first file that has a byte, as some parts of a table have none; otherwise the last one. */
static const char *find_first_file(const struct text_list *files)
{
    int i = 0;

    while (i + 1 < files->count && record_format_is_empty(files->texts[i]))
        i++;
    return files->texts[i];
}

/* Determines the format of the files and their columns. */
static struct status describe_files(struct file_data_maker *maker, struct text_list *files)
{
    const struct file_data_request *request = maker->request;
    const struct flag_values *flags = request->flags;

    TRY(file_data_choose_format(flags, maker->arena, &maker->format, &maker->records));
    TRY(file_data_find_files(maker, request->files_flag, flags->train_files, files));
    maker->first_file = find_first_file(files);
    TRY(file_data_choose_image_size(maker));
    return file_data_choose_schema(maker, files);
}

static struct status fill(struct file_data_maker *maker, struct file_data *data)
{
    const struct file_data_request *request = maker->request;
    const struct flag_values *flags = request->flags;
    struct text_list files;

    TRY(describe_files(maker, &files));
    TRY(file_data_make_layout(maker));
    TRY(make_split(maker, request->files_flag, &files, &data->train));
    TRY(make_optional(maker, "validation_files", flags->validation_files, &data->validation));
    TRY(make_optional(maker, "test_files", flags->test_files, &data->test));
    if (request->count_rows)
        TRY(wrong_flag(request->files_flag, file_split_count(data->train)));
    data->data = (struct data){ .train = data->train,
                                .validation = data->validation,
                                .test = data->test,
                                .origin = describe_origin(&files),
                                .destroy = destroy };
    return status_ok();
}

struct status file_data_open(const struct file_data_request *request, struct arena *arena,
                             struct data **out)
{
    struct file_data_maker maker = { .request = request, .arena = arena };
    struct file_data *data = zalloc(sizeof *data);

    struct status status = fill(&maker, data);
    if (!status_is_ok(status)) {
        destroy(&data->data);
        return status;
    }
    *out = &data->data;
    return status_ok();
}

static void ignore(void *context, const char *text)
{
    (void)context, (void)text;
}

struct status file_data_has_column(const struct file_data_request *request, const char *name,
                                   bool *out)
{
    struct arena *arena = arena_create(0);
    struct file_data_request quiet = *request;
    struct file_data_maker maker = { .request = &quiet, .arena = arena };
    struct text_list files;

    quiet.warn = ignore;
    struct status held = status_hold(describe_files(&maker, &files));
    if (status_is_ok(held))
        *out = schema_find(&maker.schema, name) != NULL ||
               schema_find_input(&maker.schema, name) != NULL;
    arena_destroy(arena);
    return status_resume(held);
}

int64_t file_data_bad_records(const struct data *data)
{
    return file_split_bad_records(data->train);
}

/* ---- pstrain schema ---- */

/* Says which of the first rows are bad records. */
static void print_bad(const char *path, const struct schema *schema)
{
    for (int i = 0; i < schema->count; i++) {
        const struct schema_column *column = &schema->columns[i];
        if (column->missing_rows > 0)
            fprintf(stderr,
                    "'%s': %zu of the first %zu rows have no '%s': bad records, unless the column "
                    "gets a \"default\", as from --normalize\n",
                    path, column->missing_rows, schema->seen_rows, column->name);
        if (column->no_number != NULL && column->dtype != COLUMN_BYTES && column->separator == '\0')
            fprintf(stderr,
                    "'%s': column '%s': %s: a bad record, unless the column gets the dtype "
                    "\"string\" or this is the --na_value\n",
                    path, column->name, column->no_number);
    }
}

struct status file_data_print_schema(const struct flag_values *flags,
                                     const struct schema_hints *hints, const char *const *paths,
                                     int count, struct arena *arena)
{
    const struct record_format *format;
    struct record_options records;
    struct buffer first = { 0 }, other = { 0 }, notes = { 0 };
    const char *shown = NULL; /* the file of `first` */
    struct status status;

    TRY(file_data_choose_format(flags, arena, &format, &records));
    for (int i = 0; i < count; i++) {
        const char *path = file_path_of_uri(paths[i]);
        struct schema schema;
        if ((shown != NULL || i + 1 < count) && record_format_is_empty(path))
            continue; /* a part of a table without rows */
        other.size = notes.size = 0;
        TRY_OR(done, file_data_guess_schema(path, format, &records, hints, arena, &notes, &schema));
        schema_print(&schema, shown == NULL ? &first : &other);
        if (shown == NULL) {
            shown = path;
        } else if (!bytes_equal((struct bytes){ first.data, first.size },
                                (struct bytes){ other.data, other.size })) {
            status = status_error(STATUS_INVALID_ARGUMENT,
                                  "'%s' has another schema than '%s': print them one by one", path,
                                  shown);
            goto done;
        }
        if (notes.size > 0)
            fprintf(stderr, "%.*s", (int)notes.size, notes.data);
        print_bad(path, &schema);
    }
    printf("%.*s", (int)first.size, first.data);
    status = file_flush_stdout();
done:
    buffer_finish(&first);
    buffer_finish(&other);
    buffer_finish(&notes);
    return status;
}
