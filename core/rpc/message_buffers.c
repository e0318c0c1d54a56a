#include "rpc/message_buffers.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/container.h"

#define KEPT_MAX       8
#define KEPT_BYTES_MAX ((size_t)80 << 20)

/* Many small buffers are kept, in a few sizes, because each concurrent call holds one. */
#define SMALL_MIN       ((size_t)1024)
#define SMALL_SIZES     6 /* 1 KiB, 2 KiB, … 32 KiB */
#define SMALL_MAX       (SMALL_MIN << (SMALL_SIZES - 1))
#define SMALL_BYTES_MAX ((size_t)1 << 20)

struct message_buffers {
    pthread_mutex_t lock;
    struct mailbox *mailbox;
    struct loop_task task; /* while it is posted it counts in `taken` */
    void (*eased)(void *context);
    void *context;
    struct budget *budget; /* NULL: none */
    struct budget_holder holder;
    struct message_buffer *kept; /* the most recently used first: its memory is warm */
    struct message_buffer *small[SMALL_SIZES];
    int kept_count, taken;
    size_t kept_bytes, small_bytes, ease_at;
    _Atomic size_t held; /* grows in the loop's thread without the lock; shrinks under it */
    bool watched, closed;
};

static void free_buffer(struct message_buffer *buffer)
{
    if (buffer->charged > 0)
        budget_give(buffer->buffers->budget, (int64_t)buffer->charged);
    free(buffer->memory);
    free(buffer);
}

static void free_list(struct message_buffer **list)
{
    while (*list != NULL) {
        struct message_buffer *next = (*list)->next;
        free_buffer(*list);
        *list = next;
    }
}

static void free_kept(struct message_buffers *buffers)
{
    free_list(&buffers->kept);
    for (int i = 0; i < SMALL_SIZES; i++)
        free_list(&buffers->small[i]);
    buffers->kept_count = 0;
    buffers->kept_bytes = buffers->small_bytes = 0;
}

static void free_buffers(struct message_buffers *buffers)
{
    mailbox_release(buffers->mailbox);
    pthread_mutex_destroy(&buffers->lock);
    free(buffers);
}

void message_buffers_close(struct message_buffers *buffers)
{
    if (buffers->budget != NULL)
        budget_forget(buffers->budget, &buffers->holder);
    pthread_mutex_lock(&buffers->lock);
    buffers->closed = true;
    buffers->watched = false;
    free_kept(buffers);
    bool last = buffers->taken == 0;
    pthread_mutex_unlock(&buffers->lock);
    if (last)
        free_buffers(buffers);
}

/* Runs in the loop's thread, as message_buffers_close does. */
static void tell_eased(struct loop_task *task)
{
    struct message_buffers *buffers = CONTAINER_OF(task, struct message_buffers, task);

    pthread_mutex_lock(&buffers->lock);
    assert(buffers->taken > 0);
    bool closed = buffers->closed, last = --buffers->taken == 0 && closed;
    pthread_mutex_unlock(&buffers->lock);
    if (!closed)
        buffers->eased(buffers->context);
    if (last)
        free_buffers(buffers);
}

struct message_buffers *message_buffers_create(struct mailbox *mailbox, void (*eased)(void *),
                                               void *context)
{
    struct message_buffers *buffers = zalloc(sizeof *buffers);

    pthread_mutex_init(&buffers->lock, NULL);
    buffers->mailbox = mailbox_acquire(mailbox);
    buffers->task.work = tell_eased;
    buffers->eased = eased;
    buffers->context = context;
    return buffers;
}

/* The index of the smallest size that fits; SMALL_SIZES: none. */
static int small_size(size_t size)
{
    int index = 0;

    while (index < SMALL_SIZES && size > SMALL_MIN << index)
        index++;
    return index;
}

static struct message_buffer *take_small(struct message_buffers *buffers, int index)
{
    struct message_buffer *buffer = buffers->small[index];

    if (buffer != NULL) {
        buffers->small[index] = buffer->next;
        buffers->small_bytes -= buffer->capacity;
    }
    return buffer;
}

/* A kept buffer that is large enough, but at most four times too large; NULL: none. With the lock.
 */
static struct message_buffer *take_kept(struct message_buffers *buffers, size_t size)
{
    int small = small_size(size);

    if (small < SMALL_SIZES)
        return take_small(buffers, small);
    for (struct message_buffer **at = &buffers->kept; *at != NULL; at = &(*at)->next) {
        struct message_buffer *buffer = *at;
        if (buffer->capacity < size || buffer->capacity / 4 > size)
            continue;
        *at = buffer->next;
        buffers->kept_count--;
        buffers->kept_bytes -= buffer->capacity;
        return buffer;
    }
    return NULL;
}

/* The connection trims stale buffers itself: it knows whether it is idle. */
static void give_back(struct budget_holder *holder, bool stale)
{
    if (!stale)
        message_buffers_trim(CONTAINER_OF(holder, struct message_buffers, holder));
}

void message_buffers_charge(struct message_buffers *buffers, struct budget *budget)
{
    buffers->budget = budget;
    buffers->holder.give_back = give_back;
    budget_hold(budget, &buffers->holder);
}

