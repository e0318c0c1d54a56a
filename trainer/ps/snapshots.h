/* snapshots: the types shared by cut.c, which takes snapshots, and snapshot.c, which reads them. */
#ifndef TRAINER_PS_SNAPSHOTS_H
#define TRAINER_PS_SNAPSHOTS_H

#include "trainer/ps/ps_internal.h"

struct snapshot {
    uint64_t id, number, global_step;
    struct slice_state *states; /* [slices_count]; NULL: no snapshot here */
    uint64_t *position;         /* [position_count], the position in the rows; NULL: none */
    size_t position_count;
    struct loss_scale loss_scale;
};

/* A task that takes snapshots: the chief, or the reader. */
struct cutter {
    const struct worker *worker; /* the worker that began the last snapshot; NULL: none */
    uint64_t number;             /* number of that snapshot, counted by the worker */
    bool slots;                  /* the cut asks for slots */
    int64_t heard_ns;            /* when it last held the ps, or read */
    struct snapshot snapshot;
};

#define CUTTER_CHIEF  0
#define CUTTER_READER 1

struct snapshots {
    struct cutter cutters[2];
    struct cutter *held; /* the cutter that holds the ps, so that no push is applied; NULL: none */
    struct waiting *holds, *cuts; /* waiting calls: its own, and repeated ones */
    uint64_t taken;               /* the number of snapshots so far, which is the last id */
};

static inline struct cutter *snapshots_cutter(struct ps *ps, const struct worker *worker)
{
    return &ps->snapshots->cutters[worker->reader ? CUTTER_READER : CUTTER_CHIEF];
}

/* Releases the values. Accepts a snapshot that was never taken. */
void snapshot_drop(struct ps *ps, struct snapshot *snapshot);

#endif
