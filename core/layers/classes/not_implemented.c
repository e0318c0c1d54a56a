/* not_implemented: layers of Keras that pstrain does not support. */
#include "layers/layer.h"
#include "layers/read_layer.h"

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

/* Families of operations that pstrain does not support. */
static const struct {
    const char *names, *reason;
} refused_operations[] = {
    { " AllClose Append Argpartition Bincount BroadcastTo Corrcoef Correlate Diag Diagflat Flipud "
      "Histogram Inner Kron Meshgrid Nonzero Outer PSNR Ravel Scatter ScatterUpdate "
      "SegmentReduction Slice "
      "SliceUpdate Unique UnravelIndex Vander Vdot Vsplit Vstack ",
      "it mixes the rows of the batch" },
    { " Cholesky CholeskyInverse Eig Eigh Lstsq LuFactor MatrixRank Pinv Qr SVD Solve "
      "SolveTriangular ",
      "of the operations on matrices, only Inv, Det and Norm are" },
    { " BatchNorm Conv ConvTranspose DepthwiseConv SeparableConv ",
      "use the layer, with 'trainable' false" },
    { " AssociativeScan Cond ForiLoop Function JVP Map Scan Switch VectorizedMap WhileLoop ",
      "it holds a function in Python" },
    { " ISTFT STFT ViewAsComplex ViewAsReal Polar ", "its numbers are complex" },
    { " BinaryCrossentropy CategoricalCrossentropy CTCLoss SparseCategoricalCrossentropy ",
      "losses belong into compile_config" },
};

/* Is this one of the names, with a blank before and after each? */
static bool is_among(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names + 1; length > 0 && (at = strstr(at, name)) != NULL; at++)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

struct status layer_class_unknown(const char *module, const char *name, struct arena *arena)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        if (strcmp(refused[i].name, name) == 0)
            return status_error(STATUS_UNIMPLEMENTED, "layer '%s' is not implemented: %s", name,
                                refused[i].reason);
    for (size_t i = 0; i < COUNT(refused_operations); i++)
        if (layer_module_is_of_ops(module) && is_among(refused_operations[i].names, name))
            return status_error(STATUS_UNIMPLEMENTED, "operation '%s' is not implemented: %s", name,
                                refused_operations[i].reason);
    if (layer_module_is_of_ops(module))
        return status_error(STATUS_UNIMPLEMENTED,
                            "operation '%.100s' is not implemented; known: %s", name,
                            layer_class_names(module, arena));
    return status_error(STATUS_INVALID_ARGUMENT, "unknown layer '%.100s'; known: %s", name,
                        layer_class_names(module, arena));
}
