/*
 * saver: writes the chief's checkpoints in a thread of its own, while training continues.
 *
 *     TRY(saver_start(&options, client, &saver));       takes the values of the first checkpoint
 *     …  TRY(saver_check(saver));                       before each of the chief's steps
 *        saver_step(saver, client->global_step);        after it
 *     saver_let_finish(saver);                          after the last one
 *     TRY(saver_finish(saver));                         writes the last one, after the last step
 *     saver_destroy(saver);
 *
 * No step waits for the disk: a network disk may take many seconds for an fsync. If the first or
 * the last checkpoint fails, the job fails. If another one fails, the saver warns, and tries again
 * when the next one is due.
 */
#ifndef TRAINER_CHECKPOINT_SAVER_H
#define TRAINER_CHECKPOINT_SAVER_H

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_dir.h"

struct saver_options {
    struct checkpoint_dir *dir;
    struct checkpoint_layout layout;
    int64_t every_ms;                /* 0: not by time */
    uint64_t every_steps;            /* 0: not by steps; with both limits, whichever comes first */
    struct channel *const *channels; /* [ps_count]: used by no other thread */
    void (*warn)(void *context, const char *text);
    void *context;
};

struct saver;

/* `client` is the chief's, which has joined; the variables exist. Returns once the first
 * checkpoint's values are safe from later steps; the thread then writes them. If that fails, the
 * thread interrupts the chief's calls until saver_check has said so: a step may take minutes. */
struct status saver_start(const struct saver_options *options, struct ps_client *client,
                          struct saver **out);
/* The failure of the first checkpoint, once it is known. */
struct status saver_check(struct saver *saver);
/* The chief has made its last step: no failure interrupts it any more. */
void saver_let_finish(struct saver *saver);
void saver_step(struct saver *saver, uint64_t global_step);

/* Takes a snapshot with `client`, which is `second`, and passes it to `use`. Does not wait until a
 * checkpoint is written, only until the ps tasks were cut for it. Any thread. */
struct status saver_snapshot(struct saver *saver, struct ps_client *client, bool slots,
                             struct status (*use)(void *context, struct client_snapshot *snapshot),
                             void *context);

/* Interrupts the calls of the checkpoint in progress: it fails. */
void saver_interrupt(struct saver *saver);

/* Call them before and after a recovery: nothing is saved until the chief knows the new
 * generation. */
void saver_pause(struct saver *saver);
void saver_resume(struct saver *saver, const struct ps_client *client);

/* Writes the last checkpoint, unless there is one of that step or the first one has failed. The
 * thread then makes no more, unless it is paused and resumed. */
struct status saver_finish(struct saver *saver);
/* accepts NULL; first finishes a checkpoint in progress, unless a ps is lost */
void saver_destroy(struct saver *saver);

#endif
