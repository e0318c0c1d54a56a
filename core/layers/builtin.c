#include "layers/builtin.h"

#include "layers/layers.h"

struct bytes layers_builtin(const char *name)
{
    for (const struct builtin_model *model = builtin_models; model->name != NULL; model++)
        if (strcmp(model->name, name) == 0)
            return model->json;
    return (struct bytes){ 0 };
}

const char *layers_builtin_names(void)
{
    static _Thread_local char names[200];
    size_t size = 0;

    for (const struct builtin_model *model = builtin_models; model->name != NULL; model++) {
        size_t length = strlen(model->name);
        if (size + length + 3 > sizeof names)
            break;
        if (size > 0)
            names[size++] = ',', names[size++] = ' ';
        memcpy(names + size, model->name, length + 1);
        size += length;
    }
    return names;
}
