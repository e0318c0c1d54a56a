/*
 * wait_line: runs that wait for the same thing have their turn in the order in which they came. A
 * line is a pointer to its first turn; a turn lies on the stack of its run. All under the lock of
 * the object that they wait for.
 */
#ifndef KERNELS_WAIT_LINE_H
#define KERNELS_WAIT_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct wait_turn {
    struct wait_turn *next;
    bool is_cancelled; /* by another run */
};

static inline void wait_line_join(struct wait_turn **line, struct wait_turn *turn)
{
    while (*line != NULL)
        line = &(*line)->next;
    *line = turn;
}

/* Wake the others after it: one of them may be the first now. */
static inline void wait_line_leave(struct wait_turn **line, const struct wait_turn *turn)
{
    while (*line != turn)
        line = &(*line)->next;
    *line = turn->next;
}

#endif
