/*
 * calls: several calls that are waited for together, such as one to each ps. Reused from step to
 * step.
 *
 *     calls_begin(&calls);
 *     calls_add(&calls, channel, path, &request, deadline_ns);      for each
 *     TRY(calls_wait(&calls));              the first failure, which ends the others
 *     … calls.replies[i] …                  released by the next calls_begin, or calls_finish
 *
 * Told so (calls.retry), the thread that waits sends a call again that ended with UNAVAILABLE, or
 * whose attempt took too long, until the call's deadline. What is called must not mind that.
 */
#ifndef RPC_CALLS_H
#define RPC_CALLS_H

#include "rpc/channel.h"

struct calls_retry {
    bool again;
    int64_t attempt_ms; /* an attempt that takes longer is given up; each may take twice as long as
                           the one before. 0: as long as the call */
};

struct calls {
    struct calls_retry retry; /* set it before calls_add */
    struct clock *clock;
    int capacity, count;
    struct calls_entry *entries;
    struct message *replies; /* [count]; empty where the call failed */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int waiting;                /* replies still to come */
    struct calls_entry *failed; /* the first that failed; NULL: none */
    enum status_code seen;      /* the failure that a watch has seen; OK: none */
    char seen_text[256];
    int changes; /* that the thread which waits may have to do with */
    bool cancelled;
    int cancelling;           /* threads are at it, and may hold calls of these */
    struct shared_loop *loop; /* of the channels; NULL: they need none */
};

void calls_init(struct calls *calls, struct clock *clock, int capacity);
void calls_begin(struct calls *calls);
void calls_add(struct calls *calls, struct channel *channel, const char *path,
               struct message *request, int64_t deadline_ns);

/**
 * Waits until all calls have succeeded or one has failed for good, and cancels the others then:
 * what one ps answers can be the reason why another never will. Returns the first failure. Requests
 * are the caller's again.
 *
 * Owner  the status' text lives as any other of this thread
 */
struct status calls_wait(struct calls *calls);

/* The same, but each call is waited for, whatever became of the others. */
struct status calls_wait_all(struct calls *calls);

/* Looks now and then whether the wait makes sense, by other calls than those that are waited for. A
 * failure ends the wait as that of a call does. */
struct calls_watch {
    int64_t every_ms;
    struct status (*look)(void *context);
    void *context;
};

struct status calls_wait_watched(struct calls *calls, const struct calls_watch *watch);

/* Cancels what is still in flight; in any thread. */
void calls_cancel(struct calls *calls);
void calls_finish(struct calls *calls); /* after calls_wait */

/* One call, waited for. *reply is the caller's. */
struct status channel_call_again(struct channel *channel, const char *path, struct message *request,
                                 int64_t deadline_ns, struct calls_retry retry,
                                 struct message *reply);
struct status channel_call(struct channel *channel, const char *path, struct message *request,
                           int64_t deadline_ns, struct message *reply);

#endif
