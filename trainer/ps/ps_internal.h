/*
 * ps_internal: the types and functions that the files of the ps share. The state of a ps is divided
 * into parts. Each part has one owner; the other files use the functions declared with it:
 *
 *     state.h        the parts, their lock, and waiting calls
 *     membership.h   generation, membership, liveness
 *     variables.h    variables
 *     row_lists.h    the rows and keys that a request names
 *     pushes.h       pushes, pace, shares, totals, scale
 *     this header    all of these, and snapshots, outcome, board
 *
 *     generation   generation.c     the job's variables and training settings
 *     variables    variables.c      the slices and their updates
 *     membership   join.c           the members of the job, and calls that wait for the variables
 *     liveness     liveness.c       when each task was heard from, and what was logged
 *     pushes       push.c           pending gradients, and each worker's progress
 *     pace         pace.c           bounded staleness of an asynchronous job
 *     shares       shares.c         the rows assigned to each worker of an asynchronous job
 *     totals       totals.c         the sums of the training metrics over all workers
 *     scale        scale.c          the loss scale, and which steps it skips
 *     snapshots    cut.c, snapshot.c (snapshots.h)   who holds the ps, and the snapshots taken
 *     outcome      finish.c         how the job ended, and calls that wait for it
 *     board        board.c          notes that tasks leave for each other
 *
 * One lock guards all of it, except the slices, which have their own locks, and the variables,
 * which change only while no push can be applied. Call their functions with the lock held,
 * unless the comment says "without the lock". A function that answers a call runs without the lock,
 * because the caller may be in this process and continue at once. ASSERT_LOCKED checks that in
 * builds with asserts.
 */
#ifndef TRAINER_PS_PS_INTERNAL_H
#define TRAINER_PS_PS_INTERNAL_H

#include "trainer/ps/membership.h"
#include "trainer/ps/pushes.h"
#include "trainer/ps/row_lists.h"
#include "trainer/ps/state.h"
#include "trainer/ps/variables.h"

/* ---- Notes that tasks leave for each other (board.c). ---- */

struct board *board_create(void);
void board_destroy(struct board *board, struct budget *budget); /* NULL: none was charged */

/* ---- Snapshots. ---- */

struct snapshots *snapshots_create(void);
void snapshots_destroy(struct ps *ps);
/* Takes the holds and cuts that can be answered now. */
struct waiting *snapshots_due(struct ps *ps);
void snapshots_answer(struct ps *ps, struct waiting *due); /* without the lock */
/* Ends a hold. Returns the calls that wait for it; the caller must fail them. */
struct waiting *snapshots_let_go(struct ps *ps);
/* Ends what this process has begun. Returns the calls that wait for it; the caller must fail
 * them. */
struct waiting *snapshots_forget(struct ps *ps, const struct worker *worker);
struct waiting *snapshots_forget_all(struct ps *ps);

/* ---- Outcome. ---- */

struct outcome *outcome_create(void);
void outcome_destroy(struct outcome *outcome);
bool outcome_is_known(const struct ps *ps);
/* OK while it is unknown. Its text stays valid. */
struct status outcome_status(const struct ps *ps);
/* CANCELLED: the job has ended with a failure. */
struct status outcome_check(const struct ps *ps);
struct waiting *outcome_take_awaits(struct ps *ps); /* all, whatever they wait for */

/* Sets the outcome, unless there is one. Returns the calls that it ends, for ps_tell. */
struct ending {
    struct waiting *joins, *pushes, *awaits;
};
struct ending outcome_set(struct ps *ps, enum status_code code, const char *text);
void ps_tell(struct ps *ps, struct ending *ending); /* without the lock */

/* ---- The methods, without the lock. ---- */

method_function ps_join, ps_create_variables, ps_write, ps_open, ps_finish, ps_await, ps_heartbeat,
    ps_post, ps_fetch;
method_function ps_pull, ps_push, ps_hold, ps_cut, ps_read_snapshot, ps_drop, ps_stop_early,
    ps_pass, ps_take, ps_totals;

#endif
