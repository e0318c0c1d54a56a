/*
 * metadata: the protocol's descriptions of the server, of models and of the repository, as JSON and
 * as messages (proto/open_inference.proto).
 */
#ifndef SERVER_OIP_METADATA_H
#define SERVER_OIP_METADATA_H

#include "graph/signature.h"

struct model_metadata {
    struct bytes name;
    const int64_t *versions; /* that can answer */
    int versions_count;
    const struct signature *signature;
};

/* A version of a model, for the repository's index. */
struct index_entry {
    struct bytes name;
    int64_t version;
    const char *state;  /* "READY", "UNAVAILABLE", … */
    const char *reason; /* "" unless it has failed */
};

/* {"name": …}. The _put functions append the fields of the message, without a head. */
void server_metadata_print(struct buffer *out);
void server_metadata_put(struct buffer *out);

/* An unknown dimension is -1; so is the only dimension of an unknown rank, which the protocol
 * cannot express. */
void model_metadata_print(const struct model_metadata *model, struct buffer *out);
void model_metadata_put(const struct model_metadata *model, struct buffer *out);

/* A list of objects; a RepositoryIndexResponse. */
void repository_index_print(const struct index_entry *entries, size_t count, struct buffer *out);
void repository_index_put(const struct index_entry *entries, size_t count, struct buffer *out);

#endif
