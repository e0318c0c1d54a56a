#include "base/budget.h"

#include <stddef.h>

/* After a walk over the holders that finds nothing, the next shortages skip it: a server that is
 * out of memory refuses many requests a second, and may have ten thousand connections. */
#define HOLDERS_PER_SKIP 64

void budget_hold(struct budget *budget, struct budget_holder *holder)
{
    pthread_mutex_lock(&budget->lock);
    holder->previous = NULL;
    holder->next = budget->holders;
    if (holder->next != NULL)
        holder->next->previous = holder;
    budget->holders = holder;
    budget->holders_count++;
    pthread_mutex_unlock(&budget->lock);
}

void budget_forget(struct budget *budget, struct budget_holder *holder)
{
    pthread_mutex_lock(&budget->lock);
    if (budget->sweep_at == holder)
        budget->sweep_at = holder->next;
    if (holder->next != NULL)
        holder->next->previous = holder->previous;
    if (holder->previous != NULL)
        holder->previous->next = holder->next;
    else
        budget->holders = holder->next;
    budget->holders_count--;
    pthread_mutex_unlock(&budget->lock);
}

bool budget_sweep(struct budget *budget, int holders_max)
{
    pthread_mutex_lock(&budget->lock);
    struct budget_holder *holder = budget->sweeping ? budget->sweep_at : budget->holders;
    for (int i = 0; holder != NULL && i < holders_max; i++, holder = holder->next)
        holder->give_back(holder, true);
    budget->sweep_at = holder;
    bool ended = holder == NULL;
    budget->sweeping = !ended;
    pthread_mutex_unlock(&budget->lock);
    return ended;
}

/* Asks one holder after the other until enough memory is free. */
static bool take_from_holders(struct budget *budget, int64_t bytes, int64_t limit_bytes)
{
    int64_t before = atomic_load_explicit(&budget->used_bytes, memory_order_relaxed);
    for (struct budget_holder *holder = budget->holders; holder != NULL; holder = holder->next) {
        holder->give_back(holder, false);
        if (budget_try_up_to(budget, bytes, limit_bytes))
            return true;
    }
    if (atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) >= before)
        budget->skips = budget->holders_count / HOLDERS_PER_SKIP;
    return false;
}

struct status budget_take_kept(struct budget *budget, int64_t bytes, int64_t limit_bytes)
{
    bool taken = false;
    if (bytes <= limit_bytes) {
        pthread_mutex_lock(&budget->lock);
        if (budget->skips > 0)
            budget->skips--;
        else
            taken = take_from_holders(budget, bytes, limit_bytes);
        pthread_mutex_unlock(&budget->lock);
    }
    if (taken)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "the server's memory for requests is used up: %lld bytes wanted, %lld of "
                        "%lld in use",
                        (long long)bytes,
                        (long long)atomic_load_explicit(&budget->used_bytes, memory_order_relaxed),
                        (long long)budget->limit_bytes);
}
