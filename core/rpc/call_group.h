/*
 * call_group: calls that one thread waits for together, such as one call to each ps. A group is
 * reused from step to step.
 *
 *     call_group_begin(&calls);
 *     call_group_add(&calls, channel, path, &request, deadline_ns);      for each
 *     TRY(call_group_wait(&calls));         the first failure, which ends the other calls
 *     … calls.replies[i] …                  released by the next call_group_begin or _finish
 *
 * If `retry` is set, the waiting thread sends a call again that ended with UNAVAILABLE or whose
 * attempt took too long, until the deadline of the call. Its method must be safe to repeat.
 */
#ifndef RPC_CALL_GROUP_H
#define RPC_CALL_GROUP_H

#include "rpc/channel.h"

struct call_retry {
    bool again;
    int64_t attempt_ms; /* an attempt that takes longer is given up; each attempt may take twice as
                           long as the last. 0: as long as the call may */
};

struct call_group {
    struct call_retry retry; /* set it before call_group_add */
    struct clock *clock;
    int capacity, count;
    struct group_call *entries;
    struct message *replies; /* [count]; empty where the call failed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int waiting;               /* calls that have not ended */
    struct group_call *failed; /* the first that failed; NULL: none */
    enum status_code seen;     /* the failure that a watch reported; OK: none */
    char seen_text[256];
    int changes; /* counts the events for the waiting thread */
    bool cancelled;
    int cancelling; /* threads inside call_group_cancel, which may hold handles of these calls */
    struct shared_loop *loop; /* of the channels; NULL: not needed */
};

void call_group_init(struct call_group *calls, struct clock *clock, int capacity);
void call_group_begin(struct call_group *calls);
void call_group_add(struct call_group *calls, struct channel *channel, const char *path,
                    struct message *request, int64_t deadline_ns);

/**
 * Waits until all calls have succeeded, or one has failed for good; cancels the others then,
 * because one ps may report why another will never answer. Returns the first failure. The requests
 * belong to the caller again.
 *
 * Owner  the status' text lives as long as any other of this thread
 */
struct status call_group_wait(struct call_group *calls);

/* The same, but waits for every call, even if others fail. */
struct status call_group_wait_all(struct call_group *calls);

/* Checks periodically, with other calls, whether waiting still makes sense. A failure of `look`
 * ends the wait like a failed call. */
struct call_watch {
    int64_t every_ms;
    struct status (*look)(void *context);
    void *context;
};

struct status call_group_wait_watched(struct call_group *calls, const struct call_watch *watch);

/* Cancels the calls in flight. Any thread. */
void call_group_cancel(struct call_group *calls);
void call_group_finish(struct call_group *calls); /* after call_group_wait */

/* Waits for one call. *reply belongs to the caller. */
struct status channel_call(struct channel *channel, const char *path, struct message *request,
                           int64_t deadline_ns, struct message *reply);

#endif
