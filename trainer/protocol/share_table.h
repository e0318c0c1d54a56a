/*
 * share_table: which worker each turn of a job is assigned to, and which turns are done.
 *
 * A *turn* is the rows of one push. Turns are numbered along the endless sequence of epochs: turn t
 * of n rows has the rows from t · n on. A *share* is a range of turns assigned to a worker. The
 * worker processes them in order, and each is done when its push is applied. The unfinished turns
 * of a lost worker are reassigned to the next worker that asks, so every turn is done once.
 *
 *     share_table_take(&table, worker, 40, &turns)     up to 40 turns
 *     share_table_count(&table, worker, turn)          its push is applied
 *     share_table_give_back(&table, worker)            it is lost
 *
 * The *position* of a table is its state in a checkpoint: the first unassigned turn, then the
 * ranges before it that are not done yet, each as its first turn and its length.
 */
#ifndef TRAINER_PROTOCOL_SHARE_TABLE_H
#define TRAINER_PROTOCOL_SHARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SHARES_OF_WORKER_MAX 64

struct turn_range {
    uint64_t first, count;
};

/* A share, without the turns that are done. */
struct given_share {
    struct turn_range turns;
    uint32_t worker;
};

/* Zero-initialise it. */
struct share_table {
    uint64_t next;             /* the first turn that was never assigned */
    struct given_share *given; /* [given_count]: those of one worker in the order of assignment */
    size_t given_count;
    struct turn_range *back; /* [back_count]: returned turns, ascending, with gaps between the
                              * ranges */
    size_t back_count;
};

void share_table_finish(struct share_table *table);

/* Assigns up to `most` (> 0) turns, the earliest unassigned ones. RESOURCE_EXHAUSTED: the worker
 * has SHARES_OF_WORKER_MAX shares. */
struct status share_table_take(struct share_table *table, uint32_t worker, uint64_t most,
                               struct turn_range *out);

/* Is this the next turn of one of the worker's shares? */
bool share_table_has(const struct share_table *table, uint32_t worker, uint64_t turn);
/* Counts it, if it is. */
void share_table_count(struct share_table *table, uint32_t worker, uint64_t turn);

/* Takes back all turns of this worker. */
void share_table_give_back(struct share_table *table, uint32_t worker);

bool share_table_holds(const struct share_table *table, uint32_t worker); /* has it any turn? */
uint64_t share_table_given(const struct share_table *table); /* turns that workers have */

/* The position: *numbers is [*count], on the heap. */
void share_table_position(const struct share_table *table, uint64_t **numbers, size_t *count);
/* Resets the table to a position with nothing assigned. INVALID_ARGUMENT: not a position. */
struct status share_table_begin(struct share_table *table, const uint64_t *numbers, size_t count);

/* Converts turns of `from` rows to turns of `to` rows, in place: some rows may occur again, and
 * none is left out. Returns the new count. Row numbers fit in 62 bits. */
size_t share_position_convert(uint64_t *numbers, size_t count, uint64_t from, uint64_t to);

#endif
