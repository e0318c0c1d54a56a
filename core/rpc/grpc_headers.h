/*
 * grpc_headers: the values of gRPC's headers and trailers: time-outs, percent-encoded messages,
 * status codes, and the status for a failure of HTTP or HTTP/2.
 */
#ifndef RPC_GRPC_HEADERS_H
#define RPC_GRPC_HEADERS_H

#include "base/bytes.h"

#define GRPC_TIMEOUT_MAX 16

/* Reads "100m": 1 to 8 digits and one of the units H M S m u n. False: malformed. */
bool grpc_timeout_parse(struct bytes text, int64_t *out_ns);
/* Prints with the finest unit that 8 digits allow, rounded up; "1n" if not positive. Returns the
 * length. */
size_t grpc_timeout_print(int64_t timeout_ns, char out[GRPC_TIMEOUT_MAX]);

/* Percent-encodes everything but the characters from space to ~, and % itself. */
void grpc_message_encode(const char *text, struct buffer *out);
/* Anything that is not %XX stays unchanged. */
void grpc_message_decode(struct bytes text, struct buffer *out);

/* "application/grpc", with or without "+proto" or ";parameters". */
bool is_grpc_content_type(struct bytes value);

/* The code of grpc-status; UNKNOWN if it is malformed. */
enum status_code grpc_status_parse(struct bytes text);
/* The code for an answer that is not gRPC, by its HTTP status. */
enum status_code grpc_status_of_http(int http);
/* The code for a stream that was reset with HTTP/2's `error`. */
enum status_code grpc_status_of_reset(uint32_t error);

#endif
