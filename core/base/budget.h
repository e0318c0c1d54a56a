/*
 * budget: how much memory all requests together may hold. Code that allocates memory of a size that
 * a stranger chooses takes it from the budget first, and gives it back when it frees the memory.
 *
 * Memory that is kept for the next request stays paid for. Its owner is a holder: when somebody
 * else runs short, the budget asks the holders to free what they do not use at the moment.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Embed it in the owner of memory that is kept for later. */
struct budget_holder {
    /* Frees what is not in use; with `stale`, only what has not been used since a sweep or two.
     * Called in any thread, with the budget's lock: it may give memory back and must not take. */
    void (*give_back)(struct budget_holder *holder, bool stale);
    struct budget_holder *next, *previous;
};

/* All zero but for the limit is a valid start. */
struct budget {
    int64_t limit_bytes;
    int64_t reserve_bytes; /* of these: left to budget_take_reserved */
    _Atomic int64_t used_bytes;
    pthread_mutex_t lock; /* of what follows */
    struct budget_holder *holders;
    int holders_count;
    int skips; /* shortages that will not ask the holders: the last time they had nothing */
};

/* Takes `bytes` if they are there. Threads: safe. */
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

/* The slow path of both: asks the holders. */
struct status budget_take_kept(struct budget *budget, int64_t bytes, int64_t limit_bytes);

/* RESOURCE_EXHAUSTED if there is not so much even after the holders have freed what they keep;
 * nothing is taken then. Threads: safe. */
static inline struct status budget_take(struct budget *budget, int64_t bytes)
{
    int64_t limit_bytes = budget->limit_bytes - budget->reserve_bytes;
    return budget_try_up_to(budget, bytes, limit_bytes)
               ? status_ok()
               : budget_take_kept(budget, bytes, limit_bytes);
}

/* The same for small things without which nobody could ask how the server is: connections, their
 * calls and short messages. They find room while large requests are refused. */
static inline struct status budget_take_reserved(struct budget *budget, int64_t bytes)
{
    return budget_try_up_to(budget, bytes, budget->limit_bytes)
               ? status_ok()
               : budget_take_kept(budget, bytes, budget->limit_bytes);
}

/* Counts memory that is allocated whatever the limit says: little, and of our own size. */
static inline void budget_charge(struct budget *budget, int64_t bytes)
{
    atomic_fetch_add_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

static inline void budget_give(struct budget *budget, int64_t bytes)
{
    atomic_fetch_sub_explicit(&budget->used_bytes, bytes, memory_order_relaxed);
}

/* From now on the holder is asked, until budget_forget has returned. Not with a lock that
 * give_back takes. */
void budget_hold(struct budget *budget, struct budget_holder *holder);
void budget_forget(struct budget *budget, struct budget_holder *holder);

/* Asks all holders for what is stale. For a timer: each call is the next sweep. */
void budget_sweep(struct budget *budget);

#endif
