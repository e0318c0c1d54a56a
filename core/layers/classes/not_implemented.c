/* not_implemented: layers of Keras that pstrain does not support. */
#include "layers/layer.h"

/* Unsupported layers, and the reason for each. */
static const struct {
    const char *name, *reason;
} refused[] = {
    { "Lambda", "it holds a function in Python" },
    { "TFSMLayer", "it holds the path of a SavedModel: see --from_savedmodel" },
    { "JaxLayer", "it holds a function in Python" },
    { "FlaxLayer", "it holds a module in Python" },
    { "TorchModuleWrapper", "it holds a module in Python" },
};

struct status layer_class_unknown(const char *module, const char *name, struct arena *arena)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        if (strcmp(refused[i].name, name) == 0)
            return status_error(STATUS_UNIMPLEMENTED, "layer '%s' is not implemented: %s", name,
                                refused[i].reason);
    return status_error(STATUS_INVALID_ARGUMENT, "unknown layer '%.100s'; known: %s", name,
                        layer_class_names(module, arena));
}
