/* file_data_paths: resolves the files in flags. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "trainer/inputs/file_data_internal.h"
#include "trainer/records/folder_label.h"
#include "trainer/records/image_records.h"
#include "trainer/records/text_lines.h"

struct text_list file_data_split_commas(const char *text, struct arena *arena)
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

struct text_list file_data_split_names(const char *text, struct arena *arena)
{
    struct text_list names = file_data_split_commas(text, arena);

    for (int i = 1; i < names.count; i++)
        names.texts[i] += strspn(names.texts[i], " ");
    return names;
}

const struct class_files file_data_class_files[CLASS_FILES_COUNT] = {
    { &image_format, image_schema },
    { &text_format, text_schema },
};

bool file_data_is_of_format(const struct file_data_maker *maker, const char *path,
                            const struct record_format *wanted)
{
    const struct record_format *format = maker->format;

    return (format != NULL || status_is_ok(record_format_detect(path, &maker->records, &format))) &&
           format == wanted;
}

/* Directories such as .ipynb_checkpoints and files such as ._photo.jpg hold no data. Patterns do
 * not match them either. */
static bool is_hidden(const char *name)
{
    return *name == '.';
}

/* The files of some patterns. */
struct found_files {
    const struct record_format *format; /* NULL: each file's own */
    struct arena *arena;
    struct buffer paths;       /* of char * */
    struct buffer directories; /* the same: those with a folder for each class */
};

static void add(struct buffer *texts, const char *text)
{
    buffer_append(texts, &text, sizeof text);
}

static struct text_list list_of(const struct buffer *texts, struct arena *arena)
{
    struct text_list list = { .count = (int)(texts->size / sizeof(char *)) };

    list.texts = ARENA_ARRAY(arena, const char *, list.count + 1);
    if (texts->size > 0)
        memcpy(list.texts, texts->data, texts->size);
    return list;
}

static bool takes(const struct found_files *found, const char *path,
                  const struct record_format *wanted)
{
    return found->format != NULL ? found->format == wanted : record_format_in_folder(path, wanted);
}

/* Adds the files of the format `wanted` in a class's folder and in the folders below it. As Keras,
 * it follows no link there, which might lead back. */
static struct status add_class(struct found_files *found, const char *folder,
                               const struct record_format *wanted)
{
    struct file_list files;

    TRY(file_list(folder, found->arena, &files));
    for (size_t i = 0; i < files.count; i++) {
        const char *path = file_join(found->arena, folder, files.names[i]);
        if (is_hidden(files.names[i]))
            continue;
        if (!file_is_directory(path) && takes(found, path, wanted))
            add(&found->paths, path);
        else if (file_is_directory(path) && !file_is_link(path))
            TRY(add_class(found, path, wanted));
    }
    return status_ok();
}

static struct status add_classes(struct found_files *found, const char *directory,
                                 const struct record_format *wanted)
{
    struct file_list folders;

    TRY(file_list(directory, found->arena, &folders));
    for (size_t i = 0; i < folders.count; i++) {
        const char *folder = file_join(found->arena, directory, folders.names[i]);
        if (!is_hidden(folders.names[i]) && file_is_directory(folder))
            TRY(add_class(found, folder, wanted));
    }
    return status_ok();
}

/* Adds a file, or the files of a directory: the images or, if it has none, the texts. */
static struct status add_path(struct found_files *found, const char *path)
{
    size_t size = found->paths.size;

    path = arena_strdup(found->arena, path);
    if (!file_is_directory(path)) {
        add(&found->paths, path);
        return status_ok();
    }
    add(&found->directories, path);
    for (size_t i = 0; i < CLASS_FILES_COUNT && found->paths.size == size; i++)
        TRY(add_classes(found, path, file_data_class_files[i].format));
    if (found->paths.size > size)
        return status_ok();
    return status_error(STATUS_NOT_FOUND,
                        "the directory '%s' has no folders with JPEG, PNG or text files; of files "
                        "of records, give the names or a pattern, such as '%s*.csv'",
                        path, file_join(found->arena, path, ""));
}

/* The splits of the data have directories of their own, so those of all are kept. */
static void keep_directories(struct file_data_maker *maker, const struct buffer *more)
{
    struct record_options *records = &maker->records;
    struct buffer all = { 0 };

    buffer_append(&all, records->class_directories,
                  (size_t)records->class_directories_count * sizeof(char *));
    buffer_append(&all, more->data, more->size);
    struct text_list list = list_of(&all, maker->arena);
    records->class_directories = list.texts;
    records->class_directories_count = list.count;
    buffer_finish(&all);
}

static struct status list_paths(struct file_data_maker *maker, const glob_t *matches,
                                struct text_list *out)
{
    struct found_files found = { .format = maker->format, .arena = maker->arena };
    struct status status = status_ok();

