/* file_data_paths: resolves the files in flags. */
#include <glob.h>
#include <stdlib.h>

#include "base/file.h"
#include "trainer/inputs/file_data_internal.h"
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

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const struct class_files file_data_class_files[CLASS_FILES_COUNT] = {
    { &image_format, image_schema },
    { &text_format, text_schema },
};

bool file_data_is_of_format(const char *path, const struct record_format *format,
                            const struct record_format *wanted)
{
    return (format != NULL || status_is_ok(record_format_detect(path, &format))) &&
           format == wanted;
}

/* Such as .ipynb_checkpoints and ._photo.jpg. Patterns do not match them either. */
static bool is_hidden(const char *name)
{
    return *name == '.';
}

/* Adds the files of this format in the folders of a directory: DIR/CLASS/FILE. */
static struct status add_class_files(const char *directory, const struct record_format *format,
                                     const struct record_format *wanted, struct arena *arena,
                                     struct buffer *paths)
{
    struct file_list folders, files;

    TRY(file_list(directory, arena, &folders));
    for (size_t i = 0; i < folders.count; i++) {
        const char *folder = file_join(arena, directory, folders.names[i]);
        if (is_hidden(folders.names[i]) || !file_is_directory(folder))
            continue;
        TRY(file_list(folder, arena, &files));
        for (size_t k = 0; k < files.count; k++) {
            const char *path = file_join(arena, folder, files.names[k]);
            if (!is_hidden(files.names[k]) && !file_is_directory(path) &&
                file_data_is_of_format(path, format, wanted))
                buffer_append(paths, &path, sizeof path);
        }
    }
    return status_ok();
}

/* Adds a file, or the files of a directory: the images or, if it has none, the texts. */
static struct status add_path(const char *path, const struct record_format *format,
                              struct arena *arena, struct buffer *paths)
{
    size_t size = paths->size;

    if (!file_is_directory(path)) {
        path = arena_strdup(arena, path);
        buffer_append(paths, &path, sizeof path);
        return status_ok();
    }
    for (size_t i = 0; i < CLASS_FILES_COUNT && paths->size == size; i++)
        TRY(add_class_files(path, format, file_data_class_files[i].format, arena, paths));
    if (paths->size > size)
        return status_ok();
    return status_error(STATUS_NOT_FOUND,
                        "the directory '%s' has no folders with JPEG, PNG or text files; of files "
                        "of records, give the names or a pattern, such as '%s*.csv'",
                        path, file_join(arena, path, ""));
}

static struct status list_paths(const glob_t *found, const struct record_format *format,
                                struct arena *arena, struct text_list *out)
{
    struct buffer paths = { 0 };
    struct status status = status_ok();

    for (size_t i = 0; i < found->gl_pathc && status_is_ok(status); i++)
        status = add_path(found->gl_pathv[i], format, arena, &paths);
    out->count = (int)(paths.size / sizeof(char *));
    out->texts = ARENA_ARRAY(arena, const char *, out->count + 1);
    if (paths.size > 0)
        memcpy(out->texts, paths.data, paths.size);
    buffer_finish(&paths);
    return status;
}

struct status file_data_find_files(const char *flag, const char *text,
                                   const struct record_format *format, struct arena *arena,
                                   struct text_list *out)
{
    struct text_list patterns = file_data_split_commas(text, arena);
    struct status status = status_ok();
    glob_t found = { 0 };

    for (int i = 0; i < patterns.count && status_is_ok(status); i++) {
        int result = glob(patterns.texts[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
        if (result == GLOB_NOMATCH)
            status = status_error(STATUS_NOT_FOUND, "no file matches '%s'", patterns.texts[i]);
        else if (result != 0)
            status = status_error(STATUS_INTERNAL, "'%s': glob() failed", patterns.texts[i]);
    }
    if (status_is_ok(status))
        status = list_paths(&found, format, arena, out);
    if (status_is_ok(status))
        qsort(out->texts, (size_t)out->count, sizeof *out->texts, compare_texts);
    if (patterns.count > 0)
        globfree(&found);
    else
        status = status_error(STATUS_INVALID_ARGUMENT, "'%s' names no file", text);
    return wrong_flag(flag, status);
}
