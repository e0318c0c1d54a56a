/*
 * log_request: converts a logged request into one to send again.
 */
#ifndef CLIENTS_LOG_REQUEST_H
#define CLIENTS_LOG_REQUEST_H

#include "clients/client.h"
#include "storage/prediction_log.h"

/* The gRPC method that answers requests of this kind; NULL: none does. */
const char *log_request_path(enum prediction_kind kind);

/* Appends the record's request, with the model, version or label of `target` instead of its own.
 * The signature is kept. NULL and negative: the request's. */
void log_request_put(const struct prediction_log *record, const struct client_target *target,
                     struct buffer *out);

#endif
