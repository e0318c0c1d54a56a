/*
 * trainable: trains a SavedModel further: builds the graph of one of its signatures with variables
 * as feeds, reads their values, and writes the same SavedModel with new values.
 *
 *     struct trainable *trainable;
 *     struct trainable_graph graph;
 *     TRY(trainable_open("model/1", &options, &trainable));
 *     TRY(trainable_build(trainable, 32, arena, &graph));
 *     … train: feed graph.inputs and graph.values, fetch graph.outputs …
 *     TRY(trainable_write(trainable, "model/2", false, &source));
 *
 * Functions are inlined. The file's graph computes what the model computes when it is served:
 * dropout drops nothing, and a batch normalisation uses its moving averages, which stay unchanged.
 */
#ifndef SAVEDMODEL_TRAINABLE_H
#define SAVEDMODEL_TRAINABLE_H

#include "graph/signature.h"
#include "graph/training_graph.h"
#include "savedmodel/save.h"
#include "storage/bundle.h"

struct trainable;
struct resources;

struct trainable_options {
    const char *signature; /* NULL: signature_choose */
    const char *outputs;   /* the signature's outputs that are trained, "a,b"; NULL: the only one */
    bool all_outputs;      /* NULL: all of them */
    /* Patterns of names or keys of variables, such as "bn_*". A pattern without a match may omit the
     * number after a name, as Keras' own names do. NULL or "": the variables of the layers that were
     * frozen when Keras exported the model; "none": no variable. */
    const char *freeze;
};

struct trainable_variable {
    const char *name; /* the shared name of its handle: unique */
    const char *key;  /* of its value in the checkpoint */
    enum dtype dtype;
    struct shape shape;
    bool is_trained;
    bool is_frozen; /* the model lists it as not trainable */
};

/**
 * Reads the graph, and the checkpoint's index of the signature's variables.
 *
 * A variable is trained unless `freeze` names it, the file marks it as not trainable (the moving
 * averages of a batch normalisation), or its elements are not floating-point numbers.
 *
 * Owner   *out is the caller's: trainable_close
 * Errors  NOT_FOUND no SavedModel, signature or output; INVALID_ARGUMENT several outputs and none
 *         chosen, a pattern that matches nothing, an input whose first dimension is not open;
 *         UNIMPLEMENTED a session_bundle, composite inputs, a variable that is not float32 or has
 *         no value in the checkpoint; DATA_LOSS damaged files
 */
struct status trainable_open(const char *directory, const struct trainable_options *options,
                             struct trainable **out);
void trainable_close(struct trainable *trainable); /* accepts NULL */

const char *trainable_directory(const struct trainable *trainable);
const struct graph *trainable_whole_graph(const struct trainable *trainable); /* as in the file */
const struct signature *trainable_signature(const struct trainable *trainable);
/* Does the graph parse the input as serialized tf.Examples? */
bool trainable_input_is_example(const struct trainable *trainable, int input);
/* Declares that two inputs are the values [?] and the row splits, int64 [rows + 1], of a ragged
 * tensor: their first dimensions are not the rows. Call it before the first trainable_build. */
void trainable_set_ragged(struct trainable *trainable, int values, int row_splits);
/* Declares that three inputs are those of a sparse tensor (signature_is_sparse). */
void trainable_set_sparse(struct trainable *trainable, int indices,
                          const struct signature_sparse *parts);
/* The trained outputs, in the order of the signature. */
int trainable_outputs_count(const struct trainable *trainable);
const struct signature_tensor *trainable_output_at(const struct trainable *trainable, int index);
int trainable_variables_count(const struct trainable *trainable);
const struct trainable_variable *trainable_variable_at(const struct trainable *trainable,
                                                       int index);

struct trainable_graph {
    struct graph *graph;
    struct endpoint *inputs;  /* placeholders, in the order of the signature */
    struct endpoint *outputs; /* the trained ones, with Identity nodes skipped */
    struct endpoint *values;  /* placeholders, in the order of the variables */
    /* In the same order: is the value [-1, row…], the looked-up rows? */
    bool *by_rows;
    struct row_lookup *lookups; /* training_graph.h */
    int lookups_count;
};

/**
 * Makes a graph of the signature, anew for each call. `batch`: the rows of the inputs; 0: any
 * number.
 *
 * Owner   out lives in `arena`; graph_finish(out->graph). It shares attributes with the trainable
 * Errors  UNIMPLEMENTED names a node that does something to a variable other than read it
 */
struct status trainable_build(const struct trainable *trainable, int64_t batch, struct arena *arena,
                              struct trainable_graph *out);

/* Runs the model's init op, which fills its lookup tables. */
struct status trainable_initialise(const struct trainable *trainable, struct resources *resources);

/* Reads the value of a variable to `out`: all elements. Errors: as bundle_read. */
struct status trainable_read(const struct trainable *trainable, int variable, void *out);
/* The same chunk by chunk. `stream` is zeroed or was used before: bundle_stream_finish. */
struct status trainable_begin(const struct trainable *trainable, int variable,
                              struct bundle_stream *stream);

/**
 * Writes the SavedModel with the trained variables' values from `source`, by their names, and all
 * other files and values unchanged. Only fingerprint.pb, which has checksums of the values, is
 * omitted, and assets.extra/compile_config.json gets the content `compile_config`, unless that is
 * empty. Needs memory for chunks.
 *
 * Errors  as savedmodel_write; `again` as savedmodel_write_again
 */
struct status trainable_write(const struct trainable *trainable, const char *directory, bool again,
                              struct bytes compile_config, struct value_source *source);

#endif
