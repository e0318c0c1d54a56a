#include <stdlib.h>
#include <string.h>

#include "graph/op.h"

static const char *const names[] = {
#include "graph/registered.def"
};

static int compare_name(const void *key, const void *element)
{
    return strcmp(key, *(const char *const *)element);
}

bool op_is_registered(const char *name)
{
    return op_find(name) != NULL ||
           bsearch(name, names, COUNT(names), sizeof names[0], compare_name) != NULL;
}
