/*
 * session_bundle_internal_proto: what session_bundle_upgrade_proto.c and
 * session_bundle_downgrade_proto.c share: names of collections, and short names of messages.
 */
#ifndef SAVEDMODEL_SESSION_BUNDLE_INTERNAL_PROTO_H
#define SAVEDMODEL_SESSION_BUNDLE_INTERNAL_PROTO_H

#include "proto/session_bundle.pb-c.h"
#include "savedmodel/collections_proto.h"

#define SIGNATURES "serving_signatures"
#define INIT_OP    "serving_init_op"
#define ASSETS     "serving_assets"
#define GRAPH      "serving_graph"
#define MAIN_OP    "saved_model_main_op"

typedef Tensorflow__Serving__Signatures legacy_signatures;
typedef Tensorflow__Serving__Signature legacy_signature;
typedef Tensorflow__Serving__TensorBinding tensor_binding;
typedef Tensorflow__Serving__GenericSignature__MapEntry binding_entry;
typedef Tensorflow__Serving__GenericSignature generic_signature;

static inline const Tensorflow__SignatureDef *signature_named(const Tensorflow__MetaGraphDef *meta,
                                                              const char *name)
{
    for (size_t i = meta->n_signature_def; i-- > 0;) {
        if (strcmp(meta->signature_def[i]->key, name) == 0)
            return meta->signature_def[i]->value;
    }
    return NULL;
}

/* "x:0"; "" of a tensor that has no name, such as a sparse one. */
static inline char *name_of(const Tensorflow__TensorInfo *info)
{
    return info != NULL && info->encoding_case == TENSORFLOW__TENSOR_INFO__ENCODING_NAME
               ? info->name
               : (char *)protobuf_c_empty_string;
}

static inline bool is_bound(const tensor_binding *binding)
{
    return binding != NULL && binding->tensor_name[0] != '\0';
}

#endif
