/*
 * load: a directory of a SavedModel or session_bundle (format.h), restored and initialised, ready
 * to run.
 *
 *     struct savedmodel *model;
 *     const struct plan *plan;
 *     TRY(savedmodel_load("model/1", NULL, &model));
 *     const struct signature *signature = savedmodel_signature(model, bytes_of("serving_default"));
 *     TRY(savedmodel_plan(model, signature, &plan));
 *     TRY(plan_run(plan, run, feeds, fetches));
 *
 * feeds are in the order of signature->inputs, fetches in that of signature->outputs.
 */
#ifndef SAVEDMODEL_LOAD_H
#define SAVEDMODEL_LOAD_H

#include "graph/signature.h"
#include "runtime/plan.h"

struct savedmodel;

struct savedmodel_options {
    const char *const *tags; /* the tag set in any order; NULL: { "serve" } */
    int tags_count;
    bool allow_paths_outside_model;   /* let ops read files outside of the model's directory */
    const struct work_limits *limits; /* until savedmodel_plan_all has returned; NULL: none */
    struct plan_options plan;
};

/**
 * Reads, restores the variables that a signature or the init op needs, and runs the init op.
 *
 * Owner   *out is the caller's: savedmodel_destroy
 * Errors  NOT_FOUND no SavedModel or session_bundle there, or no meta graph with these tags;
 *         UNIMPLEMENTED .cpb; DATA_LOSS damaged files; any error of the init op. The texts are
 *         TensorFlow Serving's
 * Threads one thread loads; any thread may call the functions below
 */
struct status savedmodel_load(const char *directory, const struct savedmodel_options *options,
                              struct savedmodel **out);
void savedmodel_destroy(struct savedmodel *model); /* accepts NULL */

/* The durations of the stages of savedmodel_load. */
struct savedmodel_times {
    int64_t restore_ns, init_ns; /* variables; the init op, 0 if there is none */
};
struct savedmodel_times savedmodel_load_times(const struct savedmodel *model);

/* All signatures, sorted by name. Internal ones (`__…`) are included: metadata lists them too. */
int savedmodel_signatures_count(const struct savedmodel *model);
const struct signature *savedmodel_signature_at(const struct savedmodel *model, int index);
/* NULL: no such signature */
const struct signature *savedmodel_signature(const struct savedmodel *model, struct bytes name);
/* The signature to use if none is named: signature_choose. */
const struct signature *savedmodel_default_signature(const struct savedmodel *model);

/* The plan of a signature, made by the first call or by savedmodel_plan_all. Lives as long as the
 * model. */
struct status savedmodel_plan(struct savedmodel *model, const struct signature *signature,
                              const struct plan **out);
/* Makes the plan of every signature; signatures that compute the same share one. The plans take the
 * variables' values, so that the weights are in memory once. Does not log failures; savedmodel_plan
 * returns them. It fails only if the limits' `check` does. */
struct status savedmodel_plan_all(struct savedmodel *model);
/* The same for one signature: the others get no plan any more (FAILED_PRECONDITION). */
struct status savedmodel_plan_only(struct savedmodel *model, const struct signature *signature,
                                   const struct plan **out);

/* For people and tools. */
const struct graph *savedmodel_graph(const struct savedmodel *model);
const char *savedmodel_directory(const struct savedmodel *model);
const char *savedmodel_tensorflow_version(const struct savedmodel *model);
/* NULL: Slipway did not write it. */
const char *savedmodel_slipway_version(const struct savedmodel *model);
struct savedmodel_variable {
    const char *name; /* shared name of the handle */
    const char *key;  /* in the checkpoint; NULL: not from there */
    enum dtype dtype;
    struct shape shape;
};
int savedmodel_variables_count(const struct savedmodel *model);
struct savedmodel_variable savedmodel_variable_at(const struct savedmodel *model, int index);

#endif
