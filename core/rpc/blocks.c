#include "rpc/blocks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"

#define KEPT_MAX       8
#define KEPT_BYTES_MAX ((size_t)80 << 20)

/* Small blocks are of a few sizes, and many are kept: of many calls at a time each has one. */
#define SMALL_MIN       ((size_t)1024)
#define SMALL_SIZES     6 /* 1 KiB, 2 KiB … 32 KiB */
#define SMALL_MAX       (SMALL_MIN << (SMALL_SIZES - 1))
#define SMALL_BYTES_MAX ((size_t)1 << 20)

struct blocks {
    pthread_mutex_t lock;
    struct mailbox *mailbox;
    struct loop_task task; /* posted: counts as one taken */
    void (*eased)(void *context);
    void *context;
    struct budget *budget; /* NULL: none */
    struct budget_holder holder;
    struct block *kept; /* the last given back first: its memory is warm */
    struct block *small[SMALL_SIZES];
    int kept_count, taken;
    size_t kept_bytes, small_bytes, ease_at;
    _Atomic size_t held; /* grows without the lock, in the loop's thread; falls with it */
    bool watched, closed;
};

static void block_free(struct block *block)
{
    if (block->charged > 0)
        budget_give(block->blocks->budget, (int64_t)block->charged);
    free(block->memory);
    free(block);
}

static void free_list(struct block **list)
{
    while (*list != NULL) {
        struct block *next = (*list)->next;
        block_free(*list);
        *list = next;
    }
}

static void free_kept(struct blocks *blocks)
{
    free_list(&blocks->kept);
    for (int i = 0; i < SMALL_SIZES; i++)
        free_list(&blocks->small[i]);
    blocks->kept_count = 0;
    blocks->kept_bytes = blocks->small_bytes = 0;
}

static void blocks_free(struct blocks *blocks)
{
    mailbox_release(blocks->mailbox);
    pthread_mutex_destroy(&blocks->lock);
    free(blocks);
}

void blocks_close(struct blocks *blocks)
{
    if (blocks->budget != NULL)
        budget_forget(blocks->budget, &blocks->holder);
    pthread_mutex_lock(&blocks->lock);
    blocks->closed = true;
    blocks->watched = false;
    free_kept(blocks);
    bool last = blocks->taken == 0;
    pthread_mutex_unlock(&blocks->lock);
    if (last)
        blocks_free(blocks);
}

/* In the loop's thread, as blocks_close is. */
static void tell_eased(struct loop_task *task)
{
    struct blocks *blocks = (struct blocks *)((char *)task - offsetof(struct blocks, task));

    pthread_mutex_lock(&blocks->lock);
    bool closed = blocks->closed, last = --blocks->taken == 0 && closed;
    pthread_mutex_unlock(&blocks->lock);
    if (!closed)
        blocks->eased(blocks->context);
    if (last)
        blocks_free(blocks);
}

struct blocks *blocks_create(struct mailbox *mailbox, void (*eased)(void *), void *context)
{
    struct blocks *blocks = zalloc(sizeof *blocks);

    pthread_mutex_init(&blocks->lock, NULL);
    blocks->mailbox = mailbox_acquire(mailbox);
    blocks->task.work = tell_eased;
    blocks->eased = eased;
    blocks->context = context;
    return blocks;
}

/* Which of the small sizes has room for so much; SMALL_SIZES: none. */
static int small_size(size_t size)
{
    int index = 0;

    while (index < SMALL_SIZES && size > SMALL_MIN << index)
        index++;
    return index;
}

static struct block *take_small(struct blocks *blocks, int index)
{
    struct block *block = blocks->small[index];

    if (block != NULL) {
        blocks->small[index] = block->next;
        blocks->small_bytes -= block->capacity;
    }
    return block;
}

/* One that is kept, large enough and not much too large; NULL: none. With the lock. */
static struct block *take_kept(struct blocks *blocks, size_t size)
{
    int small = small_size(size);

    if (small < SMALL_SIZES)
        return take_small(blocks, small);
    for (struct block **at = &blocks->kept; *at != NULL; at = &(*at)->next) {
        struct block *block = *at;
        if (block->capacity < size || block->capacity / 4 > size)
            continue;
        *at = block->next;
        blocks->kept_count--;
        blocks->kept_bytes -= block->capacity;
        return block;
    }
    return NULL;
}

/* Stale blocks are trimmed by the connection, which knows whether it is idle. */
static void give_back(struct budget_holder *holder, bool stale)
{
    if (!stale)
        blocks_trim((struct blocks *)((char *)holder - offsetof(struct blocks, holder)));
}

void blocks_charge(struct blocks *blocks, struct budget *budget)
{
    blocks->budget = budget;
    blocks->holder.give_back = give_back;
    budget_hold(budget, &blocks->holder);
}

