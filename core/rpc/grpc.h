/*
 * grpc: the words of gRPC's HTTP/2 protocol: time-outs, percent-encoded texts, what HTTP's and
 * HTTP/2's own failures mean.
 */
#ifndef RPC_GRPC_H
#define RPC_GRPC_H

#include "base/bytes.h"

#define GRPC_TIMEOUT_MAX 16

/* "100m": 1 to 8 digits and a unit of H M S m u n. False: it is not one. */
bool grpc_timeout_parse(struct bytes text, int64_t *out_ns);
/* As fine as 8 digits say it, rounded up; not positive: "1n". Returns the length. */
size_t grpc_timeout_print(int64_t timeout_ns, char out[GRPC_TIMEOUT_MAX]);

/* Space to ~ but %: themselves; all else %XX. */
void grpc_message_encode(const char *text, struct buffer *out);
/* What is no %XX stays as it is. */
void grpc_message_decode(struct bytes text, struct buffer *out);

/* "application/grpc", also with +proto or ;parameters. */
bool grpc_content_type(struct bytes value);

/* The code of grpc-status; UNKNOWN for what is none. */
enum status_code grpc_code_parse(struct bytes text);
/* Of an answer that is not gRPC's. */
enum status_code grpc_code_of_http(int http);
/* Of a stream that was reset with HTTP/2's error. */
enum status_code grpc_code_of_reset(uint32_t error);

#endif
