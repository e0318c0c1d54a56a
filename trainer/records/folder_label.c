#include "trainer/records/folder_label.h"

#include "base/arena.h"

/* The path below the longest class directory that contains the file; NULL: none does. */
static const char *below_class_directory(const char *path, const struct record_options *options)
{
    size_t longest = 0;

    for (int i = 0; options != NULL && i < options->class_directories_count; i++) {
        const char *directory = options->class_directories[i];
        size_t size = strlen(directory);
        while (size > 1 && directory[size - 1] == '/')
            size--;
        if (size > longest && strncmp(path, directory, size) == 0 && path[size] == '/')
            longest = size;
    }
    return longest > 0 ? path + longest + strspn(path + longest, "/") : NULL;
}

/* The folder of a class directory that contains the file; empty: none does. */
static struct bytes find_class_folder(const char *path, const struct record_options *options)
{
    const char *below = below_class_directory(path, options);
    const char *end = below != NULL ? strchr(below, '/') : NULL;

    return end != NULL ? (struct bytes){ below, (size_t)(end - below) } : (struct bytes){ "", 0 };
}

bool folder_is_of_classes(const char *path, const struct record_options *options)
{
    return find_class_folder(path, options).size > 0;
}

struct bytes folder_label(const char *path, const struct record_options *options)
{
    const struct bytes class = find_class_folder(path, options);
    const char *end = strrchr(path, '/'), *begin = end;

    if (class.size > 0)
        return class;
    if (end == NULL || end == path)
        return bytes_of(".");
    while (begin > path && begin[-1] != '/')
        begin--;
    return (struct bytes){ begin, (size_t)(end - begin) };
}

void folder_schema(const char *const *paths, int count, const struct record_options *options,
                   const struct schema_column *values, struct arena *arena, struct schema *out)
{
    struct bytes *classes = ARENA_ARRAY(arena, struct bytes, count);
    struct schema_column *columns = ARENA_ARRAY(arena, struct schema_column, 2);
    int distinct = 0;

    for (int i = 0; i < count; i++)
        classes[i] = folder_label(paths[i], options);
    bytes_sort(classes, (size_t)count);
    for (int i = 0; i < count; i++)
        if (i == 0 || !bytes_equal(classes[i], classes[distinct - 1]))
            classes[distinct++] = classes[i];
    columns[0] = *values;
    columns[1] = (struct schema_column){ .name = FOLDER_LABEL,
                                         .dtype = COLUMN_BYTES,
                                         .width = 1,
                                         .stddev = 1,
                                         .classes = classes,
                                         .classes_count = distinct };
    *out = (struct schema){ .columns = columns, .count = 2 };
}
