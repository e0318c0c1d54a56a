/*
 * load: a SavedModel directory, restored and initialised, ready to run.
 *
 *     struct savedmodel *model;
 *     TRY(savedmodel_load("model/1", NULL, &model));
 *     const struct signature *signature = savedmodel_signature(model, bytes_of("serving_default"));
 *     const struct plan *plan;
 *     TRY(savedmodel_plan(model, signature, &plan));
 *     TRY(plan_run(plan, run, feeds, fetches));      feeds and fetches in the order of
 * signature->inputs and ->outputs
 */
#ifndef SAVEDMODEL_LOAD_H
#define SAVEDMODEL_LOAD_H

#include "runtime/plan.h"
#include "savedmodel/signature.h"

struct savedmodel;
struct bundle;

struct savedmodel_options {
    const char *const *tags; /* the tag set, order ignored; NULL: { "serve" } */
    int tags_count;
    bool allow_paths_outside_model;   /* let ops read files that are not in the model's directory */
    const struct work_limits *limits; /* until savedmodel_plan_all has returned; NULL: none */
    bool graph_only;                  /* do not restore or initialise: for `savedmodel show` */
    struct plan_options plan;
};

/**
 * Reads, restores the variables that a signature or the init op needs, and runs the init op.
 *
 * Owner   *out is the caller's: savedmodel_destroy
 * Errors  NOT_FOUND no SavedModel there, or no meta graph with these tags; UNIMPLEMENTED
 *         session_bundle, .cpb; DATA_LOSS damaged files; what the init op says; texts as
 *         TensorFlow Serving's (serving-api.md §10.7)
 * Threads one thread loads; everything below is safe from many
 */
struct status savedmodel_load(const char *directory, const struct savedmodel_options *options,
                              struct savedmodel **out);
void savedmodel_destroy(struct savedmodel *model); /* accepts NULL */

/* All signatures, sorted by name, internal ones (`__…`) included: metadata lists them as stored. */
int savedmodel_signatures_count(const struct savedmodel *model);
const struct signature *savedmodel_signature_at(const struct savedmodel *model, int index);
const struct signature *savedmodel_signature(const struct savedmodel *model,
                                             struct bytes name); /* or NULL */

/* The plan of a signature: made at the first call (or at load, savedmodel_plan_all) and kept. Lives
 * as long as the model. */
struct status savedmodel_plan(struct savedmodel *model, const struct signature *signature,
                              const struct plan **out);
/* Makes the plan of every signature. Does not log failures; savedmodel_plan returns them. Only the
 * limits' `check` fails it. What is planned later has no limits. */
struct status savedmodel_plan_all(struct savedmodel *model);

/* Plan of some outputs of several signatures over common inputs (output_filter, MultiInference):
 * the caller destroys it. */
struct status savedmodel_plan_custom(struct savedmodel *model,
                                     const struct signature_tensor *const *inputs, int inputs_count,
                                     const struct signature_tensor *const *outputs,
                                     int outputs_count, struct plan **out);

/* For people and tools. */
const struct graph *savedmodel_graph(const struct savedmodel *model);
const char *savedmodel_directory(const struct savedmodel *model);
const char *savedmodel_tensorflow_version(const struct savedmodel *model);
size_t savedmodel_weights_bytes(const struct savedmodel *model); /* restored variables */
struct savedmodel_variable {
    const char *name; /* shared name of the handle */
    const char *key;  /* in the checkpoint; NULL: not from there */
    enum dtype dtype;
    struct shape shape;
};
int savedmodel_variables_count(const struct savedmodel *model);
struct savedmodel_variable savedmodel_variable_at(const struct savedmodel *model, int index);

#endif
