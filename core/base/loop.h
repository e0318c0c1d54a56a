/*
 * loop: one thread's event loop: file descriptors by epoll, timers, and work posted from other
 * threads.
 *
 *     struct loop *loop;
 *     TRY(loop_create(&loop));
 *     TRY(loop_watch(loop, fd, EPOLLIN, on_readable, connection, &watch));
 *     loop_run(loop);                        until loop_stop
 *
 * A round is one epoll_wait and everything it brought: ready descriptors, due timers, posted work;
 * at its end the round function is asked (loop_set_round). A server collects requests during a
 * round and runs them together at its end.
 *
 * Threads: everything belongs to the loop's thread, but for loop_post, loop_stop and what says so,
 * which any thread may call.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "base/status.h"

struct loop;
struct loop_watch;

struct status loop_create(struct loop **out);
void loop_destroy(struct loop *loop); /* accepts NULL; forgets watches, timers and posted work */

/* Calls `ready` whenever one of `events` (EPOLLIN, EPOLLOUT; level-triggered unless EPOLLET is
 * among them) or an error is there. Does not own the fd. */
struct status loop_watch(struct loop *loop, int fd, uint32_t events,
                         void (*ready)(void *context, uint32_t events), void *context,
                         struct loop_watch **out);
struct status loop_rewatch(struct loop *loop, struct loop_watch *watch, uint32_t events);
void loop_unwatch(struct loop *loop, struct loop_watch *watch); /* before close(fd); accepts NULL */

/* A timer stands in its owner's struct; zero-initialise it and fill in `expired` and `context`.
 * Setting it again moves it. */
struct loop_timer {
    void (*expired)(void *context);
    void *context;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; set by loop_set_timer */
    int slot;            /* its place + 1 among the loop's timers; 0: not set */
};
void loop_set_timer(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
void loop_clear_timer(struct loop *loop, struct loop_timer *timer);

/* Work for the loop's thread. The struct stands in what the work is about and is free again when
 * `work` is called. */
struct loop_task {
    struct loop_task *next;
    void (*work)(struct loop_task *task);
};
void loop_post(struct loop *loop, struct loop_task *task);
/* Runs what was posted until now; for who destroys what posted work is about. */
void loop_run_posted(struct loop *loop);
/* Work for the end of this round, after the round function; from the loop's thread. A connection
 * writes what a round has brought at once. */
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_undefer(struct loop *loop, struct loop_task *task); /* if it is deferred */

/* Asked at the end of each round. True: poll again at once, without waiting. */
void loop_set_round(struct loop *loop, bool (*round)(void *context), void *context);

struct status loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* One round, which waits for something to do until `until_ns` (0: not at all), for a loop that
 * several threads turn by turns (rpc/shared_loop.h): each owns it meanwhile. loop_run does so by
 * itself. loop_wake ends a wait, from any thread. */
struct status loop_turn(struct loop *loop, int64_t until_ns);
void loop_own(struct loop *loop);
void loop_disown(struct loop *loop);
bool loop_is_mine(const struct loop *loop); /* does this thread own it? Any thread may ask. */
/* Is it the last that this thread has taken, and still has? Also of one that is gone already. */
bool loop_is_current(const struct loop *loop);
void loop_wake(struct loop *loop);

/* Before it sleeps the loop polls for so long, 0 (the default): not at all. Waking a thread up
 * costs more than most answers take to come; where they take longer, hardly anything is polled for.
 */
void loop_set_spin(struct loop *loop, int64_t spin_ns);

/* More is on its way, the rest of a message: the next wait polls a little in any case. */
void loop_expect(struct loop *loop);

/* Now, as of the beginning of this round's work. */
int64_t loop_now_ns(const struct loop *loop);

#endif
