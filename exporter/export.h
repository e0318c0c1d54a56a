/*
 * export: writes a trained model as a directory of a SavedModel or session_bundle. A recipe makes
 * the serving graph with its signatures, and a value_source provides the values of the variables.
 *
 *     struct export_request request = { .recipe = graph->recipe, .directory = "model/1" };
 *     TRY(export_check_target(request.directory));       before training starts
 *     …
 *     TRY(export_model(&request, &source));              source: a snapshot on the ps tasks
 */
#ifndef EXPORTER_EXPORT_H
#define EXPORTER_EXPORT_H

#include "graph/training_graph.h"
#include "savedmodel/save.h"
#include "savedmodel/trainable/trainable.h"

struct export_request {
    const struct export_recipe *recipe;
    /* Write it with other values, instead of the recipe; or NULL */
    const struct trainable *original;
    const char *directory; /* the final one, "model/1"; absent or empty */
    enum savedmodel_format format;
    struct bytes compile_config; /* see savedmodel/save.h */
    bool again; /* accept a directory that holds this very export, from a task killed after it */
};

/* One more than the largest number that names an entry of `base`; 1 if none does. */
int64_t export_next_version(const char *base);

/* base/version, in `arena`: "model/1", of a session_bundle "model/00000001". */
char *export_version_path(const char *base, int64_t version, enum savedmodel_format format,
                          struct arena *arena);

/* Can the directory be made? See savedmodel_check_target. */
struct status export_check_target(const char *directory);

/**
 * Writes the directory, complete or not at all.
 *
 * Errors  ALREADY_EXISTS the directory is not empty; those of the source and the file system. A
 *         failure leaves nothing behind
 */
struct status export_model(const struct export_request *request, struct value_source *source);

#endif
