#include "rpc/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"

struct mailbox {
    pthread_mutex_t lock;
    struct loop *loop; /* NULL: closed */
    int references;
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
    pthread_mutex_lock(&mailbox->lock);
    mailbox->references++;
    pthread_mutex_unlock(&mailbox->lock);
    return mailbox;
}

void mailbox_release(struct mailbox *mailbox)
{
    if (mailbox == NULL)
        return;
    pthread_mutex_lock(&mailbox->lock);
    bool last = --mailbox->references == 0;
    pthread_mutex_unlock(&mailbox->lock);
    if (!last)
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
    pthread_mutex_lock(&mailbox->lock);
    bool mine = mailbox->loop != NULL && loop_is_mine(mailbox->loop);
    pthread_mutex_unlock(&mailbox->lock);
    return mine;
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
