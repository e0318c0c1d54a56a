#include "trainer/file_data.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "trainer/data/file_split.h"

#define SCHEMA_BYTES_MAX ((size_t)16 << 20)

struct file_data {
    struct data data;                             /* first */
    struct data_split *train, *validation, *test; /* NULL: none */
};

/* What the splits are made of. */
struct file_data_maker {
    const struct file_data_request *request;
    struct arena *arena;
    const struct record_format *format; /* NULL: each file's own */
    struct record_options records;
    struct schema schema;
    struct row_layout layout;
};

static struct status wrong_flag(const char *flag, struct status status)
{
    return status_in(status, "--%s", flag);
}

/* ---- Lists in flags. ---- */

struct text_list {
    const char **texts;
    int count;
};

/* Splits "a,b". */
static struct text_list split_commas(const char *text, struct arena *arena)
{
    struct text_list list = { .texts = ARENA_ARRAY(arena, const char *, strlen(text) + 1) };

    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        if (size > 0)
            list.texts[list.count++] = arena_memdup(arena, text, size);
        text += size + (text[size] == ',');
    }
    return list;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All files of "GLOB,GLOB", sorted, so that every task has them in the same order. */
static struct status expand_globs(const char *flag, const char *text, struct arena *arena,
                                  struct text_list *out)
{
    struct text_list patterns = split_commas(text, arena);
    struct status status = status_ok();
    glob_t found = { 0 };

