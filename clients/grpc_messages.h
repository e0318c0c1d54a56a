/*
 * grpc_messages: requests and answers of the services, to bytes and back.
 */
#ifndef CLIENTS_GRPC_MESSAGES_H
#define CLIENTS_GRPC_MESSAGES_H

#include "clients/client.h"

#define PATH_PREDICT  "/tensorflow.serving.PredictionService/Predict"
#define PATH_CLASSIFY "/tensorflow.serving.PredictionService/Classify"
#define PATH_REGRESS  "/tensorflow.serving.PredictionService/Regress"
#define PATH_METADATA "/tensorflow.serving.PredictionService/GetModelMetadata"
#define PATH_STATUS   "/tensorflow.serving.ModelService/GetModelStatus"

void put_predict(const struct client_target *target, const struct client_tensor *inputs, int count,
                 struct buffer *out);
/* Of Classify and of Regress. */
struct status put_examples(const struct client_target *target, const char *examples,
                           const char *context, struct buffer *out);
void put_metadata(const struct client_target *target, struct buffer *out);
void put_status(const struct client_target *target, struct buffer *out);

/* The answers: all they hold is copied into the arena. INTERNAL: damaged. */
struct status get_predict(struct bytes message, struct arena *arena, struct client_outputs *out);
struct status get_classes(struct bytes message, struct arena *arena, struct client_classes *out);
struct status get_values(struct bytes message, struct arena *arena, struct client_values *out);
struct status get_metadata(struct bytes message, struct arena *arena, struct client_metadata *out);
struct status get_status(struct bytes message, struct arena *arena, struct client_versions *out);

#endif
