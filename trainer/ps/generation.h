/*
 * generation: the chief begins a generation of the job: Create defines what a ps holds and how it
 * is trained, Write initializes it, Open admits the workers. The first generation creates the
 * slices. A later one, after the loss of a ps or the chief, gives them new contents. From Create
 * on, earlier generations are void: calls that wait for one fail, and Create waits for the updates
 * in progress.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_GENERATION_H
#define TRAINER_PS_GENERATION_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/state.h"

/* The part of the generation that other files may read. */
struct generation {
    uint64_t number;   /* 0: not created yet */
    uint64_t creator;  /* incarnation of the chief that created it */
    bool open;         /* its values are complete: workers may join */
    int64_t opened_ns; /* when it was opened for the first time; 0: not yet */
    char *agreed;      /* the chief's settings, which every worker must share; on the heap */
    char *trains;      /* the optimizers and their settings; on the heap */
    uint64_t placement_hash, begin_step, stop_step;
    struct row_place place; /* at begin_step; for a synchronous job */
    bool sync;
    uint32_t sync_workers;
    uint32_t backup_workers; /* number of workers whose pushes a synchronous step can do without */
    uint32_t lead_max; /* see staleness.h: the maximum lead of a worker, plus 1; 0: unlimited */
};

struct generation *generation_create(void);
void generation_destroy(struct generation *generation);
const struct generation *generation_of(const struct ps *ps);
void generation_exclude_pause(struct ps *ps, int64_t paused_ns, int64_t now_ns);
/* May the chief of this incarnation initialize the variables now? */
struct status generation_check_filling(const struct ps *ps, uint64_t number, uint64_t incarnation);

/* Does the job need the task of this rank to continue? */
bool generation_needs(const struct ps *ps, uint32_t rank);

#endif
