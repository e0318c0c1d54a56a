/*
 * export: a trained model to a SavedModel directory: the description becomes the serving graph with
 * its signatures, the values come from wherever they are.
 *
 *     struct export_request request = { .model = model, .directory = "model/1" };
 *     TRY(export_check_target(request.directory));       before training: nobody trains in vain
 *     …
 *     TRY(export_model(&request, &source));              source: a snapshot on the ps tasks
 */
#ifndef EXPORTER_EXPORT_H
#define EXPORTER_EXPORT_H

#include "layers/layers.h"
#include "savedmodel/save.h"

struct export_request {
    const struct layers_model *model;
    const char *directory;      /* the final one, "model/1": must not exist or hold no file */
    const char *const *classes; /* names of the classes; NULL: "0", "1", … */
    int classes_count;
    bool
        again; /* the directory may hold this very export already, of a task that was killed then */
};

/* The number behind the largest that a directory in `base` has for its name; 1 where there is none.
 */
int64_t export_next_version(const char *base);

/* base/version, in `arena`. */
char *export_version_path(const char *base, int64_t version, struct arena *arena);

/* The directory can be made: see savedmodel_check_target. */
struct status export_check_target(const char *directory);

/**
 * Writes the directory, complete or not at all.
 *
 * Errors  ALREADY_EXISTS the directory is not empty; what the source and the file system say.
 *         Nothing is left behind
 * Threads the caller's
 */
struct status export_model(const struct export_request *request, struct value_source *source);

#endif
