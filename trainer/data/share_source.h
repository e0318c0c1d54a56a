/*
 * share_source: a batch_source whose rows someone else gives out in turns: a turn is `batches`
 * batches of the endless sequence of epochs, and turn t begins after t turns of rows. Turns that
 * follow each other are read without a break.
 *
 * A batch without rows means that there is no turn at present; a later `next` asks again.
 */
#ifndef TRAINER_DATA_SHARE_SOURCE_H
#define TRAINER_DATA_SHARE_SOURCE_H

#include "trainer/data/batch_source.h"

/* Gives out the turns. Called by the thread that calls the source. */
struct turn_giver {
    struct status (*next)(void *context, bool *found, uint64_t *turn);
    /* All rows that were read, and that are not used yet, will not be used. */
    void (*begin)(void *context);
    void *context;
};

/**
 * Takes `inner` over, which reads all rows (one worker), with `repeat`. Each `next` asks for
 * batch_rows rows. seek, whatever place it names, drops what is left of the turn and calls
 * giver->begin.
 */
struct batch_source *share_source(struct batch_source *inner, const struct turn_giver *giver,
                                  uint64_t batch_rows, uint32_t batches);

#endif
