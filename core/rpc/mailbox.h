/*
 * mailbox: the way into a loop for threads that may outlive what they post to. loop_post needs a
 * loop that is there; a mailbox says that it is closed instead.
 */
#ifndef RPC_MAILBOX_H
#define RPC_MAILBOX_H

#include <stdbool.h>

#include "base/loop.h"

struct mailbox;

struct mailbox *mailbox_create(struct loop *loop); /* counted: the creator has one reference */
struct mailbox *mailbox_acquire(struct mailbox *mailbox);
void mailbox_release(struct mailbox *mailbox); /* accepts NULL */

/* False: closed, and the task is the caller's. Any thread. */
bool mailbox_post(struct mailbox *mailbox, struct loop_task *task);
/* Is this the loop's thread, and the mailbox open? */
bool mailbox_is_mine(struct mailbox *mailbox);

/* In the loop's thread: runs what was posted; nothing comes after it. */
void mailbox_close(struct mailbox *mailbox);

#endif
