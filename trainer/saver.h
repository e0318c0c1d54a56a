/*
 * saver: makes the chief's checkpoints while training goes on, in a thread of its own.
 *
 *     TRY(saver_start(&options, client, &saver));     the first checkpoint is written
 *     …  saver_step(saver, client->global_step);       after each of the chief's steps
 *     TRY(saver_finish(saver));                        the last one, after the last step
 *     saver_destroy(saver);
 *
 * A checkpoint that fails while training goes on is tried again when the next is due, and warned
 * of; that the first or the last one fails is the job's failure.
 */
#ifndef TRAINER_SAVER_H
#define TRAINER_SAVER_H

#include "trainer/checkpoint.h"
#include "trainer/checkpoint_dir.h"

struct saver_options {
    struct checkpoint_dir *dir;
    struct checkpoint_layout layout;
    int64_t every_ms;                /* 0: not by time */
    uint64_t every_steps;            /* 0: not by steps; with both, whichever comes first */
    struct channel *const *channels; /* [ps_count]: the saver's own, in no other thread's hands */
    void (*warn)(void *context, const char *text);
    void *context;
};

struct saver;

/* `client` is the chief's, which has joined and whose job is open. */
struct status saver_start(const struct saver_options *options, const struct client *client,
                          struct saver **out);
void saver_step(struct saver *saver, uint64_t global_step);

/* Around a recovery: nothing is saved until the chief's client knows the new generation. */
void saver_pause(struct saver *saver);
void saver_resume(struct saver *saver, const struct client *client);

/* Writes the last checkpoint, unless there is one of that step; the thread makes no more, unless it
 * is paused and resumed. */
struct status saver_finish(struct saver *saver);
void saver_destroy(struct saver *saver); /* accepts NULL; what is being written is finished */

#endif
