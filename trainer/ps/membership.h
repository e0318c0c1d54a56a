/*
 * membership: admits tasks to the job or refuses them, and keeps the calls that wait to join.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_MEMBERSHIP_H
#define TRAINER_PS_MEMBERSHIP_H

#include "trainer/protocol/protocol.h"
#include "trainer/ps/state.h"
#include "trainer/ps/waiting.h"

struct worker {
    bool joined, finished;
    bool reader; /* the only reader: a task that only reads */
    uint32_t index;
    uint64_t incarnation;
    char name[32]; /* "worker 3" */
    /* The arguments of a worker that joined before the chief began: see membership_answer_joins. */
    uint64_t placement_hash;
    char *agreed; /* on the heap */
};

struct membership *membership_create(void);
void membership_destroy(struct membership *membership);

/* Admits a task that takes part in, or reads, the current generation. */
struct status membership_admit(struct ps *ps, const struct ticket *ticket,
                               const struct worker **out);
/* The same, but refuses the reader. */
struct status membership_admit_worker(struct ps *ps, const struct ticket *ticket,
                                      const struct worker **out);
/* Is this the process that has joined as this worker? */
struct status membership_check(const struct ps *ps, uint32_t index, uint64_t incarnation);
/* Fails if another process has joined in the caller's place. A restarted ps knows no tasks. */
struct status membership_check_place(const struct ps *ps, const struct identity *identity);

uint32_t membership_count(const struct ps *ps); /* the largest index that joined, + 1 */
/* Finds a worker; NULL: nobody has joined with this index. The pointer stays valid. */
const struct worker *membership_find(const struct ps *ps, uint32_t index);
void membership_begin(struct ps *ps); /* a generation begins: nobody has finished */
void membership_finish(struct ps *ps, const struct worker *worker);
bool membership_all_finished(const struct ps *ps);
bool membership_any_finished(const struct ps *ps);
struct waiting *membership_take_joins(struct ps *ps);
/* Without the lock: answers joins. Refuses, and forgets, a worker whose settings differ from the
 * chief's, which were unknown when it joined. */
void membership_answer_joins(struct ps *ps, struct waiting *joins);

#endif