/* Charges the difference to the buffer's new capacity. */
static bool charge(struct message_buffer *buffer, size_t capacity)
{
    struct budget *budget = buffer->buffers->budget;

    if (budget == NULL || capacity <= buffer->charged)
        return true;
    int64_t more = (int64_t)(capacity - buffer->charged);
    if (!status_is_ok(capacity > SMALL_MAX ? budget_take(budget, more)
                                           : budget_take_reserved(budget, more)))
        return false;
    buffer->charged = capacity;
    return true;
}

static bool allocate(struct message_buffer *buffer, size_t size)
{
    int small = small_size(size);
    size_t capacity = small < SMALL_SIZES ? SMALL_MIN << small : size;
    char *memory = charge(buffer, capacity)
                       ? realloc(buffer->memory, capacity + MESSAGE_BUFFER_ALIGNMENT)
                       : NULL;
    if (memory == NULL)
        return false; /* the charge ends with the buffer's release */
    size_t before = buffer->memory == NULL ? 0 : (size_t)(buffer->data - buffer->memory);
    size_t after = (size_t)(-(uintptr_t)memory & (MESSAGE_BUFFER_ALIGNMENT - 1));
    if (buffer->memory != NULL && before != after)
        memmove(memory + after, memory + before, buffer->capacity);
    buffer->memory = memory;
    buffer->data = memory + after;
    buffer->capacity = capacity;
    return true;
}

struct message_buffer *message_buffers_take_promised(struct message_buffers *buffers, size_t size,
                                                     size_t sure)
{
    pthread_mutex_lock(&buffers->lock);
    struct message_buffer *buffer = take_kept(buffers, size);
    buffers->taken++;
    pthread_mutex_unlock(&buffers->lock);
    if (buffer != NULL)
        return buffer;
    buffer = zalloc(sizeof *buffer);
    buffer->buffers = buffers;
    if (buffers->budget != NULL && size > SMALL_MAX)
        size = sure < SMALL_MAX ? SMALL_MAX : sure < size ? sure : size;
    if (allocate(buffer, size))
        return buffer;
    message_buffer_release(buffer);
    return NULL;
}

struct message_buffer *message_buffers_take(struct message_buffers *buffers, size_t size)
{
    return message_buffers_take_promised(buffers, size, size);
}

bool message_buffer_grow(struct message_buffer *buffer, size_t size)
{
    return size <= buffer->capacity || allocate(buffer, size);
}

void message_buffer_count_held(struct message_buffer *buffer, size_t size)
{
    assert(buffer->counted == 0);
    buffer->counted = size;
    atomic_fetch_add_explicit(&buffer->buffers->held, size, memory_order_relaxed);
}

/* Above half of the budget, large buffers are not kept: others may need the memory. */
static bool is_scarce(const struct budget *budget)
{
    return budget != NULL && atomic_load_explicit(&budget->used_bytes, memory_order_relaxed) >
                                 budget->limit_bytes / 2;
}

/* Keeps the buffer for the next message; false: enough are kept. With the lock. */
static bool keep(struct message_buffers *buffers, struct message_buffer *buffer)
{
    int small = small_size(buffer->capacity);
    bool fits = small < SMALL_SIZES
                    ? buffers->small_bytes + buffer->capacity <= SMALL_BYTES_MAX
                    : buffers->kept_count < KEPT_MAX && !is_scarce(buffers->budget) &&
                          buffers->kept_bytes + buffer->capacity <= KEPT_BYTES_MAX;

    if (buffers->closed || buffer->memory == NULL || !fits)
        return false;
    struct message_buffer **list = small < SMALL_SIZES ? &buffers->small[small] : &buffers->kept;
    buffer->next = *list;
    *list = buffer;
    if (small < SMALL_SIZES) {
        buffers->small_bytes += buffer->capacity;
    } else {
        buffers->kept_count++;
        buffers->kept_bytes += buffer->capacity;
    }
    return true;
}

void message_buffer_release(void *owner)
{
    struct message_buffer *buffer = owner;
    struct message_buffers *buffers = buffer->buffers;

    if (buffer->borrowed != NULL)
        socket_buffer_release(buffer->borrowed);
    buffer->borrowed = NULL;
    pthread_mutex_lock(&buffers->lock);
    assert(buffers->taken > 0 && buffers->held >= buffer->counted);
    buffers->held -= buffer->counted;
    buffers->taken--;
    buffer->counted = 0;
    if (buffers->watched && buffers->held <= buffers->ease_at) {
        buffers->watched = false;
        buffers->taken += mailbox_post(buffers->mailbox, &buffers->task);
    }
    if (keep(buffers, buffer))
        buffer = NULL;
    bool last = buffers->closed && buffers->taken == 0;
    pthread_mutex_unlock(&buffers->lock);
    if (buffer != NULL)
        free_buffer(buffer);
    if (last)
        free_buffers(buffers);
}

size_t message_buffers_held(struct message_buffers *buffers)
{
    return atomic_load_explicit(&buffers->held, memory_order_relaxed);
}

bool message_buffers_watch(struct message_buffers *buffers, size_t limit)
{
    pthread_mutex_lock(&buffers->lock);
    bool over = buffers->held > limit;
    buffers->watched = over;
    buffers->ease_at = limit;
    pthread_mutex_unlock(&buffers->lock);
    return over;
}

void message_buffers_trim(struct message_buffers *buffers)
{
    pthread_mutex_lock(&buffers->lock);
    free_kept(buffers);
    pthread_mutex_unlock(&buffers->lock);
}
