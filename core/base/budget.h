/*
 * budget: limits the memory that all requests together may hold. Code that allocates memory of a
 * size that a peer chooses takes it from the budget first, and gives it back when it frees the
 * memory.
 *
 * Memory that is kept for the next request stays charged. Its owner is a holder: when the budget
 * runs short, it asks the holders to free what they are not using.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Embed it in the owner of memory that is kept for later use. */
struct budget_holder {
    /* Frees memory that is not in use; if `stale`, only what has not been used for a sweep or
     * two. Called in any thread, with the budget locked: it may return memory and must not take
     * any. */
    void (*give_back)(struct budget_holder *holder, bool stale);
    struct budget_holder *next, *previous;
};

/* Zero-initialise it and set limit_bytes. */
struct budget {
    int64_t limit_bytes;
    int64_t reserve_bytes; /* the part of the limit that only budget_take_reserved may use */
    _Atomic int64_t used_bytes;
    pthread_mutex_t lock; /* of what follows */
    struct budget_holder *holders;
    int holders_count;
    int skips; /* number of coming shortages that skip the holders, who had nothing last time */
    bool sweeping;
    struct budget_holder *sweep_at; /* while sweeping: who is asked next; NULL: nobody is left */
};

/* Takes `bytes` if the limit allows it. Threads: safe. */
static inline bool budget_try_up_to(struct budget *budget, int64_t bytes, int64_t limit_bytes)
{
    int64_t used = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    while (bytes <= limit_bytes - used)
        if (atomic_compare_exchange_weak_explicit(&budget->used_bytes, &used, used + bytes,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    return false;
}

static inline bool budget_try(struct budget *budget, int64_t bytes)
{
    return budget_try_up_to(budget, bytes, budget->limit_bytes - budget->reserve_bytes);
}

/* The slow path: asks the holders. */
struct status budget_take_kept(struct budget *budget, int64_t bytes, int64_t limit_bytes);

/* Takes `bytes`. RESOURCE_EXHAUSTED, and takes nothing, if the limit does not allow it even after
 * the holders have freed memory. Threads: safe. */
static inline struct status budget_take(struct budget *budget, int64_t bytes)
{
    int64_t limit_bytes = budget->limit_bytes - budget->reserve_bytes;
    return budget_try_up_to(budget, bytes, limit_bytes)
               ? status_ok()
               : budget_take_kept(budget, bytes, limit_bytes);
}

/* The same for small things that a health check needs: connections, their calls and short messages.
 * They may use the reserve, so they succeed while large requests are refused. */
static inline struct status budget_take_reserved(struct budget *budget, int64_t bytes)
{
    return budget_try_up_to(budget, bytes, budget->limit_bytes)
               ? status_ok()
               : budget_take_kept(budget, bytes, budget->limit_bytes);
}

/* Counts memory that is allocated regardless of the limit: little, and of a size that we choose. */
static inline void budget_charge(struct budget *budget, int64_t bytes)
{
    atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

static inline void budget_give(struct budget *budget, int64_t bytes)
{
    atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

/* The holder may be asked from now on, until budget_forget has returned. The caller must not hold a
 * lock that give_back takes. */
void budget_hold(struct budget *budget, struct budget_holder *holder);
void budget_forget(struct budget *budget, struct budget_holder *holder);

/* Asks the next holders, at most so many, to free what is stale. True: all that there were at the
 * beginning have been asked, and the next call begins another sweep. Call it from a timer. A
 * thousand holders take half a millisecond, for which requests should not wait. */
bool budget_sweep(struct budget *budget, int holders_max);

#endif
