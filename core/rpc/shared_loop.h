/*
 * shared_loop: an event loop that is run by the threads that wait for it, so that a reply needs no
 * hand-over from a network thread to the waiting one.
 *
 * One thread runs it at a time. Other waiting threads sleep until their condition holds or the loop
 * is free. While no thread waits, a housekeeping thread runs the loop every 20 ms, or continuously
 * if calls are in flight, to answer PINGs and to notice lost connections.
 */
#ifndef RPC_SHARED_LOOP_H
#define RPC_SHARED_LOOP_H

#include "base/loop.h"

struct shared_loop;

struct status shared_loop_create(struct shared_loop **out);
/* Call it after closing its channels; accepts NULL. */
void shared_loop_destroy(struct shared_loop *shared);

struct loop *shared_loop_of(struct shared_loop *shared);

/* Runs the loop, or sleeps while another thread does, until over(context) or the deadline.
 * Checks `over` after each round, possibly while another thread runs the loop: it must lock what
 * it reads. Not from within the loop. */
void shared_loop_wait(struct shared_loop *shared, bool (*over)(void *context), void *context,
                      int64_t deadline_ns);

/* Runs the loop in this thread until over(context), which is called within the loop. No other
 * thread runs it meanwhile. Not from within the loop. */
void shared_loop_run(struct shared_loop *shared, bool (*over)(void *context), void *context);

/* Takes the loop for a moment, if it is free or this thread's already. Returns false if another
 * thread runs it (use loop_post). */
bool shared_loop_enter(struct shared_loop *shared);
/* The same, but waits until the loop is free. Not from within the loop. */
void shared_loop_claim(struct shared_loop *shared);
void shared_loop_leave(struct shared_loop *shared);

/* Changes the number of calls in flight, which the housekeeper serves while no thread waits. From
 * within the loop. */
void shared_loop_count(struct shared_loop *shared, int more);

#endif
