/*
 * mailbox: posts tasks to a loop from threads that may outlive it. loop_post needs a living loop;
 * a mailbox reports that it is closed instead.
 */
#ifndef RPC_MAILBOX_H
#define RPC_MAILBOX_H

#include <stdbool.h>

#include "base/loop.h"

struct mailbox;

struct mailbox *mailbox_create(struct loop *loop); /* counted; the caller has one reference */
struct mailbox *mailbox_acquire(struct mailbox *mailbox);
void mailbox_release(struct mailbox *mailbox); /* accepts NULL */

/* False: it is closed, and the caller keeps the task. Any thread. */
bool mailbox_post(struct mailbox *mailbox, struct loop_task *task);
/* Is this the loop's thread, and is the mailbox open? */
bool mailbox_is_mine(struct mailbox *mailbox);

/* Runs what was posted; from then on it is closed. In the loop's thread. */
void mailbox_close(struct mailbox *mailbox);

#endif
