#include "graph/function.h"

#include "graph/library.h"

const struct function *function_find(const struct function_library *library, const char *name)
{
    return library != NULL ? map_get_text(&library->by_name, name) : NULL;
}

const char *function_name(const struct function *function)
{
    return function->signature.name;
}

const struct op *function_signature(const struct function *function)
{
    return &function->signature;
}

int function_library_count(const struct function_library *library)
{
    return library != NULL ? library->count : 0;
}
