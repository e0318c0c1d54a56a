#include "rpc/blocks.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"

#define KEPT_MAX       8
#define KEPT_BYTES_MAX ((size_t)80 << 20)
#define BLOCK_MIN      ((size_t)1024)

struct blocks {
    pthread_mutex_t lock;
    struct mailbox *mailbox;
    struct loop_task task; /* posted: counts as one taken */
    void (*eased)(void *context);
    void *context;
    struct block *kept; /* the last given back first: its memory is warm */
    int kept_count, taken;
    size_t kept_bytes, held, ease_at;
    bool watched, closed;
};

static void block_free(struct block *block)
{
    free(block->memory);
    free(block);
}

static void free_kept(struct blocks *blocks)
{
    while (blocks->kept != NULL) {
        struct block *next = blocks->kept->next;
        block_free(blocks->kept);
        blocks->kept = next;
    }
    blocks->kept_count = 0;
    blocks->kept_bytes = 0;
}

static void blocks_free(struct blocks *blocks)
{
    mailbox_release(blocks->mailbox);
    pthread_mutex_destroy(&blocks->lock);
    free(blocks);
}

void blocks_close(struct blocks *blocks)
{
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

/* One that is kept, large enough and not much too large; NULL: none. With the lock. */
static struct block *take_kept(struct blocks *blocks, size_t size)
{
    for (struct block **at = &blocks->kept; *at != NULL; at = &(*at)->next) {
        struct block *block = *at;
        if (block->capacity < size || block->capacity / 4 > size + BLOCK_MIN)
            continue;
        *at = block->next;
        blocks->kept_count--;
        blocks->kept_bytes -= block->capacity;
        return block;
    }
    return NULL;
}

static bool block_allocate(struct block *block, size_t size)
{
    size_t capacity = size < BLOCK_MIN ? BLOCK_MIN : size;
    char *memory = realloc(block->memory, capacity + BLOCK_ALIGNMENT);
    if (memory == NULL)
        return false;
    size_t before = block->memory == NULL ? 0 : (size_t)(block->data - block->memory);
    size_t after = (size_t)(-(uintptr_t)memory & (BLOCK_ALIGNMENT - 1));
    if (block->memory != NULL && before != after)
        memmove(memory + after, memory + before, block->capacity);
    block->memory = memory;
    block->data = memory + after;
    block->capacity = capacity;
    return true;
}

struct block *blocks_take(struct blocks *blocks, size_t size)
{
    pthread_mutex_lock(&blocks->lock);
    struct block *block = take_kept(blocks, size);
    blocks->taken++;
    pthread_mutex_unlock(&blocks->lock);
    if (block != NULL)
        return block;
    block = zalloc(sizeof *block);
    block->blocks = blocks;
    if (block_allocate(block, size))
        return block;
    block_release(block);
    return NULL;
}

bool block_grow(struct block *block, size_t size)
{
    return size <= block->capacity || block_allocate(block, size);
}

void block_count(struct block *block, size_t size)
{
    block->counted = size;
    pthread_mutex_lock(&block->blocks->lock);
    block->blocks->held += size;
    pthread_mutex_unlock(&block->blocks->lock);
}

void block_release(void *owner)
{
    struct block *block = owner;
    struct blocks *blocks = block->blocks;

    pthread_mutex_lock(&blocks->lock);
    blocks->held -= block->counted;
    blocks->taken--;
    block->counted = 0;
    if (blocks->watched && blocks->held <= blocks->ease_at) {
        blocks->watched = false;
        blocks->taken += mailbox_post(blocks->mailbox, &blocks->task);
    }
    if (!blocks->closed && block->memory != NULL && blocks->kept_count < KEPT_MAX &&
        blocks->kept_bytes + block->capacity <= KEPT_BYTES_MAX) {
        block->next = blocks->kept;
        blocks->kept = block;
        blocks->kept_count++;
        blocks->kept_bytes += block->capacity;
        block = NULL;
    }
    bool last = blocks->closed && blocks->taken == 0;
    pthread_mutex_unlock(&blocks->lock);
    if (block != NULL)
        block_free(block);
    if (last)
        blocks_free(blocks);
}

size_t blocks_held(struct blocks *blocks)
{
    pthread_mutex_lock(&blocks->lock);
    size_t held = blocks->held;
    pthread_mutex_unlock(&blocks->lock);
    return held;
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
