/*
 * slots: per-thread counters. Each thread has its own copy of every slot, so adding takes no lock
 * and shares no cache line. A reader sums the copies.
 *
 *     uint32_t slot;
 *     if (slots_take(1, false, &slot))
 *         slot_add(slot, 1);
 *
 * Memory  A thread has 4 KiB for each block of 512 slots that it has added to: at most 4 MiB.
 * Threads slots_take and slots_give: the caller locks. slot_add and slots_sums: any thread, as long
 *         as the slots are not given back.
 */
#ifndef SERVER_METRICS_SLOTS_H
#define SERVER_METRICS_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOTS_BLOCK_BITS  9
#define SLOTS_BLOCK       (1u << SLOTS_BLOCK_BITS)
#define SLOTS_BLOCKS_MAX  1024u
#define SLOTS_BLOCKS_LAST 8u /* blocks reserved for slots_take with `last` */
/* limit of one slots_take */
#define SLOTS_AT_ONCE_MAX 64u

/* One thread's copies. When a thread ends, the next new thread takes over its copies. */
struct slot_copies {
    _Atomic(_Atomic uint64_t *) blocks[SLOTS_BLOCKS_MAX];
    struct slot_copies *next, *next_free;
};
extern _Thread_local struct slot_copies *slots_of_thread;

/* Takes `count` consecutive zero slots. Returns false if none are left. `last`: may use the last
 * blocks, which are reserved for callers that cannot do without. */
bool slots_take(uint32_t count, bool last, uint32_t *out);
/* Gives them back. No thread may add to them any more. */
void slots_give(uint32_t first, uint32_t count);
/* The sums of `count` successive slots, all of one slots_take. */
void slots_sums(uint32_t first, uint32_t count, uint64_t *out);
static inline uint64_t slots_sum(uint32_t slot)
{
    uint64_t sum;
    slots_sums(slot, 1, &sum);
    return sum;
}

/* The thread's copy of a slot, whose block it may have to allocate. */
_Atomic uint64_t *slots_reach(uint32_t slot);

static inline void slot_add(uint32_t slot, uint64_t count)
{
    struct slot_copies *copies = slots_of_thread;
    _Atomic uint64_t *block = NULL;
    if (__builtin_expect(copies != NULL, 1))
        block =
            atomic_load_explicit(&copies->blocks[slot >> SLOTS_BLOCK_BITS], memory_order_relaxed);
    _Atomic uint64_t *copy = block != NULL ? &block[slot % SLOTS_BLOCK] : slots_reach(slot);
    /* Only this thread writes it, so no atomic addition is needed. */
    atomic_store_explicit(copy, atomic_load_explicit(copy, memory_order_relaxed) + count,
                          memory_order_relaxed);
}

#endif
