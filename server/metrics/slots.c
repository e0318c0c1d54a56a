#include "server/metrics/slots.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* A returned range, by its size. */
struct free_range {
    uint32_t first;
    struct free_range *next;
};

_Thread_local struct slot_copies *slots_of_thread;

static struct {
    pthread_mutex_t lock; /* of the lists of copies */
    struct slot_copies *all, *idle;
    uint32_t used; /* slots from here on were never taken */
    struct free_range *free[SLOTS_AT_ONCE_MAX + 1];
} slots = { .lock = PTHREAD_MUTEX_INITIALIZER };

static pthread_key_t ended;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void leave_copies(void *context)
{
    struct slot_copies *copies = context;
    slots_of_thread = NULL; /* another destructor may still count something */
    pthread_mutex_lock(&slots.lock);
    copies->next_free = slots.idle;
    slots.idle = copies;
    pthread_mutex_unlock(&slots.lock);
}

static void make_key(void)
{
    int error = pthread_key_create(&ended, leave_copies);
    assert(error == 0);
    (void)error;
}

static struct slot_copies *take_copies(void)
{
    pthread_once(&once, make_key);
    pthread_mutex_lock(&slots.lock);
    struct slot_copies *copies = slots.idle;
    if (copies != NULL) {
        slots.idle = copies->next_free;
    } else {
        copies = zalloc(sizeof *copies);
        copies->next = slots.all;
        slots.all = copies;
    }
    pthread_mutex_unlock(&slots.lock);
    pthread_setspecific(ended, copies);
    return copies;
}

_Atomic uint64_t *slots_reach(uint32_t slot)
{
    if (slots_of_thread == NULL)
        slots_of_thread = take_copies();
    _Atomic(_Atomic uint64_t *) *place = &slots_of_thread->blocks[slot >> SLOTS_BLOCK_BITS];
    _Atomic uint64_t *block = atomic_load_explicit(place, memory_order_relaxed);
    if (block == NULL) {
        block = zalloc(SLOTS_BLOCK * sizeof *block);
        atomic_store_explicit(place, block, memory_order_release);
    }
    return &block[slot % SLOTS_BLOCK];
}

bool slots_take(uint32_t count, bool last, uint32_t *out)
{
    assert(count > 0 && count <= SLOTS_AT_ONCE_MAX);
    struct free_range *range = slots.free[count];
    if (range != NULL) {
        slots.free[count] = range->next;
        *out = range->first;
        free(range);
        return true;
    }
    /* A range is within one block; the rest of a block that is too short is wasted. */
    uint32_t left = SLOTS_BLOCK - slots.used % SLOTS_BLOCK;
    uint32_t first = left < count ? slots.used + left : slots.used;
    uint32_t blocks = last ? SLOTS_BLOCKS_MAX : SLOTS_BLOCKS_MAX - SLOTS_BLOCKS_LAST;
    if (first + count > SLOTS_BLOCK * blocks)
        return false;
    slots.used = first + count;
    *out = first;
    return true;
}

static void clear(struct slot_copies *copies, uint32_t first, uint32_t count)
{
    _Atomic uint64_t *block =
        atomic_load_explicit(&copies->blocks[first >> SLOTS_BLOCK_BITS], memory_order_acquire);
    for (uint32_t i = 0; block != NULL && i < count; i++)
        atomic_store_explicit(&block[first % SLOTS_BLOCK + i], 0, memory_order_relaxed);
}

void slots_give(uint32_t first, uint32_t count)
{
    struct free_range *range = zalloc(sizeof *range);
    pthread_mutex_lock(&slots.lock);
    for (struct slot_copies *copies = slots.all; copies != NULL; copies = copies->next)
        clear(copies, first, count);
    pthread_mutex_unlock(&slots.lock);
    *range = (struct free_range){ first, slots.free[count] };
    slots.free[count] = range;
}

void slots_sums(uint32_t first, uint32_t count, uint64_t *out)
{
    memset(out, 0, count * sizeof *out);
    pthread_mutex_lock(&slots.lock);
    for (struct slot_copies *copies = slots.all; copies != NULL; copies = copies->next) {
        _Atomic uint64_t *block =
            atomic_load_explicit(&copies->blocks[first >> SLOTS_BLOCK_BITS], memory_order_acquire);
        for (uint32_t i = 0; block != NULL && i < count; i++)
            out[i] += atomic_load_explicit(&block[first % SLOTS_BLOCK + i], memory_order_relaxed);
    }
    pthread_mutex_unlock(&slots.lock);
}
