/*
 * format: the layouts that a directory of a model may have.
 *
 *     saved_model      saved_model.pb (or .pbtxt), variables/variables.*, assets/
 *     session_bundle   export.meta, export-NNNNN-of-NNNNN or export.index and export.data-*,
 *                      assets/: TensorFlow's format before SavedModel, which version 1.15 removed
 */
#ifndef SAVEDMODEL_FORMAT_H
#define SAVEDMODEL_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum savedmodel_format {
    FORMAT_SAVED_MODEL,
    FORMAT_SESSION_BUNDLE,
};

#define SAVEDMODEL_FORMAT_NAMES "saved_model session_bundle" /* the choices of a flag */

/* How the model was trained: its losses and metrics, as Keras' get_compile_config() prints them.
 * TensorFlow keeps this directory for files of others and ignores them. */
#define SAVEDMODEL_EXTRA_DIRECTORY     "assets.extra"
#define SAVEDMODEL_COMPILE_CONFIG_FILE "compile_config.json"

/* The prefix of Slipway's version in MetaInfoDef.tensorflow_git_version. The other version in
 * that message must be one of TensorFlow, whose loaders parse it. */
#define SAVEDMODEL_GIT_PREFIX "slipway "

const char *savedmodel_format_name(enum savedmodel_format format);
/* false: unknown; *out is then unchanged */
bool savedmodel_format_find(const char *name, enum savedmodel_format *out);

/* The file that makes a directory a model. *is_text: it is in protobuf's text format. */
struct model_file {
    const char *name; /* "saved_model.pb" */
    enum savedmodel_format format;
    bool is_text;
};

/* NULL: the directory holds no model. A directory with saved_model.pb and export.meta is a
 * SavedModel. */
const struct model_file *savedmodel_find_file(const char *directory);

/* Parses the name of a version's directory: a decimal of 64 bits as a whole. It may have a sign and
 * white space around it, as in TensorFlow Serving (absl::SimpleAtoi). false: any other name. */
bool savedmodel_parse_version(const char *name, int64_t *out);

/* If `directory` holds versions of a model instead of a model, names the newest one in the failure,
 * which is NOT_FOUND. */
struct status savedmodel_hint_version(struct status status, const char *directory);

/* "saved_model.pb", "export.meta": the file that a writer makes. */
const char *savedmodel_format_file(enum savedmodel_format format);

/**
 * Appends that file's bytes to `out`.
 *
 * Errors  NOT_FOUND the directory holds no model; UNIMPLEMENTED only a saved_model.cpb; DATA_LOSS a
 *         Git LFS pointer instead of the model; RESOURCE_EXHAUSTED more than protobuf's 2 GiB
 */
struct status savedmodel_read_file(const char *directory, const struct model_file **kind,
                                   struct buffer *out);

struct arena;

/* The prefix of the checkpoint in the directory, for bundle_open. That of a session_bundle is
 * DIR/export, or the pattern of its shards if there is no such file. */
const char *savedmodel_variables_prefix(const char *directory, enum savedmodel_format format,
                                        struct arena *arena);

#endif
