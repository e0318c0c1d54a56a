/*
 * model_config: the models that a server should serve, from a ModelServerConfig: a name, a base
 * path, which versions are wanted, and labels for versions.
 *
 *     struct model_configs *configs = model_configs_single("default", "/models/half_plus_two");
 *     TRY(model_configs_read_file("/etc/models.config", &configs));
 */
#ifndef SERVER_MODELS_MODEL_CONFIG_H
#define SERVER_MODELS_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/bytes.h"
#include "base/map.h"

/* The only platform. */
#define PLATFORM_TENSORFLOW "tensorflow"

/* Says which versions in the base path are wanted. */
struct version_policy {
    enum { POLICY_LATEST, POLICY_ALL, POLICY_SPECIFIC } kind;
    uint32_t latest;         /* POLICY_LATEST: number of versions; 0 counts as 1 */
    const int64_t *versions; /* [versions_count] POLICY_SPECIFIC. Empty: the wanted versions do
                              * not change */
    size_t versions_count;
};

struct version_label {
    const char *label;
    int64_t version;
};

/* logging_config: the sampling rate of the request log, and its files. */
struct model_logging {
    double rate;        /* 0: none; 1: all */
    const char *prefix; /* of the files; NULL: no logging */
    uint64_t id;        /* of the log, once the configuration is applied; 0: none */
};

struct managed_model;

struct model_config {
    const char *name, *base_path, *platform;
    struct model_logging logging;
    struct version_policy policy;
    const struct version_label *labels; /* [labels_count]; of two with one name, the last counts */
    size_t labels_count;
    struct map labels_by_name;   /* for lookup by requests, because a client may send many labels */
    struct managed_model *model; /* the manager's; NULL: it has none of this name yet */
};

struct model_configs {
    /* CONFIGS_NONE: the message is empty, which differs from a list without models.
     * CONFIGS_CUSTOM: it has a custom_model_config, which no server supports. */
    enum { CONFIGS_NONE, CONFIGS_LIST, CONFIGS_CUSTOM } kind;
    struct model_config *items;
    size_t count;
    uint64_t text_hash;  /* of the file; 0: it is from no file */
    bool from_client;    /* from a client, who must not choose new paths for request logs */
    struct arena *arena; /* that all of it lives in */
};

void model_configs_destroy(struct model_configs *configs); /* accepts NULL */

/* One model, with its latest version, from --model_name and --model_base_path. */
struct model_configs *model_configs_single(const char *name, const char *base_path);

/**
 * Reads a ModelServerConfig in protobuf's text format.
 *
 * Errors  INVALID_ARGUMENT "Invalid protobuf file: '<path>'", with the line and the column; those
 *         of model_configs_unpack; reading the file
 */
struct status model_configs_read_file(const char *path, struct model_configs **out);

/**
 * Reads a serialized ModelServerConfig.
 *
 * Owner   `out` is charged to `budget` until it is destroyed; NULL: not charged
 * Errors  INVALID_ARGUMENT a model is listed twice, has a relative base path, no platform or two,
 *         or a logging_config that contradicts itself; UNIMPLEMENTED a base path that is not on a
 *         local disk, an unsupported kind of logging; INTERNAL it does not parse;
 *         RESOURCE_EXHAUSTED
 */
struct status model_configs_unpack(struct bytes message, struct budget *budget,
                                   struct model_configs **out);

/* Does the policy want the version found->items[i] of all the versions found? */
struct source_versions;
bool version_policy_wants(const struct version_policy *policy, const struct source_versions *found,
                          size_t i);

/* Finds the version of a label. Returns false if there is no such label. */
bool model_config_find_label(const struct model_config *config, struct bytes label, int64_t *out);

#endif
