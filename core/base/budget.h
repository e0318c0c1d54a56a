/*
 * budget: how much memory all requests together may hold. Who asks for what a stranger sized asks
 * here first.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"

struct budget {
    int64_t limit_bytes;
    _Atomic int64_t used_bytes;
};

/* RESOURCE_EXHAUSTED over the limit; nothing is taken then. Threads: safe. */
static inline struct status budget_take(struct budget *budget, int64_t bytes)
{
    int64_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    while (bytes <= budget->limit_bytes - used)
        if (atomic_compare_exchange_weak_explicit(&budget->used_bytes, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
            return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "the server's memory for requests is used up: %lld bytes wanted, %lld of "
                        "%lld in use",
                        (long long)bytes, (long long)used, (long long)budget->limit_bytes);
}

static inline void budget_give(struct budget *budget, int64_t bytes)
{
    atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

#endif
