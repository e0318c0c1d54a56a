/*
 * context: what all requests of a server share, whichever protocol they came by.
 */
#ifndef SERVER_CONTEXT_H
#define SERVER_CONTEXT_H

#include "base/budget.h"
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

#endif
