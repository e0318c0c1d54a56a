/*
 * shares: ps 0 assigns the rows of an asynchronous job to its workers (the method Take), in shares
 * of turns (trainer/protocol/share_table.h). The turn of a push is done as soon as the ps begins to
 * apply it.
 *
 * No more turns are assigned than there are steps left, so that at the last step each earlier turn
 * is done once. Towards the end the shares become smaller, so that no worker has many turns left
 * while the others have none.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_SHARES_H
#define TRAINER_PS_SHARES_H

#include "trainer/ps/membership.h"

struct shares *shares_create(void);
void shares_destroy(struct shares *shares);
/* INVALID_ARGUMENT: the position of a job that assigns its rows is invalid. */
struct status shares_check(const struct create_request *request);
void shares_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Another process replaces this worker. */
void shares_forget(struct ps *ps, const struct worker *worker);
/* ABORTED: not the worker's next turn. It was reassigned because the worker had gone silent. */
struct status shares_check_turn(const struct ps *ps, const struct worker *worker, uint64_t turn);
void shares_count(struct ps *ps, const struct worker *worker, uint64_t turn); /* it counts */
/* Has this worker no turn, because all are assigned? */
bool shares_is_idle(const struct ps *ps, const struct worker *worker);
/* On the heap; NULL if the job does not assign its rows. */
void shares_position(const struct ps *ps, uint64_t **numbers, size_t *count);

#endif
