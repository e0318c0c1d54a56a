/*
 * shared_loop: an event loop that the threads which wait for it turn themselves, so that a reply
 * needs no hand-over from a network thread to the one that waits.
 *
 * One thread turns it at a time; the others that wait sleep until what they wait for is there or
 * until it is their turn. While nobody waits, a housekeeping thread turns it now and then, and at
 * once when calls are in flight whose owners do not wait: PINGs are answered, what breaks is
 * noticed.
 */
#ifndef RPC_SHARED_LOOP_H
#define RPC_SHARED_LOOP_H

#include "base/loop.h"

struct shared_loop;

struct status shared_loop_create(struct shared_loop **out);
void shared_loop_destroy(struct shared_loop *shared); /* after its channels; accepts NULL */

struct loop *shared_loop_of(struct shared_loop *shared);

/* Turns the loop, or sleeps while another thread does, until over(context), which is asked after
 * each turn, or the deadline. Not from within the loop. */
void shared_loop_wait(struct shared_loop *shared, bool (*over)(void *context), void *context,
                      int64_t deadline_ns);

/* Takes the loop for a moment, if nobody turns it or this thread does; false: somebody else turns
 * it (use loop_post). */
bool shared_loop_enter(struct shared_loop *shared);
/* The same, and waits until whoever turns it gives it up. Not from within the loop. */
void shared_loop_claim(struct shared_loop *shared);
void shared_loop_leave(struct shared_loop *shared);

/* Calls in flight, by so many more or less: the housekeeper sees to them when nobody waits. From
 * within the loop. */
void shared_loop_count(struct shared_loop *shared, int more);

#endif
