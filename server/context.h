/*
 * context: what all requests of a server share, whichever protocol they came by.
 */
#ifndef SERVER_CONTEXT_H
#define SERVER_CONTEXT_H

#include "base/budget.h"
#include "base/bytes.h"
#include "server/inference.h"

struct server_context {
    struct loop *loop;
    struct manager *manager;
    struct inference *inference;
    struct budget budget;
    int64_t timeout_ns;     /* of a run for REST, which has no deadlines of its own; 0: none */
    int64_t body_bytes_max; /* 0: no limit */
    bool cors;
    bool check_method_names;
};

/* What a protocol may keep for its next requests in all. It is paid for, but others may need it. */
static inline size_t context_keep_max(const struct server_context *server)
{
    const size_t most = (size_t)8 << 20;
    size_t part = (size_t)server->budget.limit_bytes / 16;
    return part < most ? part : most;
}

/*
 * An answer's buffer, paid for as far as *paid says: that much is given back when it is freed.
 *
 * Before an answer is written: room for all that it may take. RESOURCE_EXHAUSTED.
 */
struct status context_reserve_reply(struct server_context *server, struct buffer *reply,
                                    int64_t *paid, size_t size_max);
/* After it is written: memory that it did not need is freed, memory that it took without asking is
 * counted. `may_fail`: RESOURCE_EXHAUSTED if there is not so much. */
struct status context_settle_reply(struct server_context *server, struct buffer *reply,
                                   int64_t *paid, bool may_fail);

#endif
