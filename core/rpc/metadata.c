#include "rpc/metadata.h"

#include <stdlib.h>

#include "base/arena.h"

void metadata_add(struct metadata_list *list, const char *name, const char *value)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 4;
        list->items = xrealloc(list->items, (size_t)list->capacity * sizeof *list->items);
    }
    size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
    char *copy = zalloc(name_size + value_size); /* one allocation for both, freed as the name */
    memcpy(copy, name, name_size);
    memcpy(copy + name_size, value, value_size);
    list->items[list->count++] = (struct metadata){ copy, copy + name_size };
}

const char *metadata_find(const struct metadata *items, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(items[i].name, name) == 0)
            return items[i].value;
    return NULL;
}

void metadata_finish(struct metadata_list *list)
{
    for (int i = 0; i < list->count; i++)
        free((char *)(uintptr_t)list->items[i].name);
    free(list->items);
    *list = (struct metadata_list){ 0 };
}
