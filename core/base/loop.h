/*
 * loop: the event loop of one thread: file descriptors (epoll), timers, and tasks that other
 * threads post.
 *
 *     struct loop *loop;
 *     TRY(loop_create(&loop));
 *     TRY(loop_watch(loop, fd, EPOLLIN, on_readable, connection, &watch));
 *     loop_run(loop);                        until loop_stop
 *
 * A round is one epoll_wait and the work that follows: ready descriptors, due timers, posted tasks,
 * and at its end the round function (loop_set_round). A server collects requests during a round and
 * runs them together at its end.
 *
 * Threads: only the loop's thread may call these functions, except loop_post, loop_post_chain,
 * loop_stop and those that say so.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>

#include "base/status.h"

struct loop;
struct loop_watch;

struct status loop_create(struct loop **out);
void loop_destroy(struct loop *loop); /* accepts NULL; drops watches, timers and posted tasks */

/* Calls `ready` on any of `events` (EPOLLIN, EPOLLOUT; level-triggered unless EPOLLET is set) and
 * on errors. Does not own the fd. */
struct status loop_watch(struct loop *loop, int fd, uint32_t events,
                         void (*ready)(void *context, uint32_t events), void *context,
                         struct loop_watch **out);
struct status loop_rewatch(struct loop *loop, struct loop_watch *watch, uint32_t events);
void loop_unwatch(struct loop *loop, struct loop_watch *watch); /* before close(fd); accepts NULL */

/* Embed a timer in its owner's struct, zero-initialise it, and set `expired` and `context`. Setting
 * a timer again moves it. A timer that is overdue by more than a second waits for three more
 * rounds: after a pause of the process, what peers sent meanwhile comes before time-outs. */
struct loop_timer {
    void (*expired)(void *context);
    void *context;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; set by loop_set_timer */
    int slot;            /* its index + 1 among the loop's timers; 0: not set */
};
void loop_set_timer(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
void loop_clear_timer(struct loop *loop, struct loop_timer *timer);

/* A task for the loop's thread. Embed it in the object of the task; it may be posted again as soon
 * as `work` is called. */
struct loop_task {
    struct loop_task *next;
    void (*work)(struct loop_task *task);
};
void loop_post(struct loop *loop, struct loop_task *task);
/* Posts several tasks together, of which each one's `next` is the one before it: the loop is not
 * woken before it can take all of them. */
void loop_post_chain(struct loop *loop, struct loop_task *last, struct loop_task *first);
/* Runs the tasks posted so far. Call it before destroying an object that may have posted tasks. */
void loop_run_posted(struct loop *loop);
/* Runs a task at the end of this round, after the round function. A connection uses it to write all
 * answers of a round at once. */
void loop_defer(struct loop *loop, struct loop_task *task);
void loop_undefer(struct loop *loop, struct loop_task *task); /* no effect unless deferred */

/* Sets the function that is called at the end of each round. If it returns true, the loop polls
 * again without waiting. */
void loop_set_round(struct loop *loop, bool (*round)(void *context), void *context);

struct status loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Runs one round and waits until `until_ns` for events (0: does not wait), for a loop that
 * several threads run in turn (rpc/shared_loop.h), each of which owns it meanwhile. loop_run
 * does this itself. Any thread may end the wait with loop_wake. */
struct status loop_run_once(struct loop *loop, int64_t until_ns);
void loop_own(struct loop *loop);
void loop_disown(struct loop *loop);
bool loop_is_mine(const struct loop *loop); /* does this thread own the loop? Any thread may call */
/* Is it the loop that this thread owned last, and still owns? `loop` may be destroyed already. */
bool loop_is_current(const struct loop *loop);
void loop_wake(struct loop *loop);

/* Lets the loop poll for spin_ns before it sleeps; 0, the default: not at all. Waking a thread
 * costs more than most answers take to arrive. If answers take longer, the loop polls little. */
void loop_set_spin(struct loop *loop, int64_t spin_ns);

/* Announces that more is arriving, such as the rest of a message: the next wait polls a little in
 * any case. */
void loop_expect(struct loop *loop);

/* The time of this round: it is read at the first call after the loop has waited. */
int64_t loop_now_ns(struct loop *loop);

/*
 * Lets the loop wait in `wait`: for a library that has an epoll descriptor of its own and is busier
 * than the loop's descriptors, so that the loop need not wait for one epoll inside another. `wait`
 * waits up to timeout_ms (-1: without end) for the library's descriptors and for loop_descriptor,
 * which is readable while the loop has events, and handles the library's. It returns whether there
 * were any; if so, the loop checks its own only every few rounds. NULL: the loop waits by itself
 * again.
 */
void loop_set_wait(struct loop *loop, bool (*wait)(void *context, int timeout_ms), void *context);
int loop_descriptor(const struct loop *loop);

#endif
