#include "trainer/records/folder_label.h"

#include <stdlib.h>

#include "base/arena.h"

struct bytes folder_label(const char *path)
{
    const char *end = strrchr(path, '/'), *begin = end;

    if (end == NULL || end == path)
        return bytes_of(".");
    while (begin > path && begin[-1] != '/')
        begin--;
    return (struct bytes){ begin, (size_t)(end - begin) };
}

static int compare_names(const void *a, const void *b)
{
    return bytes_compare(*(const struct bytes *)a, *(const struct bytes *)b);
}

void folder_schema(const char *const *paths, int count, const struct schema_column *values,
                   struct arena *arena, struct schema *out)
{
    struct bytes *classes = ARENA_ARRAY(arena, struct bytes, count);
    struct schema_column *columns = ARENA_ARRAY(arena, struct schema_column, 2);
    int distinct = 0;

    for (int i = 0; i < count; i++)
        classes[i] = folder_label(paths[i]);
    qsort(classes, (size_t)count, sizeof *classes, compare_names);
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
