/*
 * waiting: calls that are answered later, in lists. A struct waiting is the first member of its
 * owner's struct.
 */
#ifndef TRAINER_PS_WAITING_H
#define TRAINER_PS_WAITING_H

#include "trainer/ps/state.h"

struct waiting {
    struct waiting *next;
    struct call *call;
    struct message request; /* empty unless its payload is needed */
    /* Frees the members of the enclosing struct; NULL: nothing to free. */
    void (*finish)(struct waiting *waiting);
};

void waiting_append(struct waiting **list, struct waiting *waiting);          /* at the end */
struct waiting *waiting_take(struct waiting **list, const struct call *call); /* NULL: not there */
/* Without the lock: answers and frees every call of a list. */
void waiting_fail_all(struct waiting *list, struct status why);

#endif
