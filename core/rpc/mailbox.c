#include "rpc/mailbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/arena.h"

struct mailbox {
    pthread_mutex_t lock;      /* held while a task is posted, so that the loop stays */
    struct loop *_Atomic loop; /* NULL: closed */
    _Atomic int references;
};

struct mailbox *mailbox_create(struct loop *loop)
{
    struct mailbox *mailbox = zalloc(sizeof *mailbox);

    pthread_mutex_init(&mailbox->lock, NULL);
    mailbox->loop = loop;
    mailbox->references = 1;
    return mailbox;
}

struct mailbox *mailbox_acquire(struct mailbox *mailbox)
{
    atomic_fetch_add_explicit(&mailbox->references, 1, memory_order_relaxed);
    return mailbox;
}

void mailbox_release(struct mailbox *mailbox)
{
    if (mailbox == NULL || atomic_fetch_sub(&mailbox->references, 1) > 1)
        return;
    pthread_mutex_destroy(&mailbox->lock);
    free(mailbox);
}

bool mailbox_post(struct mailbox *mailbox, struct loop_task *task)
{
    pthread_mutex_lock(&mailbox->lock);
    bool open = mailbox->loop != NULL;
    if (open)
        loop_post(mailbox->loop, task);
    pthread_mutex_unlock(&mailbox->lock);
    return open;
}

bool mailbox_is_mine(struct mailbox *mailbox)
{
    struct loop *loop = atomic_load_explicit(&mailbox->loop, memory_order_relaxed);

    return loop != NULL && loop_is_current(loop);
}

void mailbox_close(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    struct loop *loop = mailbox->loop;
    mailbox->loop = NULL;
    pthread_mutex_unlock(&mailbox->lock);
    if (loop != NULL)
        loop_run_posted(loop);
}
