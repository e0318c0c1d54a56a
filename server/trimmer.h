/*
 * trimmer: returns memory to the system after a peak of traffic. Requests have freed it and malloc
 * keeps it, where a load that needs memory could not use it.
 *
 *     static struct trimmer trimmer = { .budget = &budget };
 *     trimmer_check(&trimmer, now_ns);        from a timer
 *     trimmer_finish(&trimmer);
 *
 * malloc_trim takes some 0.15 ms per MB, for which all requests of a loop would wait. In a thread
 * of its own, it holds up those that need new memory of the arena that it is trimming: it locks one
 * of malloc's arenas at a time. Small pieces come from a cache of each thread.
 *
 * Threads  that of the timer
 */
#ifndef SERVER_TRIMMER_H
#define SERVER_TRIMMER_H

#include "base/budget.h"

struct trimmer {
    const struct budget *budget; /* the memory that requests hold, which is not free */
    int64_t at_ns;               /* the time of the next check */
    int64_t lowest_bytes; /* the least that the process has held besides, since the last trim */
    bool has_thread;
    pthread_t thread;
    _Atomic bool ended; /* the thread is about to exit, and lowest_bytes is set */
};

/* Starts to trim if that is due and worth it. */
void trimmer_check(struct trimmer *trimmer, int64_t now_ns);
/* Waits until it is done. */
void trimmer_finish(struct trimmer *trimmer);

#endif
