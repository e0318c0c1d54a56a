#include "layers/classes/classes.h"

#include "layers/read_layer.h"

#define LAYER(noun) &layer_##noun,
#define OPERATION(noun)
static const struct layer_class *const classes[] = {
#include "layers/classes/classes.def"
};
#undef LAYER
#undef OPERATION

#define LAYER(noun)
#define OPERATION(noun) &layer_op_##noun,
static const struct layer_class *const ops[] = {
#include "layers/classes/classes.def"
};
#undef LAYER
#undef OPERATION

bool layer_module_is_of_ops(const char *module)
{
    return module != NULL && strstr(module, ".ops.") != NULL;
}

static const struct layer_class *find_class(const struct layer_class *const *rows, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i]->name, name) == 0)
            return rows[i];
    return NULL;
}

/* Layers of Keras' FeatureSpace that are others by another name. */
static const struct {
    const char *name, *same;
} aliases[] = {
    { "TFDConcat", "Concatenate" },
    { "TFDIdentity", "Identity" },
};

/* KerasCV has a class of this name that is another one than that of keras.applications. */
static const struct layer_class *find_class_of_cv(const char *module, const char *name)
{
    bool is_of_cv = module != NULL && strncmp(module, "keras_cv.", strlen("keras_cv.")) == 0;

    return is_of_cv && strcmp(name, layer_depth_of_cv.name) == 0 ? &layer_depth_of_cv : NULL;
}

const struct layer_class *layer_class_find(const char *module, const char *name)
{
    const struct layer_class *of_cv = find_class_of_cv(module, name);

    if (of_cv != NULL)
        return of_cv;
    for (size_t i = 0; i < COUNT(aliases); i++)
        if (strcmp(name, aliases[i].name) == 0)
            name = aliases[i].same;
    const struct layer_class *layer =
        layer_module_is_of_ops(module) ? NULL : find_class(classes, COUNT(classes), name);

    return layer != NULL ? layer : find_class(ops, COUNT(ops), name);
}

const char *layer_class_names(const char *module, struct arena *arena)
{
    const struct layer_class *const *rows = layer_module_is_of_ops(module) ? ops : classes;
    size_t count = layer_module_is_of_ops(module) ? COUNT(ops) : COUNT(classes);
    const char *names = rows[0]->name;

    for (size_t i = 1; i < count; i++)
        names = arena_printf(arena, "%s, %s", names, rows[i]->name);
    return names;
}
