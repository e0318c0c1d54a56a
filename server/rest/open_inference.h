/* open_inference: the routes under /v2, of the Open Inference Protocol. */
#ifndef SERVER_REST_OPEN_INFERENCE_H
#define SERVER_REST_OPEN_INFERENCE_H

#include "server/rest/routes.h"

route_handler answer_v2_server, answer_v2_live, answer_v2_ready;
route_handler answer_v2_model, answer_v2_model_ready, answer_v2_infer;
route_handler answer_v2_index, answer_v2_load, answer_v2_unload;

/* The size of the JSON object before binary data. */
#define JSON_SIZE_HEADER "Inference-Header-Content-Length"

/* The request headers that answer_v2_infer reads. */
extern const char *const v2_infer_headers[];

#endif