    for (int i = 0; i < patterns.count && status_is_ok(status); i++) {
        int result = glob(patterns.texts[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
        if (result == GLOB_NOMATCH)
            status = status_error(STATUS_NOT_FOUND, "no file matches '%s'", patterns.texts[i]);
        else if (result != 0)
            status = status_error(STATUS_INTERNAL, "'%s': glob() failed", patterns.texts[i]);
    }
    out->texts = ARENA_ARRAY(arena, const char *, found.gl_pathc + 1);
    for (out->count = 0; (size_t)out->count < found.gl_pathc; out->count++)
        out->texts[out->count] = arena_strdup(arena, found.gl_pathv[out->count]);
    qsort(out->texts, (size_t)out->count, sizeof *out->texts, compare_texts);
    if (patterns.count > 0)
        globfree(&found);
    else
        status = status_error(STATUS_INVALID_ARGUMENT, "'%s' names no file", text);
    return wrong_flag(flag, status);
}

/* ---- The format and the schema. ---- */

static struct status choose_format(const struct flag_values *flags, struct arena *arena,
                                   const struct record_format **format,
                                   struct record_options *records)
{
    struct text_list names = split_commas(flags->column_names, arena);

    *format = record_format_find(flags->data_format);
    if (*format == NULL && *flags->data_format != '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "--data_format=%s is none of %s",
                            flags->data_format, record_format_names());
    *records = (struct record_options){ .column_names = names.count > 0 ? names.texts : NULL,
                                        .column_names_count = names.count };
    return status_ok();
}

static struct status guess_schema(const char *path, const struct record_format *format,
                                  const struct record_options *records, struct arena *arena,
                                  struct buffer *notes, struct schema *out)
{
    if (format == NULL)
        TRY(record_format_detect(path, &format));
    return schema_guess(path, format, records, arena, notes, out);
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

static struct status read_schema_file(const char *path, struct arena *arena, struct schema *out)
{
    struct buffer file = { 0 };

    TRY(file_read(path, SCHEMA_BYTES_MAX, &file));
    struct status status = schema_read((struct bytes){ file.data, file.size }, arena, out);
    buffer_finish(&file);
    return status_in(status, "'%s'", path);
}

static struct status choose_schema(struct file_data_maker *maker, const char *path)
{
    const struct flag_values *flags = &maker->request->options->flags;
    struct buffer notes = { 0 };

    if (*flags->schema != '\0')
        return wrong_flag("schema", read_schema_file(flags->schema, maker->arena, &maker->schema));
    struct status status =
        guess_schema(path, maker->format, &maker->records, maker->arena, &notes, &maker->schema);
    if (status_is_ok(status))
        report_notes(maker->request, path, &notes);
    buffer_finish(&notes);
    return wrong_flag("train_files", status);
}

/* ---- The feeds and their columns. ---- */

static int count_feeds(const struct training_graph *graph, enum feed_role role)
{
    int count = 0;

    for (int i = 0; i < graph->feeds_count; i++)
        count += graph->feeds[i].role == role;
    return count;
}

static const char *label_column(const struct file_data_maker *maker)
{
    const char *name = maker->request->options->flags.label_column;
    return *name != '\0' ? name : "label";
}

/* All columns but the label. */
static struct text_list other_columns(const struct file_data_maker *maker)
{
    const struct schema *schema = &maker->schema;
    struct text_list list = { .texts = ARENA_ARRAY(maker->arena, const char *, schema->count + 1) };

    for (int i = 0; i < schema->count; i++)
        if (strcmp(schema->columns[i].name, label_column(maker)) != 0)
            list.texts[list.count++] = schema->columns[i].name;
    return list;
}

static struct text_list columns_of_feed(const struct file_data_maker *maker,
                                        const struct training_feed *feed)
{
    const struct flag_values *flags = &maker->request->options->flags;
    struct text_list one = { .texts = ARENA_ARRAY(maker->arena, const char *, 1), .count = 1 };

    if (count_feeds(maker->request->graph, feed->role) > 1) {
        one.texts[0] = feed->spec.name;
        return one;
    }
    if (feed->role == FEED_LABEL) {
        one.texts[0] = label_column(maker);
        return one;
    }
    return *flags->feature_columns != '\0' ? split_commas(flags->feature_columns, maker->arena)
                                           : other_columns(maker);
}

static struct status request_feed(const struct file_data_maker *maker,
                                  const struct training_feed *feed, struct row_request *out)
{
    struct text_list names = columns_of_feed(maker, feed);
    bool classes = feed->spec.dtype == DT_INT32 && feed->classes > 0;

    if (feed->spec.layout != TENSOR_DENSE || tensor_spec_row_size(&feed->spec) == 0 ||
        (feed->spec.dtype != DT_FLOAT && !classes))
        return status_error(STATUS_UNIMPLEMENTED,
                            "the model's '%s' is %s; columns of files become dense floats and "
                            "classes",
                            feed->spec.name, tensor_spec_text(&feed->spec));
    *out = (struct row_request){ .spec = feed->spec,
                                 .classes = feed->classes,
                                 .is_binary = feed->role == FEED_LABEL &&
                                              maker->request->options->model->kind == LAYERS_BINARY,
                                 .names = names.texts,
                                 .names_count = names.count };
    return status_ok();
}

/* The labels come first, because a label that has another name is the first thing to know. */
static struct status make_layout(struct file_data_maker *maker)
{
    static const enum feed_role roles[] = { FEED_LABEL, FEED_INPUT };
    const struct training_graph *graph = maker->request->graph;
    struct row_request *requests =
        ARENA_ARRAY(maker->arena, struct row_request, graph->feeds_count + 1);
    int count = 0;

    for (size_t r = 0; r < COUNT(roles); r++)
        for (int i = 0; i < graph->feeds_count; i++)
            if (graph->feeds[i].role == roles[r])
                TRY(request_feed(maker, &graph->feeds[i], &requests[count++]));
    return status_in(row_layout_make(&maker->schema, requests, count, maker->arena, &maker->layout),
                     "--label_column, --feature_columns");
}

/* ---- The splits. ---- */

static struct status make_split(const struct file_data_maker *maker, const char *flag,
                                const struct text_list *files, struct data_split **out)
{
    const struct flag_values *flags = &maker->request->options->flags;
    const struct file_split_options options = {
        .paths = files->texts,
        .paths_count = files->count,
        .format = maker->format,
        .records = maker->records,
        .layout = maker->layout,
        .shuffle_buffer = (uint32_t)flags->shuffle_buffer,
        .max_bad_records = flags->max_bad_records,
        .warn = maker->request->warn,
        .context = maker->request->context,
    };
    return wrong_flag(flag, file_split_create(&options, out));
}

static struct status make_optional(const struct file_data_maker *maker, const char *flag,
                                   const char *globs, struct data_split **out)
{
    struct text_list files;

    if (*globs == '\0')
        return status_ok();
    TRY(expand_globs(flag, globs, maker->arena, &files));
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

    buffer_printf(&text, "%d file%s: '%s'%s", files->count, files->count == 1 ? "" : "s",
                  files->texts[0], files->count == 1 ? "" : ", …");
    buffer_append_char(&text, '\0');
    return text.data;
}

static struct status fill(struct file_data_maker *maker, struct file_data *data)
{
    const struct options *options = maker->request->options;
    const struct flag_values *flags = &options->flags;
    struct text_list files;

    TRY(choose_format(flags, maker->arena, &maker->format, &maker->records));
    TRY(expand_globs("train_files", flags->train_files, maker->arena, &files));
    TRY(choose_schema(maker, files.texts[0]));
    TRY(make_layout(maker));
    TRY(make_split(maker, "train_files", &files, &data->train));
    TRY(make_optional(maker, "validation_files", flags->validation_files, &data->validation));
    TRY(make_optional(maker, "test_files", flags->test_files, &data->test));
    if (options_are_epochs(options))
        TRY(wrong_flag("train_files", file_split_count(data->train)));
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

/* ---- pstrain schema. ---- */

struct status file_data_print_schema(const struct flag_values *flags, const char *const *paths,
                                     int count, struct arena *arena)
{
    const struct record_format *format;
    struct record_options records;
    struct buffer first = { 0 }, other = { 0 }, notes = { 0 };
    struct status status;

    TRY(choose_format(flags, arena, &format, &records));
    for (int i = 0; i < count; i++) {
        struct schema schema;
        other.size = notes.size = 0;
        TRY_OR(done, guess_schema(paths[i], format, &records, arena, &notes, &schema));
        schema_print(&schema, i == 0 ? &first : &other);
        if (i > 0 && !bytes_equal((struct bytes){ first.data, first.size },
                                  (struct bytes){ other.data, other.size })) {
            status = status_error(STATUS_INVALID_ARGUMENT,
                                  "'%s' has another schema than '%s': print them one by one",
                                  paths[i], paths[0]);
            goto done;
        }
        if (notes.size > 0)
            fprintf(stderr, "%.*s", (int)notes.size, notes.data);
    }
    printf("%.*s", (int)first.size, first.data);
    status = file_flush_stdout();
done:
    buffer_finish(&first);
    buffer_finish(&other);
    buffer_finish(&notes);
    return status;
}
