/*
 * membership: the generation that a job has begun with, the tasks that take part in it, and when
 * each was heard of.
 */
#ifndef TRAINER_PS_MEMBERSHIP_H
#define TRAINER_PS_MEMBERSHIP_H

#include "trainer/ps/state.h"
#include "trainer/protocol/protocol.h"

/* ---- Generation. ---- */

/* The part of the generation that other files may read. */
struct generation {
    uint64_t number;   /* 0: not created yet */
    uint64_t creator;  /* incarnation of the chief that created it */
    bool open;         /* its values are complete: workers may join */
    int64_t opened_ns; /* when it was opened for the first time; 0: not yet */
    char *agreed;      /* the chief's settings, which every worker must share; on the heap */
    uint64_t placement_hash, begin_step, stop_step;
    struct row_place place; /* at begin_step; for a synchronous job */
    bool sync;
    uint32_t sync_workers;
    uint32_t backup_workers; /* number of workers whose pushes a synchronous step can do without */
    uint32_t lead_max;       /* see pace.c: the maximum lead of a worker, plus 1; 0: unlimited */
};

struct generation *generation_create(void);
void generation_destroy(struct generation *generation);
const struct generation *ps_generation(const struct ps *ps);
void generation_exclude_pause(struct ps *ps, int64_t paused_ns);
/* May the chief of this incarnation initialize the variables now? */
struct status generation_check_filling(const struct ps *ps, uint64_t number, uint64_t incarnation);

/* ---- Membership. ---- */

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
struct status ps_admit(struct ps *ps, const struct ticket *ticket, const struct worker **out);
/* The same, but refuses the reader. */
struct status ps_admit_worker(struct ps *ps, const struct ticket *ticket,
                              const struct worker **out);
/* Is this the process that has joined as this worker? */
struct status ps_check_member(const struct ps *ps, uint32_t index, uint64_t incarnation);
/* Fails if another process has joined in the caller's place. A restarted ps knows no tasks. */
struct status ps_check_place(const struct ps *ps, const struct identity *identity);
/* Does the caller belong to this job, and did it mean to call this ps? (identity.c) */
/* Checks the part that is independent of the model and the settings. */
struct status ps_check_job(const struct ps *ps, const struct identity *identity);
struct status ps_check_identity(const struct ps *ps, const struct identity *identity);
/* Does the caller have the chief's model and settings? OK while there is no generation.
 * (identity.c) */
struct status ps_check_settings(const struct ps *ps, const struct identity *identity);

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

/* ---- Liveness. ---- */

/* The state of a member that was logged last. */
enum member_logged { MEMBER_UNKNOWN, MEMBER_NEW, MEMBER_HERE, MEMBER_SILENT, MEMBER_LEFT };

/* A training task, as its heartbeats describe it. */
struct member {
    char name[32]; /* "worker 3" */
    uint64_t incarnation;
    int64_t heard_ns; /* 0: never */
    bool told;        /* the outcome */
    char *left;       /* its failure, on the heap; NULL: none */
    enum member_logged said;
};

struct task_liveness *liveness_create(void);
void liveness_destroy(struct task_liveness *liveness);
/* Records a heartbeat. */
void liveness_record(struct ps *ps, const struct identity *identity);
/* Records another call of the task. */
void liveness_touch(struct ps *ps, const struct worker *worker);
/* Records the failure that a task reports. */
void liveness_record_failure(struct ps *ps, const struct identity *identity, const char *why);
/* The task was told the outcome, if there is one. */
void liveness_mark_informed(struct ps *ps, uint32_t rank);
bool liveness_has_begun(const struct ps *ps); /* has any task ever been heard from? */
/* NULL: never heard of. */
const struct member *liveness_find(const struct ps *ps, uint32_t rank);
/* Does this worker take part, and was it heard from in the last seconds? */
bool liveness_is_present(const struct ps *ps, const struct worker *worker);
/* Does the job need the task of this rank to continue? */
bool ps_is_needed(const struct ps *ps, uint32_t rank);

#endif
