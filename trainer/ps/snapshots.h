/*
 * snapshots: takes consistent snapshots, in which each push is either on all ps tasks or on none;
 * snapshot_read.c reads them. A push is sent to all ps tasks at once, so at any moment some of them
 * have applied a push that others have not. The chief therefore holds all ps tasks, and each
 * reports what it has applied. All are then cut at the latest of these points: each ps applies the
 * pushes that it lacks (held, or still in flight), takes one reference to each slice's values (and
 * slots), and continues. Later updates write elsewhere (slice.h). In a synchronous job, this point
 * is the latest step that any ps has made. The snapshot waits until all have made it, even if a
 * worker died between its pushes to two ps tasks.
 *
 * The chief numbers its snapshots, so that a ps recognises repeated and late requests: a late hold
 * of an earlier snapshot would hold a ps that nobody releases.
 *
 * The chief may have two snapshots, so that an evaluation need not wait until a checkpoint is on
 * the disk. It takes one after the other: the ps tasks are held for one at a time.
 *
 * The variables have paid for the copies that updates make while one snapshot is read. A further
 * one that is read at the same time is charged, or refused with RESOURCE_EXHAUSTED: the chief then
 * waits for its other one (client/snapshot.c). A snapshot of the reader yields to one of the chief.
 *
 * The reader takes snapshots in the same way, with lower priority than the chief. It delays
 * training by no more than a second, whatever happens to it.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_SNAPSHOTS_H
#define TRAINER_PS_SNAPSHOTS_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/membership.h"
#include "trainer/ps/slice.h"
#include "trainer/ps/waiting.h"

struct snapshot {
    uint64_t id, number, global_step;
    struct slice_state *states; /* [slices_count]; NULL: no snapshot here */
    int64_t paid_bytes;         /* from the budget; 0: the variables have paid */
    uint64_t *position;         /* [position_count], the position in the rows; NULL: none */
    size_t position_count;
    struct loss_scale loss_scale;
};

/* Who takes a snapshot: the chief, for its first or second one, or the reader. */
struct snapshot_owner {
    const struct worker *worker; /* the worker that began the last snapshot; NULL: none */
    uint64_t number;             /* number of that snapshot, counted by the worker */
    bool slots;                  /* the cut asks for slots */
    int64_t paid_bytes;          /* for the snapshot that is about to be taken */
    int64_t heard_ns;            /* when it last held the ps, or read */
    struct snapshot snapshot;
};

#define OWNER_CHIEF  0
#define OWNER_SECOND 1
#define OWNER_READER 2

struct snapshots {
    struct snapshot_owner owners[3];
    struct snapshot_owner *held;  /* who holds the ps, so that no push is applied; NULL: nobody */
    struct waiting *holds, *cuts; /* waiting calls: its own, and repeated ones */
    uint64_t taken;               /* the number of snapshots so far, which is the last id */
};

static inline struct snapshot_owner *snapshots_owner(struct ps *ps, const struct worker *worker,
                                                     bool second)
{
    return &ps->snapshots->owners[worker->reader ? OWNER_READER
                                  : second       ? OWNER_SECOND
                                                 : OWNER_CHIEF];
}

/* Releases the values. Accepts a snapshot that was never taken. */
void snapshot_drop(struct ps *ps, struct snapshot *snapshot);

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
/* This process did not run for this long: see ps_exclude_pause. */
void snapshots_exclude_pause(struct ps *ps, int64_t paused_ns, int64_t now_ns);

#endif
