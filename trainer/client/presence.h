/*
 * presence: sends a heartbeat to each ps once a second, and checks that the ps tasks answer. It
 * explains every wait of the task: it names a ps that does not answer, with its address and the
 * reason, or repeats what an answering ps is waiting for.
 *
 *     presence_start(&presence, &options);
 *     loop_run(loop);         ready(context) once each ps has answered; ended(context, why) when
 *                             waiting longer is pointless
 *     presence_finish(&presence);
 *
 * Threads  the loop's
 */
#ifndef TRAINER_CLIENT_PRESENCE_H
#define TRAINER_CLIENT_PRESENCE_H

#include "base/loop.h"
#include "trainer/client/client.h"
#include "trainer/protocol/wait_log.h"

struct presence_options {
    const struct ps_client_options *client; /* this task's identity, and the channels; borrowed */
    const char *const *names;               /* [ps_count]: "ps 1 at host:2222". Borrowed */
    struct loop *loop;
    int64_t start_timeout_ms; /* until each ps has answered */
    int64_t lost_timeout_ms;  /* afterwards, if a ps does not answer */
    int64_t repeat_ms;        /* between two log lines about the same wait */
    /* After a failed call: describes why a channel is not connected; "" if it is connected. If
     * NULL, only the call's status is used. */
    void (*describe)(struct channel *channel, char *out, size_t size);
    void (*print)(void *context, const char *line);
    void (*ready)(void *context);
    /* Called at most once; the status' text is valid during the call. FAILED_PRECONDITION: this
     * task and a ps were given different settings; UNAVAILABLE: a timeout; OK or the job's
     * outcome: the job ended before this task was ready, or this task is a reader. */
    void (*ended)(void *context, struct status why);
    void *context;
};

struct presence {
    struct presence_options options;
    struct presence_peer *peers; /* [ps_count] */
    struct loop_timer timer;     /* logs what the task waits for, and gives up after the timeout */
    int64_t began_ns;
    bool ready, ended;
    struct wait_log wait_log;
};

void presence_start(struct presence *presence, const struct presence_options *options);
void presence_finish(struct presence *presence); /* call it when the loop no longer runs */

/* Has no ps ever answered? */
bool presence_is_alone(const struct presence *presence);

#endif
