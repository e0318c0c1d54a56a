/*
 * presence: a task that trains says to each ps, once a second, that it is there, and watches
 * whether they are. Every wait of the task is explained from here: a ps that does not answer, with
 * the address and the reason, and whom a ps that answers waits for in turn.
 *
 *     presence_start(&presence, &options);
 *     loop_run(loop);         ready(context) once each ps has answered; ended(context, why) when it
 *                             is no use to go on
 *     presence_finish(&presence);
 *
 * Threads: the loop's.
 */
#ifndef TRAINER_PRESENCE_H
#define TRAINER_PRESENCE_H

#include "base/loop.h"
#include "trainer/client.h"
#include "trainer/note.h"

struct presence_options {
    const struct client_options *client; /* who it is, and the channels. Borrowed */
    const char *const *names;            /* [ps_count]: "ps 1 at host:2222". Borrowed */
    struct loop *loop;
    int64_t start_timeout_ms; /* until each ps has answered */
    int64_t lost_timeout_ms;  /* after that, without an answer of one of them */
    int64_t repeat_ms;        /* between two lines about the same wait */
    /* Why a channel is not connected, after a call that failed; "" if it is. NULL: by the call's
     * status alone. */
    void (*describe)(struct channel *channel, char *out, size_t size);
    void (*print)(void *context, const char *line);
    void (*ready)(void *context);
    /* At most once; the status' text lives during the call. FAILED_PRECONDITION: this task and a ps
     * have been told different things; UNAVAILABLE: a time is over; OK or the job's outcome: it was
     * over before this task was ready, or this task is a reader. */
    void (*ended)(void *context, struct status why);
    void *context;
};

struct presence {
    struct presence_options options;
    struct presence_peer *peers; /* [ps_count] */
    struct loop_timer timer;     /* of what is to be printed and given up */
    int64_t began_ns;
    bool ready, ended;
    char note_text[256]; /* whom ps 0 waits for, as it says */
    uint64_t global_step;
    struct note note;
};

void presence_start(struct presence *presence, const struct presence_options *options);
void presence_finish(struct presence *presence); /* the loop does not run any more */

/* The last words of a ps about whom it waits for; "" for nobody. */
/* Has no ps ever answered? */
bool presence_is_alone(const struct presence *presence);

const char *presence_note(const struct presence *presence);

#endif