/* What the block is to have more than it has. */
static bool charge(struct block *block, size_t capacity)
{
    struct budget *budget = block->blocks->budget;

    if (budget == NULL || capacity <= block->charged)
        return true;
    int64_t more = (int64_t)(capacity - block->charged);
    if (!status_is_ok(capacity > SMALL_MAX ? budget_take(budget, more)
                                           : budget_take_reserved(budget, more)))
        return false;
    block->charged = capacity;
    return true;
}

static bool block_allocate(struct block *block, size_t size)
{
    int small = small_size(size);
    size_t capacity = small < SMALL_SIZES ? SMALL_MIN << small : size;
    char *memory =
        charge(block, capacity) ? realloc(block->memory, capacity + BLOCK_ALIGNMENT) : NULL;
    if (memory == NULL)
        return false; /* what it was charged is given back with it */
    size_t before = block->memory == NULL ? 0 : (size_t)(block->data - block->memory);
    size_t after = (size_t)(-(uintptr_t)memory & (BLOCK_ALIGNMENT - 1));
    if (block->memory != NULL && before != after)
        memmove(memory + after, memory + before, block->capacity);
    block->memory = memory;
    block->data = memory + after;
    block->capacity = capacity;
    return true;
}

struct block *blocks_take_some(struct blocks *blocks, size_t size, size_t sure)
{
    pthread_mutex_lock(&blocks->lock);
    struct block *block = take_kept(blocks, size);
    blocks->taken++;
    pthread_mutex_unlock(&blocks->lock);
    if (block != NULL)
        return block;
    block = zalloc(sizeof *block);
    block->blocks = blocks;
    if (blocks->budget != NULL && size > SMALL_MAX)
        size = sure < SMALL_MAX ? SMALL_MAX : sure < size ? sure : size;
    if (block_allocate(block, size))
        return block;
    block_release(block);
    return NULL;
}

struct block *blocks_take(struct blocks *blocks, size_t size)
{
    return blocks_take_some(blocks, size, size);
}

bool block_grow(struct block *block, size_t size)
{
    return size <= block->capacity || block_allocate(block, size);
}

void block_count(struct block *block, size_t size)
{
    block->counted = size;
    atomic_fetch_add_explicit(&block->blocks->held, size, memory_order_relaxed);
}

/* What is kept is not to be what others lack. */
static bool is_scarce(const struct budget *budget)
{
    return budget != NULL && atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) >
                                 budget->limit_bytes / 2;
}

/* Keeps the block for the next message; false: there are enough. With the lock. */
static bool keep(struct blocks *blocks, struct block *block)
{
    int small = small_size(block->capacity);
    bool fits = small < SMALL_SIZES ? blocks->small_bytes + block->capacity <= SMALL_BYTES_MAX
                                    : blocks->kept_count < KEPT_MAX && !is_scarce(blocks->budget) &&
                                          blocks->kept_bytes + block->capacity <= KEPT_BYTES_MAX;

    if (blocks->closed || block->memory == NULL || !fits)
        return false;
    struct block **list = small < SMALL_SIZES ? &blocks->small[small] : &blocks->kept;
    block->next = *list;
    *list = block;
    if (small < SMALL_SIZES) {
        blocks->small_bytes += block->capacity;
    } else {
        blocks->kept_count++;
        blocks->kept_bytes += block->capacity;
    }
    return true;
}

void block_release(void *owner)
{
    struct block *block = owner;
    struct blocks *blocks = block->blocks;

    if (block->reading != NULL)
        reading_release(block->reading);
    block->reading = NULL;
    pthread_mutex_lock(&blocks->lock);
    blocks->held -= block->counted;
    blocks->taken--;
    block->counted = 0;
    if (blocks->watched && blocks->held <= blocks->ease_at) {
        blocks->watched = false;
        blocks->taken += mailbox_post(blocks->mailbox, &blocks->task);
    }
    if (keep(blocks, block))
        block = NULL;
    bool last = blocks->closed && blocks->taken == 0;
    pthread_mutex_unlock(&blocks->lock);
    if (block != NULL)
        block_free(block);
    if (last)
        blocks_free(blocks);
}

size_t blocks_held(struct blocks *blocks)
{
    return atomic_load_explicit(&blocks->held, memory_order_relaxed);
}

bool blocks_watch(struct blocks *blocks, size_t limit)
{
    pthread_mutex_lock(&blocks->lock);
    bool over = blocks->held > limit;
    blocks->watched = over;
    blocks->ease_at = limit;
    pthread_mutex_unlock(&blocks->lock);
    return over;
}

void blocks_trim(struct blocks *blocks)
{
    pthread_mutex_lock(&blocks->lock);
    free_kept(blocks);
    pthread_mutex_unlock(&blocks->lock);
}
