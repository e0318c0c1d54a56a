/*
 * scheduling: how the kernel shares the processors among the threads of this process. Neither call
 * needs a privilege, and neither can be undone without one.
 */
#ifndef BASE_SCHEDULING_H
#define BASE_SCHEDULING_H

#include <stdint.h>

/* Requests a time slice of 0.1 to 100 ms for the calling thread. A thread with a short slice
 * runs as soon as it wakes; otherwise it may wait until the running one has used up its own, 3
 * ms by default (Linux 6.12). The share of the processor stays the same. Threads that it starts
 * later have the default. Does nothing if the thread has a policy of its own (chrt) or if the
 * kernel knows no slices. */
void scheduling_ask_for_slice(int64_t slice_ns);

/* Raises the nice value of the calling thread: on Linux each thread has its own. Does nothing if it
 * is that high already. */
void scheduling_lower_priority(int nice);

#endif