    for (size_t i = 0; i < matches->gl_pathc && status_is_ok(status); i++)
        status = add_path(&found, matches->gl_pathv[i]);
    *out = list_of(&found.paths, maker->arena);
    keep_directories(maker, &found.directories);
    buffer_finish(&found.paths);
    buffer_finish(&found.directories);
    return status;
}

/* Adds the files of a pattern. A file whose name has brackets may be given as it is. */
static struct status match(const char *pattern, bool append, glob_t *found)
{
    const char *path = file_path_of_uri(pattern);
    int flags = append ? GLOB_APPEND : 0, result;

    TRY(file_check_local(path));
    result = glob(path, flags, NULL, found);
    if (result == GLOB_NOMATCH && file_exists(path))
        result = glob(path, flags | GLOB_NOCHECK, NULL, found);
    if (result == GLOB_NOMATCH)
        return status_error(STATUS_NOT_FOUND, "no file matches '%s'", pattern);
    return result == 0 ? status_ok()
                       : status_error(STATUS_INTERNAL, "'%s': glob() failed", pattern);
}

/* A file that several patterns match is read once. */
static void drop_repeated(const struct file_data_maker *maker, struct text_list *sorted)
{
    const struct file_data_request *request = maker->request;
    int kept = 0;

    for (int i = 0; i < sorted->count; i++) {
        if (kept == 0 || strcmp(sorted->texts[i], sorted->texts[kept - 1]) != 0)
            sorted->texts[kept++] = sorted->texts[i];
        else
            request->warn(request->context,
                          arena_printf(maker->arena, "'%s' is named twice: its rows count once",
                                       sorted->texts[i]));
    }
    sorted->count = kept;
}

/* A file at the end of all links, and its place in the list. */
struct spelling {
    const char *real;
    int place;
};

static int compare_spellings(const void *a, const void *b)
{
    const struct spelling *left = a, *right = b;
    int order = strcmp(left->real, right->real);

    return order != 0 ? order : left->place - right->place;
}

/* Is a file the same rows under both paths? If the folder is the label, one of two links may make
 * another class of it. */
static bool has_same_rows(const struct file_data_maker *maker, const char *path, const char *other)
{
    bool by_folder = false;

    for (size_t i = 0; i < CLASS_FILES_COUNT; i++)
        by_folder |= file_data_is_of_format(maker, path, file_data_class_files[i].format);
    return !by_folder ||
           bytes_equal(folder_label(path, &maker->records), folder_label(other, &maker->records));
}

/* Two patterns may name a file in two ways: a.csv and ./a.csv. Sets the dropped texts to NULL. */
static void mark_spellings(const struct file_data_maker *maker, struct spelling *all,
                           struct text_list *paths)
{
    const struct file_data_request *request = maker->request;

    qsort(all, (size_t)paths->count, sizeof *all, compare_spellings);
    for (int i = 1, first = 0; i < paths->count; i++) {
        const char *path = paths->texts[all[first].place], *other = paths->texts[all[i].place];
        if (strcmp(all[i].real, all[first].real) != 0) {
            first = i;
        } else if (has_same_rows(maker, path, other)) {
            request->warn(request->context,
                          arena_printf(maker->arena,
                                       "'%s' is the file '%s', which is named as well: its rows "
                                       "count once",
                                       other, path));
            paths->texts[all[i].place] = NULL;
        }
    }
}

static void drop_other_spellings(const struct file_data_maker *maker, struct text_list *paths)
{
    struct spelling *all = ARENA_ARRAY(maker->arena, struct spelling, paths->count + 1);
    int kept = 0;

    for (int i = 0; i < paths->count; i++) {
        char *real = realpath(paths->texts[i], NULL);
        all[i] =
            (struct spelling){ real != NULL ? arena_strdup(maker->arena, real) : paths->texts[i],
                               i };
        free(real);
    }
    mark_spellings(maker, all, paths);
    for (int i = 0; i < paths->count; i++)
        if (paths->texts[i] != NULL)
            paths->texts[kept++] = paths->texts[i];
    paths->count = kept;
}

struct status file_data_find_files(struct file_data_maker *maker, const char *flag,
                                   const char *text, struct text_list *out)
{
    struct text_list patterns = file_data_split_commas(text, maker->arena);
    struct status status = status_ok();

    if (file_exists(file_path_of_uri(text))) /* a file whose name has a comma */
        patterns = (struct text_list){ &text, 1 };
    glob_t found = { 0 };

    for (int i = 0; i < patterns.count && status_is_ok(status); i++)
        status = match(patterns.texts[i], i > 0, &found);
    if (status_is_ok(status))
        status = list_paths(maker, &found, out);
    if (status_is_ok(status)) {
        texts_sort(out->texts, (size_t)out->count);
        drop_repeated(maker, out);
        if (patterns.count > 1)
            drop_other_spellings(maker, out);
    }
    globfree(&found);
    if (patterns.count == 0)
        status = status_error(STATUS_INVALID_ARGUMENT, "'%s' names no file", text);
    return wrong_flag(flag, status);
}
