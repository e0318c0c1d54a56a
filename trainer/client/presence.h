/*
 * presence: sends a beat to each ps once a second, and watches whether the ps tasks answer. It
 * explains every wait of the task: it names a ps that does not answer, with its address and the
 * reason, or repeats what a ps that answers is waiting for.
 *
 *     presence_start(&presence, &options);
 *     loop_run(loop);         ready(context) once each ps has answered; ended(context, why) when
 *                             waiting longer is useless
 *     presence_finish(&presence);
 *
 * Threads: the loop's.
 */
#ifndef TRAINER_CLIENT_PRESENCE_H
#define TRAINER_CLIENT_PRESENCE_H

#include "base/loop.h"
#include "trainer/client/client.h"
#include "trainer/protocol/note.h"

struct presence_options {
    const struct ps_client_options *client; /* this task's identity, and the channels; borrowed */
    const char *const *names;               /* [ps_count]: "ps 1 at host:2222". Borrowed */
    struct loop *loop;
    int64_t start_timeout_ms; /* until each ps has answered */
    int64_t lost_timeout_ms;  /* afterwards, without an answer from one of them */
    int64_t repeat_ms;        /* between two lines about the same wait */
    /* Describes why a channel is not connected, after a call that failed; "" if it is. If NULL,
     * only the call's status is used. */
    void (*describe)(struct channel *channel, char *out, size_t size);
    void (*print)(void *context, const char *line);
    void (*ready)(void *context);
    /* Called at most once; the status' text lives during the call. FAILED_PRECONDITION: this task
     * and a ps were given different settings; UNAVAILABLE: a timeout; OK or the job's outcome: the
     * job ended before this task was ready, or this task is a reader. */
    void (*ended)(void *context, struct status why);
    void *context;
};

struct presence {
    struct presence_options options;
    struct presence_peer *peers; /* [ps_count] */
    struct loop_timer timer;     /* prints what it waits for, and gives up in time */
    int64_t began_ns;
    bool ready, ended;
    struct note note;
};

void presence_start(struct presence *presence, const struct presence_options *options);
void presence_finish(struct presence *presence); /* the loop does not run any more */

/* Has no ps ever answered? */
bool presence_is_alone(const struct presence *presence);

#endif
