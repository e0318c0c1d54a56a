/*
 * request: the methods of PredictionService and ModelService, as functions from a request's message
 * to the answer's. They are independent of connections: gRPC (service.c) and warm-up (warmup.c)
 * call them.
 *
 *     request->body = message;
 *     TRY(grpc_answer_predict(request));   reads it; requests a run (served_request.h)
 *     …                                    runs; the answer's message is in request->reply
 *
 * They run in the loop's thread, or in the pool if the message is large or compressed.
 */
#ifndef SERVER_GRPC_REQUEST_H
#define SERVER_GRPC_REQUEST_H

#include "server/grpc/model_spec.h"
#include "server/inference/served_request.h"

typedef struct status grpc_method(struct served_request *request);

/* In predict.c, examples.c and model.c. */
grpc_method grpc_answer_predict, grpc_answer_classify, grpc_answer_regress,
    grpc_answer_multi_inference;
grpc_method grpc_answer_model_metadata, grpc_answer_model_status, grpc_answer_reload_config;

/* After grpc_answer_predict: the outputs that the request chooses, by their index in the
 * signature. Returns how many. */
int grpc_predict_outputs(const struct served_request *request, const int **out);

/* Appends one of the signature's outputs to the reply, a PredictResponse. RESOURCE_EXHAUSTED;
 * UNIMPLEMENTED: its dtype cannot be encoded there. */
struct status grpc_put_predict_output(struct served_request *request,
                                      const struct signature *signature, int output,
                                      const struct tensor *tensor);

/* In open_inference.c. */
grpc_method grpc_answer_oip_server_live, grpc_answer_oip_server_ready,
    grpc_answer_oip_server_metadata, grpc_answer_oip_model_ready, grpc_answer_oip_model_metadata,
    grpc_answer_oip_model_infer, grpc_answer_oip_repository_index, grpc_answer_oip_repository_load,
    grpc_answer_oip_repository_unload;

/* INTERNAL, as in gRPC: "Failed to parse tensorflow.serving.PredictRequest". */
struct status grpc_parse_error(const char *message);

/* INVALID_ARGUMENT: the request has no model_spec. */
struct status grpc_missing_model_spec(void);

#endif
