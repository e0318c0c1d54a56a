/*
 * open_inference: the Open Inference Protocol on models, shared by REST and gRPC: both parse a
 * request into an infer_request and encode an infer_answer (server/oip/infer.h), and differ only in
 * that.
 */
#ifndef SERVER_INFERENCE_OPEN_INFERENCE_H
#define SERVER_INFERENCE_OPEN_INFERENCE_H

#include "server/inference/served_request.h"
#include "server/oip/infer.h"
#include "server/oip/metadata.h"

/* An inference; request->method points to it. */
struct open_inference {
    struct infer_request request;
    struct infer_match match;
};

/* Converts the protocol's version of a model: "" is the latest, digits are a number, anything
 * else is a label. INVALID_ARGUMENT: the number does not fit. */
struct status open_inference_version(struct bytes text, struct version_choice *out);

/**
 * Finds the callable of a signature; without a name, serving_default, or the only signature of a
 * model without that.
 *
 * Errors  those of served_request_find_servable; INVALID_ARGUMENT no such signature
 */
struct status open_inference_callable(struct served_request *request, struct bytes signature_name,
                                      struct callable **out);

/* Matches inference->request, which is set, with its signature, and requests a run. */
struct status open_inference_run(struct served_request *request, struct open_inference *inference,
                                 struct status (*answer)(struct served_request *request,
                                                         const struct tensor *outputs));

/* The answer to a request that has run. */
struct infer_answer open_inference_answer(const struct served_request *request);

/* Describes the model in request->spec. NOT_FOUND. */
struct status open_inference_metadata(struct served_request *request, struct model_metadata *out);

/* Does a version of the model serve? If request->spec has a version: does that one? NOT_FOUND:
 * the model is not configured. */
struct status open_inference_model_ready(struct served_request *request, bool *out);

/* Do all configured models serve, and is the server not going down? */
bool open_inference_server_ready(struct served_request *request);

/* Lists the versions of all models; `ready`: only those that serve. */
struct status open_inference_index(struct served_request *request, bool ready,
                                   struct index_entry **out, size_t *out_count);

/* Loads the configured model in request->spec, and answers when it serves or has failed, or
 * unloads it. FAILED_PRECONDITION: without --allow_model_control, only the configuration
 * determines the loaded models. NOT_FOUND: it is not configured. */
struct status open_inference_load(struct served_request *request);
struct status open_inference_unload(struct served_request *request);

/* The error for a load with a configuration or files of the model. */
struct status open_inference_refuse_parameters(void);

#endif
