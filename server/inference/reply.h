/*
 * reply: the memory of an answer, charged to the server's budget. `*paid` is the number of bytes,
 * which return to the budget when the buffer is freed.
 */
#ifndef SERVER_INFERENCE_REPLY_H
#define SERVER_INFERENCE_REPLY_H

#include "base/bytes.h"
#include "server/inference/server_context.h"

/* Before writing an answer: charges and allocates the most that it may take. RESOURCE_EXHAUSTED. */
struct status reply_reserve(struct server_context *server, struct buffer *reply, int64_t *paid,
                            size_t size_max);

/* After writing it: frees the unused part, and charges what exceeds the reservation. `may_fail`:
 * RESOURCE_EXHAUSTED if the budget does not allow that. */
struct status reply_settle(struct server_context *server, struct buffer *reply, int64_t *paid,
                           bool may_fail);

#endif
