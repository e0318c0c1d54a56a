/*
 * share_source: a batch_source whose rows are assigned in turns by a turn_source: a turn is
 * `batches` batches of the endless sequence of epochs, and turn t begins after t turns of rows.
 * Consecutive turns are read without a break.
 *
 * A batch without rows means that there is no turn at present; a later `next` asks again.
 */
#ifndef TRAINER_DATA_SHARE_SOURCE_H
#define TRAINER_DATA_SHARE_SOURCE_H

#include "trainer/data/batch_source.h"

/* Assigns the turns. Called by the thread that calls the source. */
struct turn_source {
    struct status (*next)(void *context, bool *found, uint64_t *turn);
    /* Rows that were read and not used yet will not be used. */
    void (*begin)(void *context);
    void *context;
};

/**
 * Takes ownership of `inner`, which reads all rows (one worker), with `repeat`. Each `next`
 * requests batch_rows rows. seek, to any position, drops the rest of the turn and calls
 * turns->begin.
 */
struct batch_source *share_source(struct batch_source *inner, const struct turn_source *turns,
                                  uint64_t batch_rows, uint32_t batches);

#endif
