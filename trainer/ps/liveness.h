/*
 * liveness: when each training task was last heard from, and the log lines about it: it has come,
 * gone silent, come back, or left.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_LIVENESS_H
#define TRAINER_PS_LIVENESS_H

#include "trainer/ps/membership.h"

/* The state of a member that was logged last. */
enum member_logged { MEMBER_UNKNOWN, MEMBER_NEW, MEMBER_HERE, MEMBER_SILENT, MEMBER_LEFT };

/* A training task, as its heartbeats describe it. */
struct member {
    char name[32]; /* "worker 3" */
    uint64_t incarnation;
    int64_t heard_ns; /* 0: never */
    bool told;        /* the outcome */
    char *left;       /* its failure, on the heap; NULL: none */
    char *refused;    /* why a process in this place was last refused, on the heap; NULL: none */
    uint64_t refused_incarnation;
    bool refusal_said;
    enum member_logged said;
};

struct task_liveness *liveness_create(void);
void liveness_destroy(struct task_liveness *liveness);
/* Records a heartbeat. */
void liveness_record(struct ps *ps, const struct identity *identity);
/* Records another call of the task. */
void liveness_touch(struct ps *ps, const struct worker *worker);
/* Records that a process with this identity was refused. */
void liveness_record_refusal(struct ps *ps, const struct identity *identity, const char *why);
/* Was a process of this rank refused? */
bool liveness_is_refused(const struct ps *ps, uint32_t rank);
/* Records the failure that a task reports. */
void liveness_record_failure(struct ps *ps, const struct identity *identity, const char *why);
/* The task was told the outcome, if there is one. */
void liveness_mark_informed(struct ps *ps, uint32_t rank);
bool liveness_has_begun(const struct ps *ps); /* has any task ever been heard from? */
/* NULL: never heard from. */
const struct member *liveness_find(const struct ps *ps, uint32_t rank);
/* Does this worker take part, and was it heard from in the last seconds? */
bool liveness_is_present(const struct ps *ps, const struct worker *worker);

#endif
